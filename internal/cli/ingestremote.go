package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/server/ingestions"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/wire/sse"
)

// waitNote is the time without progress after which users are told that the ingestion has not begun yet.
const waitNote = 5 * time.Second

// through ingests the paths through the server that uses the data folder. It returns the result with all failures, and the collection.
func (c *ingestCmd) through(e *env, at remote) (r source.Result, collection string, err error) {
	req := ingestions.Request{Retry: c.Retry, AllowRemoval: c.AllowRemoval}
	if e.given("collection") {
		req.Collection = e.cfg.Store.Collection
	}
	if req.Paths, err = absolutePaths(c.Path); err != nil {
		return r, "", err
	}
	cl, err := at.client()
	if err != nil {
		return r, "", err
	}
	var accepted ingestions.Accepted
	if err := cl.Post(e.ctx, "/api/ingestions", req, &accepted); err != nil {
		return r, "", task("ingest", err)
	}
	show, done := newProgress(e, "indexing")
	waits := time.AfterFunc(waitNote, func() {
		fmt.Fprintln(e.Err, "nothing is indexed yet, probably because the server finishes other ingestions first; you may stop this command, and the server goes on")
	})
	f := ingestionFollower{at: at, path: accepted.Stream, show: func(p ingest.Progress) { waits.Stop(); show(p) }}
	r, err = f.follow(e.ctx)
	waits.Stop()
	done()
	if err != nil {
		if e.ctx.Err() != nil {
			fmt.Fprintln(e.Err, "the server continues the ingestion", accepted.ID)
		}
		return r, "", fmt.Errorf("ingest: %w", err)
	}
	r.Failures = f.failed
	return r, accepted.Collection, nil
}

// ingestionFollower reads the stream of an ingestion.
type ingestionFollower struct {
	at     remote
	path   string
	last   string // id of the last event
	show   func(ingest.Progress)
	failed []ingest.Failure
	result *source.Result
}

// maxRetries limits how often in succession a stream is resumed without a new event.
const maxRetries = 20

// follow returns the result of the ingestion. It resumes the stream if the stream ends early.
func (f *ingestionFollower) follow(ctx context.Context) (source.Result, error) {
	var err error
	for tries := 0; tries < maxRetries; tries++ {
		before := f.last
		if err = f.read(ctx); f.result != nil {
			return *f.result, nil
		}
		if _, refused := errors.AsType[*refusedError](err); refused || ctx.Err() != nil {
			return source.Result{}, err
		}
		if f.last != before {
			tries = 0
		}
		if err := wait(ctx); err != nil {
			return source.Result{}, err
		}
	}
	return source.Result{}, fmt.Errorf("the stream of the server ended early: %w", err)
}

// refusedError is a reply that is not a stream, and that another try would not change.
type refusedError struct{ status string }

// Error implements error.
func (r *refusedError) Error() string {
	return "the server does not know the ingestion any more (" + r.status + "): if it was restarted, run the command again"
}

// read reads one stream to its end.
func (f *ingestionFollower) read(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.at.url+f.path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+f.at.key.Reveal())
	if f.last != "" {
		req.Header.Set("Last-Event-ID", f.last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		if res.StatusCode >= http.StatusInternalServerError {
			return errors.New(res.Status)
		}
		return &refusedError{res.Status}
	}
	stream := sse.NewReader(res.Body, 0)
	for f.result == nil {
		ev, err := stream.Next()
		if err == nil {
			err = f.take(ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take handles an event.
func (f *ingestionFollower) take(ev sse.Event) error {
	var all struct {
		ingestions.Progress
		Path   string         `json:"path"`
		Reason string         `json:"reason"`
		Result *source.Result `json:"result"`
	}
	if err := json.Unmarshal([]byte(ev.Data), &all); err != nil {
		return fmt.Errorf("read event of the server: %w", err)
	}
	f.last = ev.ID
	switch ev.Name {
	case "ingestion_started":
		f.failed = nil // it is a new attempt
	case "ingestion_progress":
		f.show(ingest.Progress{Done: all.Done, Total: all.Total, Bytes: all.Bytes, Current: all.Current})
	case "file_failed":
		f.failed = append(f.failed, ingest.Failure{Path: all.Path, Reason: all.Reason})
	case "ingestion_finished":
		f.result = all.Result
	}
	return nil
}
