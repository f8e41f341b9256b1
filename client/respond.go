package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Respond asks a question in the knowledge protocol; see [Client.Ask]. It sets q.Stream. StreamOptions selects snapshots,
// the default, or deltas, which need fewer bytes and end in the same snapshot.
func (c *Client) Respond(ctx context.Context, q knowledge.Request) *Stream {
	stream := true
	q.Stream = &stream
	return c.asking(ctx, knowledge.Name, view(q.StreamOptions, q.SnapshotsPerSecond), "/v1/responses", questionOf(q), q)
}

// RespondOnce asks a question and returns the complete response. If the run failed, it returns the response and an error.
func (c *Client) RespondOnce(ctx context.Context, q knowledge.Request) (r knowledge.Response, err error) {
	stream := false
	q.Stream = &stream
	if err = c.send(ctx, "respond", "/v1/responses", q, &r); err == nil && r.Error != nil {
		err = fmt.Errorf("respond: %w", &fault.Error{Code: fault.Code(r.Error.Reason), Message: r.Error.Message})
	}
	return r, err
}

// Question returns the request for a question that follows the messages of a conversation.
func Question(text string, before ...event.Message) knowledge.Request {
	if len(before) == 0 {
		return knowledge.Request{Input: text}
	}
	var input []knowledge.Message
	for _, t := range before {
		input = append(input, knowledge.Message{Role: t.Role, Content: t.Text})
	}
	return knowledge.Request{Input: append(input, knowledge.Message{Role: event.RoleUser, Content: text})}
}

// questionOf returns the question of a request if it is plain text.
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

// FileSearch returns the tool that searches vector stores.
func FileSearch(stores ...string) knowledge.Tool {
	return knowledge.Tool{Type: "file_search", VectorStoreIDs: stores}
}

// Response returns a stored response. It may still be incomplete.
func (c *Client) Response(ctx context.Context, id string) (r knowledge.Response, err error) {
	err = c.call(ctx, "get response", get("/v1/responses/"+url.PathEscape(id)), &r)
	return r, err
}

// StreamResponse streams a stored response, whether it is live or complete, from after the cursor. The empty cursor is the
// start. The options may be nil.
func (c *Client) StreamResponse(ctx context.Context, id, after string, o *knowledge.StreamOptions) *Stream {
	return c.resume(ctx, knowledge.Name, view(o, 0), id, after)
}

// DeleteResponse deletes a stored response.
func (c *Client) DeleteResponse(ctx context.Context, id string) error {
	return c.delete(ctx, "delete response", "/v1/responses/"+url.PathEscape(id))
}

// CancelResponse cancels a response and returns it.
func (c *Client) CancelResponse(ctx context.Context, id string) (r knowledge.Response, err error) {
	err = c.call(ctx, "cancel response", request{method: http.MethodPost, path: "/v1/responses/" + url.PathEscape(id) + "/cancel"}, &r)
	return r, err
}

// Responses lists at most limit stored responses after the one with the id after, newest first. The limit 0 selects the
// server's default.
func (c *Client) Responses(ctx context.Context, limit int, after string) (l ResponseList, err error) {
	err = c.call(ctx, "list responses", get("/v1/responses"+page(limit, after)), &l)
	return l, err
}

// page returns the URL parameters of a list.
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

// textOf returns the text of all messages of a response.
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
