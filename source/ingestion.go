package source

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// Ingestion is a sync, or an ingestion of paths, with its progress. It may be read by several goroutines.
type Ingestion struct {
	ID         string
	Source     string // empty: paths that a user named
	Collection string
	Started    time.Time // of this attempt
	Attempt    int       // from 1; one more after each restart of the server

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

// Ingestion returns an ingestion by its id: one that is in progress or has ended lately, or the last sync of a source. One of paths is found also after a restart.
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
	}
	if rec, err := s.pathsRecord(ctx, id); err != nil {
		return nil, err
	} else if r := resultOf(rec.Result); r != nil {
		return endedIngestion("", rec.Collection, *r), nil
	} else if rec.ID != "" {
		return nil, fault.New(fault.Unavailable, "the ingestion has not ended, and is that of another server, or this server is starting")
	}
	return nil, fault.New(fault.NotFound, "there is no ingestion %s", parse.PrintableName(id))
}
