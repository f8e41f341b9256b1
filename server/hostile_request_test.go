package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/forge"
)

// asking lists the two routes for questions.
var asking = []string{"/api/query", "/api/query/stream"}

// refused checks that a reply is an error in the form of the protocol.
func refused(t *testing.T, what string, res *http.Response, status int, field string) {
	t.Helper()
	body := slurp(t, res.Body)
	var p forge.Error
	if err := json.Unmarshal([]byte(body), &p); err != nil || res.StatusCode != status || p.Field != field || p.Type != "error" || p.Code == "" || p.Message == "" {
		t.Errorf("%.60s: %s, want %d of %q: %.200s", what, res.Status, status, field, body)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%.60s: content type %q", what, got)
	}
}

func TestBodiesThatAreNoQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{MaxBody: 48 << 10})
		defer s.close()
		for body, field := range map[string]string{
			"": "body", " ": "body", "{": "body", "}": "body", "null x": "body", "{}{}": "body", "[]": "body", `"x"`: "body", "1": "body", "true": "body",
			"{\"query\":\"\xff\"}": "body", "\xef\xbb\xbf{}": "body", `{"query":"x"} trailing`: "body", `{"query":"x",}`: "body", `{'query':'x'}`: "body",
			`{"query":"x"`: "body", `{"query":"\x"}`: "body", "{\"query\":\"a\nb\"}": "body", "{\"query\":\"a\x00b\"}": "body",
			strings.Repeat("[", 20000): "body", `{"query":"x","z":` + strings.Repeat("[", 20000): "body",
			"{}": "query", "null": "body", `{"query":null}`: "query", `{"query":""}`: "query", `{"query":" \t\n\u00a0\u3000"}`: "query", `{"query":1}`: "query",
			`{"query":["x"]}`: "query", `{"query":{"a":1}}`: "query", `{"query":true}`: "query",
			`{"query":"a\u0000b"}`: "query", `{"query":"a\u001db"}`: "query", `{"query":"a\u001eb"}`: "query", `{"query":"a\u007fb"}`: "query",
			`{"query":"` + strings.Repeat("x", 32<<10+1) + `"}`: "query",
			`{"query":"x","mode":"fast"}`:                       "mode", `{"query":"x","mode":1}`: "mode", `{"query":"x","mode":""}`: "mode", `{"query":"x","mode":"AGENTIC"}`: "mode",
			`{"query":"x","mode":["agentic"]}`: "mode",
			`{"query":"x","top_k":-1}`:         "top_k", `{"query":"x","top_k":51}`: "top_k", `{"query":"x","top_k":1.5}`: "top_k", `{"query":"x","top_k":"5"}`: "top_k",
			`{"query":"x","top_k":99999999999999999999}`: "top_k", `{"query":"x","top_k":1e1}`: "top_k", `{"query":"x","top_k":[]}`: "top_k",
			`{"query":"x","topk":5}`: "topk", `{"query":"x","Query":"y"}`: "Query", `{"query":"x","top_k":0,"unknown":{"a":[1]}}`: "unknown",
			`{"query":"x","query":"y"}`: "query", `{"query":"x","top_k":1,"top_\u006b":2}`: "top_k",
			`{"query":"x","collection":1}`: "collection", `{"query":"x","collection":","}`: "collection", `{"query":"x","collection":" "}`: "collection", `{"query":"x","collection":"a\u0000"}`: "collection",
			`{"query":"x","collection":"` + strings.Repeat("x", 129) + `"}`: "collection",
			`{"query":"x","session_id":{}}`:                                 "session_id", `{"query":"x","session_id":"\u001e"}`: "session_id",
			`{"query":"x","session_id":"` + strings.Repeat("x", 129) + `"}`: "session_id",
		} {
			for _, path := range asking {
				refused(t, body, s.do("POST", path, body, "Content-Type", "application/json"), http.StatusBadRequest, field)
			}
		}
		for _, path := range asking {
			refused(t, "big", s.do("POST", path, question(strings.Repeat("x", 64<<10))), http.StatusRequestEntityTooLarge, "")
			refused(t, "spaces", s.do("POST", path, `{"query":"x"}`+strings.Repeat(" ", 64<<10)), http.StatusRequestEntityTooLarge, "")
		}
		if s.engine.Live() != 0 {
			t.Errorf("%d runs", s.engine.Live())
		}
	})
}

func TestQuestionsThatAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		for _, q := range []string{"x", strings.Repeat("é", 16<<10), "a\tb\nc\r\nd", "\u2028\u2029\ufeff", "</script>&<>\"\\", "data: x\n\nid: 9\n\n", "\ud7ff\U0010ffff", "🏳️‍🌈 שלום", "%s%d%n"} {
			res := s.ask(q)
			evs := whole(t, res)
			var p forge.QueryAnalysis
			if err := json.Unmarshal([]byte(evs[0].Data), &p); err != nil || p.Query != q {
				t.Errorf("%.30q came back as %.30q, %v", q, p.Query, err)
			}
		}
		for _, body := range []string{`{"query":"x","top_k":0}`, `{"query":"x","mode":null,"top_k":50}`, `{"query":"\ud800"}`} {
			whole(t, s.do("POST", "/api/query/stream", body))
		}
		for _, kind := range []string{"application/json", "application/json; charset=UTF-8", "APPLICATION/JSON;charset=\"utf-8\""} {
			whole(t, s.do("POST", "/api/query/stream", question("x"), "Content-Type", kind))
		}
	})
}

func TestContentTypesThatAreNotJSON(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
			"application/json; charset=latin1", "json", "application/json;;;", "text/json"} {
			for _, path := range asking {
				refused(t, kind, s.do("POST", path, question("x"), "Content-Type", kind), http.StatusUnsupportedMediaType, "Content-Type")
			}
		}
	})
}

func TestMethodsAndPathsThatAreNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		for path, allow := range map[string]string{"/api/query/stream": "POST", "/api/query": "POST", "/runs/r/cancel": "POST", "/runs/r/stream": "GET, HEAD",
			"/api/runs": "GET, HEAD", "/api/runs/r": "GET, HEAD", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD", "/metrics": "GET, HEAD", "/openapi.json": "GET, HEAD"} {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
				if strings.Contains(allow, method) {
					continue
				}
				res := s.do(method, path, "")
				if got := res.Header.Get("Allow"); got != allow {
					t.Errorf("%s %s: allow %q", method, path, got)
				}
				refused(t, method+" "+path, res, http.StatusMethodNotAllowed, "")
			}
		}
		for _, path := range []string{"/nothing", "/api/query/", "/api", "/api/query/stream/x", "/runs/r", "/runs//stream", "/docs.html", "/.git/config"} {
			res := s.do("GET", path, "")
			if body := slurp(t, res.Body); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s: %.100s", path, res.Status, body)
			}
		}
		for _, limit := range []string{"0", "-1", "501", "x", "1.5", "99999999999999999999"} {
			refused(t, limit, s.do("GET", "/api/runs?limit="+limit, ""), http.StatusBadRequest, "limit")
		}
		refused(t, "before", s.do("GET", "/api/runs?before=..%2F", ""), http.StatusBadRequest, "before")
	})
}

// TestHEADHasNoBody: the client would take a body for the next reply.
func TestHEADHasNoBody(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(3, 1)...), engine.Options{}, server.Options{})
	run, _ := s.answered("why?")
	for _, path := range []string{"/runs/" + run + "/stream", "/healthz", "/api/runs", "/api/runs/" + run, "/openapi.json"} {
		c := s.dial()
		_, _ = fmt.Fprintf(c, "HEAD %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path)
		b, err := io.ReadAll(c)
		require.NoError(t, err)
		_, next, ok := strings.Cut(string(b), "\r\n\r\n")
		if !ok || !strings.HasPrefix(next, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: after the header: %.80q", path, next)
		}
	}
}

func TestHTTP10GetsAWholeStream(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(everything(30, 5)...), engine.Options{}, server.Options{})
	c := s.dial()
	_, _ = io.WriteString(c, strings.Replace(rawQuestion, "HTTP/1.1", "HTTP/1.0", 1))
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	head, body, _ := strings.Cut(string(b), "\r\n\r\n")
	if strings.Contains(head, "chunked") {
		t.Error(head)
	}
	whole(t, &http.Response{Body: io.NopCloser(strings.NewReader(body))})
}

func TestHeaderThatIsTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		c := s.dial()
		go func() {
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("x", 64<<10)+"\r\n\r\n")
		}()
		buf := make([]byte, 100)
		n, _ := c.Read(buf)
		if !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 431 ") {
			t.Errorf("%q", buf[:n])
		}
		c.Close()
	})
}

func TestRequestsFromOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(1, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		run, _ := s.answered("why?")
		for _, headers := range [][]string{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "null"}} {
			for _, path := range append(asking, "/runs/"+run+"/cancel") {
				refused(t, path, s.do("POST", path, question("x"), headers...), http.StatusForbidden, "Origin")
			}
			res := s.do("GET", "/runs/"+run+"/stream", "", headers...)
			if res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("another site may read streams")
			}
			res.Body.Close()
		}
		whole(t, s.do("POST", "/api/query/stream", question("x"), "Origin", s.url, "Sec-Fetch-Site", "same-origin"))
	})
}

func TestTooManyRunsAreRefusedForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, stepwise(nil, everything(1, 1)), engine.Options{MaxRuns: 1, Grace: time.Nanosecond}, server.Options{})
		defer s.close()
		first := s.ask("why?")
		for _, path := range asking {
			res := s.do("POST", path, question("x"))
			if res.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			refused(t, path, res, http.StatusTooManyRequests, "")
		}
		first.Body.Close()
		time.Sleep(time.Second)
		s.ask("again").Body.Close()
	})
}

// TestRepliesThatAreNotStreams checks the status of failed runs, and that the reply has the results so far.
func TestRepliesThatAreNotStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := map[string]script{"fine": saying(everything(20, 2)...), "cached": saying(cachedRun()...), "late": stepwise(nil, everything(1, 1))}
		for _, code := range fault.Codes() {
			runs[string(code)] = func(ctx context.Context, r *answer.Recorder) error {
				return errorsBehind(ctx, r, fault.New(code, "it failed"))
			}
		}
		s := inMemory(t, byQuestion(runs), engine.Options{}, server.Options{})
		defer s.close()
		for word, want := range map[string]int{"fine": 200, "cached": 200, "late": 504, "TIMEOUT": 504, "LLM_ERROR": 502, "VECTOR_DB_ERROR": 502,
			"NO_DOCUMENTS": 422, "INTERNAL": 500, "CANCELLED": 409, "UNAVAILABLE": 503, "OVERLOADED": 429} {
			res := s.do("POST", "/api/query", question(word))
			var a forge.Answer
			body := slurp(t, res.Body)
			if err := json.Unmarshal([]byte(body), &a); err != nil || res.StatusCode != want || a.RunID != res.Header.Get("Sluice-Run-Id") {
				t.Errorf("%s: %s, %v: %.200s", word, res.Status, err, body)
			}
			if (a.Error == nil) != (want == 200) || a.Error != nil && word == strings.ToUpper(word) && (a.Error.Code != word || a.Answer != "so far") {
				t.Errorf("%s: %.300s", word, body)
			}
			if again := res.Header.Get("X-Should-Retry"); again != map[bool]string{true: "false"}[word == "CANCELLED"] {
				t.Errorf("%s: X-Should-Retry is %q", word, again)
			}
			if after := res.Header.Get("Retry-After"); after != map[bool]string{true: "1"}[want == 503 || want == 429] {
				t.Errorf("%s: Retry-After is %q", word, after)
			}
			if word == "fine" && a.Answer != everythingText(20) {
				t.Errorf("answer %q", a.Answer)
			}
		}
	})
}

func errorsBehind(ctx context.Context, r *answer.Recorder, err error) error {
	_ = emit(ctx, r, analysed(event.CacheChecked{}, event.GenerationStarted{}, event.Token{Text: "so far"})...)
	return err
}
