package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/sluice-rag/sluice/wire/sse"
)

// oneOf is data of one of several forms.
type oneOf []any

var _ jsonschema.OneOfExposer = oneOf{}

// JSONSchemaOneOf implements [jsonschema.OneOfExposer].
func (o oneOf) JSONSchemaOneOf() []any { return o }

// document makes the OpenAPI document of the routes from their types.
func document(table []route, version string) ([]byte, error) {
	r := openapi31.NewReflector()
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
			reply = oneOf(rt.events)
		}
		oc.AddRespStructure(reply, func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = status
			if rt.events != nil {
				cu.ContentType = sse.ContentType
				cu.Description = "Server-sent events. Each has an id that resumes the stream, and data of one of these forms."
			}
		})
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
