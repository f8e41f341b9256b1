package forrst_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

type getUser struct {
	ID    int      `json:"id" required:"true" minimum:"1"`
	Email string   `json:"email,omitempty" format:"email"`
	Tags  []string `json:"tags,omitempty" maxItems:"2"`
	Day   day      `json:"day,omitempty"`
}

// day is an argument with a rule that its schema does not have.
type day string

func (d *day) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == "sunday" {
		return forrst.Errorf(forrst.InvalidArguments, "closed on sundays").At("/call/arguments/day")
	}
	*d = day(s)
	return nil
}

type user struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type prompt struct {
	Prompt string `json:"prompt" required:"true"`
}

type text struct {
	Content string `json:"content"`
}

// story is the streamable function of the specification's examples.
func story(_ context.Context, _ prompt) iter.Seq2[forrst.Chunk, error] {
	return func(yield func(forrst.Chunk, error) bool) {
		parts := []string{"Once upon a time", ", there was a robot", " named Bolt...", " The end."}
		for i, p := range parts {
			if i == 3 && !yield(forrst.Progress(50, 100, "Generating story..."), nil) {
				return
			}
			if !yield(forrst.Data(text{p}), nil) {
				return
			}
		}
		yield(forrst.Done(text{strings.Join(parts, "")}), nil)
	}
}

func usersGet(_ context.Context, in getUser) (user, error) {
	switch in.ID {
	case 404:
		return user{}, fmt.Errorf("load: %w", forrst.Errorf(forrst.NotFound, "no such user"))
	case 500:
		return user{}, errors.New("password of the database is hunter2")
	case 501:
		panic("hunter2")
	case 429:
		e := forrst.Errorf(forrst.RateLimited, "slow down")
		e.RetryAfter = 1500 * time.Millisecond
		return user{}, e
	case 400:
		return user{}, errors.Join(forrst.Errorf("USERS_BAD", "one"), forrst.Errorf("USERS_WORSE", "two"))
	}
	return user{in.ID, "Ada"}, nil
}

func version(v string) forrst.Function {
	return forrst.Func("math.version", v, func(context.Context, struct{}) (string, error) { return v, nil })
}

// functions are those of most tests.
func functions() []forrst.Function {
	off := forrst.Func("users.off", "1.0.0", usersGet)
	off.Unavailable = func(context.Context) *forrst.CallError { return forrst.Disabled("users.off", "moved") }
	fixed := forrst.Func("users.fixed", "1.0.0", usersGet)
	fixed.Unavailable = func(context.Context) *forrst.CallError {
		return forrst.Maintenance("users.fixed", "upgrade", time.Now().Add(90*time.Second))
	}
	plain := forrst.Func("users.plain", "1.0.0", usersGet)
	plain.Excluded = []string{"urn:cline:forrst:ext:tracing"}
	only := forrst.Func("users.only", "1.0.0", usersGet)
	only.Supported = []string{"urn:forrst:ext:retry"}
	pre := forrst.Func("math.beta", "1.0.0-beta.1", func(context.Context, struct{}) (string, error) { return "beta", nil })
	old := version("1.1.0")
	old.Deprecated = &forrst.Deprecation{Reason: "use 2"}
	gone := version("9.0.0")
	gone.Deprecated = &forrst.Deprecation{Sunset: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	return []forrst.Function{
		forrst.Func("users.get", "1.0.0", usersGet), forrst.StreamFunc[prompt, text]("ai.generate", "1.0.0", story),
		off, fixed, plain, only, pre, version("1.0.0"), old, version("1.10.0"), version("2.0.0-rc.1"), gone,
	}
}

func server(t testing.TB, o forrst.Options, fs ...forrst.Function) *forrst.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if fs == nil {
		fs = functions()
	}
	s, err := forrst.New(fs, o)
	require.NoError(t, err)
	return s
}

func post(s http.Handler, body string) *httptest.ResponseRecorder {
	return postContext(context.Background(), s, body)
}

func postContext(ctx context.Context, s http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/forrst", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// call makes a request document. The extensions are JSON.
func call(function, arguments string, extensions ...string) string {
	return fmt.Sprintf(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"r1","call":{"function":%q,"arguments":%s},"extensions":[%s]}`,
		function, arguments, strings.Join(extensions, ","))
}

const streamExt = `{"urn":"urn:forrst:ext:stream","options":{"accept":true}}`

// document is a decoded response.
type document struct {
	Protocol   struct{ Name, Version string }
	ID         *string
	Result     json.RawMessage
	Errors     []problem
	Extensions []struct {
		URN  string
		Data json.RawMessage
	}
	Meta map[string]any
}

type problem struct {
	Code, Message string
	Source        *struct {
		Pointer  *string
		Position *int64
	}
	Details map[string]any
}

func (d document) data(urn string) string {
	for _, e := range d.Extensions {
		if strings.HasSuffix(e.URN, urn) {
			return string(e.Data)
		}
	}
	return ""
}

func parse(t testing.TB, text string) document {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if d.Protocol.Name != "forrst" || d.Protocol.Version != "0.1.0" || (len(d.Errors) > 0) && string(d.Result) != "null" || !strings.Contains(text, `"result":`) {
		t.Errorf("malformed document %s", text)
	}
	return d
}

// sseEvent is one event of a stream.
type sseEvent struct{ name, data string }

// events parses a stream. It fails if a frame has another form than one event line and one data line.
func events(t testing.TB, r io.Reader) (out []sseEvent, comments int) {
	t.Helper()
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 16<<20)
	var frame []string
	for scanner.Scan() {
		if line := scanner.Text(); line != "" {
			frame = append(frame, line)
			continue
		}
		switch {
		case len(frame) == 1 && strings.HasPrefix(frame[0], ":"):
			comments++
		case len(frame) == 2 && strings.HasPrefix(frame[0], "event: ") && strings.HasPrefix(frame[1], "data: "):
			out = append(out, sseEvent{frame[0][7:], frame[1][6:]})
		default:
			t.Fatalf("malformed frame %q", frame)
		}
		frame = nil
	}
	if len(frame) > 0 {
		t.Fatalf("unfinished frame %q", frame)
	}
	return out, comments
}
