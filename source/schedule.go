package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

const (
	// maxBackoff is the longest time between two syncs of a source whose syncs fail, unless its schedule has a longer one.
	maxBackoff = 24 * time.Hour
	// watchEvery is the time between syncs of a source with Watch that cannot be watched, or whose last sync failed, if it has no schedule.
	watchEvery = time.Minute
	// rereadEvery is the longest time until the schedule is read again, because the clock may be set, and other servers change sources too.
	rereadEvery = time.Minute
)

// next returns when the next sync of a source is due; zero: it has no schedule. The time between two syncs doubles with each sync that fails. Up to a tenth is added, so that sources
// that were added together are not always synced together.
func (s *Service) next(src store.Source) time.Time {
	every := src.Every
	if every == 0 && src.Watch && (src.Failing > 0 || s.watchFailure(src.ID) != "") {
		every = watchEvery
	}
	if every == 0 {
		return time.Time{}
	}
	most := max(every, maxBackoff)
	for range min(src.Failing, 20) {
		every = min(every*2, most)
	}
	return s.o.Now().UTC().Add(every + rand.N(every/10)).Truncate(time.Microsecond)
}

// maySync reports whether this server may sync a source without a request. A folder is on the disk of the server that synced it last, so no other server may.
func (s *Service) maySync(src store.Source) bool {
	return src.Server == "" || src.Server == s.o.Server || s.o.Gone == nil || !s.o.Kinds[src.Kind].Local
}

// elsewhere reports whether another server, which has not died, is syncing a source.
func (s *Service) elsewhere(src store.Source) bool {
	return src.State == store.SourceSyncing && src.Server != "" && src.Server != s.o.Server && s.o.Gone != nil && !s.o.Gone(src.Server)
}

// runSchedule starts due syncs and watches sources until the service is closed. A source whose syncs were due while no server ran is synced once.
func (s *Service) runSchedule() {
	for {
		all, err := s.o.Store.Sources(s.ctx)
		if err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("schedule of sources could not be read", "error", err)
		}
		if err == nil {
			s.watchAll(all)
		}
		now, soon := s.o.Now(), s.o.Now().Add(rereadEvery)
		var first time.Time // of all that are due
		for _, src := range all {
			if s.unrecorded(src) {
				s.startScheduled(src.ID, syncRequest{unrecorded: true})
			}
			if src.Next.IsZero() || !s.maySync(src) || src.State != store.SourceIdle {
				continue
			}
			if first.IsZero() || src.Next.Before(first) {
				first = src.Next
			}
			if src.Next.After(now) {
				if src.Next.Before(soon) {
					soon = src.Next
				}
				continue
			}
			s.startScheduled(src.ID, syncRequest{due: true})
		}
		if err == nil && s.o.OnDue != nil {
			s.o.OnDue(first)
		}
		timer := time.NewTimer(max(soon.Sub(now), time.Millisecond))
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.ctx.Done():
		}
		timer.Stop()
		if s.ctx.Err() != nil {
			return
		}
	}
}

// unrecorded reports whether a sync of this server has ended without a record of its end, because the store failed.
func (s *Service) unrecorded(src store.Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return src.State == store.SourceSyncing && src.Server == s.o.Server && s.active[src.ID] == nil
}

func (s *Service) startScheduled(id string, req syncRequest) *Ingestion {
	i, err := s.startSync(id, req)
	if err != nil && s.ctx.Err() == nil && fault.Public(err).Code != fault.Conflict {
		s.o.Logger.Error("sync of a source could not be started", "source", id, "error", err)
	}
	return i
}

// rereadSchedule makes runSchedule read the schedule again.
func (s *Service) rereadSchedule() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// checkSchedule returns an error of the type [fault.Error] if sources of a kind cannot have a schedule.
func (k Kind) checkSchedule(every time.Duration, watch bool) error {
	if every != 0 && (every < MinEvery || every > MaxEvery) {
		return fault.Invalid("every", "want a duration from 1m to 8784h, such as 1h")
	}
	if watch && !k.Watches {
		return fault.Invalid("watch", "sources of this kind cannot be watched: give them a schedule")
	}
	return nil
}

func checkGiven(meta corpus.DublinCore, contributor string) error {
	if contributor != "" && !corpus.ValidAccount(contributor) {
		return fault.Invalid("contributor", "%s", corpus.WantAccount)
	}
	return meta.Validate()
}

// elements returns the elements of m that are set, by their names; nil if there are none.
func elements(m corpus.DublinCore) map[string]string {
	var out map[string]string
	for _, e := range m.Elements() {
		if *e.Value != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[e.Name] = *e.Value
		}
	}
	return out
}

// metaOf returns the elements as [corpus.DublinCore].
func metaOf(elements map[string]string) (m corpus.DublinCore) {
	for _, e := range m.Elements() {
		*e.Value = elements[e.Name]
	}
	return m
}

// Change changes a source. If its documents must get other metadata, it is synced in the background.
func (s *Service) Change(ctx context.Context, id string, c Changes) (Source, error) {
	sync := false
	var next time.Time // of the sync after that of this change
	src, err := s.change(ctx, id, func(src *store.Source) error {
		if src.State == store.SourceRemoving {
			return errRemoving
		}
		before := *src
		if c.Every != nil {
			src.Every = *c.Every
		}
		if c.Watch != nil {
			src.Watch = *c.Watch
		}
		if c.Meta != nil {
			src.Meta = elements(*c.Meta)
		}
		if c.Contributor != nil {
			src.Again = src.Again || *c.Contributor == "" && before.Contributor != ""
			src.Contributor = *c.Contributor
		}
		if c.Attributes != nil {
			src.Attributes = c.Attributes
		}
		sync = src.Contributor != before.Contributor || metaOf(src.Meta) != metaOf(before.Meta)
		if src.Every != before.Every || src.Watch != before.Watch {
			src.Next = s.next(*src)
		}
		if sync { // also if this process ends before the sync begins
			next, src.Next = src.Next, s.now()
		}
		return errors.Join(s.o.Kinds[src.Kind].checkSchedule(src.Every, src.Watch), checkGiven(metaOf(src.Meta), src.Contributor), checkAttributes(src.Attributes))
	})
	if err != nil {
		return Source{}, err
	}
	if c.Attributes != nil && s.o.AttributesChanged != nil {
		docs, err := s.o.Store.SourceDocuments(ctx, id)
		if err != nil {
			return Source{}, err
		}
		s.o.AttributesChanged(idsOf(docs))
	}
	s.watchNow(src)
	var i *Ingestion
	if sync {
		if i = s.startScheduled(id, syncRequest{}); i != nil { // otherwise another sync is in progress or this server stops, and it is due afterwards
			src.Next = next
		}
	}
	s.rereadSchedule()
	return s.view(src).syncing(i), nil
}
