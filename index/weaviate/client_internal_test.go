package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestCheckURLs(t *testing.T) {
	for text, ok := range map[string]bool{"weaviate://localhost:8080": true, "weaviates://w.example.com": true, "weaviate://[::1]:8080/": true, "": false, "http://localhost": false,
		"weaviate://": false, "weaviate://user:horse@host": false, "weaviate://host/path": false, "weaviate://host?x=1": false, "weaviate://host:horse": false,
		"weaviate://a:1,weaviate://b:1": true, "weaviate://a:1,": false, "weaviate://a:1, weaviate://b:1": false, "weaviate://a:1,weaviate://u:horse@b": false} {
		err := CheckURLs(text)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "horse") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRetries checks which replies are tried again, and the codes of errors.
func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		want     fault.Code
		requests int64
	}{
		"busy once":    {[]int{503, 200}, "", 2},
		"busy always":  {[]int{503, 502, 504}, fault.Unavailable, 3},
		"too many":     {[]int{429, 429, 200}, "", 3},
		"refused":      {[]int{401}, fault.Index, 1},
		"bad request":  {[]int{422}, "", 1},
		"server error": {[]int{500}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer horse" {
					t.Error("no key")
				}
				w.WriteHeader(c.statuses[n.Add(1)-1])
				_, _ = w.Write([]byte("{}"))
			}))
			defer s.Close()
			cl, err := newClient(strings.Replace(s.URL, "http", "weaviate", 1), "horse")
			require.NoError(t, err)
			err = cl.do(t.Context(), "POST", "/x", map[string]int{}, nil)
			got := fault.Code("")
			if e, ok := errors.AsType[*fault.Error](err); ok {
				got = e.Code
			}
			if last := c.statuses[c.requests-1]; got != c.want || (err == nil) != (last == 200) || n.Load() != c.requests || err != nil && strings.Contains(err.Error(), "horse") {
				t.Errorf("%v after %d requests", err, n.Load())
			}
		})
	}
}

// TestClassChanges writes while a vector is added to the class, when Weaviate refuses objects for a moment.
func TestClassChanges(t *testing.T) {
	const success = `[{"result": {"status": "SUCCESS"}}]`
	for name, c := range map[string]struct {
		message  string
		requests int64
	}{
		"class changes": {"put object: store is read-only due to: UpdateVectorIndexConfigs: [none v1]", 3},
		"disk full":     {"store is read-only due to: disk usage too high", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) == 3 {
					_, _ = w.Write([]byte(success))
					return
				}
				_, _ = fmt.Fprintf(w, `[{"result": {"status": "FAILED", "errors": {"error": [{"message": %q}]}}}]`, c.message)
			}))
			defer s.Close()
			cl, err := newClient(strings.Replace(s.URL, "http", "weaviate", 1), "")
			require.NoError(t, err)
			err = (&Index{client: cl}).putObjects(t.Context(), []stored{{Class: "C"}}, levelQuorum)
			if (err == nil) != (c.requests == 3) || n.Load() != c.requests {
				t.Errorf("%v after %d requests", err, n.Load())
			}
		})
	}
}

// TestCancelledRetry cancels a request before its second attempt.
func TestCancelledRetry(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		cancel()
	}))
	defer s.Close()
	c, err := newClient(strings.Replace(s.URL, "http", "weaviate", 1), "")
	require.NoError(t, err)
	if err := c.do(ctx, "GET", "/x", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// unquote reads a GraphQL string without raw quotes, backslashes and control characters.
func unquote(t *testing.T, q string) string {
	t.Helper()
	if len(q) < 2 || q[0] != '"' || q[len(q)-1] != '"' {
		t.Fatalf("%q is no string", q)
	}
	inner := q[1 : len(q)-1]
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		escape := c == '\\' && i+6 <= len(inner) && strings.HasPrefix(inner[i:], `\u00`) && !strings.ContainsFunc(inner[i+4:i+6], func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
		if escape {
			i += 5
			continue
		}
		if c == '"' || c == '\\' || c < ' ' || c == 0x7f {
			t.Fatalf("%q ends within the string or has a control character", q)
		}
	}
	var out string
	if err := json.Unmarshal([]byte(q), &out); err != nil {
		t.Fatalf("%q: %v", q, err)
	}
	return out
}

// FuzzQuote checks that no text ends its string, and that conditions keep their structure.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", `"}){x}`, `\"`, "\\", "a\nb", "\x00", "\xff", "日本", "\u2028", `"""`, "${x}", "{{", "#", "\x7f", "é", "🙂"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := unquote(t, quote(s))
		want := strings.Map(func(r rune) rune {
			switch {
			case r == utf8.RuneError:
				return -1
			case r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff':
				return ' '
			}
			return r
		}, s)
		if got != want {
			t.Errorf("%q is quoted as %q", s, quote(s))
		}
		with := func(s string) string {
			return string(and(is("property", s), noneOf("other", []string{s, "and another"})))
		}
		if q := quote(s); !strings.Contains(with(""), q) && strings.ReplaceAll(with(s), q, `""`) != with("") {
			t.Errorf("a condition with %q is %s", s, with(s))
		}
	})
}

// TestServersOfACluster stops a server of two. Requests go to the other one, and stay there.
func TestServersOfACluster(t *testing.T) {
	var requests [2]atomic.Int64
	var addresses []string
	var servers []*httptest.Server
	for i := range requests {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests[i].Add(1)
			_, _ = w.Write([]byte("{}"))
		}))
		defer s.Close()
		servers = append(servers, s)
		addresses = append(addresses, strings.Replace(s.URL, "http", "weaviate", 1))
	}
	c, err := newClient(strings.Join(addresses, ","), "")
	require.NoError(t, err)
	ask := func(want0, want1 int64) {
		t.Helper()
		if err := c.do(t.Context(), "GET", "/x", nil, nil); err != nil || requests[0].Load() != want0 || requests[1].Load() != want1 {
			t.Errorf("%v, %d and %d requests", err, requests[0].Load(), requests[1].Load())
		}
	}
	ask(1, 0)
	servers[0].CloseClientConnections()
	servers[0].Close()
	ask(1, 1)
	ask(1, 2)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.do(gone, "GET", "/x", nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ask(1, 3) // a caller that gives up is no reason to change the server
}

// TestMissingReplica writes while one replica does not answer, and while most do not.
func TestMissingReplica(t *testing.T) {
	const lacking = `cannot achieve consistency level \"ALL\": cannot reach enough replicas`
	for name, c := range map[string]struct {
		enough string // the level from which on writes succeed
		want   fault.Code
		levels string // of the requests of two writes
	}{
		"all answer": {levelAll, "", "ALL ALL "},
		"most":       {levelQuorum, "", "ALL ALL ALL QUORUM QUORUM "},
		"few":        {"none", fault.Unavailable, "ALL ALL ALL QUORUM QUORUM QUORUM QUORUM QUORUM QUORUM "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var levels strings.Builder
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				level := r.URL.Query().Get("consistency_level")
				levels.WriteString(level + " ")
				if level == c.enough {
					_, _ = w.Write([]byte(`[{"result": {"status": "SUCCESS"}}]`))
					return
				}
				_, _ = w.Write([]byte(`[{"result": {"status": "FAILED", "errors": {"error": [{"message": "` + lacking + `"}]}}}]`))
			}))
			defer s.Close()
			cl, err := newClient(strings.Replace(s.URL, "http", "weaviate", 1), "")
			require.NoError(t, err)
			for range 2 {
				err = (&Index{client: cl}).putNew(t.Context(), []stored{{Class: "C"}})
			}
			got := fault.Code("")
			if e, ok := errors.AsType[*fault.Error](err); ok {
				got = e.Code
			}
			if got != c.want || levels.String() != c.levels {
				t.Errorf("%v after %s", err, levels.String())
			}
		})
	}
}

// TestStarting asks a server that accepts requests before it has read its collections. It is not taken for an empty one.
func TestStarting(t *testing.T) {
	var started atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/.well-known/ready" && started.Load():
		case r.URL.Path == "/v1/.well-known/ready":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v1/graphql":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"error":[{"message":"no graphql provider present, this is most likely because no schema is present. Import a schema first!"}]}`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	x, err := Open(Options{URL: strings.Replace(s.URL, "http", "weaviate", 1), Tenant: "t", Writer: "w"})
	require.NoError(t, err)
	defer func() { _ = x.Close() }()
	wantAway := func(what string, err error) {
		t.Helper()
		if fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = x.Documents(t.Context(), "c", "", 0)
	wantAway("an unknown collection", err)
	_, err = x.Collections(t.Context())
	wantAway("collections", err)
	x.keep(&collection{name: "known", class: className("known")})
	_, err = x.Documents(t.Context(), "known", "", 0)
	wantAway("a known collection", err)
	started.Store(true)
	if docs, err := x.Documents(t.Context(), "c", "", 0); err != nil || docs != nil {
		t.Errorf("after the start: %v, %v", docs, err)
	}
}
