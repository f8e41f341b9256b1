package source

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// Ingester writes documents to the index. Calls for one collection may overlap.
type Ingester interface {
	// IngestItems is [ingest.Ingester.IngestItems].
	IngestItems(ctx context.Context, collection string, items []ingest.Item, done func(ingest.Indexed), progress func(ingest.Progress)) (ingest.Report, error)
	// DeleteDocuments is [ingest.Ingester.DeleteDocuments].
	DeleteDocuments(ctx context.Context, collection string, ids []corpus.DocumentID) error
	// Version is [ingest.Ingester.Version].
	Version() string
}

// Options configures a [Service]. All fields but CredentialsFolder, Logger and Now are required.
type Options struct {
	Store      store.Sources
	Ingester   Ingester
	Kinds      map[string]Kind
	Collection string // of the documents of new sources
	// CredentialsFolder has the files of credentials; empty: none.
	CredentialsFolder string
	Logger            *slog.Logger
	Now               func() time.Time
}

// maxSources is the number of sources of a tenant.
const maxSources = 1000

// Service adds, syncs and removes sources. It is safe for concurrent use. Close it before its store.
type Service struct {
	o      Options
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	work   sync.WaitGroup
	adding sync.Mutex

	mu     sync.Mutex
	closed bool
	active map[string]*job // by the id of the source
}

// job is a sync or a removal in progress.
type job struct {
	cancel   context.CancelFunc
	done     chan struct{}
	progress atomic.Pointer[ingest.Progress]
}

// Source is a source with the state of its sync.
type Source struct {
	store.Source
	Last     *Result          // of the last sync; nil: none has ended
	Progress *ingest.Progress // of the sync in progress; nil: none, or it is listing the documents
}

// Result is the result of a sync.
type Result struct {
	Started   time.Time        `json:"started"`
	Ended     time.Time        `json:"ended"`
	Added     int              `json:"added"`
	Updated   int              `json:"updated"`
	Unchanged int              `json:"unchanged"`
	Moved     int              `json:"moved" description:"Part of added: documents whose bytes were at another path before."`
	Removed   int              `json:"removed"`
	Ignored   int              `json:"ignored" description:"Files that are not documents, or that the patterns leave out."`
	Failed    int              `json:"failed" description:"Documents that could not be read. Their earlier text is kept; the next sync tries again."`
	Failures  []ingest.Failure `json:"failures,omitempty" description:"The first 100 of them."`
	Warning   string           `json:"warning,omitempty" description:"Set if documents are only found by their words, because the embedder failed."`
	Error     string           `json:"error,omitempty" description:"Why the sync did not complete. The next one goes on from what is done."`
}

// maxFailures is how many failures a result keeps.
const maxFailures = 100

// New returns a service. [Service.Resume] continues what an earlier process did not end.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Service{o: o, active: map[string]*job{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends the jobs. Syncs and removals continue after the next [Service.Resume].
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.work.Wait()
}

// Idle reports whether no job is in progress.
func (s *Service) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active) == 0
}

// Kinds returns the names of the kinds, sorted.
func (s *Service) Kinds() []string { return slices.Sorted(maps.Keys(s.o.Kinds)) }

// kindOf returns the kind of a location, or an empty text.
func (s *Service) kindOf(location string) string {
	for _, name := range s.Kinds() {
		if k := s.o.Kinds[name]; k.Suits != nil && k.Suits(location) {
			return name
		}
	}
	return ""
}

// Add adds a source. Without a kind, the location selects it. Without local, kinds that read the disk of the server are refused. Errors are of the type [fault.Error], or those of the store.
func (s *Service) Add(ctx context.Context, set Settings, local bool) (Source, error) {
	if set.Kind == "" {
		set.Kind = s.kindOf(set.Location)
	}
	kind, ok := s.o.Kinds[set.Kind]
	if !ok {
		return Source{}, fault.Invalid("kind", "want one of: %s", strings.Join(s.Kinds(), " "))
	}
	if kind.Local && !local {
		return Source{}, fault.New(fault.Forbidden, "sources of the kind %s read the disk of the server: add them with \"sluice sources add\" on its machine, or with a key of the scope tenants", set.Kind)
	}
	if err := errors.Join(checkPatterns("include", set.Include), checkPatterns("exclude", set.Exclude)); err != nil {
		return Source{}, err
	}
	if len(set.Location) > maxLocation || strings.ContainsRune(set.Location, 0) {
		return Source{}, fault.Invalid("location", "want at most %d bytes, without NUL", maxLocation)
	}
	if err := kind.checkCredentials(set.Credentials, local); err != nil {
		return Source{}, err
	}
	location, err := kind.Locate(set.Location)
	if err != nil {
		return Source{}, err
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	all, err := s.o.Store.Sources(ctx)
	if err != nil {
		return Source{}, err
	}
	if len(all) >= maxSources {
		return Source{}, fault.New(fault.TooLarge, "there are %d sources already", maxSources)
	}
	for _, other := range all {
		if within(location, other.Location) || within(other.Location, location) {
			return Source{}, fault.New(fault.Conflict, "the location overlaps with that of the source %s; a document belongs to one source", other.ID)
		}
	}
	src := store.Source{ID: "src-" + strings.ToLower(rand.Text()[:12]), Kind: set.Kind, Location: location, Collection: s.o.Collection, Include: set.Include,
		Exclude: set.Exclude, Credentials: set.Credentials, CreatedAt: s.o.Now().UTC().Truncate(time.Microsecond)}
	if err := s.o.Store.AddSource(ctx, src); err != nil {
		return Source{}, err
	}
	return s.view(src), nil
}

// within reports whether a location is another one, or inside it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

// List returns all sources, sorted by id.
func (s *Service) List(ctx context.Context) ([]Source, error) {
	all, err := s.o.Store.Sources(ctx)
	out := make([]Source, len(all))
	for i, src := range all {
		out[i] = s.view(src)
	}
	return out, err
}

// Get returns a source.
func (s *Service) Get(ctx context.Context, id string) (Source, error) {
	all, err := s.o.Store.Sources(ctx)
	if err != nil {
		return Source{}, err
	}
	for _, src := range all {
		if src.ID == id {
			return s.view(src), nil
		}
	}
	return Source{}, notFound(id)
}

func notFound(id string) error {
	return fault.New(fault.NotFound, "there is no source %s", parse.PrintableName(id))
}

func (s *Service) view(src store.Source) Source {
	v := Source{Source: src}
	if len(src.Sync) > 0 {
		v.Last = new(Result)
		if err := json.Unmarshal(src.Sync, v.Last); err != nil {
			v.Last = nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.active[src.ID]; j != nil {
		v.Progress = j.progress.Load()
		if v.State == store.SourceIdle { // the job has not begun or has just ended
			v.State = store.SourceSyncing
		}
	}
	return v
}

// Sync starts a sync of a source in the background, unless one is in progress. If full is set, all documents are read, whatever their versions.
func (s *Service) Sync(ctx context.Context, id string, full bool) (Source, error) {
	src, err := s.Get(ctx, id)
	if err != nil {
		return Source{}, err
	}
	if src.State == store.SourceRemoving {
		return Source{}, errRemoving
	}
	_, err = s.start(id, func(ctx context.Context, j *job) { s.runSync(ctx, id, full, j) })
	return s.view(src.Source), err
}

var errRemoving = fault.New(fault.Conflict, "the source is being removed")

// Remove starts to remove a source and its documents in the background. A sync is cancelled.
func (s *Service) Remove(ctx context.Context, id string) (Source, error) {
	src, err := s.change(ctx, id, func(src *store.Source) error {
		src.State, src.Sync = store.SourceRemoving, nil
		return nil
	})
	if err != nil {
		return Source{}, err
	}
	for { // at most one sync is active, and no other can be started
		s.mu.Lock()
		syncing := s.active[id]
		s.mu.Unlock()
		if syncing != nil {
			syncing.cancel()
			select {
			case <-syncing.done:
			case <-ctx.Done():
				return Source{}, ctx.Err()
			}
		}
		started, err := s.start(id, func(ctx context.Context, _ *job) { s.runRemoval(ctx, src) })
		if started || err != nil {
			return s.view(src), err
		}
	}
}

// Wait waits until no job of a source is in progress, and returns the source. A removed one is not found.
func (s *Service) Wait(ctx context.Context, id string) (Source, error) {
	s.mu.Lock()
	j := s.active[id]
	s.mu.Unlock()
	if j != nil {
		select {
		case <-j.done:
		case <-ctx.Done():
			return Source{}, ctx.Err()
		}
	}
	return s.Get(ctx, id)
}

// Resume starts the syncs and removals that an earlier process did not end.
func (s *Service) Resume(ctx context.Context) error {
	all, err := s.o.Store.Sources(ctx)
	for _, src := range all {
		switch src.State {
		case store.SourceSyncing:
			_, err = s.Sync(ctx, src.ID, false)
		case store.SourceRemoving:
			_, err = s.Remove(ctx, src.ID)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("resume sources: %w", err)
	}
	return nil
}

// change changes the record of a source.
func (s *Service) change(ctx context.Context, id string, change func(*store.Source) error) (store.Source, error) {
	src, err := s.o.Store.UpdateSource(ctx, id, change)
	if errors.Is(err, store.ErrNotFound) {
		err = notFound(id)
	}
	return src, err
}

// start runs a job of a source in the background. It does nothing if another one is active.
func (s *Service) start(id string, run func(context.Context, *job)) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, fault.New(fault.Unavailable, "the server is stopping")
	}
	if s.active[id] != nil {
		return false, nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	j := &job{cancel: cancel, done: make(chan struct{})}
	s.active[id] = j
	s.work.Go(func() {
		defer cancel()
		run(ctx, j)
		s.mu.Lock()
		delete(s.active, id)
		s.mu.Unlock()
		close(j.done)
	})
	return true, nil
}
