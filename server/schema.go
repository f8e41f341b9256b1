package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

const (
	draft       = "https://json-schema.org/draft/2020-12/schema"
	definitions = "#/$defs/"
)

// Description describes the streams of a protocol, for [Schema] and [AsyncAPI].
type Description struct {
	Name, ContentType string
	Ask               string // POST: the path of a question; empty: none
	Resume            string // GET: the path of the stream of the answer in progress in a session; empty: none
	Follow            string // GET: the path of the stream of the work with the parameter {id}, which is not a run; empty: none
	Session           bool   // Ask has the id of a session as the parameter {id}
	Read              bool   // runs are read in the protocol
	Bytes             bool   // the stream has phases, as in [wire.ByteStream]
	Types             wire.Types
}

// Description describes the streams of the protocol.
func (e Endpoint) Description() Description {
	_, bytes := e.Protocol.(wire.ByteStream)
	return Description{Name: e.Name(), ContentType: e.ContentType(), Ask: e.path(), Resume: e.ResumePath, Session: e.Session, Read: true, Bytes: bytes, Types: e.Types}
}

// text says how the frames follow each other.
func (d Description) text() string {
	if d.Bytes {
		return "A stream of the media type " + d.ContentType + ": lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form."
	}
	return "A stream of the media type " + d.ContentType + "."
}

// descriptions returns the descriptions of all streams.
func (o Options) descriptions() (all []Description) {
	for _, e := range o.Protocols {
		all = append(all, e.Description())
	}
	return append(all, o.Described...)
}

// Schema returns the JSON Schema of a protocol, in the draft 2020-12. It describes the data of a frame. Its $defs have the types of the objects, and its
// member "parts" refers to those of a request, of a reply without a stream, and of an error before a stream.
func Schema(d Description) ([]byte, error) {
	s, err := schemaOf(d, definitions)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(s, "", "  ")
}

// schemaOf returns the schema of a protocol. References to its types begin with the prefix.
func schemaOf(d Description, prefix string) (map[string]any, error) {
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
	for _, event := range d.Types.Events {
		form, err := reflected(event)
		if err != nil {
			return nil, err
		}
		forms = append(forms, form)
	}
	parts := map[string]any{}
	for name, value := range map[string]any{"request": d.Types.Request, "reply": d.Types.Reply, "failed": d.Types.Failed, "error": d.Types.Fault} {
		if value == nil {
			continue
		}
		part, err := reflected(value)
		if err != nil {
			return nil, err
		}
		parts[name] = part
	}
	return map[string]any{"$schema": draft, "title": "Frames of the protocol " + d.Name, "description": d.text(), "anyOf": forms, "$defs": types, "parts": parts}, nil
}

// AsyncAPI returns the AsyncAPI document, version 3, of the streams of all protocols: https://www.asyncapi.com/docs/reference/specification/v3.0.0
func AsyncAPI(protocols []Description, version string) ([]byte, error) {
	const components = "#/components/schemas/"
	channels, operations, types := map[string]any{}, map[string]any{}, map[string]any{}
	session := map[string]any{"id": map[string]any{"description": "The id of the session."}}
	for _, d := range protocols {
		s, err := schemaOf(d, components)
		if err != nil {
			return nil, err
		}
		maps.Copy(types, s["$defs"].(map[string]any))
		frame := map[string]any{"name": "frame", "title": "A frame of the protocol " + d.Name, "contentType": "application/json", "payload": map[string]any{"anyOf": s["anyOf"]}}
		send := func(name, address, title, summary string, parameters map[string]any) {
			channels[name] = map[string]any{"address": address, "title": title, "description": d.text(),
				"messages": map[string]any{"frame": frame}, "parameters": parameters}
			operations[name] = map[string]any{"action": "send", "channel": reference(name), "messages": []any{reference(name, "frame")}, "summary": summary, "bindings": method(http.MethodGet)}
		}
		if d.Read {
			send("read-"+d.Name, "/runs/{id}/stream?protocol="+d.Name, "Runs in the protocol "+d.Name, "Send a run in the protocol "+d.Name, map[string]any{"id": map[string]any{"description": "The id of the run."}})
		}
		if d.Resume != "" {
			send("resume-"+d.Name, d.Resume, "Answers in progress in the protocol "+d.Name, "Send the answer in progress in a session", session)
		}
		if d.Follow != "" {
			send("follow-"+d.Name, d.Follow, "Events of "+d.Name, "Send the events of "+d.Name, map[string]any{"id": map[string]any{"description": "The id, of those that the route accepts."}})
		}
		if d.Ask == "" {
			continue
		}
		ask := "ask-" + d.Name
		channel := map[string]any{"address": d.Ask, "title": "Questions in the protocol " + d.Name, "description": d.text(), "messages": map[string]any{"frame": frame, "question": map[string]any{
			"name": "question", "title": "A question", "contentType": "application/json", "payload": s["parts"].(map[string]any)["request"]}}}
		if d.Session {
			channel["parameters"] = session
		}
		channels[ask] = channel
		operations[ask] = map[string]any{"action": "receive", "channel": reference(ask), "messages": []any{reference(ask, "question")}, "summary": "Answer a question in the protocol " + d.Name,
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
		for _, d := range s.o.descriptions() {
			list[d.Name] = schemasPath + "/" + d.Name + ".json"
		}
		doc, err = json.MarshalIndent(list, "", "  ")
	case "asyncapi":
		doc, err = AsyncAPI(s.o.descriptions(), s.o.Version)
	default:
		for _, d := range s.o.descriptions() {
			if d.Name == name {
				doc, err = Schema(d)
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
