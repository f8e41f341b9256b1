package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prefix is the beginning of the URI of a document.
const prefix = "sluice://documents/"

// maxResource is the approximate limit of the text of a resource, in bytes.
const maxResource = 1 << 20

// Functions that the resources call.
const (
	listFunction = "documents.list"
	getFunction  = "documents.get"
)

func (s *Server) addResources() {
	if _, ok := s.calls.Function(getFunction); !ok {
		return
	}
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{Name: "document", Title: "Document", URITemplate: prefix + "{id}", MIMEType: "text/plain",
		Description: "The text of a document as it is indexed."}, s.readResource)
	// The SDK lists only resources that were added to it; the documents change.
	s.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if list, ok := req.(*mcp.ListResourcesRequest); ok {
				return s.listResources(ctx, list)
			}
			return next(ctx, method, req)
		}
	})
}

// ask calls a function with arguments and decodes its result.
func (s *Server) ask(ctx context.Context, session string, extra *mcp.RequestExtra, function string, arguments, result any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	out, err := s.call(ctx, session, extra, function, raw, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, result)
}

// listResources returns a page of the documents of the server's collection and of the uploaded ones.
func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (mcp.Result, error) {
	arguments := map[string]any{"status": "completed"}
	if req.Params != nil && req.Params.Cursor != "" {
		arguments["cursor"] = req.Params.Cursor
	}
	var page struct {
		Documents []struct {
			ID, Name, Title string
		}
		Next *string `json:"next_cursor"`
	}
	if err := s.ask(ctx, req.Session.ID(), req.Extra, listFunction, arguments, &page); err != nil {
		return nil, rpcError(err)
	}
	out := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	for _, d := range page.Documents {
		out.Resources = append(out.Resources, &mcp.Resource{URI: prefix + url.PathEscape(d.ID), Name: d.Name, Title: d.Title, MIMEType: "text/plain"})
	}
	if page.Next != nil {
		out.NextCursor = *page.Next
	}
	return out, nil
}

// readResource returns the text of a document.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, prefix))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	var text strings.Builder
	for from := 0; ; {
		var page struct {
			Passages []struct{ Text string }
			Next     *int
		}
		err := s.ask(ctx, req.Session.ID(), req.Extra, getFunction, map[string]any{"id": id, "from": from}, &page)
		if failed, ok := errors.AsType[*callError](err); ok && failed.Code == "NOT_FOUND" {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		if err != nil {
			return nil, rpcError(err)
		}
		for _, p := range page.Passages {
			if text.Len() > 0 {
				text.WriteString("\n\n")
			}
			text.WriteString(p.Text)
		}
		if page.Next == nil {
			break
		}
		if from = *page.Next; text.Len() > maxResource {
			text.WriteString("\n\n[The text goes on: the tool read_document returns the rest.]")
			break
		}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: text.String()}}}, nil
}

// rpcError returns an error as one of JSON-RPC.
func rpcError(err error) error {
	code := int64(jsonrpc.CodeInternalError)
	if failed, ok := errors.AsType[*callError](err); ok && failed.Code != "INTERNAL_ERROR" {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: err.Error()}
}
