package app

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// Pauses between the attempts to index documents of --docs. The first is short, since most failures are.
const (
	firstDocsRetry = time.Second
	lastDocsRetry  = time.Minute
)

// DocsIndexing is the state of the ingestion of all documents of --docs, or of that of their changes. It is safe for concurrent use.
type DocsIndexing struct {
	mu      sync.Mutex
	pauses  *backoff.ExponentialBackOff // nil: the last attempt succeeded
	failure string                      // for everybody
	next    time.Time
	unread  []ingest.Failure // files that could not be read
}

// Unread returns the files of --docs that could not be read, with the reasons.
func (d *DocsIndexing) Unread() []ingest.Failure {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.unread)
}

// NoteUnread notes the failures of an ingestion of the URIs only; nil: of all.
func (d *DocsIndexing) NoteUnread(only []string, failed []ingest.Failure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if only == nil {
		d.unread = nil
	}
	d.unread = slices.DeleteFunc(d.unread, func(f ingest.Failure) bool {
		return slices.ContainsFunc(only, func(uri string) bool {
			uri = strings.TrimSuffix(parse.PrintableName(uri), "/")
			return f.Path == uri || strings.HasPrefix(f.Path, uri+"/")
		})
	})
	d.unread = append(d.unread, failed...)
}

// Ended notes the result of an attempt and returns after what time to try again: exponential backoff with jitter. Zero: it succeeded.
func (d *DocsIndexing) Ended(err error) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.pauses = nil
		return 0
	}
	if d.pauses == nil {
		d.pauses = &backoff.ExponentialBackOff{InitialInterval: firstDocsRetry, Multiplier: 2, RandomizationFactor: 0.25, MaxInterval: lastDocsRetry}
		d.pauses.Reset()
	}
	pause := d.pauses.NextBackOff()
	d.failure, d.next = fault.Public(err).Message, time.Now().Add(pause)
	return pause
}

// failing returns why the last attempt failed and when the next one is; empty: it succeeded.
func (d *DocsIndexing) failing() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pauses == nil {
		return ""
	}
	return fmt.Sprintf("%s (the log has the details); the next attempt is at %s", d.failure, d.next.UTC().Format(time.RFC3339))
}

// docsFailing returns why documents of --docs are not indexed or not up to date; empty: they are.
func (a *App) docsFailing() string {
	if reason := a.Docs.failing(); reason != "" {
		return reason
	}
	return a.DocsChanges.failing()
}
