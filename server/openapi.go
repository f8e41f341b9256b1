package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// oneOf is a union of types. Its schema is inlined.
type oneOf struct{ forms []any }

var (
	_ jsonschema.OneOfExposer  = oneOf{}
	_ jsonschema.SchemaInliner = oneOf{}
)

// JSONSchemaOneOf implements [jsonschema.OneOfExposer].
func (o oneOf) JSONSchemaOneOf() []any { return o.forms }

// InlineJSONSchema implements [jsonschema.SchemaInliner].
func (o oneOf) InlineJSONSchema() {}

// asEncoded makes a schema match encoding/json: a field without omitempty is required, and null only if it is a pointer; lists and maps are never null. A
// pointer with omitempty may be null if it has the tag null, because something else than encoding/json encodes it.
func asEncoded(p jsonschema.InterceptPropParams) error {
	name, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	if !p.Processed || name == "" {
		return nil
	}
	s := p.PropertySchema
	if options != "" && p.Field.Tag.Get("null") == "" || p.Field.Type.Kind() != reflect.Pointer {
		s.RemoveType(jsonschema.Null)
	} else if s.Ref != nil { // a reference has no type of its own
		null := (&jsonschema.Schema{}).WithType(jsonschema.Null.Type()).ToSchemaOrBool()
		object := (&jsonschema.Schema{Ref: s.Ref}).ToSchemaOrBool()
		s.Ref, s.AnyOf = nil, []jsonschema.SchemaOrBool{object, null}
	}
	if options == "" && !slices.Contains(p.ParentSchema.Required, name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, name)
	}
	return nil
}

// names records which type has which schema name. The name of a type is that of its package and the type, so that types of
// a protocol begin with the name of the protocol.
type names struct {
	types map[string]string
	err   error
}

func (n *names) note(t reflect.Type, name string) string {
	n.take(name, t.PkgPath()+"."+t.Name())
	return name
}

// take assigns a name to a type. It is an error if another type has the name.
func (n *names) take(name, of string) {
	if other, taken := n.types[name]; taken && other != of {
		n.err = fmt.Errorf("describe types: %s and %s are both named %s", other, of, name)
	}
	n.types[name] = of
}

const schemas = "#/components/schemas/"

// document returns the OpenAPI document of the routes. The function failing returns the error of a route without Fault.
func document(table []Route, failing func(*fault.Error) any, version string) ([]byte, error) {
	n := &names{types: map[string]string{}}
	r := openapi31.NewReflector()
	r.DefaultOptions = append(r.DefaultOptions, jsonschema.InterceptProp(asEncoded), jsonschema.InterceptDefName(n.note))
	r.Spec.Info.WithTitle("Sluice").WithVersion(version).
		WithDescription("Answers questions over documents and streams everything it does while it does it.")
	describeKeys(r.Spec)
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
		if rt.Events != nil && len(rt.any) == 0 {
			nameEvents(r.Spec, rt, n)
		}
	}
	for _, rt := range table { // the other routes have named their events now
		if rt.Summary != "" && len(rt.any) > 0 {
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

// The ways in which a request can carry a key.
var keySchemes = []string{"bearer", "header", "session"}

func describeKeys(spec *openapi31.Spec) {
	spec.SetHTTPBearerTokenSecurity("bearer", "", "An API key. A server without keys needs none.")
	spec.SetAPIKeySecurity("header", "X-API-Key", openapi.InHeader, "An API key.")
	spec.SetAPIKeySecurity("session", "sluice_session", openapi.InCookie, "The cookie of a login. Over TLS its name is __Host-sluice_session.")
}

// describeScope describes what a key needs for a route, and returns the statuses of refusals.
func describeScope(oc openapi.OperationContext, rt Route) (faults []int) {
	scope := cmp.Or(rt.Scope, auth.Admin)
	if scope == Open {
		return nil
	}
	for _, name := range keySchemes {
		oc.AddSecurity(name)
	}
	switch {
	case rt.Needs != "":
		oc.SetDescription(rt.Needs)
	case scope == AnyKey:
		return []int{http.StatusUnauthorized}
	case rt.Own:
		oc.SetDescription(fmt.Sprintf("Needs the scope %s, or ask for a run of the key's account.", scope))
	default:
		oc.SetDescription(fmt.Sprintf("Needs the scope %s.", scope))
	}
	return []int{http.StatusUnauthorized, http.StatusForbidden}
}

func describe(oc openapi.OperationContext, rt Route, failing func(*fault.Error) any) {
	oc.SetSummary(rt.Summary)
	faults := append(describeScope(oc, rt), rt.Faults...)
	for _, req := range rt.Request {
		oc.AddReqStructure(req)
	}
	status, reply, failure := rt.Status, rt.Reply, rt.failure
	if status == 0 {
		status = http.StatusOK
	}
	if rt.Text != "" {
		oc.AddRespStructure("", openapi.WithHTTPStatus(status), openapi.WithContentType(rt.Text))
	}
	if reply != nil || rt.Events == nil && rt.Text == "" {
		oc.AddRespStructure(reply, openapi.WithHTTPStatus(status))
	}
	if rt.Events != nil {
		for _, media := range rt.streams() {
			oc.AddRespStructure(oneOf{rt.Events}, func(cu *openapi.ContentUnit) {
				cu.HTTPStatus = status
				cu.ContentType = media
				cu.Description = "A stream. Server-sent events have an id that resumes the stream, and data of one of these forms. A plain text has " +
					"lines of these forms, the byte 0x1d, the text of the answer, the byte 0x1e, and an object of the last form."
			})
		}
	}
	if rt.failed == nil {
		rt.failed = reply
	}
	for _, status := range rt.partial {
		oc.AddRespStructure(rt.failed, openapi.WithHTTPStatus(status))
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
	slices.Sort(faults)
	media := "application/json"
	if _, ok := failure.(wire.Text); ok {
		failure, media = "", mediaType(textType)
	}
	for _, status := range slices.Compact(faults) {
		form := failure
		if slices.Contains(rt.partial, status) && reflect.TypeOf(rt.failed) != reflect.TypeOf(failure) {
			form = oneOf{[]any{rt.failed, failure}}
		}
		oc.AddRespStructure(form, openapi.WithHTTPStatus(status), openapi.WithContentType(media))
	}
}

// streams returns the media types of the streams of a route.
func (rt Route) streams() []string {
	if len(rt.any) > 0 {
		return slices.Sorted(maps.Keys(rt.any))
	}
	return []string{cmp.Or(rt.media, sse.ContentType)}
}

// mediaType returns a content type without parameters.
func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return media
}

// nameEvents moves the schema of a route's events to the components. The events of a route that streams in any protocol
// refer to those of all protocols.
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
		for _, kind := range rt.streams() {
			media, streams := response.Response.Content[kind]
			switch {
			case !streams:
				continue
			case rt.name != "":
				n.take(rt.name, "events of "+rt.Path)
				spec.Components.WithSchemasItem(rt.name, media.Schema)
				media.Schema = map[string]any{"$ref": schemas + rt.name}
			case len(rt.any) > 0:
				var refs []any
				for _, name := range rt.any[kind] {
					if _, named := spec.Components.Schemas[name]; !named {
						continue // the server has no route of the protocol
					}
					refs = append(refs, map[string]any{"$ref": schemas + name})
				}
				media.Schema = map[string]any{"anyOf": refs}
			}
			response.Response.Content[kind] = media
		}
	}
}
