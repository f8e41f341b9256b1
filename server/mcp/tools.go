package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
)

// tools are the tools with the functions that they call.
var tools = []struct{ name, title, function string }{
	{"ask", "Ask a question about the documents", "rag.ask"},
	{"search", "Search for passages", "rag.search"},
	{"read_document", "Read a document", "documents.get"},
	{"list_documents", "List the documents", "documents.list"},
}

func (s *Server) addTools() {
	for _, t := range tools {
		f, ok := s.calls.Function(t.function)
		if !ok {
			continue
		}
		openWorld := false
		s.sdk.AddTool(&mcp.Tool{Name: t.name, Title: t.title, Description: f.Description, InputSchema: f.Arguments, OutputSchema: f.Returns,
			Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: true, OpenWorldHint: &openWorld}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return s.callTool(ctx, req, t.function), nil
			})
	}
}

// callTool calls the function of a tool. Its errors are results, so that models see them.
func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest, function string) *mcp.CallToolResult {
	var events func(name string, data []byte)
	asks := function == tools[0].function
	if token := req.Params.GetProgressToken(); token != nil && asks {
		p := &progress{notify: func(n float64, message string) {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message}) // fails only if the session has ended
		}}
		events = p.event
	}
	result, err := s.call(ctx, req.Session.ID(), req.Extra, function, req.Params.Arguments, events)
	out := &mcp.CallToolResult{}
	if err != nil {
		out.SetError(err)
		return out
	}
	out.StructuredContent = result
	text := string(result)
	var a wireforrst.Answer
	if asks && json.Unmarshal(result, &a) == nil {
		text = textOf(&a)
	}
	out.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return out
}

// progress converts the events of a stream to notifications: one for each step, and the text of the answer each time that it has grown by at
// least a quarter, so that their total length stays proportional to that of the answer.
type progress struct {
	notify func(n float64, message string)
	n      float64 // increases with each notification
	text   strings.Builder
	sent   int // bytes of the text in the last notification
}

// minGrowth is the number of bytes by which the text has grown at least between two notifications.
const minGrowth = 32

func (p *progress) event(name string, data []byte) {
	if name == wireforrst.EventProgress {
		var step wireforrst.Progress
		if json.Unmarshal(data, &step) == nil {
			p.send(step.Message)
		}
		return
	}
	var c wireforrst.Content
	if json.Unmarshal(data, &c) != nil {
		return
	}
	p.text.WriteString(c.Content)
	if grown := p.text.Len() - p.sent; grown >= max(minGrowth, p.sent/4) {
		p.sent = p.text.Len()
		p.send(p.text.String())
	}
}

func (p *progress) send(message string) {
	p.n++
	p.notify(p.n, message)
}

// textOf returns an answer with the numbers of its citations in brackets, and the list of its sources.
func textOf(a *wireforrst.Answer) string {
	runes := []rune(a.Content)
	var b strings.Builder
	at := 0
	ends := slices.Clone(a.Citations)
	slices.SortStableFunc(ends, func(x, y wireforrst.Citation) int { return cmp.Compare(x.End, y.End) })
	for _, c := range ends {
		end := min(c.End, len(runes))
		b.WriteString(string(runes[at:end]))
		fmt.Fprintf(&b, " [%d]", c.Index)
		at = end
	}
	b.WriteString(string(runes[at:]))
	for i, src := range a.Sources {
		if i == 0 {
			b.WriteString("\n\nSources:")
		}
		fmt.Fprintf(&b, "\n[%d] %s", src.Index, cmp.Or(src.Title, src.File, src.DocumentID))
		if src.Heading != "" {
			b.WriteString(", " + src.Heading)
		}
		if len(src.PageNumbers) > 0 {
			fmt.Fprintf(&b, ", page %d", src.PageNumbers[0])
		}
		fmt.Fprintf(&b, " (document %s)", src.DocumentID)
	}
	return b.String()
}
