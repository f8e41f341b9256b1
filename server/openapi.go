package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/sse"
)

// oneOf is an object of one of several forms. Its schema is written where it is used, since its type tells nothing of them.
type oneOf struct{ forms []any }

var (
	_ jsonschema.OneOfExposer  = oneOf{}
	_ jsonschema.SchemaInliner = oneOf{}
)

// JSONSchemaOneOf implements [jsonschema.OneOfExposer].
func (o oneOf) JSONSchemaOneOf() []any { return o.forms }

// InlineJSONSchema implements [jsonschema.SchemaInliner].
func (o oneOf) InlineJSONSchema() {}

// asEncoded makes a property what encoding/json makes of the field: without omitempty it is always there, and our lists and
// maps are never null.
func asEncoded(p jsonschema.InterceptPropParams) error {
	name, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	if !p.Processed || name == "" {
		return nil
	}
	p.PropertySchema.RemoveType(jsonschema.Null)
	if options == "" && !slices.Contains(p.ParentSchema.Required, name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, name)
	}
	return nil
}

// names are the schemas' names with the types that have them: a type is named after its package and itself, so those of a
// protocol begin with the protocol's name.
type names struct {
	types map[string]string
	err   error
}

func (n *names) note(t reflect.Type, name string) string {
	n.take(name, t.PkgPath()+"."+t.Name())
	return name
}

// take gives a name to a type. A name that another type has already is an error, which a client that is made from the
// document would have to live with otherwise.
func (n *names) take(name, of string) {
	if other, taken := n.types[name]; taken && other != of {
		n.err = fmt.Errorf("describe types: %s and %s are both named %s", other, of, name)
	}
	n.types[name] = of
}

const schemas = "#/components/schemas/"

// document makes the OpenAPI document of the routes from their types. The form of errors is failing's where a route has none.
func document(table []Route, failing func(*fault.Error) any, version string) ([]byte, error) {
	n := &names{types: map[string]string{}}
	r := openapi31.NewReflector()
	r.DefaultOptions = append(r.DefaultOptions, jsonschema.InterceptProp(asEncoded), jsonschema.InterceptDefName(n.note))
	r.Spec.Info.WithTitle("Sluice").WithVersion(version).
		WithDescription("Answers questions over documents and streams everything it does while it does it.")
	for _, rt := range table {
		if rt.Summary == "" {
			continue
		}
		oc, err := r.NewOperationContext(rt.Method, rt.Path)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", rt.Path, err)
		}
		describe(oc, rt, failing)
		if err := r.AddOperation(oc); err != nil {
			return nil, fmt.Errorf("describe %s: %w", rt.Path, err)
		}
		if rt.Events != nil {
			nameEvents(r.Spec, rt, n)
		}
	}
	if n.err != nil {
		return nil, n.err
	}
	doc, err := json.MarshalIndent(r.Spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return doc, nil
}

func describe(oc openapi.OperationContext, rt Route, failing func(*fault.Error) any) {
	oc.SetSummary(rt.Summary)
	for _, req := range rt.Request {
		oc.AddReqStructure(req)
	}
	status, reply, failure := rt.Status, rt.Reply, rt.failure
	if status == 0 {
		status = http.StatusOK
	}
	if reply != nil || rt.Events == nil {
		oc.AddRespStructure(reply, openapi.WithHTTPStatus(status))
	}
	if rt.Events != nil {
		oc.AddRespStructure(oneOf{rt.Events}, func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = status
			cu.ContentType = sse.ContentType
			cu.Description = "Server-sent events. Each has an id that resumes the stream, and data of one of these forms."
		})
	}
	for _, status := range rt.partial {
		oc.AddRespStructure(reply, openapi.WithHTTPStatus(status))
	}
	if rt.Empty {
		oc.AddRespStructure(nil, openapi.WithHTTPStatus(http.StatusNoContent))
	}
	if failure == nil {
		if rt.Fault != nil {
			failing = rt.Fault
		}
		failure = failing(&fault.Error{Code: fault.InvalidRequest})
	}
	for _, status := range rt.Faults {
		oc.AddRespStructure(failure, openapi.WithHTTPStatus(status))
	}
}

// nameEvents puts the forms of a route's events into a schema with a name; a route that streams in any protocol refers to
// those of them all.
func nameEvents(spec *openapi31.Spec, rt Route, n *names) {
	item := spec.Paths.MapOfPathItemValues[rt.Path]
	op := item.Get
	if rt.Method == http.MethodPost {
		op = item.Post
	}
	for _, response := range op.Responses.MapOfResponseOrReferenceValues {
		if response.Response == nil {
			continue
		}
		media, streams := response.Response.Content[sse.ContentType]
		switch {
		case !streams:
			continue
		case rt.name != "":
			n.take(rt.name, "events of "+rt.Path)
			spec.Components.WithSchemasItem(rt.name, media.Schema)
			media.Schema = map[string]any{"$ref": schemas + rt.name}
		case len(rt.any) > 0:
			var refs []any
			for _, name := range rt.any {
				refs = append(refs, map[string]any{"$ref": schemas + name})
			}
			media.Schema = map[string]any{"anyOf": refs}
		}
		response.Response.Content[sse.ContentType] = media
	}
}
