package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// reply answers calls with a text in which @ID is the id of the request.
func reply(t testing.TB, status int, kind, text string) *client.Client {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var d struct{ ID string }
		if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(strings.ReplaceAll(text, "@ID", d.ID)))
	}))
	t.Cleanup(ts.Close)
	return client.New(client.HTTP(ts.URL, nil), client.Options{MaxResponse: 2000})
}

const head = `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"@ID",`

func TestReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
		code   forrst.Code
	}{
		"result":           {200, head + `"result":{"a":1},"future":[]}`, nil, ""},
		"no result":        {200, head + `"extensions":[]}`, nil, ""},
		"empty":            {200, ``, client.ErrResponse, ""},
		"not JSON":         {200, `{"protocol"`, client.ErrResponse, ""},
		"array":            {200, `[]`, client.ErrResponse, ""},
		"another protocol": {200, `{"jsonrpc":"2.0","result":1}`, client.ErrResponse, ""},
		"another version":  {200, `{"protocol":{"name":"forrst","version":"1.0.0"},"id":"@ID","result":1}`, client.ErrResponse, ""},
		"another id":       {200, `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"other","result":1}`, client.ErrResponse, ""},
		"no id":            {200, `{"protocol":{"name":"forrst","version":"0.1.0"},"result":1}`, client.ErrResponse, ""},
		"too large":        {200, head + `"result":"` + strings.Repeat("x", 2000) + `"}`, client.ErrTooLarge, ""},
		"unread request":   {413, `{"protocol":{"name":"forrst","version":"0.1.0"},"id":null,"result":null,"errors":[{"code":"INVALID_REQUEST","message":"m"}]}`, nil, forrst.InvalidRequest},
		"own code":         {400, head + `"result":null,"errors":[{"code":"MY_OWN","message":"m","source":{"position":3},"details":null}]}`, nil, "MY_OWN"},
		"proxy 502":        {502, `<html>`, nil, forrst.Unavailable},
		"proxy 401":        {401, `no`, nil, forrst.Unauthorized},
		"proxy 404":        {404, `no`, client.ErrResponse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := reply(t, c.status, "application/json", c.body).Do(t.Context(), "f", nil)
			var e *client.Error
			switch {
			case c.code != "":
				if !errors.As(err, &e) || e.Code != c.code || e.Status != c.status {
					t.Error(err)
				}
			case !errors.Is(err, c.want):
				t.Error(err)
			}
		})
	}
}

const complete = "event: complete\ndata: " + head + `"result":{"streamed":true}}` + "\n\n"

func TestStreamReplies(t *testing.T) {
	t.Parallel()
	const greeting = "event: data\ndata: {\"status\":\"connected\"}\n\n"
	const failed = "event: error\ndata: {\"code\":\"INTERNAL_ERROR\",\"message\":\"m\",\"details\":null}\n\n"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"done":                  {200, "text/event-stream", greeting + "event: done\ndata: 5\n\n" + complete, "done 5"},
		"no done":               {200, "text/event-stream", greeting + complete, "done null"},
		"no greeting":           {200, "text/event-stream; charset=utf-8", "event: data\ndata: 1\n\n" + complete, "data 1|done null"},
		"second greeting":       {200, "text/event-stream", greeting + greeting + complete, `data {"status":"connected"}|done null`},
		"events after complete": {200, "text/event-stream", complete + "event: data\ndata: 1\n\n", "done null"},
		"events after done":     {200, "text/event-stream", "event: done\ndata: 5\n\nevent: data\ndata: 1\n\nevent: done\ndata: 6\n\n" + complete, "done 5"},
		"unknown event":         {200, "text/event-stream", "event: later\ndata: 5\n\n:c\n\nretry: 7\n\n" + complete, "done null"},
		"line ends":             {200, "text/event-stream", "\xef\xbb\xbfevent: data\r\nid:7\r\ndata: 1\r\n\r\nevent:data\rdata:[2,\rdata:3]\r\r" + complete, "data 1|data [2,\n3]|done null"},
		"no complete":           {200, "text/event-stream", greeting + "event: done\ndata: 5\n\n", "broken"},
		"nothing":               {200, "text/event-stream", "", "broken"},
		"cut event":             {200, "text/event-stream", greeting + strings.TrimSuffix(complete, "\n"), "broken"},
		"error, but success":    {200, "text/event-stream", greeting + failed + complete, "INTERNAL_ERROR"},
		"error, then cut":       {200, "text/event-stream", greeting + failed, "INTERNAL_ERROR"},
		"error, then nonsense":  {200, "text/event-stream", greeting + failed + "event: complete\ndata: {}\n\n", "INTERNAL_ERROR"},
		"done, but failure":     {200, "text/event-stream", "event: done\ndata: 5\n\nevent: complete\ndata: " + head + `"result":null,"errors":[{"code":"GONE","message":"m"}]}` + "\n\n", "GONE"},
		"data not JSON":         {200, "text/event-stream", "event: data\ndata: {\n\n" + complete, "invalid"},
		"progress not object":   {200, "text/event-stream", "event: progress\ndata: 5\n\n" + complete, "invalid"},
		"progress null":         {200, "text/event-stream", "event: progress\ndata: null\n\n" + complete, "invalid"},
		"error without code":    {200, "text/event-stream", "event: error\ndata: {}\n\n" + complete, "invalid"},
		"complete of another":   {200, "text/event-stream", strings.ReplaceAll(complete, "@ID", "other"), "invalid"},
		"too large":             {200, "text/event-stream", "event: data\ndata: \"" + strings.Repeat("x", 2000) + "\"\n\n" + complete, "large"},
		"endless line":          {200, "text/event-stream", strings.Repeat("x", 5000), "large"},
		"refused":               {429, "application/json", head + `"result":null,"errors":[{"code":"RATE_LIMITED","message":"m"}]}`, "RATE_LIMITED"},
		"one document":          {200, "application/json", head + `"result":[1]}`, "done [1]"},
		"page":                  {200, "text/html", "<html>", "invalid"},
		"page of a proxy":       {503, "text/html", "<html>", "UNAVAILABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for e, err := range reply(t, c.status, c.kind, c.body).Stream(t.Context(), "f", nil) {
				switch {
				case errors.Is(err, client.ErrBroken):
					got = append(got, "broken")
				case errors.Is(err, client.ErrResponse):
					got = append(got, "invalid")
				case errors.Is(err, client.ErrTooLarge):
					got = append(got, "large")
				case err != nil:
					got = append(got, string(client.CodeOf(err)))
				default:
					got = append(got, fmt.Sprintf("%s %s", e.Kind, e.Data))
				}
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

// bytewise is a transport whose messages are parts of a text, cut at blank lines by the parser of the client.
type bytewise struct{ text []byte }

func (b bytewise) Send(_ context.Context, out client.Outgoing) iter.Seq2[client.Message, error] {
	return func(yield func(client.Message, error) bool) {
		yield(client.Message{Body: bytes.ReplaceAll(b.text, []byte("@ID"), idOf(out.Body))}, nil)
	}
}

func idOf(body []byte) []byte {
	var d struct{ ID string }
	_ = json.Unmarshal(body, &d)
	return []byte(d.ID)
}

// FuzzStream feeds replies of hostile servers to both parsers of the client.
func FuzzStream(f *testing.F) {
	f.Add([]byte("event: data\ndata: {\"status\":\"connected\"}\n\nevent: done\ndata: 5\n\n" + complete))
	f.Add([]byte("event: progress\r\ndata: {\"current\":1}\r\n\r\nevent: error\rdata: {\"code\":\"X\"}\r\r:\n\n"))
	f.Add([]byte(head + `"result":1,"errors":[{"code":"A","source":{"pointer":"/x"}}],"extensions":[{"urn":"urn:forrst:ext:retry","data":{"allowed":true,"after":{"value":9223372036854775807,"unit":"day"}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		transports := []client.Transport{bytewise{text}, client.HTTP("http://unused", &http.Client{Transport: recorded{text}})}
		for _, transport := range transports {
			c := client.New(transport, client.Options{MaxResponse: 1 << 16})
			if r, err := c.Do(t.Context(), "f", nil); err == nil && !json.Valid(r.Result) {
				t.Errorf("the result is %q", r.Result)
			}
			ends := 0
			for e, err := range c.Stream(t.Context(), "f", nil) {
				if ends > 0 {
					t.Fatal("something follows the end of the stream")
				}
				if err != nil || e.Kind == client.KindDone {
					ends++
				}
				if err == nil && !json.Valid(e.Data) {
					t.Errorf("the data is %q", e.Data)
				}
			}
			if ends != 1 {
				t.Error("the stream has no end")
			}
		}
	})
}

// recorded is a server whose replies are event streams that arrive in small pieces.
type recorded struct{ text []byte }

func (r recorded) RoundTrip(q *http.Request) (*http.Response, error) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(q.Body); err != nil {
		return nil, err
	}
	text := bytes.ReplaceAll(r.text, []byte("@ID"), idOf(body.Bytes()))
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pieces{bytes.NewReader(text)}}, nil
}

type pieces struct{ r *bytes.Reader }

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), 3)]) }
func (pieces) Close() error                 { return nil }

// TestPieces checks that the same events are found however the stream is cut.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := strings.ReplaceAll("event: data\ndata: 1\n\n\n:c\n\nevent: data\ndata: 2\n\n"+complete, "\n", end)
		var got []string
		c := client.New(client.HTTP("http://unused", &http.Client{Transport: recorded{[]byte(text)}}), client.Options{})
		for e, err := range c.Stream(t.Context(), "f", nil) {
			if err != nil {
				t.Fatalf("%q: %v", end, err)
			}
			got = append(got, string(e.Data))
		}
		if strings.Join(got, " ") != "1 2 null" {
			t.Errorf("%q: %q", end, got)
		}
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	c := reply(t, 200, "application/json", head+`"result":"x","meta":{"node":"n1"},"extensions":[{"urn":"urn:cline:forrst:ext:quota","data":{"left":3}}]}`)
	r, err := c.Do(t.Context(), "f", nil)
	require.NoError(t, err)
	var quota struct{ Left int }
	found, err := r.Extension("urn:forrst:ext:quota", &quota)
	if !found || err != nil || quota.Left != 3 || string(r.Meta["node"]) != `"n1"` {
		t.Error(found, err, quota, r.Meta)
	}
	if found, err := r.Extension("urn:forrst:ext:tracing", &quota); found || err != nil {
		t.Error(found, err)
	}
	if _, err := client.Call[int](t.Context(), c, "f", nil); err == nil {
		t.Error("a string is decoded as a number")
	}
}

// TestErrorsHideURL checks that errors have no part of a URL, which may hold a key.
func TestErrorsHideURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://127.0.0.1:1/x?key=hunter2", "://hunter2"} {
		_, err := client.New(client.HTTP(url, nil), client.Options{}).Do(t.Context(), "f", nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	c := reply(t, 400, "application/json", head+`"result":null,"errors":[{"code":"A","message":"one","source":{"pointer":"/call/arguments/x"},"details":{"n":1}},{"code":"B","message":"two"}],
		"extensions":[{"urn":"urn:forrst:ext:retry","data":{"allowed":true,"strategy":"fixed","after":{"value":2,"unit":"minute"},"max_attempts":4}}]}`)
	_, err := c.Do(t.Context(), "f", nil)
	var e *client.Error
	if !errors.As(err, &e) || err.Error() != "call f: A: one (at /call/arguments/x)\nB: two" || string(e.Details) != `{"n":1}` {
		t.Fatal(err)
	}
	if *e.Retry != (client.Advice{Allowed: true, Strategy: "fixed", After: 2 * time.Minute, MaxAttempts: 4}) {
		t.Error(e.Retry)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("another code is a deadline")
	}
}
