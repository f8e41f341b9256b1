package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the fields of a request for a response.
const (
	maxStores   = 32
	maxTools    = 128
	maxItems    = 10_000
	maxMetadata = 16 // pairs; keys have up to 64 bytes and values up to 512
)

// DecodeResponse decodes and validates the body of a request. Unknown fields are ignored. Errors have the code [fault.InvalidRequest] and name the
// field.
func DecodeResponse(body []byte, maxQuery int) (wire.Request, error) {
	var r ResponseRequest
	if err := wire.DecodeKnown(body, &r); err != nil {
		return wire.Request{}, err
	}
	q := wire.Request{NoStream: !r.Stream}
	all, err := r.messages()
	if err != nil {
		return q, err
	}
	format := ""
	if r.Text != nil && r.Text.Format != nil {
		format = r.Text.Format.Type
	}
	err = cmp.Or(wire.SetMessages(&q.Question, "input", all, maxQuery), r.unsupported(), checkFormat("text.format", format), checkChoice(r.ToolChoice, r.onlySearch()),
		wire.CheckText("model", r.Model, MaxNameLength), wire.CheckText("collection", r.Collection, MaxNameLength),
		checkSettings(&q.Question, r.Temperature, map[string]int{"max_output_tokens": r.MaxOutputTokens}), checkMetadata(r.Metadata))
	if err != nil {
		return q, err
	}
	wire.SetModel(&q.Question, r.Model, r.Collection)
	q.Ephemeral = r.Store != nil && !*r.Store
	kept := echo{Model: r.Model, Metadata: r.Metadata}
	if kept.Tools, err = r.search(&q.Question); err != nil {
		return q, err
	}
	if err := r.conversation(&q); err != nil {
		return q, err
	}
	if slices.Contains(r.Include, includeResults) {
		q.Variant = Responses{Results: true}
	}
	q.Request, err = json.Marshal(kept)
	return q, err
}

// messages returns the instructions and the messages of the input. Other items, such as the calls of earlier responses that clients send back, are left out.
func (r *ResponseRequest) messages() ([]wire.ChatMessage, error) {
	all := []wire.ChatMessage{{Role: wire.RoleSystem, Text: r.Instructions, Path: "instructions"}}
	switch in := r.Input.(type) {
	case string:
		return append(all, wire.ChatMessage{Role: event.RoleUser, Text: in, Path: "input"}), nil
	case []any:
		if len(in) > maxItems {
			return nil, fault.Invalid("input", "%d items; the limit is %d", len(in), maxItems)
		}
		for i, v := range in {
			path := fmt.Sprintf("input[%d]", i)
			item, ok := v.(map[string]any)
			if !ok {
				return nil, fault.Invalid(path, "want an object")
			}
			if kind, _ := item["type"].(string); kind != "" && kind != "message" {
				continue
			}
			m := readContent(path+".content", item["content"])
			switch m.Role, _ = item["role"].(string); m.Role {
			case event.RoleUser, event.RoleAssistant, wire.RoleSystem, wire.RoleDeveloper:
			default:
				return nil, fault.Invalid(path+".role", "want system, developer, user or assistant")
			}
			all = append(all, m)
		}
		return all, nil
	case nil:
		return nil, fault.Invalid("input", "required")
	}
	return nil, fault.Invalid("input", "want a string or a list of items")
}

// unsupported returns an error for settings that would change the reply in a way that is not supported.
func (r *ResponseRequest) unsupported() error {
	switch {
	case r.Background:
		return fault.Invalid("background", "not supported; the response can be read again by its id")
	case r.Prompt != nil:
		return fault.Invalid("prompt", "not supported; send the text as instructions and input")
	}
	return nil
}

// search sets what the question searches, from the tools of the type file_search, and returns these tools. Other tools are ignored.
func (r *ResponseRequest) search(q *event.Question) ([]Tool, error) {
	if len(r.Tools) > maxTools {
		return nil, fault.Invalid("tools", "%d tools; the limit is %d", len(r.Tools), maxTools)
	}
	kept, stores := []Tool{}, []string{}
	for i, t := range r.Tools {
		if t.Type != toolFileSearch {
			continue
		}
		path := fmt.Sprintf("tools[%d]", i)
		for k, id := range t.VectorStoreIDs {
			at := fmt.Sprintf("%s.vector_store_ids[%d]", path, k)
			if err := wire.CheckText(at, id, MaxNameLength); err != nil {
				return nil, err
			}
			if id == "" || strings.ContainsAny(id, ",\n\r\t") {
				return nil, fault.Invalid(at, "want the id of a vector store")
			}
			if !slices.Contains(stores, id) {
				stores = append(stores, id)
			}
		}
		if t.MaxNumResults != nil {
			n := min(max(*t.MaxNumResults, 1), event.MaxTopK)
			q.TopK = max(q.TopK, n)
			t.MaxNumResults = &n
		}
		f, err := filter.Parse(path+".filters", t.Filters)
		if err == nil && f != nil {
			if q.Filter != nil {
				return nil, fault.Invalid(path+".filters", "only one tool can have filters")
			}
			err = f.ValidateDocuments(path + ".filters")
			q.Filter = f
		}
		if err != nil {
			return nil, err
		}
		if t.Filters = nil; t.VectorStoreIDs == nil {
			t.VectorStoreIDs = []string{}
		}
		kept = append(kept, t)
	}
	if len(stores) > maxStores {
		return nil, fault.Invalid("tools", "%d vector stores; the limit is %d", len(stores), maxStores)
	}
	if len(stores) > 0 {
		q.Collection = corpus.Scope{Collections: stores}.String()
	}
	return kept, nil
}

// onlySearch reports whether all tools have the type file_search, and there are some.
func (r *ResponseRequest) onlySearch() bool {
	return len(r.Tools) > 0 && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Type != toolFileSearch })
}

// conversation sets the session or the previous run of a question.
func (r *ResponseRequest) conversation(q *wire.Request) error {
	id := ""
	switch c := r.Conversation.(type) {
	case nil:
	case string:
		id = c
	case map[string]any:
		id, _ = c["id"].(string)
	}
	q.Session, q.Previous = id, event.RunID(r.PreviousResponseID)
	switch {
	case r.Conversation != nil && strings.TrimSpace(id) == "":
		return fault.Invalid("conversation", "want the id of a conversation, or an object with it")
	case id != "" && q.Previous != "":
		return fault.Invalid("conversation", "not with previous_response_id")
	case id != "" && q.Ephemeral:
		return fault.Invalid("store", "must not be false with conversation")
	case q.Previous != "" && !q.Previous.Valid():
		return fault.Invalid("previous_response_id", "not the id of a response")
	}
	return wire.CheckText("conversation", id, event.MaxSession)
}

func checkMetadata(m map[string]string) error {
	if len(m) > maxMetadata {
		return fault.Invalid("metadata", "%d pairs; the limit is %d", len(m), maxMetadata)
	}
	for k, v := range m {
		if err := cmp.Or(wire.CheckText("metadata", k, 64), wire.CheckText("metadata", v, 512)); err != nil {
			return err
		}
	}
	return nil
}
