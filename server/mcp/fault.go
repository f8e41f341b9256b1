package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// The codes of JSON-RPC errors: those of https://www.jsonrpc.org/specification#error_object, and one of the server, for requests that are refused because
// of who sends them, or how many.
const (
	codeRefused  = -32010
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeInternal = -32603
)

// refusal is a JSON-RPC error. It has no id if the message was not read: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server.
type refusal struct {
	JSONRPC string       `json:"jsonrpc" enum:"2.0"`
	ID      any          `json:"id,omitempty" description:"That of the request: a string or a number. Missing if the message was not read."`
	Error   refusalError `json:"error"`
}

type refusalError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    refusalData `json:"data"`
}

type refusalData struct {
	Code  fault.Code `json:"code"`
	Field string     `json:"field,omitempty" description:"Header or part of the request that is invalid."`
}

// FaultOf returns the reply to a request that is refused before its message is read.
func FaultOf(f *fault.Error) any {
	code := codeRefused
	switch f.Code {
	case fault.InvalidRequest, fault.NotFound, fault.TooLarge, fault.Conflict:
		code = codeInvalid
	case fault.Internal, fault.Unavailable, fault.Index, fault.Model, fault.Timeout, fault.NoSpace, fault.NoDocuments, fault.Cancelled:
		code = codeInternal
	case fault.Unauthenticated, fault.Forbidden, fault.Overloaded, fault.Quota, fault.Payment:
	}
	return refusal{JSONRPC: "2.0", Error: refusalError{code, f.Message, refusalData{f.Code, f.Field}}}
}

// refusing replaces the plain texts with which the SDK refuses requests by errors of JSON-RPC.
type refusing struct {
	http.ResponseWriter
	status int          // of a refusal; 0: the reply is none
	text   bytes.Buffer // of it
}

// Unwrap returns the writer for [http.ResponseController].
func (w *refusing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *refusing) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (w *refusing) Write(p []byte) (int, error) {
	if w.status != 0 {
		return w.text.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// maxText limits the message of a refusal, in bytes.
const maxText = 300

// unknownMethod begins the text with which the SDK refuses a request with a method that it does not know.
const unknownMethod = "JSON RPC not handled"

// finish writes the refusal of a request with a body. A request with an unknown method was read, so its error has the id of the request and the status 200,
// as JSON-RPC requires: clients take an error with another status for one of the transport.
func (w *refusing) finish(body []byte) {
	if w.status == 0 {
		return
	}
	code := fault.InvalidRequest
	switch w.status {
	case http.StatusForbidden:
		code = fault.Forbidden
	case http.StatusUnauthorized:
		code = fault.Unauthenticated
	case http.StatusNotFound:
		code = fault.NotFound
	case http.StatusConflict:
		code = fault.Conflict
	case http.StatusRequestEntityTooLarge:
		code = fault.TooLarge
	}
	if w.status >= 500 {
		code = fault.Internal
	}
	text := wire.Clip(strings.TrimSpace(w.text.String()), maxText)
	reply, _ := FaultOf(fault.New(code, "%s", text)).(refusal)
	var request struct{ ID json.RawMessage }
	err := json.Unmarshal(body, &request)
	switch {
	case err != nil && len(body) > 0 && !json.Valid(body):
		reply.Error.Code = codeParse
	case w.status == http.StatusBadRequest && strings.HasPrefix(text, unknownMethod) && len(request.ID) > 0:
		w.status, reply.ID, reply.Error.Code = http.StatusOK, request.ID, codeMethod
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(w.status)
	_ = json.NewEncoder(w.ResponseWriter).Encode(reply) // fails if the client has disconnected
}

// readCloser reads from one reader and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}
