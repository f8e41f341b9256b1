package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/store"
)

func (s *suite) queue() {
	_, err := s.StartNext(s.ctx, start, false, "")
	s.is(err, store.ErrNotFound)
	for i, id := range []string{"c", "a", "b"} {
		s.must(s.AddFile(s.ctx, file(id), task(id, i), nil))
	}
	at := start.Add(time.Hour)
	for _, want := range []string{"c", "a"} {
		got, err := s.StartNext(s.ctx, at, false, "one")
		s.must(err)
		s.same("started", []any{got.Resource, got.Status, got.Tries, got.UpdatedAt, got.Server}, []any{want, store.Running, 1, at, "one"})
	}
	var asked []string
	n, err := s.Requeue(s.ctx, at, func(t store.Task) bool { asked = append(asked, t.ID+" "+t.Server); return false })
	s.must(err)
	slices.Sort(asked)
	s.same("requeued while both are worked on", []any{n, asked}, []any{0, []string{"upload-a one", "upload-c one"}})
	n, err = s.Requeue(s.ctx, at, func(store.Task) bool { return true })
	s.must(err)
	s.same("requeued", n, 2)
	got, err := s.StartNext(s.ctx, at, false, "one")
	s.must(err)
	s.same("again", []any{got.Resource, got.Tries}, []any{"c", 2})
	s.end("c", store.Failed)
	for _, want := range []string{"a", "b"} {
		got, err := s.StartNext(s.ctx, at, false, "one")
		s.must(err)
		s.same("started", got.Resource, want)
	}
	_, err = s.StartNext(s.ctx, at, false, "one")
	s.is(err, store.ErrNotFound)

	// A delayed task comes after those that are due earlier. It is started when it is due, or if the clock was set back.
	for id, delay := range map[string]time.Duration{"a": 15 * time.Second, "b": 5 * time.Second} {
		_, err = s.UpdateTask(s.ctx, "upload-"+id, func(t *store.Task, _ *store.File) error {
			t.Status, t.UpdatedAt, t.Delay = store.Pending, at, delay
			return nil
		})
		s.must(err)
	}
	s.must(s.AddFile(s.ctx, file("d"), task("d", int(time.Hour/time.Second)+10), nil))
	for _, step := range []struct {
		after time.Duration
		want  string
		left  time.Duration
	}{{4 * time.Second, "d", 0}, {4 * time.Second, "", time.Second}, {20 * time.Second, "b", 0}, {14 * time.Second, "", time.Second}, {-15 * time.Second, "a", 0}} {
		got, err := s.StartNext(s.ctx, at.Add(step.after), false, "two")
		if step.want == "" {
			later, _ := errors.AsType[*store.NotDueError](err)
			s.same("not due", later, &store.NotDueError{Left: step.left})
			continue
		}
		s.must(err)
		s.same("started", []any{got.Resource, got.Server}, []any{step.want, "two"})
	}
	n, err = s.Requeue(s.ctx, at, func(t store.Task) bool { return t.Server == "two" })
	s.must(err)
	got, err = s.StartNext(s.ctx, at, false, "one")
	s.must(err)
	s.same("requeued without delay", []any{n, got.Resource}, []any{3, "a"})
}
