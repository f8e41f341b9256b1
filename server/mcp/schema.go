package mcp

import (
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// The messages in the stream of a request, for the descriptions of the protocol: those of
// https://modelcontextprotocol.io/specification/2025-11-25/schema that the server sends.
type (
	// progressMessage reports progress of a call.
	progressMessage struct {
		JSONRPC string         `json:"jsonrpc" enum:"2.0"`
		Method  string         `json:"method" enum:"notifications/progress"`
		Params  progressParams `json:"params"`
	}
	progressParams struct {
		ProgressToken any     `json:"progressToken" description:"That of the request: a string or a number."`
		Progress      float64 `json:"progress" description:"Increases with each notification."`
		Total         float64 `json:"total,omitempty"`
		Message       string  `json:"message,omitempty" description:"A step, or the text of the answer so far."`
	}
	// resultMessage is the response to a call of a tool.
	resultMessage struct {
		JSONRPC string     `json:"jsonrpc" enum:"2.0"`
		ID      any        `json:"id" description:"That of the request: a string or a number."`
		Result  toolResult `json:"result"`
	}
	toolResult struct {
		Content           []toolContent  `json:"content"`
		StructuredContent map[string]any `json:"structuredContent,omitempty" description:"The result of the tool, as in the schema that tools/list returns."`
		IsError           bool           `json:"isError,omitempty" description:"The tool has failed; the content says why."`
	}
	toolContent struct {
		Type string `json:"type" enum:"text,image,audio,resource,resource_link"`
		Text string `json:"text,omitempty" description:"Of the type text."`
	}
	// errorMessage is the response to a request that failed.
	errorMessage struct {
		JSONRPC string       `json:"jsonrpc" enum:"2.0"`
		ID      any          `json:"id,omitempty" description:"That of the request. Missing if the message could not be read."`
		Error   errorDetails `json:"error"`
	}
	errorDetails struct {
		Code    int    `json:"code" description:"A code of JSON-RPC or of MCP."`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
)

// events are the messages of a stream.
var events = []any{progressMessage{}, resultMessage{}, errorMessage{}}

// Description describes the streams of calls of tools.
func Description() server.Description {
	return server.Description{Name: Name, ContentType: sse.ContentType, Ask: Path, Types: wire.Types{Request: message{}, Fault: refusal{}, Events: events}}
}
