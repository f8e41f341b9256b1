package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// tellTime bounds how long the index is told of changes for one call.
const tellTime = 5 * time.Minute

// tell tells the index what it has yet to be told. What it is told is what the store says now, so that the order of changes does not
// matter, nor that one is told twice. Changes that others made are told along.
func (s *Service) tell(ctx context.Context) error {
	s.sets.Lock()
	defer s.sets.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime) // what is noted is to be told, whoever still waits for it
	defer cancel()
	for {
		changes, err := s.opts.Store.Changes(ctx, 0, 5000)
		if err == nil {
			err = s.tellAll(ctx, changes)
		}
		if err == nil && len(changes) > 0 {
			err = s.opts.Reserve.Use(func() error { return s.opts.Store.Settle(ctx, changes) })
		}
		s.loose.Store(err != nil)
		if err != nil {
			return fmt.Errorf("tell the index of changes: %w", err)
		}
		if len(changes) == 0 {
			return nil
		}
		s.tellNews()
	}
}

// tellAll tells changes, those of one kind and vector store at once.
func (s *Service) tellAll(ctx context.Context, changes []store.Change) error {
	type group struct {
		set  string
		join bool
	}
	var gone []corpus.DocumentID
	var order []group
	groups := map[group][]corpus.DocumentID{}
	for _, c := range changes {
		switch {
		case c.Store == "" && !c.Holds:
			gone = append(gone, corpus.DocumentID(c.File))
		case c.File == "" && !c.Holds:
			if err := s.opts.Index.DeleteSet(ctx, Collection, c.Store); err != nil {
				return err
			}
		case c.Store != "" && c.File != "":
			g := group{c.Store, c.Holds}
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

// forgetAfter is how long a task is told of whose file or vector store is gone.
const forgetAfter = 24 * time.Hour

// sweeper sweeps now and then until the service is closed.
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
		if err == nil && s.loose.Load() {
			err = s.tell(s.ctx)
		}
		if err == nil {
			err = s.requeue(s.ctx)
		}
		if err == nil {
			_, err = s.opts.Store.Forget(s.ctx, s.opts.Now().Add(-forgetAfter))
		}
		if err != nil && s.ctx.Err() == nil {
			s.opts.Logger.Error("sweep files", "error", err)
		}
	}
}

// ExpireNamed deletes those of the named vector stores whose time is over. Call it before a question is answered, so that no
// question sees an expired one. Collections of folders never expire: a question that names nothing else does not need the database.
func (s *Service) ExpireNamed(ctx context.Context, names []string) error {
	for _, name := range names {
		if slices.Contains(s.opts.Collections, name) || !index.ValidSet(name) {
			continue
		}
		if f, err := s.folder(ctx, name); err != nil {
			return err
		} else if f.documents > 0 {
			continue
		}
		if _, err := s.kept(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fault.Wrap(fault.Index, err, "the file database failed")
		}
	}
	return nil
}

// Sweep deletes the vector stores whose time is over, and erases from the store what was deleted.
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

// expire deletes a vector store if its time is over.
func (s *Service) expire(ctx context.Context, id string) error {
	s.life.Lock()
	defer s.life.Unlock()
	c, err := s.opts.Store.Store(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && !s.expired(c) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.endStore(ctx, id)
}

func (s *Service) expired(c store.Counted) bool {
	return !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(s.opts.Now())
}

// endStore removes a vector store and has the index know, under the lock of life.
func (s *Service) endStore(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	if err := removeIfThere(s.storeRecordPath(id)); err != nil {
		return err
	}
	if err := s.opts.Reserve.Use(func() error { return s.opts.Store.RemoveStore(ctx, id) }); err != nil {
		s.recordStore(ctx, id)
		return lost(err, "vector store")
	}
	now := s.opts.Now().UTC()
	done := store.Task{ID: "delete-" + id, Type: "delete", Status: store.Completed, Progress: 100, Resource: id, CreatedAt: now, UpdatedAt: now}
	if err := s.opts.Reserve.Use(func() error { return s.opts.Store.PutTask(ctx, done) }); err != nil {
		return err
	}
	return s.tell(ctx)
}
