package source

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/store"
)

// Ingester writes documents to the index. Calls for one collection may overlap.
type Ingester interface {
	// IngestItems is [ingest.Ingester.IngestItems].
	IngestItems(ctx context.Context, collection string, items []ingest.Item, done func(ingest.Indexed), progress func(ingest.Progress)) (ingest.Report, error)
	// DeleteDocuments is [ingest.Ingester.DeleteDocuments].
	DeleteDocuments(ctx context.Context, collection string, ids []corpus.DocumentID) error
	// Ingest is [ingest.Ingester.Ingest].
	Ingest(ctx context.Context, req ingest.Request, progress func(ingest.Progress)) (ingest.Report, error)
	// Version is [ingest.Ingester.Version].
	Version() string
}

// Options configures a [Service]. Store, Ingestions, Ingester, Kinds and Collection are required.
type Options struct {
	Store      store.Sources
	Ingestions store.Ingestions
	Finder     store.SourceFinder // needed by [Service.Attributes]
	// AttributesChanged, if set, is called with the documents of a source whose attributes have changed.
	AttributesChanged func([]corpus.DocumentID)
	Ingester          Ingester
	Kinds             map[string]Kind
	Collection        string   // of the documents of sources that name none
	Reserved          []string // collections that no source may have
	// Server is the name of this server among those that share the store, and Gone reports whether another one has died. Default: there are no others.
	Server string
	Gone   func(server string) bool
	// MaxQueuedPaths is how many ingestions of paths may wait or be in progress. Default 100.
	MaxQueuedPaths int
	// Retry makes the next ingestion try documents again that exceeded a limit before. Nil: there are none.
	Retry func() error
	// OnDue, if set, is called with the time when the next sync is due, or with the zero time if none is. It must not block.
	OnDue func(time.Time)
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
	// pathsTurn has capacity 1, and is full while an ingestion of paths is in progress.
	pathsTurn chan struct{}

	wake       chan struct{} // capacity 1: the schedule has changed
	scheduling sync.Once
	mu         sync.Mutex
	closed     bool
	resumed    bool            // sources are watched
	active     map[string]*job // by the id of the source
	ingestions []*Ingestion    // in the order of their starts
	watches    map[string]*watching

	attributeCache attributeCache
}

// job is a sync, a removal or an ingestion of paths in progress.
type job struct {
	cancel    context.CancelFunc
	done      chan struct{}
	ingestion *Ingestion // nil: it is a removal
}

// Source is a source with the state of its sync.
type Source struct {
	store.Source
	Last         *Result          // of the last sync; nil: none has ended
	Progress     *ingest.Progress // of the sync in progress; nil: none, or it is listing the documents
	WatchFailure string           // why it is not watched although Watch is set; empty: it is watched, or Watch is not set
}

// Result is the result of a sync.
type Result struct {
	Started    time.Time        `json:"started"`
	Ended      time.Time        `json:"ended"`
	Added      int              `json:"added"`
	Updated    int              `json:"updated"`
	Unchanged  int              `json:"unchanged"`
	Moved      int              `json:"moved" description:"Part of added: documents whose bytes were at another path before."`
	Removed    int              `json:"removed"`
	NotRemoved int              `json:"not_removed,omitempty" description:"Documents that have vanished and were kept, because the place is empty and had at least 3, or has less than half as many as before and at least 20 fewer: it may not be mounted or complete. A sync or an ingestion with allow_removal removes them."`
	Documents  *int             `json:"documents,omitempty" description:"Documents of the source that are searchable at the end of the sync. Missing if they are not known, such as of paths."`
	Ignored    int              `json:"ignored" description:"Files that are not documents, or that the patterns leave out."`
	Failed     int              `json:"failed" description:"Documents that could not be read. Their earlier text is kept; the next sync tries again."`
	Failures   []ingest.Failure `json:"failures,omitempty" description:"The first 100 of them."`
	Warning    string           `json:"warning,omitempty" description:"Set if documents are only found by their words, because the embedder failed."`
	Error      string           `json:"error,omitempty" description:"Why the sync did not complete. The next one goes on from what is done."`
	Chunks     int              `json:"chunks,omitempty" description:"Sections, passages and sentences of added and updated documents."`
	Other      int              `json:"other,omitempty" description:"Documents of the collection that are from elsewhere. It is only counted if paths were ingested."`
	Ingestion  string           `json:"ingestion,omitempty" description:"Id of the ingestion that had this result."`
	Attempt    int              `json:"attempt,omitempty" description:"How often it was started: more than once after restarts of the server."`
}

// count adds the numbers of an ingestion.
func (r *Result) count(report ingest.Report) {
	r.Added, r.Updated, r.Unchanged = report.Added, report.Updated, r.Unchanged+report.Unchanged
	r.NotRemoved, r.Chunks = r.NotRemoved+report.NotRemoved, report.Chunks
	r.fail(report.Failed)
	if report.Unembedded > 0 {
		r.Warning = fmt.Sprintf("%d passages and sentences are only found by their words until the embedder answers: %s", report.Unembedded, report.EmbedFailure)
	}
}

// fail counts failures and keeps the first ones.
func (r *Result) fail(failures []ingest.Failure) {
	r.Failed += len(failures)
	r.Failures = append(r.Failures, failures[:min(len(failures), maxFailures-len(r.Failures))]...)
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
	s := &Service{o: o, active: map[string]*job{}, watches: map[string]*watching{}, wake: make(chan struct{}, 1), pathsTurn: make(chan struct{}, 1)}
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

// Shared returns the folders of this server that users of the network may add, with what is inside them.
func (s *Service) Shared() []string {
	var out []string
	for _, name := range s.Kinds() {
		out = append(out, s.o.Kinds[name].Shared...)
	}
	return out
}

// kindOf returns the kind of a location, or an empty text.
func (s *Service) kindOf(location string) string {
	for _, name := range s.Kinds() {
		if k := s.o.Kinds[name]; k.Suits != nil && k.Suits(location) {
			return name
		}
	}
	return ""
}

// schemes are those of the locations of all kinds, for suggestions.
var schemes = []string{"http", "https", "git+https", "s3", "s3+http", "imap", "imaps", "webdav", "webdavs", "dav", "davs"}

// Add adds a source. Without a kind, the location selects it. Without local, kinds that read the disk of the server are refused, except for locations in [Kind.Shared]. Errors are of the type [fault.Error], or those of the store.
func (s *Service) Add(ctx context.Context, set Settings, local bool) (Source, error) {
	if set.Location == "" {
		return Source{}, fault.Invalid("location", "is required: such as https://HOST/PATH, or the path of a folder")
	}
	if set.Kind == "" {
		set.Kind = s.kindOf(set.Location)
	}
	kind, ok := s.o.Kinds[set.Kind]
	if !ok && set.Kind == "" {
		if scheme, _, ok := strings.Cut(set.Location, "://"); ok {
			if near := lang.Nearest(strings.ToLower(scheme), schemes, 1); near != "" {
				return Source{}, fault.Invalid("location", "%s:// is not known; did you mean %s://?", lang.Truncate(scheme, 64), near)
			}
		}
		return Source{}, fault.Invalid("location", "no kind of source has such locations; the kinds are %s: see \"sluice sources add --help\" or /docs/", strings.Join(s.Kinds(), ", "))
	}
	if !ok {
		return Source{}, fault.Invalid("kind", "want one of: %s", strings.Join(s.Kinds(), " "))
	}
	location, locateErr := kind.Locate(set.Location) // reported late: it tells whether a folder exists
	if kind.Local && !local && kind.SharedPlace(location) == "" && (locateErr == nil || kind.SharedPlace(path.Clean(set.Location)) == "") {
		return Source{}, fault.New(fault.Forbidden, "sources of the kind %s read the disk of the server: add them with \"sluice sources add\" on its machine, with a key of the scope tenants, or below a folder that the server was started with as --source-folder", set.Kind).Of("location")
	}
	if err := errors.Join(checkPatterns("include", set.Include), checkPatterns("exclude", set.Exclude)); err != nil {
		return Source{}, err
	}
	if len(set.Location) > maxLocation || strings.ContainsRune(set.Location, 0) {
		return Source{}, fault.Invalid("location", "want at most %d bytes, without NUL", maxLocation)
	}
	if err := errors.Join(kind.checkCredentials(set.Credentials, local), kind.checkSchedule(set.Every, set.Watch), checkGiven(set.Meta, set.Contributor), checkAttributes(set.Attributes)); err != nil {
		return Source{}, err
	}
	if set.Collection == "" {
		set.Collection = s.o.Collection
	}
	if err := s.checkCollection(set.Collection); err != nil {
		return Source{}, err
	}
	if locateErr != nil {
		return Source{}, locateErr
	}
	if set.Credentials == "" { // an error says that the kind needs some
		c, err := kind.Open(location)
		if err != nil {
			return Source{}, err
		}
		if err := c.Close(); err != nil {
			return Source{}, err
		}
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
		if location == other.Location {
			return Source{}, fault.New(fault.Conflict, "the location is that of the source %s already: sync it or change it, or remove it first", other.ID).Of("location")
		}
		if shared := kind.overlap(location, s.o.Kinds[other.Kind], other.Location); shared != "" {
			return Source{}, fault.New(fault.Conflict, "the location overlaps with that of the source %s: %s; a document belongs to one source", other.ID, shared).Of("location")
		}
	}
	src := store.Source{ID: "src-" + strings.ToLower(rand.Text()[:12]), Kind: set.Kind, Location: location, Collection: set.Collection, Include: set.Include,
		Exclude: set.Exclude, Credentials: set.Credentials, Meta: elements(set.Meta), Contributor: set.Contributor, Attributes: set.Attributes, Server: s.o.Server,
		Schedule: store.Schedule{Every: set.Every, Watch: set.Watch}, CreatedAt: s.now()}
	src.Next = s.next(src)
	if err := s.o.Store.AddSource(ctx, src); err != nil {
		return Source{}, err
	}
	s.attributeCache.forget()
	s.watchNow(src)
	s.rereadSchedule()
	return s.view(src), nil
}

// checkCollection checks the collection that documents are added to.
func (s *Service) checkCollection(name string) error {
	scope, err := corpus.ParseScope(name)
	if err != nil || len(scope.Collections) != 1 || scope.Collections[0] != name || slices.Contains(s.o.Reserved, name) {
		return fault.Invalid("collection", "want the name of one collection, and not one of: %s", strings.Join(s.o.Reserved, " "))
	}
	return nil
}

// now returns the time in the precision of the store.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Microsecond) }

// within reports whether a location is another one, or inside it.
func within(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

// overlap returns a place that is in a location of the kind and in one of another kind; empty: there is none.
func (k Kind) overlap(location string, other Kind, otherLocation string) string {
	if k.Documents == nil && other.Documents != nil {
		return other.overlap(otherLocation, k, location)
	}
	if k.Documents == nil {
		if within(location, otherLocation) {
			return location
		}
		if within(otherLocation, location) {
			return otherLocation
		}
		return ""
	}
	same := func(uri string) bool { return within(uri, otherLocation) }
	if other.Documents != nil {
		taken := map[string]bool{}
		for _, uri := range other.Documents(otherLocation) {
			taken[uri] = true
		}
		same = func(uri string) bool { return taken[uri] }
	}
	for _, uri := range k.Documents(location) {
		if same(uri) {
			return uri
		}
	}
	return ""
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

// resultOf returns a stored result, or nil.
func resultOf(raw json.RawMessage) *Result {
	r := new(Result)
	if len(raw) == 0 || json.Unmarshal(raw, r) != nil {
		return nil
	}
	return r
}

func (s *Service) view(src store.Source) Source {
	v := Source{Source: src}
	v.Last = resultOf(src.Sync)
	if s.elsewhere(src) {
		v.Progress = ingestionElsewhere(v).progress
	}
	v.WatchFailure = s.watchFailure(src.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.active[src.ID]; j != nil {
		if j.ingestion != nil {
			st, _ := j.ingestion.After(0)
			v.Progress, v.Ingestion = st.Progress, j.ingestion.ID
		}
		if v.State == store.SourceIdle { // the job has not begun or has just ended
			v.State = store.SourceSyncing
		}
	}
	return v
}

// syncing returns the source with a sync that has just been started, even if this sync has ended and others were started since. An ingestion that is nil changes nothing.
func (src Source) syncing(i *Ingestion) Source {
	if i != nil {
		src.State, src.Ingestion = store.SourceSyncing, i.ID
	}
	return src
}

// Sync starts a sync of a source in the background, unless one is in progress, and returns the source with the id of the ingestion. With AllowRemoval, one in progress is an error, because it does not remove the documents.
func (s *Service) Sync(ctx context.Context, id string, o SyncOptions) (Source, error) {
	src, err := s.Get(ctx, id)
	if err != nil {
		return Source{}, err
	}
	i, err := s.startSync(id, syncRequest{SyncOptions: o})
	if err != nil {
		return Source{}, err
	}
	if i == nil && o.AllowRemoval {
		return Source{}, errInProgress
	}
	return s.view(src.Source).syncing(i), nil
}

var (
	errRemoving   = fault.New(fault.Conflict, "the source is being removed")
	errElsewhere  = fault.New(fault.Conflict, "another server is syncing the source")
	errStopping   = fault.New(fault.Unavailable, "the server is stopping")
	errInProgress = fault.New(fault.Conflict, "a sync is in progress, and does not remove the documents: try again when it has ended")
	errNotDue     = fault.New(fault.Conflict, "another server has already synced the source")
)

// Remove starts to remove a source and its documents in the background. A sync is cancelled.
func (s *Service) Remove(ctx context.Context, id string) (Source, error) {
	src, err := s.change(ctx, id, func(src *store.Source) error {
		if s.elsewhere(*src) {
			return errElsewhere
		}
		src.State, src.Sync = store.SourceRemoving, nil
		return nil
	})
	if err != nil {
		return Source{}, err
	}
	s.rereadSchedule()
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

// Resume starts the syncs, removals and ingestions of paths that an earlier process, or a server that has died, did not end. The first call also starts the schedule and the watches of all sources.
func (s *Service) Resume(ctx context.Context) error {
	all, err := s.o.Store.Sources(ctx)
	s.mu.Lock()
	s.resumed = true
	s.mu.Unlock()
	for _, src := range all {
		s.watchNow(src)
		switch {
		case src.State == store.SourceSyncing && s.maySync(src) && !s.elsewhere(src):
			_, err = s.startSync(src.ID, syncRequest{})
		case src.State == store.SourceRemoving:
			_, err = s.Remove(ctx, src.ID)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = s.resumePaths(ctx)
	}
	if err != nil {
		return fmt.Errorf("resume sources: %w", err)
	}
	s.scheduling.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			s.work.Go(s.runSchedule)
		}
	})
	return nil
}

// change changes the record of a source.
func (s *Service) change(ctx context.Context, id string, change func(*store.Source) error) (store.Source, error) {
	src, err := s.o.Store.UpdateSource(ctx, id, change)
	s.attributeCache.forget()
	if errors.Is(err, store.ErrNotFound) {
		err = notFound(id)
	}
	return src, err
}

// start runs a job of a source in the background. It does nothing if another one is active.
func (s *Service) start(id string, run func(context.Context, *job)) (started bool, err error) {
	return s.startJob(id, nil, run)
}

// startJob is start for a job with an ingestion.
func (s *Service) startJob(id string, of *Ingestion, run func(context.Context, *job)) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, errStopping
	}
	if s.active[id] != nil {
		return false, nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	j := &job{cancel: cancel, done: make(chan struct{}), ingestion: of}
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
