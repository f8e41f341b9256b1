package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/forge"
)

// Run is a run in a list.
type Run struct {
	RunID      string       `json:"run_id"`
	Query      string       `json:"query"`
	Mode       event.Mode   `json:"mode"`
	Protocol   string       `json:"protocol"` // in which it was started
	Collection string       `json:"collection"`
	Status     event.Status `json:"status"`
	ErrorCode  string       `json:"error_code,omitempty"`
	StartedAt  time.Time    `json:"started_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	DurationMS event.Millis `json:"duration_ms"`
	Events     event.Seq    `json:"events"`
}

// RunList is a page of runs, newest first.
type RunList struct {
	Runs []Run  `json:"runs"`
	Next string `json:"next,omitempty"` // pass it as before to get the next page
}

// RunDetail is a run with its answer so far.
type RunDetail struct {
	Run
	Answer    forge.Answer `json:"answer"`
	Reasoning string       `json:"reasoning,omitempty"`
}

// Health is the state of the server.
type Health struct {
	Status   string `json:"status"` // ok, or draining while the server stops
	Version  string `json:"version"`
	Live     int    `json:"live_runs"`
	Instance string `json:"instance"` // differs after each start of the server
}

// Runs lists at most limit runs that are older than the one with the id before. The limit 0 selects the server's default.
func (c *Client) Runs(ctx context.Context, limit int, before string) (l RunList, err error) {
	path := "/api/runs" + page(limit, "")
	if before != "" {
		sep := "?"
		if limit > 0 {
			sep = "&"
		}
		path += sep + "before=" + url.QueryEscape(before)
	}
	err = c.call(ctx, "list runs", get(path), &l)
	return l, err
}

// Run returns a run with its answer so far. The server's default protocol must be forge.
func (c *Client) Run(ctx context.Context, id string) (r RunDetail, err error) {
	err = c.call(ctx, "get run", get("/api/runs/"+url.PathEscape(id)), &r)
	return r, err
}

// Cancel cancels a run of any protocol. A run that several clients asked for ends when each of them has cancelled it.
func (c *Client) Cancel(ctx context.Context, run string) error {
	return c.call(ctx, "cancel run", request{method: http.MethodPost, path: "/runs/" + url.PathEscape(run) + "/cancel"}, nil)
}

// Health returns the health of the server.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.call(ctx, "get health", get("/healthz"), &h)
	return h, err
}

// ServerStatus returns the status and the features of the server.
func (c *Client) ServerStatus(ctx context.Context) (s ServerStatus, err error) {
	err = c.call(ctx, "get server status", get("/v1/serverstatus"), &s)
	return s, err
}

// Models lists the names of the models that a question may request, in order of preference.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	var l struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := c.call(ctx, "list models", get("/v1/models"), &l)
	var names []string
	for _, m := range l.Data {
		names = append(names, m.ID)
	}
	return names, err
}
