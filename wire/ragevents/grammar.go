package ragevents

import "fmt"

// Grammar checks the order of the events of a stream, one event at a time. The zero value is the state before the first event.
//
//	first_event model_info stream_initializing vectorstore_initializing vectorstore_ready starting_rag_chain rag_chain_started
//	on_chain_start context? (results answer)* sourceRelevance on_chain_end events-sources-attention
//	(events-sources-data | events-sources-no-contribution events-sources-message)
//	events-metadata-summary events-answer-confidence transaction-summary completed
//
// A cached answer has no context. A heartbeat may occur anywhere. An error may occur anywhere after vectorstore_initializing and is
// the last event; events-sources-attention, events-sources-data and events-metadata-summary may precede it.
type Grammar struct {
	last    string
	partial bool // the sources of an incomplete answer: only an error may follow them
}

// follows lists the events that may follow an event in a complete stream.
var follows = map[string][]string{
	"":                               {"first_event"},
	"first_event":                    {"model_info"},
	"model_info":                     {"stream_initializing"},
	"stream_initializing":            {"vectorstore_initializing"},
	"vectorstore_initializing":       {"vectorstore_ready"},
	"vectorstore_ready":              {"starting_rag_chain"},
	"starting_rag_chain":             {"rag_chain_started"},
	"rag_chain_started":              {"on_chain_start"},
	"on_chain_start":                 {"context", "results", "sourceRelevance"},
	"context":                        {"results", "sourceRelevance"},
	"results":                        {"answer"},
	"answer":                         {"results", "sourceRelevance"},
	"sourceRelevance":                {"on_chain_end"},
	"on_chain_end":                   {"events-sources-attention"},
	"events-sources-attention":       {"events-sources-data", "events-sources-no-contribution"},
	"events-sources-data":            {"events-metadata-summary"},
	"events-sources-no-contribution": {"events-sources-message"},
	"events-sources-message":         {"events-metadata-summary"},
	"events-metadata-summary":        {"events-answer-confidence"},
	"events-answer-confidence":       {"transaction-summary"},
	"transaction-summary":            {"completed"},
}

// begun holds the events after which nothing may follow but the rest of their group.
var begun = map[string]bool{"": true, "first_event": true, "model_info": true, "stream_initializing": true}

// Next checks the next event. Its name is the phase of a progress event, the field of the chunk of on_chain_stream, the event of
// other events of the chain, or the type.
func (g *Grammar) Next(name string) error {
	ok := false
	for _, next := range follows[g.last] {
		ok = ok || next == name
	}
	switch {
	case name == "heartbeat":
		return nil
	case g.Ended():
	case name == "error":
		ok = !begun[g.last]
	case g.partial:
		ok = ok && name != "events-answer-confidence" && name != "events-sources-no-contribution"
	case name == "events-sources-attention" && g.last != "on_chain_end":
		switch g.last {
		case "on_chain_start", "context", "answer":
			ok, g.partial = true, true
		}
	}
	if !ok {
		return fmt.Errorf("check ragevents stream: %q may not follow %q", name, g.last)
	}
	g.last = name
	return nil
}

// Ended reports whether the stream is complete.
func (g *Grammar) Ended() bool { return g.last == "completed" || g.last == "error" }
