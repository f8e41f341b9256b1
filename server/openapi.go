package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/sse"
)

// streamEvent is one event's data: one of the protocol's payloads.
type streamEvent struct{}

var _ jsonschema.OneOfExposer = streamEvent{}

// JSONSchemaOneOf implements [jsonschema.OneOfExposer].
func (streamEvent) JSONSchemaOneOf() []any {
	return []any{forge.QueryAnalysis{}, forge.CacheHit{}, forge.CacheMiss{}, forge.RetrievalStart{}, forge.RetrievalResult{},
		forge.ToolCall{}, forge.ToolResult{}, forge.CRAGEvaluation{}, forge.RerankResult{}, forge.GenerationStart{}, forge.Token{},
		forge.Verification{}, forge.Sources{}, forge.Done{}, forge.Error{}}
}

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
		if rt.request != nil {
			oc.AddReqStructure(rt.request)
		}
		status := rt.status
		if status == 0 {
			status = http.StatusOK
		}
		oc.AddRespStructure(rt.reply, func(cu *openapi.ContentUnit) {
			cu.HTTPStatus = status
			if rt.stream {
				cu.ContentType = sse.ContentType
				cu.Description = "Server-sent events. Each has an id that resumes the stream, and data of one of these forms."
			}
		})
		for _, status := range rt.faults {
			var body any = forge.Error{}
			if status == http.StatusServiceUnavailable {
				body = rt.reply
			}
			oc.AddRespStructure(body, openapi.WithHTTPStatus(status))
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
