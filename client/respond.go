package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// ResponseSummary is a stored response in a list.
type ResponseSummary struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	CreatedAt  int64  `json:"created_at"` // Unix seconds.
	Status     string `json:"status"`
	Model      string `json:"model"` // As asked for.
	Query      string `json:"query"`
	Collection string `json:"collection"`
	Protocol   string `json:"protocol"` // That it was asked by.
	Previous   string `json:"previous_response_id,omitempty"`
}

// ResponseList is a page of stored responses, the newest first.
type ResponseList struct {
	Object  string            `json:"object"`
	Data    []ResponseSummary `json:"data"`
	FirstID string            `json:"first_id,omitempty"`
	LastID  string            `json:"last_id,omitempty"` // Give it as after to get the next page.
	HasMore bool              `json:"has_more"`
}

// Respond asks a question in the knowledge protocol, as [Client.Ask] does in forge. The request's Stream is set; its StreamOptions choose
// between snapshots, the default, and deltas, which are fewer bytes and end in the same snapshot.
func (c *Client) Respond(ctx context.Context, q knowledge.Request) *Stream {
	stream := true
	q.Stream = &stream
	return c.asking(ctx, knowledge.Name, view(q.StreamOptions, q.SnapshotsPerSecond), "/v1/responses", questionOf(q), q)
}

// RespondOnce asks a question and gives the response when it is whole. One that failed is an error too.
func (c *Client) RespondOnce(ctx context.Context, q knowledge.Request) (r knowledge.Response, err error) {
	stream := false
	q.Stream = &stream
	if err = c.send(ctx, "respond", "/v1/responses", q, &r); err == nil && r.Error != nil {
		err = fmt.Errorf("respond: %w", &fault.Error{Code: fault.Code(r.Error.Reason), Message: r.Error.Message})
	}
	return r, err
}

// Question makes a request of a question that follows the turns of a conversation.
func Question(text string, before ...event.Turn) knowledge.Request {
	if len(before) == 0 {
		return knowledge.Request{Input: text}
	}
	var input []knowledge.Message
	for _, t := range before {
		input = append(input, knowledge.Message{Role: t.Role, Content: t.Text})
	}
	return knowledge.Request{Input: append(input, knowledge.Message{Role: event.RoleUser, Content: text})}
}

// questionOf finds what a request asks, as far as it is plain text.
func questionOf(q knowledge.Request) string {
	if s, ok := q.Input.(string); ok {
		return s
	}
	messages, _ := q.Input.([]knowledge.Message)
	if messages == nil {
		messages = q.Messages
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == event.RoleUser {
			s, _ := messages[i].Content.(string)
			return s
		}
	}
	return ""
}

// FileSearch is the tool that looks in vector stores.
func FileSearch(stores ...string) knowledge.Tool {
	return knowledge.Tool{Type: "file_search", VectorStoreIDs: stores}
}

// Response gets a stored response, as far as it is.
func (c *Client) Response(ctx context.Context, id string) (r knowledge.Response, err error) {
	err = c.call(ctx, "get response", get("/v1/responses/"+url.PathEscape(id)), &r)
	return r, err
}

// StreamResponse streams a stored response from behind the cursor, live or finished; the empty one is the start. The options may be nil.
func (c *Client) StreamResponse(ctx context.Context, id, after string, o *knowledge.StreamOptions) *Stream {
	return c.resume(ctx, knowledge.Name, view(o, 0), id, after)
}

// DeleteResponse deletes a stored response.
func (c *Client) DeleteResponse(ctx context.Context, id string) error {
	return c.delete(ctx, "delete response", "/v1/responses/"+url.PathEscape(id))
}

// CancelResponse stops a response and gives it as far as it came.
func (c *Client) CancelResponse(ctx context.Context, id string) (r knowledge.Response, err error) {
	err = c.call(ctx, "cancel response", request{method: http.MethodPost, path: "/v1/responses/" + url.PathEscape(id) + "/cancel"}, &r)
	return r, err
}

// Responses lists stored responses, the newest first: at most limit, or the server's default for 0, behind the one of the id after.
func (c *Client) Responses(ctx context.Context, limit int, after string) (l ResponseList, err error) {
	err = c.call(ctx, "list responses", get("/v1/responses"+page(limit, after)), &l)
	return l, err
}

// page gives the parameters of a list.
func page(limit int, after string) string {
	v := url.Values{}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	if after != "" {
		v.Set("after", after)
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

// textOf gives the whole text of a response's messages.
func textOf(r knowledge.Response) string {
	var parts []string
	for _, item := range r.Output {
		if item.Type != knowledge.ItemMessage {
			continue
		}
		for _, p := range item.Content {
			if p.Type == "output_text" {
				parts = append(parts, p.Text)
			}
		}
	}
	return strings.Join(parts, "\n\n")
}

// absent tells whether an error says that there is no such thing.
func absent(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Code == fault.NotFound
}
