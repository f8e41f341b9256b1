package source

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

const (
	// Changes are synced when there was no change for the time settleTime, and at the latest after the time maxSettleTime.
	settleTime    = 100 * time.Millisecond
	maxSettleTime = 500 * time.Millisecond
	// maxPause limits the pause after a sync of changes, which is as long as the sync took. So the syncs of a folder that changes all the time run about half of the time.
	maxPause = 5 * time.Second
	// maxChanged is the number of changed URIs above which all documents are listed.
	maxChanged = 1000
	// A watch that fails is tried again after retryFirst, since a folder that is replaced is away for a moment. The time doubles with each failure, up to retryLast.
	retryFirst = time.Second
	retryLast  = watchEvery
)

// watching is the watch of a source.
type watching struct {
	cancel  context.CancelFunc
	changes *changes
	begun   context.Context // done as soon as changes are noticed, or the watch has failed or ended
	failure string          // why the source is not watched; guarded by Service.mu
}

// changes collects what has changed until it is taken.
type changes struct {
	mu   sync.Mutex
	uris map[string]bool
	all  bool
	wake chan struct{} // capacity 1
}

func newChanges() *changes { return &changes{uris: map[string]bool{}, wake: make(chan struct{}, 1)} }

func (c *changes) add(uris ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = c.all || len(uris) == 0 || len(c.uris)+len(uris) > maxChanged
	for _, uri := range uris {
		if !c.all {
			c.uris[uri] = true
		}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// take returns what has changed, if anything; nil URIs: everything may have.
func (c *changes) take() (uris []string, some bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	uris, some = slices.Sorted(maps.Keys(c.uris)), c.all || len(c.uris) > 0
	if c.all {
		uris = nil
	}
	c.uris, c.all = map[string]bool{}, false
	select {
	case <-c.wake: // it is for what is taken
	default:
	}
	return uris, some
}

// watchAll starts and ends watches, so that exactly the sources with Watch are watched that this server may sync.
func (s *Service) watchAll(all []store.Source) {
	want := map[string]store.Source{}
	for _, src := range all {
		if src.Watch && src.State != store.SourceRemoving && s.maySync(src) {
			want[src.ID] = src
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, w := range s.watches {
		if _, ok := want[id]; !ok {
			w.cancel()
			delete(s.watches, id)
		}
	}
	for _, src := range want {
		s.beginWatch(src)
	}
}

// beginWatch watches a source, unless it is watched or this service watches none. The caller holds mu.
func (s *Service) beginWatch(src store.Source) {
	if s.watches[src.ID] != nil || s.closed || !s.resumed {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	begun, begin := context.WithCancel(ctx)
	w := &watching{cancel: cancel, changes: newChanges(), begun: begun}
	s.watches[src.ID] = w
	s.work.Go(func() {
		defer cancel()
		s.watch(ctx, src, w, begin)
	})
}

// watchNow watches a source that this server may sync before its schedule is read again, so that a sync that is started now is the first one of the watch.
func (s *Service) watchNow(src store.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if src.Watch && s.maySync(src) {
		s.beginWatch(src)
	}
}

// coverChanges waits until the watch of a source has begun, if there is one, and forgets what it has noticed: the caller lists all documents afterwards.
func (s *Service) coverChanges(ctx context.Context, id string) {
	s.mu.Lock()
	w := s.watches[id]
	s.mu.Unlock()
	if w == nil {
		return
	}
	select {
	case <-w.begun.Done():
		w.changes.take()
	case <-ctx.Done():
	}
}

// Watches reports whether any source is watched.
func (s *Service) Watches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches) > 0
}

// watchFailure returns why a source is not watched, or an empty text.
func (s *Service) watchFailure(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[id]; w != nil {
		return w.failure
	}
	return ""
}

// FollowChanges calls watch, a function like [Watcher.Watch], and calls sync with the URIs of what has changed as soon as there was no change for a moment. Nil URIs mean that everything may have
// changed. Sync returns after what time to try again, or zero if it succeeded. While watch fails, everything is synced once a minute. It returns when ctx has ended.
func FollowChanges(ctx context.Context, logger *slog.Logger, watch func(ctx context.Context, changed func(uris ...string)) error, sync func(ctx context.Context, uris []string) (again time.Duration)) {
	first, reported := true, ""
	followChanges(ctx, newChanges(), func(ctx context.Context, c *changes) error {
		return watch(ctx, func(uris ...string) {
			if len(uris) > 0 || !first {
				c.add(uris...)
			}
			first, reported = false, ""
		})
	}, func(ctx context.Context, c *changes) bool {
		uris, _ := c.take()
		if again := sync(ctx, uris); again > 0 && wait(ctx, again) == nil {
			c.add(uris...)
		}
		return true
	}, func(c *changes, err error, again time.Duration) {
		first = false // what changes before the next watch begins is not in what the caller has read
		if reason := fault.Public(err).Message; reason != reported {
			reported = reason
			logger.Warn("documents cannot be watched; until they can be, all of them are synced once a minute", "reason", reason)
		}
		if wait(ctx, again) == nil && again > watchEvery/2 {
			c.add()
		}
	})
}

// followChanges calls watch until ctx ends. If watch fails, it calls failed, and then watch again. If sync returns false, it is not called again.
func followChanges(ctx context.Context, c *changes, watch func(context.Context, *changes) error, sync func(context.Context, *changes) bool, failed func(c *changes, err error, again time.Duration)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for first := true; ; first = false {
			select {
			case <-c.wake:
			case <-ctx.Done():
				return
			}
			settle(ctx, c.wake)
			began := time.Now()
			if ctx.Err() != nil || !sync(ctx, c) {
				return
			}
			if !first { // the first sync is of everything and may take long; changes must not wait for it again
				_ = wait(ctx, min(time.Since(began), maxPause))
			}
		}
	}()
	again := retryFirst
	for ctx.Err() == nil {
		began := time.Now()
		err := watch(ctx, c)
		if ctx.Err() != nil {
			break
		}
		if time.Since(began) > retryLast {
			again = retryFirst
		}
		failed(c, err, again)
		again = min(again*2, retryLast)
	}
	<-done
}

// watch watches a source until ctx ends. While it cannot be watched, it is synced by schedule. It calls begin when changes are noticed, or the watch has failed.
func (s *Service) watch(ctx context.Context, src store.Source, w *watching, begin func()) {
	followChanges(ctx, w.changes, func(ctx context.Context, c *changes) error {
		return s.watchOnce(ctx, src, func(uris ...string) {
			if len(uris) == 0 {
				s.setWatchFailure(w, "")
			}
			c.add(uris...)
			begin()
		})
	}, func(ctx context.Context, c *changes) bool { return s.syncChanges(ctx, src.ID, c) },
		func(_ *changes, err error, again time.Duration) {
			reason := fault.Public(err).Message
			if reason != s.watchFailure(src.ID) {
				s.o.Logger.Warn("a source cannot be watched; until it can be, it is synced by its schedule, or once a minute", "source", src.ID, "reason", reason)
			}
			s.setWatchFailure(w, reason)
			begin()
			_, err = s.o.Store.UpdateSource(ctx, src.ID, func(src *store.Source) error {
				if src.Next.IsZero() {
					src.Next = s.next(*src)
				}
				return nil
			})
			if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
				s.o.Logger.Error("schedule of a source could not be stored", "source", src.ID, "error", err)
			}
			s.rereadSchedule()
			_ = wait(ctx, again)
		})
}

func (s *Service) setWatchFailure(w *watching, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.failure = reason
}

// watchOnce watches a source until that fails.
func (s *Service) watchOnce(ctx context.Context, src store.Source, changed func(...string)) (err error) {
	conn, err := s.o.Kinds[src.Kind].open(src.Location, src.Credentials, s.o.CredentialsFolder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	w, ok := conn.(Watcher)
	if !ok {
		return fault.New(fault.InvalidRequest, "this version cannot watch sources of the kind %s", src.Kind)
	}
	return w.Watch(ctx, changed)
}

// syncChanges syncs what has changed. It returns false if the source does not exist any more.
func (s *Service) syncChanges(ctx context.Context, id string, c *changes) bool {
	_, err := s.Wait(ctx, id) // one sync at a time
	only, taken, lost := []string(nil), false, false
	if err == nil {
		if only, taken = c.take(); !taken {
			return true // a sync of all documents has listed them after the change
		}
		var i *Ingestion
		if i, err = s.startSync(id, syncRequest{only: only, onFailure: func() { lost = true }}); err == nil && i == nil { // another one has begun, which may have listed before the change
			c.add(only...)
		}
	}
	if err == nil {
		_, err = s.Wait(ctx, id)
	}
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil && fault.Public(err).Code == fault.NotFound:
		return false
	case err != nil:
		s.o.Logger.Error("changes of a source could not be synced", "source", id, "error", err)
	}
	if err != nil || lost { // nobody else tries it again
		_ = wait(ctx, maxPause)
		if taken {
			c.add(only...)
		} else {
			c.add()
		}
	}
	return true
}

// settle waits until there was no change for a moment.
func settle(ctx context.Context, changed <-chan struct{}) {
	most := time.NewTimer(maxSettleTime)
	defer most.Stop()
	for {
		still := time.NewTimer(settleTime)
		select {
		case <-changed:
			still.Stop()
			continue
		case <-still.C:
		case <-most.C:
		case <-ctx.Done():
		}
		still.Stop()
		return
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
