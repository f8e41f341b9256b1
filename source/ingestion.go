package source

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// Ingestion is a sync, or an ingestion of paths, with its progress. It may be read by several goroutines.
type Ingestion struct {
	ID         string
	Source     string // empty: paths that a user named
	Collection string
	Started    time.Time // of this attempt
	Attempt    int       // from 1; one more after each restart of the server
	Elsewhere  bool      // another server runs it; this is a copy of what it has stored last, and does not change: see [Service.Ingestion]

	mu       sync.Mutex
	progress *ingest.Progress
	failures []ingest.Failure
	failed   int // including those that failures lacks
	result   *Result
	changed  chan struct{} // closed at the next change
}

// maxShown is how many failures an ingestion keeps for its streams.
const maxShown = 1000

func newIngestion(id, source, collection string, attempt int, started time.Time) *Ingestion {
	return &Ingestion{ID: id, Source: source, Collection: collection, Attempt: attempt, Started: started, changed: make(chan struct{})}
}

func newIngestionID() string { return "ing-" + strings.ToLower(rand.Text()[:16]) }

// State is the progress of an ingestion, or its result.
type State struct {
	Progress *ingest.Progress // nil: the documents are being listed
	Failures []ingest.Failure // after those that the reader has seen
	Failed   int              // all failures; Failures may lack some
	Result   *Result          // nil: it has not ended
}

// After returns the state, with the failures after the first ones, and a channel that is closed at the next change.
func (i *Ingestion) After(seen int) (State, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return State{i.progress, i.failures[min(max(seen, 0), len(i.failures)):], i.failed, i.result}, i.changed
}

func (i *Ingestion) update(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
	close(i.changed)
	i.changed = make(chan struct{})
}

// advance sets the progress, with its failure.
func (i *Ingestion) advance(p ingest.Progress) {
	i.update(func() {
		i.progress = &p
		if p.Failure != nil {
			i.fail(*p.Failure)
		}
	})
}

// fail adds failures. The caller holds mu.
func (i *Ingestion) fail(failures ...ingest.Failure) {
	i.failed += len(failures)
	i.failures = append(i.failures, failures[:min(len(failures), maxShown-len(i.failures))]...)
}

func (i *Ingestion) end(r Result) { i.update(func() { i.result = &r }) }

// maxEnded is how many ingestions are kept after their end.
const maxEnded = 100

// follow keeps an ingestion for its streams, and drops the oldest ones that have ended.
func (s *Service) follow(i *Ingestion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ingestions = append(s.ingestions, i)
	ended := 0
	for n := len(s.ingestions) - 1; n >= 0; n-- {
		other := s.ingestions[n]
		if other != i && other.ID == i.ID {
			s.ingestions = append(s.ingestions[:n], s.ingestions[n+1:]...)
		} else if st, _ := other.After(0); st.Result != nil {
			if ended++; ended > maxEnded {
				s.ingestions = append(s.ingestions[:n], s.ingestions[n+1:]...)
			}
		}
	}
}

// ShareEvery is how often the progress of a sync is stored for other servers, if it has changed.
const ShareEvery = time.Second

// shared is the progress of a sync as it is stored for other servers.
type shared struct {
	Started  time.Time        `json:"started"`
	Progress *ingest.Progress `json:"progress,omitempty"`
	Failures []ingest.Failure `json:"failures,omitempty"` // the first ones
	Failed   int              `json:"failed,omitempty"`
}

// encode returns the progress of a sync for other servers; nil if there are none.
func (s *Service) encode(i *Ingestion) json.RawMessage {
	if s.o.Gone == nil {
		return nil
	}
	st, _ := i.After(0)
	if st.Progress != nil {
		p := *st.Progress
		p.Failure = nil // it is in Failures
		st.Progress = &p
	}
	raw, err := json.Marshal(shared{i.Started, st.Progress, st.Failures[:min(len(st.Failures), maxFailures)], st.Failed})
	if err != nil {
		return nil // numbers and texts always encode
	}
	return raw
}

// share stores the progress of a sync for other servers, until stop is called.
func (s *Service) share(ctx context.Context, i *Ingestion) (stop func()) {
	if s.o.Gone == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(ShareEvery)
		defer tick.Stop()
		_, changed := i.After(0)
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			_, changed = i.After(0)
			_, err := s.o.Store.UpdateSource(ctx, i.Source, func(src *store.Source) error {
				if src.State != store.SourceSyncing || src.Ingestion != i.ID || src.Attempt != i.Attempt {
					return errElsewhere
				}
				src.SyncProgress = s.encode(i)
				return nil
			})
			if err != nil && ctx.Err() == nil {
				s.o.Logger.Debug("progress of a sync could not be stored", "source", i.Source, "error", err)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// Done is closed when the service stops. Syncs without a result continue in the next process.
func (s *Service) Done() <-chan struct{} { return s.ctx.Done() }

// Ingestion returns an ingestion by its id: one that is in progress or has ended lately, the last sync of a source, or a sync that another server runs.
func (s *Service) Ingestion(ctx context.Context, id string) (*Ingestion, error) {
	s.mu.Lock()
	for _, i := range s.ingestions {
		if i.ID == id {
			s.mu.Unlock()
			return i, nil
		}
	}
	s.mu.Unlock()
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, src := range all {
		if last := src.Last; last != nil && last.Ingestion == id && id != "" {
			i := newIngestion(id, src.ID, src.Collection, max(last.Attempt, 1), last.Started)
			i.failures, i.failed, i.result = last.Failures, last.Failed, last
			return i, nil
		}
		if id != "" && src.Ingestion == id && src.State == store.SourceSyncing && s.o.Gone != nil { // if its server has died, another one continues it soon
			return ingestionElsewhere(src), nil
		}
	}
	if s.o.Gone != nil {
		return nil, fault.New(fault.NotFound, "there is no ingestion %s here; of an ingestion of paths, only the server that started it knows", parse.PrintableName(id))
	}
	return nil, fault.New(fault.NotFound, "there is no ingestion %s", parse.PrintableName(id))
}

// ingestionElsewhere returns the sync that another server runs, as it was stored last.
func ingestionElsewhere(src Source) *Ingestion {
	var st shared
	_ = json.Unmarshal(src.SyncProgress, &st) // an earlier version stores none
	i := newIngestion(src.Source.Ingestion, src.ID, src.Collection, src.Attempt, st.Started)
	i.Elsewhere, i.progress, i.failures, i.failed = true, st.Progress, st.Failures, st.Failed
	return i
}

// IngestPaths starts to ingest files and folders on the disk of the server, in the background. The paths are absolute. An empty collection is that of [Options]. If retry is set, documents that
// exceeded a limit before are tried again.
func (s *Service) IngestPaths(collection string, paths []string, retry bool) (*Ingestion, error) {
	if collection == "" {
		collection = s.o.Collection
	}
	if err := s.checkCollection(collection); err != nil {
		return nil, err
	}
	i := newIngestion(newIngestionID(), "", collection, 1, s.o.Now().UTC())
	started, err := s.startJob(i.ID, i, func(ctx context.Context, _ *job) {
		var r Result
		var report ingest.Report
		var err error
		if retry && s.o.Retry != nil {
			err = s.o.Retry()
		}
		if err == nil {
			report, err = s.o.Ingester.Ingest(ctx, ingest.Request{Collection: collection, Paths: paths}, i.advance)
		}
		r.Started, r.Ended, r.Ingestion, r.Attempt = i.Started, s.o.Now().UTC(), i.ID, 1
		r.count(report)
		r.Removed, r.Ignored, r.Other = report.Deleted, report.Ignored, report.Other
		// Those of the listing come first. They are not in the progress.
		i.update(func() { i.fail(report.Failed[:max(len(report.Failed)-i.failed, 0)]...) })
		if err != nil {
			r.Error = fault.Public(err).Message
			s.o.Logger.Error("ingestion of paths failed", "ingestion", i.ID, "error", err)
		}
		i.end(r)
	})
	if err == nil && !started {
		err = fault.New(fault.Internal, "two ingestions have the same id")
	}
	if err != nil {
		return nil, err
	}
	s.follow(i)
	return i, nil
}
