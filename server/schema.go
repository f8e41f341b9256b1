package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/sluice-rag/sluice/fault"
)

const (
	draft       = "https://json-schema.org/draft/2020-12/schema"
	definitions = "#/$defs/"
)

// Schema returns the JSON Schema of a protocol, in the draft 2020-12. It describes the data of a frame. Its $defs have the types of the objects, and its
// member "parts" refers to those of a request, of a reply without a stream, and of an error before a stream.
func Schema(e Endpoint) ([]byte, error) {
	s, err := schemaOf(e, definitions)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(s, "", "  ")
}

// schemaOf returns the schema of a protocol. References to its types begin with the prefix.
func schemaOf(e Endpoint, prefix string) (map[string]any, error) {
	n := &names{types: map[string]string{}}
	types := map[string]any{}
	r := jsonschema.Reflector{}
	reflected := func(value any) (out any, err error) {
		s, err := r.Reflect(value, jsonschema.DefinitionsPrefix(prefix), jsonschema.InterceptProp(asEncoded), jsonschema.InterceptDefName(n.note),
			jsonschema.CollectDefinitions(func(name string, s jsonschema.Schema) { types[name] = s }), jsonschema.RootRef)
		if err == nil {
			err = n.err
		}
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", reflect.TypeOf(value), err)
		}
		return s, nil
	}
	var forms []any
	for _, event := range e.Types.Events {
		form, err := reflected(event)
		if err != nil {
			return nil, err
		}
		forms = append(forms, form)
	}
	parts := map[string]any{}
	for name, value := range map[string]any{"request": e.Types.Request, "reply": e.Types.Reply, "failed": e.Types.Failed, "error": e.Types.Fault} {
		if value == nil {
			continue
		}
		part, err := reflected(value)
		if err != nil {
			return nil, err
		}
		parts[name] = part
	}
	return map[string]any{"$schema": draft, "title": "Frames of the protocol " + e.Name(), "anyOf": forms, "$defs": types, "parts": parts}, nil
}

// AsyncAPI returns the AsyncAPI document, version 3, of the streams of all protocols: https://www.asyncapi.com/docs/reference/specification/v3.0.0
func AsyncAPI(protocols []Endpoint, version string) ([]byte, error) {
	const components = "#/components/schemas/"
	channels, operations, types := map[string]any{}, map[string]any{}, map[string]any{}
	for _, e := range protocols {
		s, err := schemaOf(e, components)
		if err != nil {
			return nil, err
		}
		for name, t := range s["$defs"].(map[string]any) {
			types[name] = t
		}
		frame := map[string]any{"name": "frame", "title": "A frame of the protocol " + e.Name(), "contentType": "application/json", "payload": map[string]any{"anyOf": s["anyOf"]}}
		read, ask := "read-"+e.Name(), "ask-"+e.Name()
		channels[read] = map[string]any{"address": "/runs/{id}/stream?protocol=" + e.Name(), "title": "Runs in the protocol " + e.Name(),
			"description": "A stream of the media type " + e.ContentType() + ".", "messages": map[string]any{"frame": frame},
			"parameters": map[string]any{"id": map[string]any{"description": "The id of the run."}}}
		operations[read] = map[string]any{"action": "send", "channel": reference(read), "messages": []any{reference(read, "frame")},
			"summary": "Send a run in the protocol " + e.Name(), "bindings": method(http.MethodGet)}
		if e.StreamPath == "" {
			continue
		}
		channel := map[string]any{"address": e.StreamPath, "title": "Questions in the protocol " + e.Name(), "messages": map[string]any{"frame": frame, "question": map[string]any{
			"name": "question", "title": "A question", "contentType": "application/json", "payload": s["parts"].(map[string]any)["request"]}}}
		if e.Session {
			channel["parameters"] = map[string]any{"id": map[string]any{"description": "The id of the session."}}
		}
		channels[ask] = channel
		operations[ask] = map[string]any{"action": "receive", "channel": reference(ask), "messages": []any{reference(ask, "question")}, "summary": "Answer a question in the protocol " + e.Name(),
			"bindings": method(http.MethodPost), "reply": map[string]any{"channel": reference(ask), "messages": []any{reference(ask, "frame")}}}
	}
	return json.MarshalIndent(map[string]any{
		"asyncapi": "3.0.0", "info": map[string]any{"title": "Sluice", "version": version, "description": "The streams of all protocols. The OpenAPI document describes all other routes."},
		"defaultContentType": "application/json", "channels": channels, "operations": operations, "components": map[string]any{"schemas": types},
	}, "", "  ")
}

// reference returns a reference to a channel, or to one of its messages.
func reference(channel string, message ...string) map[string]any {
	at := "#/channels/" + channel
	for _, m := range message {
		at += "/messages/" + m
	}
	return map[string]any{"$ref": at}
}

// method returns the binding of an operation to a method of HTTP.
func method(name string) map[string]any {
	return map[string]any{"http": map[string]any{"method": name, "bindingVersion": "0.3.0"}}
}

// schemasPath is the path of the list of the documents that describe the protocols.
const schemasPath = "/schemas"

// serveSchema serves a document that describes the protocols, or the list of them.
func (s *Server) serveSchema(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(r.PathValue("name"), ".json")
	var doc []byte
	var err error = fault.New(fault.NotFound, "no such schema: %s lists them", schemasPath)
	switch name {
	case "":
		list := map[string]string{"openapi": "/openapi.json", "asyncapi": schemasPath + "/asyncapi.json"}
		for _, e := range s.o.Protocols {
			list[e.Name()] = schemasPath + "/" + e.Name() + ".json"
		}
		doc, err = json.MarshalIndent(list, "", "  ")
	case "asyncapi":
		doc, err = AsyncAPI(s.o.Protocols, s.o.Version)
	default:
		for _, e := range s.o.Protocols {
			if e.Name() == name {
				doc, err = Schema(e)
			}
		}
	}
	if err != nil {
		s.defaultHandler().replyError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) // fails if the client has disconnected
}
