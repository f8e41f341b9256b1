package prompt

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

// PassageOptions configure a [PassageReader]. The zero value works.
type PassageOptions struct {
	Timeout     time.Duration // of the request for a passage; default 60 s
	Parallel    int           // concurrent requests for one document; default 2
	MaxPassages int           // most passages of a document that the model reads, from the beginning; default 500
	Cooldown    time.Duration // for which the model is not called after a failure; default 1 min
	Logger      *slog.Logger  // nil: none
}

// PassageReader asks a model about the passages of documents, with one request per passage. It is safe for concurrent use.
type PassageReader struct {
	*Judge
	PassageOptions
	fallback string // name of the fallback in traces

	mu    sync.Mutex
	until time.Time // the end of the cooldown
}

// NewPassageReader returns a PassageReader that asks chat.
func NewPassageReader(chat model.Chat, fallback string, o PassageOptions) *PassageReader {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Parallel = cmp.Or(max(o.Parallel, 0), 2)
	o.MaxPassages = cmp.Or(max(o.MaxPassages, 0), 500)
	o.Cooldown = cmp.Or(o.Cooldown, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &PassageReader{Judge: NewJudge(chat), PassageOptions: o, fallback: fallback}
}

// ForEach calls ask for the passages 0 to n-1 of a document, but not during the cooldown after a failure. It reports the reasons of failures
// to the trace of ctx, each once. Its error is that of ctx.
func (r *PassageReader) ForEach(ctx context.Context, n int, ask func(ctx context.Context, i int) error) error {
	errs := ForEach(n, r.Parallel, func(i int) error {
		if ctx.Err() != nil || r.paused() {
			return nil
		}
		share, cancel := WithShare(ctx, r.Timeout, 1)
		defer cancel()
		err := ShareError(ctx, share, r.Name(), ask(share, i))
		if err != nil && ctx.Err() == nil {
			r.failed(err)
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ReportFailures(ctx, errs, r.Name(), r.fallback)
	return nil
}

func (r *PassageReader) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.until)
}

// failed begins a cooldown, unless the passage caused the failure or the judge handles it.
func (r *PassageReader) failed(err error) {
	if e, ok := errors.AsType[*model.Error](err); ok {
		switch e.Failure {
		case model.Malformed, model.Skipped, model.Truncated, model.Rejected, model.TooLong:
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); !now.Before(r.until) {
		r.until = now.Add(r.Cooldown)
		r.Logger.Warn("reading passages of a document by model failed; using the fallback", "model", r.Name(), "fallback", r.fallback, "error", err)
	}
}
