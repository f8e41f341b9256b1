package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
)

// TurnPart is a part of the stream of a turn. Exactly one field is set.
type TurnPart struct {
	Search  *turns.Search
	Review  *turns.Review
	Text    string         // a piece of the answer
	Trailer *turns.Trailer // the last part
}

// Turn is the stream of an answer in a session, in the turns protocol. After a broken connection, it is resumed after the last received byte.
// Nothing is read in the background. Parts must not be called concurrently; the other methods are safe for concurrent use.
type Turn struct {
	connect func(run string, offset int64) (*http.Response, error) // asks the question if there is no run; otherwise resumes at an offset
	retry   func(failures int, err error) error                    // waits before the next connection; an error ends the stream
	cancel  func(ctx context.Context, run string) error

	reading sync.Mutex
	parser  turnParser

	mu  sync.Mutex
	run string
}

// SendMessage asks a question in a session. The request is sent when the turn is read. If the server is overloaded or unavailable, it is
// sent again. It is not sent again after other failures, because the server might answer the question twice.
func (c *Client) SendMessage(ctx context.Context, session string, q turns.Request) *Turn {
	return c.turn(ctx, "", q.Citations, func() (*http.Response, error) {
		r, err := encoded(sessionPath(session)+"/messages/stream", q)
		if err != nil {
			return nil, err
		}
		r.retryable, r.stream = unsent, true
		return c.do(ctx, r)
	})
}

// StreamTurn streams the run of an answer from its start, whether it is live or has ended.
func (c *Client) StreamTurn(ctx context.Context, run string) *Turn { return c.turn(ctx, run, "", nil) }

// turn returns the stream of a run, or of a question that ask sends. The bytes of a stream also depend on the value of citations.
func (c *Client) turn(ctx context.Context, run, citations string, ask func() (*http.Response, error)) *Turn {
	return &Turn{run: run, retry: c.reconnecting(ctx), cancel: c.Cancel, connect: func(run string, offset int64) (*http.Response, error) {
		if run == "" {
			return ask()
		}
		r := get(with("/runs/"+url.PathEscape(run)+"/stream", "protocol", turns.Name, "offset", strconv.FormatInt(offset, 10), "citations", citations))
		r.stream = true
		return c.once(ctx, r)
	}}
}

// Run returns the id of the run. It is empty until the server has sent it.
func (t *Turn) Run() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run
}

// Cancel cancels the run. The stream then ends with the parts that the server sends for it. To stop reading without cancelling the run, end
// the context or leave the loop over Parts.
func (t *Turn) Cancel(ctx context.Context) error {
	run := t.Run()
	if run == "" {
		return errors.New("cancel run: the server has not sent its id yet")
	}
	return t.cancel(ctx, run)
}

// Wait reads the rest of the stream. It returns the text that it read, of which it keeps 16 MiB, and the trailer. If the run failed or was
// cancelled, the error is a [fault.Error].
func (t *Turn) Wait() (text string, trailer turns.Trailer, err error) {
	var b strings.Builder
	for part, err := range t.Parts() {
		if err != nil {
			return b.String(), trailer, err
		}
		b.WriteString(fitting(part.Text, maxText-b.Len()))
		if part.Trailer != nil {
			trailer = *part.Trailer
		}
	}
	if f := trailer.Error; f != nil {
		err = fmt.Errorf("run %s: %w", t.run, &fault.Error{Code: fault.Code(strings.ToUpper(f.Code)), Message: f.Message})
	}
	return b.String(), trailer, err
}

// Parts returns an iterator over the parts, each once and in order. A broken connection is replaced by a new one that continues after the
// last part. After leaving the loop, a new call of Parts continues where the last one stopped. If the stream fails or the context ends, the
// error is the last value; the run then goes on for the server's grace period.
func (t *Turn) Parts() iter.Seq2[TurnPart, error] {
	return func(yield func(TurnPart, error) bool) {
		if !t.reading.TryLock() {
			yield(TurnPart{}, errors.New("read turn: it is being read already"))
			return
		}
		defer t.reading.Unlock()
		if stop, err := t.parse(nil, yield); stop || err != nil { // what a connection left when the loop was left
			if err != nil {
				yield(TurnPart{}, err)
			}
			return
		}
		for failures := 0; t.parser.phase != turnOver; {
			asked, before := t.run != "", t.parser.received
			res, err := t.connect(t.run, before)
			if err == nil {
				err = t.answered(res)
			}
			if err == nil {
				var stop bool
				if stop, err = t.read(res, yield); stop {
					return
				}
			}
			if wrong, ok := errors.AsType[*answerError](err); ok {
				yield(TurnPart{}, wrong)
				return
			}
			if !asked && t.run == "" {
				yield(TurnPart{}, fmt.Errorf("send message: %w", err))
				return
			}
			if t.parser.received != before {
				failures = 0
			}
			failures++
			if err = t.retry(failures, err); err != nil {
				yield(TurnPart{}, fmt.Errorf("stream run %s after byte %d: %w", t.run, t.parser.received, err))
				return
			}
		}
	}
}

// answered checks the header of a reply and sets the run. It closes the body if the reply is not the expected stream.
func (t *Turn) answered(res *http.Response) error {
	id, wrong := res.Header.Get("Sluice-Run-Id"), ""
	kind := res.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	switch {
	case res.StatusCode == http.StatusNoContent && t.run != "":
		wrong = fmt.Sprintf("stream run %s: the server reports the end of the run without its trailer", t.run)
	case res.StatusCode != http.StatusOK || media != "text/plain":
		wrong = fmt.Sprintf("send message: the server replied with %d and %q instead of the stream of a turn", res.StatusCode, clip(kind, 60))
	case !event.RunID(id).Valid():
		wrong = "send message: the server sent no valid id of the run"
	case t.run != "" && id != t.run:
		wrong = fmt.Sprintf("stream run %s: the server replied with another run, %s", t.run, id)
	}
	if wrong != "" {
		_ = res.Body.Close()
		return &answerError{wrong}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = id
	return nil
}

// read yields the parts of a connection. It returns stop=true after the last part and if the caller has left the loop.
func (t *Turn) read(res *http.Response, yield func(TurnPart, error) bool) (stop bool, err error) {
	defer res.Body.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(buf)
		if stop, perr := t.parse(buf[:n], yield); stop || perr != nil {
			return stop, perr
		}
		switch {
		case t.parser.phase == turnOver:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, io.ErrUnexpectedEOF
		case err != nil:
			return false, err
		}
	}
}

// parse yields the parts that the next bytes complete. It returns stop=true if the caller has left the loop. An error is an [answerError].
func (t *Turn) parse(b []byte, yield func(TurnPart, error) bool) (stop bool, err error) {
	for part, err := range t.parser.add(b) {
		if err == nil && part.Trailer != nil && string(part.Trailer.RunID) != t.run {
			err = errors.New("the trailer is that of another run")
		}
		if err != nil {
			return false, &answerError{fmt.Sprintf("stream run %s: %v", t.run, err)}
		}
		if !yield(part, nil) {
			return true, nil
		}
	}
	return false, nil
}

// The phases of the stream of a turn.
const (
	turnSteps   = iota // lines with JSON objects
	turnText           // the text of the answer
	turnTrailer        // a JSON object
	turnOver
)

// Limits of what a parser holds, in bytes.
const (
	maxTurnLine    = 1 << 20
	maxTurnTrailer = 8 << 20
)

// turnParser splits the bytes of a stream into parts.
type turnParser struct {
	phase    int
	received int64  // number of bytes; a stream can be resumed there
	held     []byte // the last ones, which belong to no part yet
	object   objectEnd
}

// objectEnd finds the end of a JSON object in bytes that arrive one after the other. Each byte is read once.
type objectEnd struct {
	read, depth     int
	quoted, escaped bool
}

// end returns the length of the object, or 0 if it is not complete. The bytes are the earlier ones and some more.
func (o *objectEnd) end(b []byte) int {
	for ; o.read < len(b); o.read++ {
		switch c := b[o.read]; {
		case o.escaped:
			o.escaped = false
		case o.quoted && c == '\\':
			o.escaped = true
		case c == '"':
			o.quoted = !o.quoted
		case o.quoted:
		case c == '{' || c == '[':
			o.depth++
		case c == '}' || c == ']':
			if o.depth--; o.depth <= 0 {
				return o.read + 1
			}
		}
	}
	return 0
}

// add returns the parts that end in the next bytes of the stream. Their bytes are taken before they are yielded.
func (p *turnParser) add(b []byte) iter.Seq2[TurnPart, error] {
	p.held, p.received = append(p.held, b...), p.received+int64(len(b))
	return func(yield func(TurnPart, error) bool) {
		for {
			part, ok, err := p.next()
			if err != nil {
				yield(TurnPart{}, err)
				return
			}
			if !ok || part != (TurnPart{}) && !yield(part, nil) {
				return
			}
		}
	}
}

// take removes n bytes and returns them.
func (p *turnParser) take(n int) []byte {
	b := p.held[:n]
	p.held = p.held[n:]
	return b
}

// next takes the next part, a mark between phases or a line of unknown type; the part is empty for the latter two. It returns ok=false if
// more bytes are needed.
func (p *turnParser) next() (part TurnPart, ok bool, err error) {
	if len(p.held) == 0 {
		return part, false, nil
	}
	switch p.phase {
	case turnSteps:
		if p.held[0] == turns.AnswerMark {
			p.take(1)
			p.phase = turnText
			return part, true, nil
		}
		n := bytes.IndexByte(p.held, '\n') + 1
		if n == 0 {
			if len(p.held) > maxTurnLine {
				err = fmt.Errorf("a line of over %d bytes", maxTurnLine)
			}
			return part, false, err
		}
		part, err = lineOf(p.take(n))
		return part, err == nil, err
	case turnText:
		n := bytes.IndexByte(p.held, turns.TrailerMark)
		if n == 0 {
			p.take(1)
			p.phase = turnTrailer
			return part, true, nil
		}
		if n < 0 {
			n = whole(p.held)
		}
		part.Text = string([]rune(string(p.take(n)))) // each invalid byte becomes U+FFFD, wherever a read ended
		return part, n > 0, nil
	case turnTrailer:
		if len(p.held) > maxTurnTrailer {
			return part, false, fmt.Errorf("a trailer of over %d bytes", maxTurnTrailer)
		}
		n := p.object.end(p.held)
		if n == 0 {
			return part, false, nil
		}
		part.Trailer = new(turns.Trailer)
		if err := json.Unmarshal(p.take(n), part.Trailer); err != nil {
			return part, false, fmt.Errorf("the trailer: %w", err)
		}
		p.phase = turnOver
		return part, true, nil
	}
	return part, false, nil
}

// whole returns the length of b without an incomplete character at its end.
func whole(b []byte) int {
	for n := len(b) - 1; n >= 0 && n >= len(b)-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			if !utf8.FullRune(b[n:]) {
				return n
			}
			break
		}
	}
	return len(b)
}

// lineOf decodes a line. A line of an unknown type is an empty part.
func lineOf(line []byte) (part TurnPart, err error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return part, nil
	}
	var of struct {
		Type string `json:"type"`
	}
	if err = json.Unmarshal(line, &of); err == nil {
		switch of.Type {
		case "search":
			part.Search = new(turns.Search)
			err = json.Unmarshal(line, part.Search)
		case "review":
			part.Review = new(turns.Review)
			err = json.Unmarshal(line, part.Review)
		}
	}
	if err != nil {
		return TurnPart{}, fmt.Errorf("a line is not a JSON object of the protocol: %w", err)
	}
	return part, nil
}
