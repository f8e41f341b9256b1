package calling_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/agent/calling"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/openai"
)

// provider is a server of one kind, with the adapter that asks it.
type provider struct {
	name string
	// open starts a server that plays the scripts one after the other and gives the adapter and what the server was asked.
	open func(t *testing.T, scripts ...modeltest.Script) (model.Chat, func() [][]byte)
	// pairs gives the ids of calls and of replies in the request, in order.
	pairs func(t *testing.T, request []byte) (called, replied []string)
}

func providers() []provider {
	return []provider{{"openai", openOpenAI, pairsOpenAI}, {"anthropic", openAnthropic, pairsAnthropic}}
}

func nth(scripts []modeltest.Script, n int) modeltest.Script {
	if n < len(scripts) {
		return scripts[n]
	}
	return modeltest.Script{Fail: modeltest.Refuse}
}

func openOpenAI(t *testing.T, scripts ...modeltest.Script) (model.Chat, func() [][]byte) {
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: func(n int, _ []byte) modeltest.Script { return nth(scripts, n) }})
	chat, err := openai.New(openai.Options{URL: s.URL, Model: "gpt"})
	require.NoError(t, err)
	return chat, s.Requests
}

func pairsOpenAI(t *testing.T, request []byte) (called, replied []string) {
	var r struct {
		Messages []struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(request, &r); err != nil || len(r.Tools) != 8 {
		t.Errorf("%d tools, %v", len(r.Tools), err)
	}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			called = append(called, c.ID)
			if !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("arguments %q", c.Function.Arguments)
			}
		}
		if m.Role == "tool" {
			replied = append(replied, m.ToolCallID)
		}
	}
	return called, replied
}

// openAnthropic plays scripts in Anthropic's protocol.
func openAnthropic(t *testing.T, scripts ...modeltest.Script) (model.Chat, func() [][]byte) {
	var mu sync.Mutex
	var asked [][]byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		mu.Lock()
		script := nth(scripts, len(asked))
		asked = append(asked, body)
		mu.Unlock()
		if script.Fail == modeltest.Refuse {
			w.WriteHeader(max(script.Status, 400))
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"tools are not supported"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streamed(script))
	}))
	t.Cleanup(s.Close)
	chat, err := anthropic.New(anthropic.Options{URL: s.URL, Model: "claude", Key: modeltest.Key})
	require.NoError(t, err)
	return chat, func() [][]byte {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// streamed is the stream of a message in Anthropic's form.
func streamed(script modeltest.Script) string {
	var b strings.Builder
	send := func(kind, format string, arguments ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,"+format+"}\n\n", append([]any{kind, kind}, arguments...)...)
	}
	quoted := func(s string) string {
		q, _ := json.Marshal(s)
		return string(q)
	}
	send("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":20,"output_tokens":1}}`)
	n := 0
	block := func(start, kind, delta string) {
		send("content_block_start", `"index":%d,"content_block":%s`, n, start)
		send("content_block_delta", `"index":%d,"delta":{"type":%q,%s}`, n, kind, delta)
		send("content_block_stop", `"index":%d`, n)
		n++
	}
	for _, s := range script.Reasoning {
		block(`{"type":"thinking","thinking":""}`, "thinking_delta", `"thinking":`+quoted(s))
	}
	for _, s := range script.Tokens {
		block(`{"type":"text","text":""}`, "text_delta", `"text":`+quoted(s))
	}
	stop := "end_turn"
	for _, c := range script.Calls {
		stop = "tool_use"
		block(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, c.ID, c.Name), "input_json_delta", `"partial_json":`+quoted(c.Input))
	}
	send("message_delta", `"delta":{"stop_reason":%q},"usage":{"output_tokens":40}`, stop)
	b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.String()
}

func pairsAnthropic(t *testing.T, request []byte) (called, replied []string) {
	var r struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, ID  string
				ToolUseID string `json:"tool_use_id"`
			}
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(request, &r); err != nil || len(r.Tools) != 8 {
		t.Errorf("%d tools, %v", len(r.Tools), err)
	}
	for i, m := range r.Messages {
		if (m.Role == "user") != (i%2 == 0) {
			t.Errorf("turns do not alternate: %s at %d", m.Role, i)
		}
		for _, c := range m.Content {
			switch c.Type {
			case "tool_use":
				called = append(called, c.ID)
			case "tool_result":
				replied = append(replied, c.ToolUseID)
			}
		}
	}
	return called, replied
}

func call(name, input string) modeltest.ScriptCall {
	return modeltest.ScriptCall{ID: "toolu_" + name, Name: name, Input: input}
}

// run plays rounds with a planner until it ends: each action finds a passage of its own.
func run(t *testing.T, p agent.Planner) (tools [][]string, by []string) {
	t.Helper()
	v := view()
	for n := range 6 {
		plan, err := p.Next(t.Context(), v)
		require.NoError(t, err)
		by = append(by, plan.By)
		var names []string
		r := agent.Round{By: plan.By}
		for i, a := range plan.Actions {
			names = append(names, a.Tool)
			r.Outcomes = append(r.Outcomes, agent.Outcome{Action: a, Parts: a.Parts, Found: []agent.Evidence{found(10*n+i, "Nolan was born in 1970.", event.Correct)}})
		}
		tools = append(tools, names)
		if len(names) == 0 || names[0] == event.ToolGenerate || names[0] == event.ToolRerank {
			break
		}
		v.Rounds = append(v.Rounds, r)
		for _, o := range r.Outcomes {
			v.Evidence = append(v.Evidence, o.Found...)
		}
	}
	return tools, by
}

func TestRunsOverAdapters(t *testing.T) {
	t.Parallel()
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			chat, requests := p.open(t,
				modeltest.Script{Reasoning: []string{"Hm."}, Calls: []modeltest.ScriptCall{call("decompose_query", `{"sub_queries": ["Who directed it?", "When was he born?"]}`)}},
				modeltest.Script{Tokens: []string{"Two at once."}, Calls: []modeltest.ScriptCall{call("hybrid_search", hybrid), call("graph_traverse", next)}},
				modeltest.Script{Calls: []modeltest.ScriptCall{call("hybrid_search", next)}},
				modeltest.Script{Calls: []modeltest.ScriptCall{call("generate_answer", `{}`)}})
			tools, by := run(t, calling.New(chat, nil, &ruled{}, calling.Options{}))
			want := [][]string{{event.ToolDecomposeQuery}, {event.ToolHybridSearch, event.ToolGraphTraverse}, {event.ToolHybridSearch}, {event.ToolGenerate}}
			if d := cmp.Diff(want, tools); d != "" || slices.ContainsFunc(by, func(s string) bool { return s != chat.Name() }) {
				t.Errorf("by %q\n%s", by, d)
			}
			wantIDs := [][]string{nil, {"call01001"}, {"call01001", "call02001", "call02002"}, {"call01001", "call02001", "call02002", "call03001"}}
			for i, r := range requests() {
				called, replied := p.pairs(t, r)
				if d := cmp.Diff(wantIDs[i], called) + cmp.Diff(wantIDs[i], replied); d != "" {
					t.Errorf("request %d:\n%s", i, d)
				}
			}
		})
	}
}

func TestFailuresOverAdapters(t *testing.T) {
	t.Parallel()
	good := modeltest.Script{Calls: []modeltest.ScriptCall{call("hybrid_search", hybrid)}}
	broken := modeltest.Script{Calls: []modeltest.ScriptCall{call("hybrid_search", `{"query": "a`)}}
	for _, p := range providers() {
		for _, c := range []struct {
			name    string
			scripts []modeltest.Script
			ruled   bool
			asked   int
		}{
			{"no JSON, and repaired", []modeltest.Script{broken, good}, false, 2},
			{"no JSON, twice", []modeltest.Script{broken, broken}, true, 2},
			{"an unknown tool, and repaired", []modeltest.Script{{Calls: []modeltest.ScriptCall{call("rm", `{}`)}}, good}, false, 2},
			{"prose, and repaired", []modeltest.Script{{Tokens: []string{"In 1970."}}, good}, false, 2},
			{"prose, twice", []modeltest.Script{{Tokens: []string{"In 1970."}}, {Tokens: []string{"In 1970."}}}, true, 2},
			{"no tools", []modeltest.Script{{Fail: modeltest.Refuse, Status: 400}}, true, 1},
			{"down", []modeltest.Script{{Fail: modeltest.Refuse, Status: 529}}, true, 1},
		} {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				chat, requests := p.open(t, c.scripts...)
				ctx, told := modeltest.RecordTrace(t.Context())
				got, err := calling.New(chat, nil, &ruled{}, calling.Options{}).Next(ctx, view())
				if err != nil || (got.By == "rules") != c.ruled || (len(*told) == 1) != c.ruled || len(requests()) != c.asked || len(got.Actions) != 1 {
					t.Errorf("%+v, %v, asked %d times, told %q", got, err, len(requests()), *told)
				}
			})
		}
	}
}

// TestChain: where the first of several models takes no tools, the second plans, and is named.
func TestChain(t *testing.T) {
	t.Parallel()
	first, _ := openOpenAI(t, modeltest.Script{Fail: modeltest.Refuse, Status: 400})
	second, requests := openAnthropic(t, modeltest.Script{Calls: []modeltest.ScriptCall{call("hybrid_search", hybrid)}})
	ctx, told := modeltest.RecordTrace(t.Context())
	chain := failover.New([]model.Chat{first, second}, failover.Options{})
	got, err := calling.New(chain, nil, &ruled{}, calling.Options{}).Next(ctx, view())
	if err != nil || got.By != "claude" || len(*told) != 1 || len(requests()) != 1 {
		t.Errorf("%+v, %v, told %q", got, err, *told)
	}
}

// TestGoesAway: a run that is stopped ends the request.
func TestGoesAway(t *testing.T) {
	t.Parallel()
	s := modeltest.NewOpenAI(t, modeltest.Script{Tokens: []string{"I", " think"}, Fail: modeltest.Stall, After: 1})
	chat, err := openai.New(openai.Options{URL: s.URL, Model: "gpt", Stall: time.Minute})
	require.NoError(t, err)
	ctx, told := modeltest.RecordTrace(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := calling.New(chat, nil, &ruled{}, calling.Options{Timeout: time.Minute}).Next(ctx, view())
		ended <- err
	}()
	s.Wait(t, func(c modeltest.Counts) bool { return c.Tokens == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, ctx.Err()) || len(*told) > 0 {
		t.Errorf("%v, told %q", err, *told)
	}
	s.Wait(t, func(c modeltest.Counts) bool { return c.Cancelled == 1 })
}
