package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// PathsRequest are files and folders to ingest.
type PathsRequest struct {
	Paths        []string // absolute
	Collection   string   // empty: that of [Options]
	Retry        bool     // documents that exceeded a limit before are tried again
	AllowRemoval bool     // see [ingest.Request]
	Remove       bool     // see [ingest.Request]
}

// ConfirmPaths tells users how to remove the documents of [ingest.Incomplete] folders of an ingestion of paths.
const ConfirmPaths = `run "sluice ingest --allow-removal" with the same paths`

const (
	// maxQueuedPaths is how many ingestions of paths may wait or be in progress, unless the options say otherwise.
	maxQueuedPaths = 100
	// maxTries is how often an ingestion of paths is started if the process crashes before the ingestion ends: what it reads may be the cause.
	maxTries = 3
)

// IngestPaths starts to ingest files and folders on the disk of the server, in the background. The ingestion is stored, and continues after a restart. If too many have not ended, the error is
// [fault.Overloaded].
func (s *Service) IngestPaths(ctx context.Context, req PathsRequest) (*Ingestion, error) {
	req.Collection = cmp.Or(req.Collection, s.o.Collection)
	if err := s.checkCollection(req.Collection); err != nil {
		return nil, err
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	open, err := s.openPaths(ctx)
	if err != nil {
		return nil, err
	}
	if most := cmp.Or(s.o.MaxQueuedPaths, maxQueuedPaths); len(open) >= most {
		return nil, fault.New(fault.Overloaded, "%d ingestions of paths are waiting or in progress, which is the limit: try again when one has ended", most)
	}
	rec := store.Ingestion{ID: newIngestionID(), Paths: req.Paths, Collection: req.Collection, Retry: req.Retry, AllowRemoval: req.AllowRemoval, Remove: req.Remove, Server: s.o.Server, CreatedAt: s.now()}
	i, err := s.startPaths(ctx, rec)
	if err != nil { // the caller does not know its id
		_ = s.o.Ingestions.RemoveIngestions(context.WithoutCancel(ctx), []string{rec.ID})
	}
	return i, err
}

// openPaths returns the ingestions of paths of this server that have not ended. It removes the records of the oldest ones that have.
func (s *Service) openPaths(ctx context.Context) (open []store.Ingestion, err error) {
	all, err := s.o.Ingestions.Ingestions(ctx)
	if err != nil {
		return nil, err
	}
	var ended []string
	for _, rec := range all {
		switch {
		case rec.Result != nil:
			ended = append(ended, rec.ID)
		case s.isAbandoned(rec):
			s.endPaths(rec, Result{Started: rec.CreatedAt, Ended: s.o.Now().UTC(), Ingestion: rec.ID, Attempt: rec.Attempt, Error: "the server that accepted it is gone: send the request again"})
		case rec.Server == s.o.Server || s.o.Gone == nil:
			open = append(open, rec)
		}
	}
	if old := len(ended) - maxEnded; old > 0 {
		err = s.o.Ingestions.RemoveIngestions(ctx, ended[:old])
	}
	return open, err
}

// abandonedAfter is how long an ingestion of paths waits for its server, if that is gone.
const abandonedAfter = 24 * time.Hour

// isAbandoned reports whether no server will continue an ingestion of paths: its server is gone for long, or it was accepted before the servers shared their work, and nobody knows by
// which one.
func (s *Service) isAbandoned(rec store.Ingestion) bool {
	if s.o.Gone == nil {
		return false
	}
	return rec.Server == "" || rec.Server != s.o.Server && s.o.Gone(rec.Server) && s.o.Now().Sub(rec.CreatedAt) > abandonedAfter
}

// resumePaths continues the ingestions of paths that an earlier process has not ended.
func (s *Service) resumePaths(ctx context.Context) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	open, err := s.openPaths(ctx)
	for _, rec := range open {
		if err == nil && s.followed(rec.ID) == nil {
			_, err = s.startPaths(ctx, rec)
		}
	}
	return err
}

// startPaths stores that an ingestion of paths begins, and starts it in the background.
func (s *Service) startPaths(ctx context.Context, rec store.Ingestion) (*Ingestion, error) {
	rec.Attempt++
	if err := s.o.Ingestions.PutIngestion(ctx, rec); err != nil {
		return nil, err
	}
	i := newIngestion(rec.ID, "", rec.Collection, rec.Attempt, s.o.Now().UTC())
	started, err := s.startJob(i.ID, i, func(ctx context.Context, _ *job) { s.runPaths(ctx, rec, i) })
	if err == nil && !started {
		err = fault.New(fault.Internal, "two ingestions have the same id")
	}
	if err != nil {
		return nil, err
	}
	s.follow(i)
	return i, nil
}

// runPaths ingests paths and stores the result.
func (s *Service) runPaths(ctx context.Context, rec store.Ingestion, i *Ingestion) {
	select {
	case s.pathsTurn <- struct{}{}: // one at a time, so that those that wait do not count as tried if the process ends
		defer func() { <-s.pathsTurn }()
	case <-ctx.Done():
		return
	}
	rec.Tries++
	s.storePaths(rec)
	var report ingest.Report
	var err error
	if rec.Tries > maxTries {
		err = fault.New(fault.Internal, "the server crashed or was killed each of the %d times that it ingested the paths: a file in them may be damaged or need too much memory; the log of the server may say more; ingest parts of the paths to find the file", maxTries)
	}
	if err == nil && rec.Retry && rec.Attempt == 1 && s.o.Retry != nil {
		err = s.o.Retry()
	}
	if err == nil {
		// After a restart, a disk may not be mounted yet that was when the user allowed the removal.
		report, err = s.o.Ingester.Ingest(ctx, ingest.Request{Collection: rec.Collection, Paths: rec.Paths, AllowRemoval: rec.AllowRemoval && rec.Attempt == 1, Remove: rec.Remove}, i.advance)
	}
	if ctx.Err() != nil { // the next process continues it
		rec.Tries--
		s.storePaths(rec)
		return
	}
	r := ResultOf(rec.Paths, report)
	r.Started, r.Ended, r.Ingestion, r.Attempt = i.Started, s.o.Now().UTC(), i.ID, i.Attempt
	// Those of the listing come first. They are not in the progress.
	i.update(func() { i.fail(report.Failed[:max(len(report.Failed)-i.failed, 0)]...) })
	if err != nil {
		r.Error = fault.Public(err).Message
		s.o.Logger.Error("ingestion of paths failed", "ingestion", i.ID, "error", err)
	} else if r.NotRemoved > 0 {
		s.o.Logger.Warn("ingestion of paths kept documents that have vanished", "ingestion", i.ID, "documents", r.NotRemoved)
	}
	s.endPaths(rec, r)
	i.end(r)
}

// ResultOf returns the result of an ingestion of paths, without its times.
func ResultOf(paths []string, report ingest.Report) Result {
	r := Result{Removed: report.Deleted, Ignored: report.Ignored, Other: report.Other}
	r.count(report)
	if r.NotRemoved > 0 {
		r.Error = ingest.KeptMessage(r.NotRemoved, ConfirmPaths)
	} else {
		r.Error = unreadPaths(paths, report.Failed)
	}
	return r
}

// endPaths stores the result of an ingestion of paths, without the paths.
func (s *Service) endPaths(rec store.Ingestion, r Result) {
	var err error
	if rec.Result, err = json.Marshal(r); err != nil {
		s.o.Logger.Error("result of an ingestion could not be encoded", "ingestion", rec.ID, "error", err)
	}
	rec.Paths = nil
	s.storePaths(rec)
}

func (s *Service) storePaths(rec store.Ingestion) {
	if err := s.o.Ingestions.PutIngestion(context.WithoutCancel(s.ctx), rec); err != nil {
		s.o.Logger.Error("an ingestion could not be stored; it is repeated after the next start", "ingestion", rec.ID, "error", err)
	}
}

// NoneRead begins the error of a result of paths of which none was read.
const NoneRead = "none of the files could be read"

// unreadPaths returns why nothing was ingested if none of the paths was read, and otherwise an empty text.
func unreadPaths(paths []string, failures []ingest.Failure) string {
	reasons := map[string]string{}
	for _, f := range failures {
		reasons[f.Path] = f.Reason
	}
	first := ""
	for _, p := range paths {
		name := parse.PrintableName(path.Clean(filepath.ToSlash(p)))
		reason, failed := reasons[name]
		if !failed {
			return ""
		}
		first = cmp.Or(first, fmt.Sprintf("%s: %s", name, reason))
	}
	return NoneRead + ": " + first
}
