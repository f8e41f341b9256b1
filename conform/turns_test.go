package conform_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/conform"
)

// text changes the whole body of streams of bytes.
func text(change func(string) string) func(*http.Response) error { return bodies("text/plain", change) }

// of returns a fault of the replies to requests with a method.
func of(method string, fault func(*http.Response) error) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.Request.Method != method {
			return nil
		}
		return fault(r)
	}
}

// TestBrokenTurns checks that servers of turns with broken streams are caught.
func TestBrokenTurns(t *testing.T) {
	t.Parallel()
	target := scripted(t)
	questions := 0
	offset := func(change func(string) string) func(*http.Request) {
		return func(r *http.Request) {
			if at := r.URL.Query().Get("offset"); at != "" {
				r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "offset="+at, "offset="+change(at), 1)
			}
		}
	}
	for name, test := range map[string]struct {
		check, reason string
		request       func(*http.Request)
		reply         func(*http.Response) error
	}{
		"another media type": {"stream", "want status 200 and text/plain", nil, func(r *http.Response) error {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
				r.Header.Set("Content-Type", "text/html")
			}
			return nil
		}},
		"no session":                         {"stream", "session_id", nil, json(`"session_id"`, `"id"`)},
		"no trailer":                         {"grammar", "no trailer", nil, text(func(s string) string { s, _, _ = strings.Cut(s, "\x1e"); return s })},
		"a trailer that is cut":              {"grammar", "not a JSON object", nil, text(func(s string) string { return s[:len(s)-1] })},
		"a review before its search":         {"grammar", "not allowed here", nil, text(func(s string) string { i := strings.Index(s, `{"type":"review"`); return s[i:] })},
		"a line of another type":             {"grammar", "not allowed here", nil, text(swap(`{"type":"review"`, `{"type":"surprise"`))},
		"a line that is no JSON":             {"grammar", "not an object", nil, text(func(s string) string { return "hello\n" + s })},
		"a mark twice":                       {"grammar", "0x1d", nil, text(swap("\x1d", "\x1d\x1d"))},
		"text that is not UTF-8":             {"grammar", "UTF-8", nil, text(swap("\x1d", "\x1d\xff"))},
		"a number as a text in a line":       {"schema", "correct", nil, text(swap(`"correct":1`, `"correct":"1"`))},
		"a trailer without citations":        {"schema", "citations", nil, text(swap(`"citations":`, `"cited":`))},
		"another text when it is read again": {"replay", "they differ", nil, of(http.MethodGet, text(swap("wörd0", "word0")))},
		"a search less when it is read again": {"replay", "they differ", nil, of(http.MethodGet, text(func(s string) string {
			_, rest, _ := strings.Cut(s, "\n")
			return rest
		}))},
		"ignores the offset":                 {"resume", "byte 1", offset(func(string) string { return "0" }), nil},
		"ignores the offset after a cut":     {"cut", "cut after", offset(func(string) string { return "0" }), nil},
		"resumes one byte late":              {"resume", "byte 1", offset(func(at string) string { return at + "1" }), nil},
		"ignores the offset of a POST":       {"resume", "POST", posted(offset(func(string) string { return "0" })), nil},
		"counts characters instead of bytes": {"resume", "they differ", nil, characters},
		"loses the text of a slow reader": {"slow", "they differ", nil, of(http.MethodPost, func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/stream") {
				if questions++; questions == 2 {
					return text(swap("wörd0", ""))(r)
				}
			}
			return nil
		})},
		"does not cancel": {"cancel", "no end within", func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/cancel") {
				r.Method, r.URL.Path = http.MethodGet, "/healthz"
			}
		}, nil},
		"errors of another status": {"errors", "want a status", nil, func(r *http.Response) error { r.StatusCode = min(r.StatusCode, 399); return nil }},
		"errors of another form":   {"errors", "error", nil, json(`"message"`, `"text"`)},
		"an unknown session is bad": {"errors", "unknown session", nil, func(r *http.Response) error {
			if strings.Contains(r.Request.URL.Path, "/unknown/") {
				r.StatusCode = http.StatusBadRequest
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Minute
			if name == "does not cancel" { // only the end of the time shows it
				timeout = 2 * time.Second
			}
			url := proxy(t, target, test.request, test.reply)
			r := run(t, "turns", conform.Options{URL: url, Question: "short question", CancelQuestion: "waiting question", Timeout: timeout, Only: []string{test.check}})[test.check]
			if r.Status != conform.Fail || !strings.Contains(r.Reason, test.reason) {
				t.Errorf("%s: %s %s; want a failure with %q", test.check, r.Status, r.Reason, test.reason)
			}
			t.Log(r.Reason)
		})
	}
}

// posted returns a change of questions only.
func posted(change func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		if r.Method == http.MethodPost {
			change(r)
		}
	}
}

// characters is a fault: where a stream is resumed within a character, the rest of that character is missing.
func characters(r *http.Response) error {
	return text(func(s string) string {
		return strings.TrimLeftFunc(s, func(c rune) bool { return c == utf8.RuneError })
	})(r)
}
