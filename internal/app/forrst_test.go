package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
	"github.com/sluice-rag/sluice/wire/sse"
)

const streamed = `{"urn":"urn:forrst:ext:stream","options":{"accept":true}}`

// callBody returns the document of a call. The extensions are JSON.
func callBody(function, arguments string, extensions ...string) string {
	return fmt.Sprintf(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"r-1","call":{"function":%q,"arguments":%s},"extensions":[%s]}`,
		function, arguments, strings.Join(extensions, ","))
}

// listen serves the city over a network.
func (c *city) listen() string {
	c.Helper()
	s := httptest.NewServer(c.handler)
	c.Cleanup(s.Close)
	return s.URL
}

// post sends a call. The body of the reply is closed at the end of the test.
func (c *city) post(ctx context.Context, url, body string, headers ...string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/forrst", strings.NewReader(body))
	require.NoError(c, err)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(c, err)
	c.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// read reads a stream to its end.
func (c *city) read(r io.Reader) (events []sse.Event) {
	c.Helper()
	in := sse.NewReader(r, 0)
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			c.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, e)
	}
}

// whole checks a complete stream and returns its answer or error, and the last document.
func (c *city) whole(events []sse.Event) (a wireforrst.Answer, f wireforrst.Failure, d wireforrst.Document) {
	c.Helper()
	var g wireforrst.Grammar
	var err error
	for _, e := range events {
		err = errors.Join(err, g.Add(e.Name, []byte(e.Data)))
		switch e.Name {
		case wireforrst.EventDone:
			err = errors.Join(err, json.Unmarshal([]byte(e.Data), &a))
		case wireforrst.EventError:
			err = errors.Join(err, json.Unmarshal([]byte(e.Data), &f))
		case wireforrst.EventComplete:
			err = errors.Join(err, json.Unmarshal([]byte(e.Data), &d))
		}
	}
	if err = errors.Join(err, g.End()); err != nil {
		c.Fatal(err)
	}
	return a, f, d
}

// get reads the stream of a run in a protocol.
func (c *city) get(url, run, protocol string) string {
	c.Helper()
	res, err := http.Get(url + "/runs/" + run + "/stream?protocol=" + protocol)
	require.NoError(c, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		c.Fatalf("%s: %d %v: %s", protocol, res.StatusCode, err, body)
	}
	return string(body)
}

// farlandServer opens a server without keys whose default collection has a document.
func farlandServer(t *testing.T, change func(*config.Config)) *city {
	t.Helper()
	data := t.TempDir()
	ingestDefault(t, data, recordsOf(t, data), "default", farland("Ada Brook"))
	return openTenants(t, data, change)
}

// joined returns events in which pieces of the text that follow each other are one: how a text is cut depends on when it is read.
func joined(events []sse.Event) (out []sse.Event) {
	piece := func(e sse.Event) (text string, ok bool) {
		var data map[string]string
		ok = e.Name == wireforrst.EventData && json.Unmarshal([]byte(e.Data), &data) == nil && len(data) == 1
		return data["content"], ok
	}
	for _, e := range events {
		text, ok := piece(e)
		if ok && len(out) > 0 {
			if before, continues := piece(out[len(out)-1]); continues {
				whole, _ := json.Marshal(map[string]string{"content": before + text})
				out, e.Data = out[:len(out)-1], string(whole)
			}
		}
		out = append(out, e)
	}
	return out
}

// TestForrstAsk asks over Forrst, resumes the stream after each event, and reads the run in all protocols.
func TestForrstAsk(t *testing.T) {
	t.Parallel()
	c := farlandServer(t, nil)
	url := c.listen()
	res := c.post(t.Context(), url, callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, streamed))
	events := c.read(res.Body)
	a, _, d := c.whole(events)
	run := res.Header.Get("Sluice-Run-Id")
	if !strings.Contains(a.Content, "Ada Brook") || string(a.RunID) != run || run == "" || a.Confidence == 0 || a.Verification == nil || a.Cached ||
		len(a.Sources) == 0 || a.Sources[0].Title != "Farland" || len(a.Citations) == 0 || *d.ID != "r-1" {
		t.Errorf("%s: %+v, %v", run, a, d)
	}
	for i, e := range events[:len(events)-1] {
		rest := c.read(c.post(t.Context(), url, callBody("rag.ask", "{}"), "Sluice-Run-Id", run, "Last-Event-ID", e.ID).Body)
		if i == 0 { // the greeting has no id: the stream begins again
			rest = rest[1:]
		}
		rest[len(rest)-1].ID = events[len(events)-1].ID // that of the server has none, and the reader repeats the one before
		if diff := cmp.Diff(joined(events[i+1:]), joined(rest)); diff != "" {
			t.Fatalf("resumed after %s (-whole +resumed):\n%s", e.ID, diff)
		}
	}
	if end := c.read(c.post(t.Context(), url, callBody("rag.ask", "{}"), "Sluice-Run-Id", run, "Last-Event-ID", lastID(c.read(strings.NewReader(c.get(url, run, wireforrst.Name))))).Body); len(end) != 0 {
		t.Errorf("after the end: %v", end)
	}
	for _, p := range app.Protocols() {
		got := c.get(url, run, p.Name())
		if p.Name() != wireforrst.Name && !strings.Contains(got, "Ada") {
			t.Errorf("%s: %s", p.Name(), got)
		}
	}
	if _, _, d := c.whole(c.read(strings.NewReader(c.get(url, run, wireforrst.Name)))); *d.ID != run {
		t.Errorf("the id of a replay is %s", *d.ID)
	}

	// Without a stream, the result is that of done. The answer is the same, from the cache.
	var doc struct {
		Result wireforrst.Answer
		Errors []wireforrst.Error
	}
	res = c.post(t.Context(), url, callBody("rag.ask", `{"query":"`+whoKeeps+`"}`))
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || doc.Result.Content != a.Content || !doc.Result.Cached || doc.Result.Cache == nil ||
		string(doc.Result.RunID) != res.Header.Get("Sluice-Run-Id") {
		t.Errorf("%v, %+v", err, doc)
	}

	// A run of another protocol reads as Forrst.
	other := c.reply(http.StatusOK, "default", "POST", "/api/query", `{"query":"Which lighthouse is kept?","no_cache":true}`)["run_id"].(string)
	if a, _, _ := c.whole(c.read(strings.NewReader(c.get(url, other, wireforrst.Name)))); string(a.RunID) != other {
		t.Errorf("%+v", a)
	}
}

func lastID(events []sse.Event) string { return events[len(events)-1].ID }

// TestForrstRefusals: what can be refused before a stream begins has a status and the form of the protocol.
func TestForrstRefusals(t *testing.T) {
	t.Parallel()
	c := farlandServer(t, nil)
	for name, r := range map[string]struct {
		body    string
		headers []string
		status  int
		want    []string
	}{
		"unknown argument":     {callBody("rag.ask", `{"query":"a","topk":1}`, streamed), nil, 422, []string{"SCHEMA_VALIDATION_FAILED", "/call/arguments/topk"}},
		"white space":          {callBody("rag.ask", `{"query":" "}`, streamed), nil, 400, []string{"INVALID_ARGUMENTS", `"/call/arguments/query"`}},
		"long question":        {callBody("rag.ask", `{"query":"`+strings.Repeat("a", 33<<10)+`"}`, streamed), nil, 400, []string{"INVALID_ARGUMENTS", `"/call/arguments/query"`}},
		"malformed collection": {callBody("rag.ask", `{"query":"a","collection":","}`, streamed), nil, 400, []string{"INVALID_ARGUMENTS", `"/call/arguments/collection"`}},
		"previous":             {callBody("rag.ask", `{"query":"a","previous":"run_01kg0000000000000000000000"}`, streamed), nil, 404, []string{"NOT_FOUND"}},
		"no model":             {callBody("ai.generate", `{"prompt":"a"}`, streamed), nil, 503, []string{"FUNCTION_DISABLED", "model-url"}},
		"unknown run":          {callBody("rag.ask", "{}"), []string{"Sluice-Run-Id", "run_01kg0000000000000000000000"}, 404, []string{`"code":"NOT_FOUND"`, `"id":null`}},
		"malformed run":        {callBody("rag.ask", "{}"), []string{"Sluice-Run-Id", "../x"}, 404, []string{`"code":"NOT_FOUND"`}},
		"cursor without a run": {callBody("rag.ask", "{}"), []string{"Last-Event-ID", "3"}, 400, []string{`"code":"INVALID_REQUEST"`, "Sluice-Run-Id"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.request("default", "POST", "/forrst", r.body, r.headers...)
			var d wireforrst.Document
			if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != r.status || len(d.Errors) != 1 || d.Protocol.Name != "forrst" {
				t.Errorf("%d %v: %s", w.Code, err, w.Body)
			}
			for _, want := range r.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("no %s in %s", want, w.Body)
				}
			}
			if w.Header().Get("Sluice-Run-Id") != "" {
				t.Error("a refused call has a run")
			}
		})
	}
	run := c.request("default", "POST", "/forrst", callBody("rag.ask", `{"query":"`+whoKeeps+`"}`)).Header().Get("Sluice-Run-Id")
	for _, cursor := range []string{"x", "1.x", "-1", "999999"} {
		if w := c.request("default", "POST", "/forrst", callBody("rag.ask", "{}"), "Sluice-Run-Id", run, "Last-Event-ID", cursor); w.Code != 400 || !strings.Contains(w.Body.String(), "Last-Event-ID") {
			t.Errorf("cursor %q: %d %s", cursor, w.Code, w.Body)
		}
	}
}

// withModel lets a scripted model write the answers. Rules do the rest.
func withModel(m *modeltest.Server) func(*config.Config) {
	return func(c *config.Config) {
		c.Models.Model, c.Models.ModelURL, c.Models.ModelName, c.Models.Judge = []string{"openai"}, []string{m.URL}, []string{"test-model"}, []string{"none"}
		c.Models.ModelStall, c.Runs.Deadline = time.Minute, time.Hour
	}
}

func generating(c modeltest.Counts) bool { return c.Running > 0 }
func abandoned(c modeltest.Counts) bool  { return c.Cancelled > 0 }

// TestForrstCancel cancels a call while the model is silent: by its token, and by its deadline. Its run is cancelled too.
func TestForrstCancel(t *testing.T) {
	t.Parallel()
	const token = `{"urn":"urn:forrst:ext:cancellation","options":{"token":"t-1"}}`
	for _, stream := range []string{"", streamed} {
		for code, extension := range map[string]string{"CANCELLED": token, "DEADLINE_EXCEEDED": `{"urn":"urn:forrst:ext:deadline","options":{"value":2,"unit":"second"}}`} {
			t.Run(fmt.Sprint(code, " ", stream != ""), func(t *testing.T) {
				t.Parallel()
				silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
				c := farlandServer(t, withModel(silent))
				url := c.listen()
				extensions := []string{extension}
				if stream != "" {
					extensions = append(extensions, stream)
				}
				replied := make(chan *http.Response, 1)
				body := make(chan []byte, 1)
				go func() {
					res := c.post(t.Context(), url, callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, extensions...))
					replied <- res
					text, _ := io.ReadAll(res.Body) // checked below
					body <- text
				}()
				silent.Wait(t, generating)
				if code == "CANCELLED" {
					if res := c.post(t.Context(), url, callBody("urn:forrst:ext:cancellation:fn:cancel", `{"token":"t-1"}`)); res.StatusCode != http.StatusOK {
						t.Error(res.Status)
					}
				}
				res, text := <-replied, string(<-body)
				run := res.Header.Get("Sluice-Run-Id")
				if stream != "" {
					if _, f, d := c.whole(c.read(strings.NewReader(text))); f.Code != code || len(d.Errors) != 1 {
						t.Errorf("%+v, %+v", f, d)
					}
				} else if want := map[string]int{"CANCELLED": 499, "DEADLINE_EXCEEDED": 408}[code]; res.StatusCode != want || !strings.Contains(text, code) {
					t.Errorf("%d: %s", res.StatusCode, text)
				}
				silent.Wait(t, abandoned)
				if _, f, _ := c.whole(c.read(strings.NewReader(c.get(url, run, wireforrst.Name)))); f.Code != "CANCELLED" {
					t.Errorf("the run ended with %+v", f)
				}
			})
		}
	}
}

// TestForrstDisconnect leaves a stream while the model is writing. The run goes on, and its stream continues in a new request.
func TestForrstDisconnect(t *testing.T) {
	t.Parallel()
	write := make(chan struct{})
	m := modeltest.NewOpenAI(t, modeltest.Script{Next: func(int, []byte) modeltest.Script {
		<-write
		return modeltest.Script{Tokens: []string{"Ada", " Brook", " keeps it", "⟦1⟧."}}
	}})
	c := farlandServer(t, withModel(m))
	url := c.listen()
	ctx, leave := context.WithCancel(t.Context())
	res := c.post(ctx, url, callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, streamed))
	in := sse.NewReader(res.Body, 0)
	var events []sse.Event
	for range 4 {
		e, err := in.Next()
		require.NoError(t, err)
		events = append(events, e)
	}
	run := res.Header.Get("Sluice-Run-Id")
	m.Wait(t, generating)
	leave()
	if _, err := in.Next(); err == nil {
		for err == nil { // events that had arrived
			_, err = in.Next()
		}
	}
	res = c.post(t.Context(), url, callBody("rag.ask", "{}"), "Sluice-Run-Id", run, "Last-Event-ID", lastID(events))
	close(write)
	events = append(events, c.read(res.Body)...)
	if a, _, d := c.whole(events); !strings.Contains(a.Content, "Ada Brook keeps it") || string(a.RunID) != run || *d.ID != "r-1" {
		t.Errorf("%+v", a)
	}
	if m.Counts().Cancelled != 0 {
		t.Error("the run was cancelled")
	}
}

// TestForrstGrace: a run without readers is cancelled after the grace period.
func TestForrstGrace(t *testing.T) {
	t.Parallel()
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c := farlandServer(t, func(cfg *config.Config) {
		withModel(silent)(cfg)
		cfg.Runs.Grace = 0
	})
	url := c.listen()
	ctx, leave := context.WithCancel(t.Context())
	c.post(ctx, url, callBody("rag.ask", `{"query":"`+whoKeeps+`"}`, streamed))
	silent.Wait(t, generating)
	leave()
	silent.Wait(t, abandoned)
}

// TestForrstGenerate lets the model write without documents.
func TestForrstGenerate(t *testing.T) {
	t.Parallel()
	m := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Once upon", " a\x1b time", "\n\"Bolt\" 🤖"}})
	c := openTenants(t, t.TempDir(), withModel(m))
	url := c.listen()
	const text = "Once upon a time\n\"Bolt\" 🤖"
	events := c.read(c.post(t.Context(), url, callBody("ai.generate", `{"prompt":"Write","system":"Be brief","max_tokens":50,"temperature":0.5}`, streamed)).Body)
	joined := ""
	for _, e := range events[1 : len(events)-2] {
		var piece map[string]string
		if err := json.Unmarshal([]byte(e.Data), &piece); err != nil || e.Name != "data" || len(piece) != 1 {
			t.Errorf("%v: %+v", err, e)
		}
		joined += piece["content"]
	}
	var done map[string]any
	if err := json.Unmarshal([]byte(events[len(events)-2].Data), &done); err != nil || joined != text || done["content"] != text || done["model"] != "test-model" || len(events) < 6 {
		t.Errorf("%v: %q: %v", err, joined, done)
	}
	if used := done["usage"].(map[string]any); used["calls"] != 1.0 || used["output_tokens"].(float64) <= 0 || used["models"].([]any)[0] != "test-model" {
		t.Errorf("%v", used)
	}
	var sent struct {
		Messages    []map[string]string
		Temperature float64
		MaxTokens   int `json:"max_tokens"`
		MaxOutput   int `json:"max_completion_tokens"`
	}
	if err := json.Unmarshal(m.Requests()[0], &sent); err != nil || len(sent.Messages) != 2 || sent.Messages[0]["content"] != "Be brief" || sent.Messages[1]["content"] != "Write" ||
		sent.Temperature != 0.5 || max(sent.MaxTokens, sent.MaxOutput) != 50 {
		t.Errorf("%v: %s", err, m.Requests()[0])
	}
	result := c.reply(http.StatusOK, "default", "POST", "/forrst", callBody("ai.generate", `{"prompt":"Write","max_tokens":1000000}`))["result"].(map[string]any)
	if result["content"] != text || !bytes.Contains(m.Requests()[1], []byte("1024")) { // the setting answer-tokens
		t.Errorf("%v: %s", result, m.Requests()[1])
	}
	for body, want := range map[string]string{
		`{"prompt":"a","model":"other"}`: `"pointer":"/call/arguments/model"`,
		`{"prompt":" "}`:                 `"pointer":"/call/arguments/prompt"`,
		`{"prompt":"` + strings.Repeat("a", 256<<10) + `","system":"b"}`: `"pointer":"/call/arguments/prompt"`,
	} {
		if w := c.request("default", "POST", "/forrst", callBody("ai.generate", body)); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.40s: %d %s", body, w.Code, w.Body)
		}
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("the model had %d requests", n)
	}
}

// TestForrstGenerateFails checks the failures of the model, and that it stops when the client leaves.
func TestForrstGenerateFails(t *testing.T) {
	t.Parallel()
	broken := modeltest.NewOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: http.StatusUnauthorized})
	c := openTenants(t, t.TempDir(), withModel(broken))
	if w := c.request("default", "POST", "/forrst", callBody("ai.generate", `{"prompt":"a"}`)); w.Code != http.StatusBadGateway || !strings.Contains(w.Body.String(), `"LLM_ERROR"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	silent := modeltest.NewOpenAI(t, modeltest.Script{Wait: time.Hour})
	c = openTenants(t, t.TempDir(), withModel(silent))
	ctx, leave := context.WithCancel(t.Context())
	c.post(ctx, c.listen(), callBody("ai.generate", `{"prompt":"a"}`, streamed))
	silent.Wait(t, generating)
	leave()
	silent.Wait(t, abandoned)

	late := openTenants(t, t.TempDir(), func(cfg *config.Config) {
		withModel(silent)(cfg)
		cfg.Runs.Deadline = 100 * time.Millisecond
	})
	if w := late.request("default", "POST", "/forrst", callBody("ai.generate", `{"prompt":"a"}`)); w.Code != http.StatusRequestTimeout {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	priced := openTenants(t, t.TempDir(), func(cfg *config.Config) {
		withModel(silent)(cfg)
		cfg.Billing.Price = []string{"default base=1"}
	})
	if w := priced.request("default", "POST", "/forrst", callBody("ai.generate", `{"prompt":"a"}`)); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "FUNCTION_DISABLED") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestForrstSampleClient runs the client of the specification against the program, as it is and with a question.
func TestForrstSampleClient(t *testing.T) {
	t.Parallel()
	node := needs.Program(t, "node")
	c := farlandServer(t, withModel(modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"Ada", " Brook", "⟦1⟧."}})))
	url := c.listen()
	for _, call := range []string{"", `{"function":"rag.ask","version":"1","arguments":{"query":"` + whoKeeps + `"}}`} {
		out, err := exec.Command(node, "testdata/forrst-client.mjs", "../../forrst/testdata/client.js", url, call).Output()
		if err != nil {
			t.Fatal(err, string(out))
		}
		text, done, last := "", "", ""
		for line := range strings.Lines(string(out)) {
			var name string
			var data struct{ Content string }
			require.NoError(t, json.Unmarshal([]byte(line), &[]any{&name, &data}))
			switch last = name; name {
			case "data":
				text += data.Content
			case "done":
				done = data.Content
			}
		}
		if text == "" || text != done || last != "complete" || !strings.Contains(text, "Ada Brook") {
			t.Errorf("%s: %q, %q, %s", call, text, done, last)
		}
	}
}

// TestForrstDocument: the OpenAPI document describes the events, and all its references exist.
func TestForrstDocument(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	text := c.request("default", "GET", "/openapi.json", "").Body.String()
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Components.Schemas["ForrstEvent"] == nil || !strings.Contains(text, `"/forrst"`) {
		t.Fatalf("%v: %d schemas", err, len(doc.Components.Schemas))
	}
	for _, part := range strings.Split(text, `"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); doc.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is missing", name)
		}
	}
}
