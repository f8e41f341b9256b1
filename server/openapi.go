package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/sluice-rag/sluice/wire/sse"
)

// oneOf is an object of one of several forms.
type oneOf struct{ forms []any }

var _ jsonschema.OneOfExposer = oneOf{}

// JSONSchemaOneOf implements [jsonschema.OneOfExposer].
func (o oneOf) JSONSchemaOneOf() []any { return o.forms }

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

// document makes the OpenAPI document of the routes from their types.
func document(table []route, version string) ([]byte, error) {
	r := openapi31.NewReflector()
	r.DefaultOptions = append(r.DefaultOptions, jsonschema.InterceptProp(asEncoded))
	r.Spec.Info.WithTitle("Sluice").WithVersion(version).
		WithDescription("Answers questions over documents and streams everything it does while it does it.")
	for _, rt := range table {
		if rt.summary == "" {
			continue
		}
		oc, err := r.NewOperationContext(rt.method, rt.path)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", rt.path, err)
		}
		oc.SetSummary(rt.summary)
		for _, req := range rt.request {
			oc.AddReqStructure(req)
		}
		status := rt.status
		if status == 0 {
			status = http.StatusOK
		}
		reply := rt.reply
		if rt.events != nil {
			reply = oneOf{rt.events}
		}
		oc.AddRespStructure(reply, func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = status
			if rt.events != nil {
				cu.ContentType = sse.ContentType
				cu.Description = "Server-sent events. Each has an id that resumes the stream, and data of one of these forms."
			}
		})
		for _, status := range rt.partial {
			oc.AddRespStructure(rt.reply, openapi.WithHTTPStatus(status))
		}
		if rt.empty {
			oc.AddRespStructure(nil, openapi.WithHTTPStatus(http.StatusNoContent))
		}
		for _, status := range rt.faults {
			oc.AddRespStructure(rt.fault, openapi.WithHTTPStatus(status))
		}
		if err := r.AddOperation(oc); err != nil {
			return nil, fmt.Errorf("describe %s: %w", rt.path, err)
		}
	}
	doc, err := json.MarshalIndent(r.Spec, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	return doc, nil
}
