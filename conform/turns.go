package conform

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sluice-rag/sluice/wire/turns"
)

// Session describes how sessions are made. Each question gets a session of its own, so that no question depends on an earlier one.
type Session struct {
	Path  string // POST: makes a session; DELETE with the id appended deletes it
	Field string // of the reply, with the id of the session
}

// maxPiece is the size of a frame in the text of a stream of bytes.
const maxPiece = 64

func turnsProtocol() Protocol {
	const sessions = "/v1/rag/sessions"
	return Protocol{Name: turns.Name, Ask: sessions + "/{session}/messages/stream", Body: body(`{"content":%s}`), Bytes: true, Session: &Session{sessions, "session_id"},
		Grammar: func() Grammar { return new(turnsGrammar) }}
}

// turnsGrammar is the [turns.Grammar] as a [Grammar].
type turnsGrammar struct{ turns.Grammar }

// Next implements [Grammar].
func (g *turnsGrammar) Next(f Frame) error {
	if _, err := io.WriteString(g, f.Data); err != nil {
		return fmt.Errorf("%w: %s", err, f)
	}
	return nil
}

// at returns the path of a question in a session.
func (t *tester) at(session string) string {
	return strings.ReplaceAll(t.Ask, "{session}", url.PathEscape(session))
}

// place returns the path of a question. If the protocol has sessions, it makes one.
func (t *tester) place(ctx context.Context) (string, error) {
	if t.MCP {
		return t.Ask, t.begin(ctx)
	}
	if t.Session == nil {
		return t.Ask, nil
	}
	res, err := t.send(ctx, http.MethodPost, t.Session.Path, []byte(`{}`), "")
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return "", err
	}
	reply, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	id := Frame{JSON: reply}.field(t.Session.Field)
	if err != nil || res.StatusCode/100 != 2 || id == "" {
		return "", fmt.Errorf("POST %s: want a status of 2xx and a session with the field %s; got %d: %.200s", t.Session.Path, t.Session.Field, res.StatusCode, text)
	}
	t.sessions = append(t.sessions, id)
	return t.at(id), nil
}

// leave deletes the sessions that were made. A server may keep them: that is no part of the protocol.
func (t *tester) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(t.o.Timeout, 10*time.Second))
	defer cancel()
	if t.mcp != nil && t.mcp.id != "" {
		if res, err := t.send(ctx, http.MethodDelete, mcpPath, nil, ""); err == nil {
			_ = res.Body.Close()
		}
	}
	for _, id := range t.sessions {
		if res, err := t.send(ctx, http.MethodDelete, t.Session.Path+"/"+url.PathEscape(id), nil, ""); err == nil {
			_ = res.Body.Close()
		}
	}
}

// readBytes returns the first frames of a stream of the turns protocol: its lines, pieces of its text, and the trailer. The id of a frame is the number of bytes
// up to its end. Of a stream that was resumed, only the bytes of all frames together are meaningful.
func readBytes(b *bounded, limit int) (frames []Frame, err error) {
	r := bufio.NewReader(b)
	var part []byte
	mark, at := byte(0), 0 // the last mark; bytes in whole frames
	add := func() {
		at += len(part)
		f := Frame{N: len(frames) + 1, ID: strconv.Itoa(at), Data: string(part)}
		if mark != turns.AnswerMark {
			f.JSON, _ = jsonschema.UnmarshalJSON(strings.NewReader(strings.Trim(f.Data, "\n\x1e"))) // the grammar says what must be JSON
		}
		frames, part = append(frames, f), nil
	}
	for limit == 0 || len(frames) < limit {
		c, err := r.ReadByte()
		switch {
		case err != nil && len(part) > 0:
			add()
			fallthrough
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return frames, err
		case len(frames) == maxFrames || len(part) == maxFrame:
			return frames, fmt.Errorf("the stream has more than %d frames, or one of more than %d bytes", maxFrames, maxFrame)
		}
		if (c == turns.AnswerMark || c == turns.TrailerMark) && len(part) > 0 {
			add()
		}
		if c == turns.AnswerMark || c == turns.TrailerMark {
			mark = c
		}
		if part = append(part, c); mark == 0 && c == '\n' || mark == turns.AnswerMark && len(part) == maxPiece {
			add()
		}
	}
	return frames, nil
}

// bytesOf returns the bytes of frames.
func bytesOf(frames []Frame) string {
	var b strings.Builder
	for _, f := range frames {
		b.WriteString(f.Data)
	}
	return b.String()
}

// sameBytes compares two streams of bytes, or ends of them.
func sameBytes(want, got string) error {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	if at == len(want) && at == len(got) {
		return nil
	}
	return fmt.Errorf("want %d bytes; got %d: they differ from byte %d on: want %.100q; got %.100q", len(want), len(got), at, want[at:], got[at:])
}

// resumeBytes reads the finished run after each number of its bytes, or at equal distances, and once by the path of questions.
func (t *tester) resumeBytes(ctx context.Context) error {
	whole := bytesOf(t.kept)
	step := max(1, (len(whole)+t.o.Resumes-1)/t.o.Resumes)
	for at := 1; len(whole) > 0; at = min(at+step, len(whole)) {
		rest, err := t.again(ctx, t.run, strconv.Itoa(at))
		if err == nil {
			err = sameBytes(whole[at:], bytesOf(rest))
		}
		if err != nil {
			return fmt.Errorf("resumed after byte %d: %w", at, err)
		}
		if at == len(whole) {
			break
		}
	}
	half := len(whole) / 2
	req, err := t.request(ctx, http.MethodPost, t.asked, []byte(`{}`), strconv.Itoa(half))
	if err != nil {
		return err
	}
	req.Header.Set("Sluice-Run-Id", t.run)
	res, err := t.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	rest, err := t.read(res.Body, 0, 0)
	if err == nil {
		err = sameBytes(whole[half:], bytesOf(rest))
	}
	if err != nil {
		return fmt.Errorf("resumed after byte %d with POST and the header Sluice-Run-Id: %w", half, err)
	}
	return nil
}
