package source

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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

// followed returns an ingestion that this process keeps, or nil.
func (s *Service) followed(id string) *Ingestion {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.ingestions {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// endedIngestion returns an ingestion of an earlier process.
func endedIngestion(source, collection string, r Result) *Ingestion {
	i := newIngestion(r.Ingestion, source, collection, max(r.Attempt, 1), r.Started)
	i.failures, i.failed, i.result = r.Failures, r.Failed, &r
	return i
}

// Done is closed when the service stops. Syncs without a result continue in the next process.
func (s *Service) Done() <-chan struct{} { return s.ctx.Done() }

// Ingestion returns an ingestion by its id: one that is in progress or has ended lately, the last sync of a source, or a sync that another server runs. One of paths is found also after a restart.
func (s *Service) Ingestion(ctx context.Context, id string) (*Ingestion, error) {
	if i := s.followed(id); i != nil {
		return i, nil
	}
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, src := range all {
		if last := src.Last; last != nil && last.Ingestion == id && id != "" {
			return endedIngestion(src.ID, src.Collection, *last), nil
		}
		if id != "" && src.Ingestion == id && src.State == store.SourceSyncing && s.o.Gone != nil { // if its server has died, another one continues it soon
			return ingestionElsewhere(src), nil
		}
	}
	rec, err := s.o.Ingestions.Ingestion(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "there is no ingestion %s", parse.PrintableName(id))
	}
	if err != nil {
		return nil, err
	}
	if r := resultOf(rec.Result); r != nil {
		return endedIngestion("", rec.Collection, *r), nil
	}
	return nil, fault.New(fault.Unavailable, "the ingestion has not ended, and only the server that reads its paths streams it: ask that one, or this one again if it is starting")
}

// ingestionElsewhere returns the sync that another server runs, as it was stored last.
func ingestionElsewhere(src Source) *Ingestion {
	var st shared
	_ = json.Unmarshal(src.SyncProgress, &st) // an earlier version stores none
	i := newIngestion(src.Source.Ingestion, src.ID, src.Collection, src.Attempt, st.Started)
	i.Elsewhere, i.progress, i.failures, i.failed = true, st.Progress, st.Failures, st.Failed
	return i
}
