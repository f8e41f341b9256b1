package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// flushTimeout bounds one call of flushOutbox.
const flushTimeout = 5 * time.Minute

// flushOutbox applies the pending changes of the store to the index, also those of other calls. Changes carry the present state of the store, so
// their order does not matter, and they can be applied twice.
func (s *Service) flushOutbox(ctx context.Context) error {
	s.outboxMu.Lock()
	defer s.outboxMu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout) // the changes are committed, so they are applied even if the caller is gone
	defer cancel()
	for {
		changes, err := s.opts.Store.PendingChanges(ctx, 0, 5000)
		if err == nil {
			err = s.applyChanges(ctx, changes)
		}
		if err == nil && len(changes) > 0 {
			err = s.opts.Reserve.Use(func() error { return s.opts.Store.AcknowledgeChanges(ctx, changes) })
		}
		s.outboxFailed.Store(err != nil)
		if err != nil {
			return fmt.Errorf("apply changes to the index: %w", err)
		}
		if len(changes) == 0 {
			return nil
		}
		s.notifyWaiters()
	}
}

// applyChanges applies changes to the index, those of one kind and vector store in one batch.
func (s *Service) applyChanges(ctx context.Context, changes []store.IndexChange) error {
	type group struct {
		set  string
		join bool
	}
	var gone []corpus.DocumentID
	var order []group
	groups := map[group][]corpus.DocumentID{}
	for _, c := range changes {
		switch {
		case c.Store == "" && !c.Present:
			gone = append(gone, corpus.DocumentID(c.File))
		case c.File == "" && !c.Present:
			if err := s.opts.Index.DeleteSet(ctx, Collection, c.Store); err != nil {
				return err
			}
		case c.Store != "" && c.File != "":
			g := group{c.Store, c.Present}
			if groups[g] == nil {
				order = append(order, g)
			}
			groups[g] = append(groups[g], corpus.DocumentID(c.File))
		}
	}
	for _, g := range order {
		do := s.opts.Index.RemoveFromSet
		if g.join {
			do = s.opts.Index.AddToSet
		}
		if err := do(ctx, Collection, g.set, groups[g]); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return s.opts.Index.Delete(ctx, Collection, gone)
}

// keepDeletedTasks is how long the task of a deleted file or vector store can be read.
const keepDeletedTasks = 24 * time.Hour

// sweeper sweeps every sweepEvery until the service is closed.
func (s *Service) sweeper() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		err := s.Sweep(s.ctx)
		if err == nil && s.outboxFailed.Load() {
			err = s.flushOutbox(s.ctx)
		}
		if err == nil {
			err = s.requeue(s.ctx)
		}
		if err == nil {
			err = s.completeRemovals(s.ctx)
		}
		if err == nil {
			_, err = s.opts.Store.DeleteOldTasks(s.ctx, s.opts.Now().Add(-keepDeletedTasks))
		}
		if err != nil && s.ctx.Err() == nil {
			s.opts.Logger.Error("sweep files", "error", err)
		}
	}
}

// DeleteExpired deletes the expired ones of the named vector stores. Call it before a question is answered, so that no question searches an
// expired vector store. Collections of folders and that of all uploaded files never expire, so a question about them alone does not read the database.
func (s *Service) DeleteExpired(ctx context.Context, names []string) error {
	for _, name := range names {
		if name == Collection || slices.Contains(s.opts.Collections, name) || !index.ValidSet(name) {
			continue
		}
		if f, err := s.folder(ctx, name); err != nil {
			return err
		} else if f.documents > 0 {
			continue
		}
		if _, err := s.storeRecord(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return databaseFault(ctx, err)
		}
	}
	return nil
}

// Sweep deletes expired vector stores and erases deleted records from the files of the store.
func (s *Service) Sweep(ctx context.Context) error {
	for {
		ids, err := s.opts.Store.Expired(ctx, s.opts.Now(), 100)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return s.opts.Reserve.Use(func() error { return s.opts.Store.Erase(ctx) })
		}
		for _, id := range ids {
			if err := s.expire(ctx, id); err != nil {
				return err
			}
		}
	}
}

// expire deletes a vector store if it has expired.
func (s *Service) expire(ctx context.Context, id string) error {
	s.storesMu.Lock()
	defer s.storesMu.Unlock()
	c, err := s.opts.Store.Store(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.expired(c) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.deleteStore(ctx, id)
}

func (s *Service) expired(c store.VectorStoreInfo) bool {
	return !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(s.opts.Now())
}

// deleteStore deletes a vector store and its set in the index. The caller holds storesMu.
func (s *Service) deleteStore(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	if err := atomicfile.Remove(s.storeRecordPath(id)); err != nil {
		return err
	}
	if err := s.opts.Reserve.Use(func() error { return s.opts.Store.RemoveStore(ctx, id) }); err != nil {
		s.saveStoreRecord(ctx, id)
		return notFound(err, "vector store")
	}
	now := s.opts.Now().UTC()
	done := store.Task{ID: "delete-" + id, Type: "delete", Status: store.Completed, Progress: 100, Resource: id, CreatedAt: now, UpdatedAt: now}
	if err := s.opts.Reserve.Use(func() error { return s.opts.Store.PutTask(ctx, done) }); err != nil {
		return err
	}
	return s.flushOutbox(ctx)
}
