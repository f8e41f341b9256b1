package storetest

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/store"
)

// sources adds, changes and removes sources with their documents.
func (s *suite) sources() {
	a := store.Source{ID: "a", Kind: "folder", Location: "/docs", Collection: "default", Include: []string{"*.md"}, State: store.SourceSyncing, CreatedAt: start}
	b := store.Source{ID: "b", Kind: "folder", Location: "/other", CreatedAt: start}
	s.must(s.AddSource(s.ctx, b))
	s.must(s.AddSource(s.ctx, a))
	if err := s.AddSource(s.ctx, a); !errors.Is(err, store.ErrExists) {
		s.Errorf("added twice: %v", err)
	}
	check := func(step string, want ...store.Source) {
		s.Helper()
		got, err := s.reopen().Sources(s.ctx)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			s.Errorf("%s: %v\n%s", step, err, diff)
		}
	}
	check("added", a, b)

	a.State, a.Sync = store.SourceIdle, json.RawMessage(`{"added":1}`)
	a.Meta, a.Contributor, a.Again, a.Server, a.Ingestion, a.Attempt = map[string]string{"dc_creator": "Ada"}, "bob", true, "one", "ing-1", 2
	a.Attributes = map[string]any{"team": "legal 'x'", "year": 2024.0, "final": true}
	a.Schedule = store.Schedule{Every: time.Hour, Watch: true, Next: start.Add(time.Hour), Failing: 3}
	got, err := s.UpdateSource(s.ctx, "a", func(x *store.Source) error { *x = a; x.ID = "no"; return nil })
	if diff := cmp.Diff(a, got); diff != "" || err != nil {
		s.Errorf("changed: %v\n%s", err, diff)
	}
	refused := errors.New("refused")
	if _, err := s.UpdateSource(s.ctx, "a", func(x *store.Source) error { x.Kind = "no"; return refused }); !errors.Is(err, refused) {
		s.Errorf("refused change: %v", err)
	}
	if _, err := s.UpdateSource(s.ctx, "c", func(*store.Source) error { return nil }); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("changed an unknown one: %v", err)
	}
	check("changed", a, b)

	doc := func(id, version string) store.SourceDocument {
		return store.SourceDocument{ID: id, URI: "/docs/" + id + "'é", Version: version, Hash: "h" + version, SHA256: "s" + version}
	}
	s.must(s.ChangeSourceDocuments(s.ctx, "a", []store.SourceDocument{doc("2", "x"), doc("1", "x"), doc("3", "x")}, nil))
	s.must(s.ChangeSourceDocuments(s.ctx, "b", []store.SourceDocument{doc("1", "other")}, nil))
	s.must(s.ChangeSourceDocuments(s.ctx, "a", []store.SourceDocument{doc("2", "y")}, []string{"3", "unknown"}))
	if err := s.ChangeSourceDocuments(s.ctx, "c", []store.SourceDocument{doc("1", "x")}, nil); !errors.Is(err, store.ErrNotFound) {
		s.Errorf("documents of an unknown source: %v", err)
	}
	docs := func(step, source string, want ...store.SourceDocument) {
		s.Helper()
		got, err := s.reopen().SourceDocuments(s.ctx, source)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			s.Errorf("%s: %v\n%s", step, err, diff)
		}
	}
	docs("changed", "a", doc("1", "x"), doc("2", "y"))
	if of, err := s.SourcesOf(s.ctx, []string{"2", "3", "unknown"}); err != nil || !maps.Equal(of, map[string]string{"2": "a"}) {
		s.Errorf("sources of documents: %v, %v", of, err)
	}

	s.must(s.RemoveSource(s.ctx, "a"))
	s.must(s.RemoveSource(s.ctx, "a"))
	check("removed", b)
	docs("removed", "a")
	docs("kept", "b", doc("1", "other"))
}

// ingestions adds, changes and removes ingestions.
func (s *suite) ingestions() {
	b := store.Ingestion{ID: "b", Paths: []string{"/docs", "/a 'b' é"}, Collection: "default", Retry: true, AllowRemoval: true, Remove: true, Server: "one", Attempt: 1, CreatedAt: start}
	a := store.Ingestion{ID: "a", Paths: []string{"/docs"}, Collection: "other", Attempt: 1, CreatedAt: start.Add(time.Microsecond)}
	check := func(step string, want ...store.Ingestion) {
		s.Helper()
		got, err := s.reopen().Ingestions(s.ctx)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			s.Errorf("%s: %v\n%s", step, err, diff)
		}
	}
	check("empty")
	s.must(s.PutIngestion(s.ctx, a))
	s.must(s.PutIngestion(s.ctx, b))
	check("added", b, a)
	b.Attempt, b.Result = 2, json.RawMessage(`{"added":1}`)
	s.must(s.PutIngestion(s.ctx, b))
	check("changed", b, a)
	if got, err := s.Ingestion(s.ctx, "b"); err != nil || !cmp.Equal(got, b) {
		s.Errorf("%+v, %v", got, err)
	}
	s.must(s.RemoveIngestions(s.ctx, []string{"b", "unknown"}))
	if _, err := s.Ingestion(s.ctx, "b"); !errors.Is(err, store.ErrNotFound) {
		s.Error("removed:", err)
	}
	s.must(s.RemoveIngestions(s.ctx, nil))
	check("removed", a)
}
