package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sluice-rag/sluice/wire/sessions"
)

// What the server tells of conversations.
type (
	Session     = sessions.Session
	SessionList = sessions.List
	Message     = sessions.Message
	MessageList = sessions.Messages
	Feedback    = sessions.Feedback
)

// Ratings of answers.
const (
	Good = sessions.Good
	Bad  = sessions.Bad
)

// SessionRequest describes a new session.
type SessionRequest struct {
	ID    string `json:"session_id,omitempty"` // at most 128 bytes; empty: the server makes one
	Title string `json:"title,omitempty"`      // at most 300 bytes; empty: the server makes one from the first question
}

// SessionFilter selects sessions.
type SessionFilter struct {
	Query    string // words that are in the title or in one message; the last one may be the beginning of a word
	Archived string // false, true or all; default false
	Account  string // default: the account of the key; * lists those of all accounts and needs the scope read
}

// SessionChange changes a session. Nil fields stay.
type SessionChange struct {
	Title    *string `json:"title,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	Head     *string `json:"head,omitempty"` // id of an answer, whose branch becomes the active one
}

// MessageFilter selects messages of a session. The zero value selects the newest ones of the active branch.
type MessageFilter struct {
	Limit  int    // 1 to 200; 0: the server's default
	Last   string // id of the last message of another branch
	Before string // id of a message; the page ends before it
}

// Formats of [Client.ExportSession].
const (
	ExportMarkdown = "markdown" // the active branch
	ExportJSON     = "json"     // all branches
)

func sessionPath(id string) string { return "/v1/rag/sessions/" + url.PathEscape(id) }

// with returns a path with the parameters that are not empty.
func with(path string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			v.Set(parameters[i], parameters[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// optional returns a positive number as text, and others as the empty text.
func optional(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// CreateSession creates a session.
func (c *Client) CreateSession(ctx context.Context, s SessionRequest) (made Session, err error) {
	err = c.send(ctx, "create session", "/v1/rag/sessions", s, &made)
	return made, err
}

// Session returns a session.
func (c *Client) Session(ctx context.Context, id string) (s Session, err error) {
	err = c.call(ctx, "get session", get(sessionPath(id)), &s)
	return s, err
}

// Sessions lists at most limit sessions after the cursor, the last used one first. The limit 0 selects the server's default.
func (c *Client) Sessions(ctx context.Context, f SessionFilter, limit int, after string) (l SessionList, err error) {
	err = c.call(ctx, "list sessions", get(with("/v1/rag/sessions", "q", f.Query, "archived", f.Archived, "account", f.Account,
		"limit", optional(limit), "after", after)), &l)
	return l, err
}

// UpdateSession changes a session and returns it.
func (c *Client) UpdateSession(ctx context.Context, id string, change SessionChange) (s Session, err error) {
	err = c.sendAs(ctx, http.MethodPatch, "update session", sessionPath(id), change, &s)
	return s, err
}

// sendAs is [Client.send] with another method.
func (c *Client) sendAs(ctx context.Context, method, what, path string, body, v any) error {
	r, err := encoded(path, body)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	r.method = method
	return c.call(ctx, what, r, v)
}

// DeleteSession deletes a session, and its runs unless keepRuns is set.
func (c *Client) DeleteSession(ctx context.Context, id string, keepRuns bool) error {
	runs := ""
	if keepRuns {
		runs = "keep"
	}
	return c.call(ctx, "delete session", request{method: http.MethodDelete, path: with(sessionPath(id), "runs", runs)}, nil)
}

// Messages lists messages of a session: the newest of a branch, in the order of the conversation.
func (c *Client) Messages(ctx context.Context, session string, f MessageFilter) (l MessageList, err error) {
	err = c.call(ctx, "list messages", get(with(sessionPath(session)+"/messages", "limit", optional(f.Limit), "last", f.Last, "before", f.Before)), &l)
	return l, err
}

// Rate rates an answer as [Good] or [Bad]. The reason may be empty.
func (c *Client) Rate(ctx context.Context, session, message, rating, reason string) (f Feedback, err error) {
	err = c.sendAs(ctx, http.MethodPut, "rate answer", feedbackPath(session, message), map[string]string{"rating": rating, "reason": reason}, &f)
	return f, err
}

func feedbackPath(session, message string) string {
	return sessionPath(session) + "/messages/" + url.PathEscape(message) + "/feedback"
}

// Unrate removes the rating of an answer.
func (c *Client) Unrate(ctx context.Context, session, message string) error {
	return c.call(ctx, "remove rating", request{method: http.MethodDelete, path: feedbackPath(session, message)}, nil)
}

// ExportSession returns an export in the format [ExportMarkdown] or [ExportJSON]. The caller closes it. If the export breaks off, reading
// returns an error.
func (c *Client) ExportSession(ctx context.Context, id, format string) (io.ReadCloser, error) {
	res, err := c.do(ctx, get(with(sessionPath(id)+"/export", "format", format)))
	if err != nil {
		return nil, fmt.Errorf("export session: %w", err)
	}
	return res.Body, nil
}
