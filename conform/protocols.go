package conform

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/forrst"
	"github.com/sluice-rag/sluice/wire/ragevents"
)

// Protocol describes a protocol for the checks. Its streams are server-sent events unless Bytes is set.
type Protocol struct {
	Name string
	Ask  string                    // POST: the path of a question
	Body func(question string) any // of the request
	// ReadOnly is set if questions are asked in another protocol, whose path is Ask, and the run is then read in this one.
	ReadOnly bool
	Read     string   // GET: the path of the stream of a run, with {run}, resumed with Last-Event-ID; in a description, what is appended to that of Sluice
	Cancel   string   // POST: the path that cancels a run, with {run}
	Session  *Session // set if questions belong to a session, which is made before; its id is {session} in Ask
	Bytes    bool     // the stream is no stream of events: it is resumed by the number of its bytes, with the parameter offset
	MCP      bool     // questions are calls of a tool of the Model Context Protocol in one session; Body, Read and Cancel are then unused
	Calls    *Calls   // set if requests are calls of JSON-RPC, all at Ask; Read and Cancel are then unused
	// Run returns the id of the run from the first frame, for servers that do not send the header Sluice-Run-Id; nil: only the header has it.
	Run     func(Frame) string
	Grammar func() Grammar
	// Text returns the path of the text in a frame, if text may be cut into frames otherwise when it is read again; empty: the frame has none.
	Text       func(Frame) string
	TextErrors bool     // errors before a stream are plain text
	Snapshots  int      // how many of the last frames matter, if each frame is the whole state and others may be left out; 0: all
	FreeIDs    bool     // the protocol does not ask for ids of frames, so a server may leave out all of them
	Heartbeat  string   // type of frames that are not part of the run: they have no id, and are not sent when it is read again; empty: none
	Volatile   []string // top-level members that depend on how text was cut into frames
}

// Protocols returns the descriptions of the protocols that can be checked.
func Protocols() []Protocol {
	all := []Protocol{forgeProtocol(), knowledgeProtocol(), rageventsProtocol(), turnsProtocol(), forrstProtocol(), eventsProtocol(), chatProtocol(), responsesProtocol(), uistreamProtocol(), aguiProtocol(), anthropicProtocol(),
		a2aProtocol(), mcpProtocol()}
	for i := range all {
		p := &all[i]
		p.Read, p.Cancel = "/runs/{run}/stream?protocol="+p.Name+p.Read, "/runs/{run}/cancel"
		if p.Text == nil {
			p.Text = func(Frame) string { return "" }
		}
	}
	return all
}

// body returns a function that puts a question into the body of a request at %s.
func body(format string) func(string) any {
	return func(question string) any {
		text, _ := json.Marshal(question) // a string can be encoded
		return json.RawMessage(fmt.Sprintf(format, text))
	}
}

// typed returns the kind of a frame as its member type, and its key as the first of the members that it has.
func typed(keys ...string) func(Frame) (kind, key string) {
	return func(f Frame) (string, string) {
		for _, k := range keys {
			if key := f.field(k); key != "" {
				return f.field("type"), key
			}
		}
		return f.field("type"), ""
	}
}

// textOf returns a function for [Protocol.Text], from the type of a frame.
func textOf(paths map[string]string) func(Frame) string {
	return func(f Frame) string { return paths[f.field("type")] }
}

const (
	forgeAsk  = "/api/query/stream"
	forgeBody = `{"query":%s}`
)

func forgeProtocol() Protocol {
	return Protocol{Name: "forge", Ask: forgeAsk, Body: body(forgeBody), Text: textOf(map[string]string{"token": "content"}), Grammar: func() Grammar {
		var g forge.Grammar
		return stepped{func(f Frame) error {
			if f.Name != f.field("type") {
				return fmt.Errorf("want the type of the data as the name of the event, not %.40q", f.Name)
			}
			return g.Next(f.Name, f.field("tool"), f.field("recoverable") == "true")
		}, g.Ended}
	}}
}

func knowledgeProtocol() Protocol {
	const first = "first " // before the status of the first frame, which may be the only one with its state
	order := Order{First: []string{first + "in_progress", first + "completed", first + "failed", first + "incomplete"},
		Any: []string{"in_progress"}, Once: []string{"completed", "failed", "incomplete"}, Last: []string{"{}"}}
	return Protocol{Name: "knowledge", Ask: "/v1/responses", Body: body(`{"model":"sluice","input":%s,"stream":true}`), Snapshots: 2,
		Run: func(f Frame) string { return f.field("id") }, Grammar: order.grammar(func(f Frame) (string, string) {
			if f.Data == "{}" {
				return f.Data, ""
			}
			if f.N == 1 {
				return first + f.field("status"), ""
			}
			return f.field("status"), ""
		})}
}

func rageventsProtocol() Protocol {
	name := func(f Frame) string {
		switch kind, event := f.field("type"), f.field("event"); {
		case kind == "progress":
			return f.field("phase")
		case event == "on_chain_stream":
			for _, field := range []string{"context", "sourceRelevance", "answer"} {
				object, _ := f.JSON.(map[string]any)
				data, _ := object["data"].(map[string]any)
				chunk, _ := data["chunk"].(map[string]any)
				if chunk[field] != nil {
					return field
				}
			}
			return "unknown chunk"
		case kind == "event":
			return event
		default:
			return kind
		}
	}
	return Protocol{Name: "ragevents", Ask: "/functions/v1/rag", Body: body(`{"question":%s}`), Volatile: []string{"timestamp"}, Heartbeat: "heartbeat",
		Text: func(f Frame) string {
			return map[string]string{"results": "chunk", "answer": "data.chunk.answer"}[name(f)]
		},
		Grammar: func() Grammar {
			var g ragevents.Grammar
			return stepped{func(f Frame) error { return g.Next(name(f)) }, g.Ended}
		}}
}

func forrstProtocol() Protocol {
	return Protocol{Name: "forrst", Ask: forgeAsk, Body: body(forgeBody), ReadOnly: true,
		Text: func(f Frame) string {
			if f.Name == forrst.EventData {
				return "content"
			}
			return ""
		}, Grammar: func() Grammar {
			var g forrst.Grammar
			return stepped{func(f Frame) error { return g.Add(f.Name, []byte(f.Data)) }, func() bool { return g.End() == nil }}
		}}
}

func eventsProtocol() Protocol {
	order := Order{First: []string{"run_started"}, Last: []string{"run_finished", "run_failed"}, Closed: []string{"run_finished"}, Numbers: "seq",
		Any:   strings.Fields("history_summarized graded reranked reasoned token cited verified attributed settled model_used warned generation_started generation_finished"),
		Once:  []string{"query_analyzed", "cache_checked"},
		Pairs: map[string]string{"tool_called": "tool_returned", "retrieval_started": "retrieval_finished"}}
	return Protocol{Name: "events", Ask: forgeAsk, Body: body(forgeBody), ReadOnly: true,
		Grammar: order.grammar(func(f Frame) (string, string) { return f.field("kind"), f.field("body.call") })}
}

func chatProtocol() Protocol {
	choice := func(f Frame) map[string]any {
		object, _ := f.JSON.(map[string]any)
		if choices, _ := object["choices"].([]any); len(choices) > 0 {
			first, _ := choices[0].(map[string]any)
			return first
		}
		return nil
	}
	kind := func(f Frame) string {
		c := choice(f)
		delta, _ := c["delta"].(map[string]any)
		switch {
		case f.Data == "[DONE]":
			return "[DONE]"
		case f.field("error") != "":
			return "error"
		case f.field("object") != "chat.completion.chunk":
			return f.field("object")
		case c == nil:
			return "usage"
		case delta["role"] != nil:
			return "role"
		case c["finish_reason"] != nil:
			return "finish"
		}
		return "delta"
	}
	order := Order{First: []string{"role"}, Last: []string{"[DONE]", "error"}, Any: []string{"delta"}, Once: []string{"finish", "usage"}}
	return Protocol{Name: "openai-chat", Ask: "/openai/v1/chat/completions",
		Body: body(`{"model":"sluice","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%s}]}`),
		Read: "&include_usage=true", Run: func(f Frame) string { return f.field("id") }, Grammar: order.grammar(func(f Frame) (string, string) { return kind(f), "" }),
		Text: func(f Frame) string {
			delta, _ := choice(f)["delta"].(map[string]any)
			if kind(f) == "delta" && len(delta) == 1 && delta["content"] != nil {
				return "choices.0.delta.content"
			}
			return ""
		}}
}

func responsesProtocol() Protocol {
	const p = "response."
	order := Order{First: []string{p + "created"}, Last: []string{p + "completed", p + "failed", p + "incomplete", "error"}, Closed: []string{p + "completed"}, Numbers: "sequence_number",
		Any: []string{p + "in_progress", p + "file_search_call.in_progress", p + "file_search_call.searching", p + "file_search_call.completed", p + "output_text.annotation.added",
			p + "output_text.done", p + "reasoning_summary_text.done"},
		Pairs: map[string]string{p + "output_item.added": p + "output_item.done", p + "content_part.added": p + "content_part.done",
			p + "reasoning_summary_part.added": p + "reasoning_summary_part.done"},
		Within: map[string]string{p + "output_text.delta": p + "content_part.added", p + "reasoning_summary_text.delta": p + "reasoning_summary_part.added"}}
	return Protocol{Name: "openai-responses", Ask: "/openai/v1/responses", Body: body(`{"model":"sluice","input":%s,"stream":true}`), Volatile: []string{"sequence_number"},
		Run: func(f Frame) string { return f.field("response.id") }, Grammar: order.grammar(typed("output_index")),
		Text: textOf(map[string]string{p + "output_text.delta": "delta", p + "reasoning_summary_text.delta": "delta"})}
}

func uistreamProtocol() Protocol {
	order := Order{First: []string{"start"}, Last: []string{"[DONE]"}, Closed: []string{"finish"}, Once: []string{"finish", "abort", "error", "data-confidence", "data-cost"},
		Any:    []string{"start-step", "finish-step", "source-url", "source-document", "tool-input-available", "tool-output-available", "tool-output-error"},
		Pairs:  map[string]string{"text-start": "text-end", "reasoning-start": "reasoning-end"},
		Within: map[string]string{"text-delta": "text-start", "reasoning-delta": "reasoning-start"}}
	kind := typed("id", "toolCallId")
	return Protocol{Name: "uistream", Ask: "/api/ai/chat", Body: body(`{"messages":[{"role":"user","parts":[{"type":"text","text":%s}]}]}`), TextErrors: true,
		Text: textOf(map[string]string{"text-delta": "delta", "reasoning-delta": "delta"}), Grammar: order.grammar(func(f Frame) (string, string) {
			if f.Data == "[DONE]" {
				return f.Data, ""
			}
			return kind(f)
		})}
}

func aguiProtocol() Protocol {
	order := Order{First: []string{"RUN_STARTED"}, Last: []string{"RUN_FINISHED", "RUN_ERROR"}, Closed: []string{"RUN_FINISHED"},
		Any: []string{"TOOL_CALL_RESULT", "STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"},
		Pairs: map[string]string{"STEP_STARTED": "STEP_FINISHED", "TEXT_MESSAGE_START": "TEXT_MESSAGE_END", "TOOL_CALL_START": "TOOL_CALL_END", "REASONING_START": "REASONING_END",
			"REASONING_MESSAGE_START": "REASONING_MESSAGE_END"},
		Within: map[string]string{"TEXT_MESSAGE_CONTENT": "TEXT_MESSAGE_START", "TOOL_CALL_ARGS": "TOOL_CALL_START", "REASONING_MESSAGE_CONTENT": "REASONING_MESSAGE_START"}}
	return Protocol{Name: "agui", Ask: "/agui", Body: body(`{"runId":"r","messages":[{"id":"m","role":"user","content":%s}],"tools":[],"context":[]}`),
		Grammar: order.grammar(typed("toolCallId", "messageId", "stepName")), Text: textOf(map[string]string{"TEXT_MESSAGE_CONTENT": "delta", "REASONING_MESSAGE_CONTENT": "delta"})}
}

func anthropicProtocol() Protocol {
	order := Order{First: []string{"message_start"}, Last: []string{"message_stop", "error"}, Closed: []string{"message_stop"}, Any: []string{"ping"}, Once: []string{"message_delta"},
		Pairs: map[string]string{"content_block_start": "content_block_stop"}, Within: map[string]string{"content_block_delta": "content_block_start"}}
	return Protocol{Name: "anthropic", Ask: "/anthropic/v1/messages", Heartbeat: "ping", Body: body(`{"model":"sluice","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":%s}]}`),
		Run: func(f Frame) string { return f.field("message.id") }, Grammar: order.grammar(typed("index")),
		Text: func(f Frame) string {
			return map[string]string{"text_delta": "delta.text", "thinking_delta": "delta.thinking"}[f.field("delta.type")]
		}}
}
