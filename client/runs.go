package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/forge"
)

// ServerStatus tells how the server is.
type ServerStatus struct {
	Status    string            `json:"status"`
	Version   string            `json:"version"`
	Timestamp int64             `json:"timestamp"` // Unix seconds.
	Uptime    int64             `json:"uptime"`    // Seconds.
	Services  map[string]string `json:"services"`
	Metrics   map[string]int64  `json:"metrics"`
	Features  map[string]bool   `json:"features"`
}

// Run is a run in a list.
type Run struct {
	RunID      string       `json:"run_id"`
	Query      string       `json:"query"`
	Mode       event.Mode   `json:"mode"`
	Protocol   string       `json:"protocol"` // that it was started in
	Collection string       `json:"collection"`
	Status     event.Status `json:"status"`
	ErrorCode  string       `json:"error_code,omitempty"`
	StartedAt  time.Time    `json:"started_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	DurationMS event.Millis `json:"duration_ms"`
	Events     event.Seq    `json:"events"`
}

// RunList is a page of runs, the newest first.
type RunList struct {
	Runs []Run  `json:"runs"`
	Next string `json:"next,omitempty"` // give it as before to get the next page
}

// RunDetail is a run with what its stream added up to so far.
type RunDetail struct {
	Run
	Answer    forge.Answer `json:"answer"`
	Reasoning string       `json:"reasoning,omitempty"`
}

// Health is the state of the server.
type Health struct {
	Status   string `json:"status"` // ok, or draining while it is stopping
	Version  string `json:"version"`
	Live     int    `json:"live_runs"`
	Instance string `json:"instance"` // another one after each start
}

// Runs lists runs: at most limit, or the server's default for 0, older than the one of the id before.
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

// Run gets a run with its answer so far, if the server's default protocol is forge.
func (c *Client) Run(ctx context.Context, id string) (r RunDetail, err error) {
	err = c.call(ctx, "get run", get("/api/runs/"+url.PathEscape(id)), &r)
	return r, err
}

// Cancel stops a run, in whatever protocol it was asked. It ends soon after. One that several questions share ends when each asker has
// cancelled its own.
func (c *Client) Cancel(ctx context.Context, run string) error {
	return c.call(ctx, "cancel run", request{method: http.MethodPost, path: "/runs/" + url.PathEscape(run) + "/cancel"}, nil)
}

// Health tells whether the server lives.
func (c *Client) Health(ctx context.Context) (h Health, err error) {
	err = c.call(ctx, "get health", get("/healthz"), &h)
	return h, err
}

// ServerStatus tells how the server is and what it can do.
func (c *Client) ServerStatus(ctx context.Context) (s ServerStatus, err error) {
	err = c.call(ctx, "get server status", get("/v1/serverstatus"), &s)
	return s, err
}

// Models lists the names of the models that a question may ask for, in the order in which they are asked.
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
