// Package sourcetest holds the conformance tests of the connectors of package source.
package sourcetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/source"
)

// Place is a place whose documents a test changes. Names have slashes and end in .md. A document that was put has a version at the next listing, if
// documents of the place have versions at all.
type Place interface {
	// Location is the location of a source, as users write it.
	Location() string
	// Put adds or replaces a document.
	Put(name, text string)
	// Remove removes a document.
	Remove(name string)
	// Break makes the place impossible to list.
	Break()
}

// Spread is implemented by places whose documents are not below their location.
type Spread interface {
	// Base is what the URIs of all documents begin with.
	Base() string
}

// TestConnector runs the conformance tests. The function open returns an empty place.
func TestConnector(t *testing.T, kind source.Kind, open func(t *testing.T) Place) {
	for name, test := range map[string]func(*suite){"listing": (*suite).listing, "versions": (*suite).versions, "limits": (*suite).limits, "failures": (*suite).failures, "locations": (*suite).locations} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			location, err := kind.Locate(p.Location())
			if err != nil {
				t.Fatal(err)
			}
			c, err := kind.Open(location)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
			test(&suite{T: t, kind: kind, place: p, location: location, connector: c})
		})
	}
}

type suite struct {
	*testing.T
	kind      source.Kind
	place     Place
	location  string
	connector source.Connector
}

// list returns the documents of the place by path.
func (s *suite) list() map[string]source.Document {
	s.Helper()
	l, err := s.connector.List(s.Context())
	if err != nil || len(l.Failed) > 0 || len(l.Unread) > 0 {
		s.Fatalf("listing: %v, %+v", err, l)
	}
	out, base := map[string]source.Document{}, s.location
	if spread, ok := s.place.(Spread); ok {
		base = spread.Base()
	}
	for _, d := range l.Documents {
		if _, twice := out[d.Path]; twice || d.Name == "" || !strings.HasPrefix(d.URI, base) || !strings.HasSuffix(d.URI, ".md") {
			s.Errorf("document %+v of %s is listed twice or has a wrong name", d, base)
		}
		out[d.Path] = d
	}
	return out
}

func (s *suite) read(d source.Document, want string) {
	s.Helper()
	if data, err := s.connector.Read(s.Context(), d, 1000); err != nil || string(data) != want {
		s.Errorf("%s: %q, %v, want %q", d.Path, data, err, want)
	}
}

// listing checks that a listing has the documents as they are.
func (s *suite) listing() {
	if got := s.list(); len(got) > 0 {
		s.Errorf("an empty place has %v", got)
	}
	s.place.Put("a.md", "one")
	s.place.Put("sub/deep/b.md", "two")
	got := s.list()
	if len(got) != 2 {
		s.Fatalf("listed %v", got)
	}
	s.read(got["a.md"], "one")
	s.read(got["sub/deep/b.md"], "two")
	again := s.list()
	if again["a.md"] != got["a.md"] {
		s.Errorf("a second listing has %v, the first one %v", again["a.md"], got["a.md"])
	}
	s.place.Remove("a.md")
	if left := s.list(); len(left) != 1 || left["sub/deep/b.md"].URI == "" {
		s.Errorf("after one was removed: %v", left)
	}
	if _, err := s.connector.Read(s.Context(), got["a.md"], 1000); err == nil {
		s.Error("read a document that is gone")
	}
}

// versions checks that the version changes with the bytes, and otherwise does not.
func (s *suite) versions() {
	s.place.Put("a.md", "one")
	s.place.Put("b.md", "one")
	before := s.list()
	s.place.Put("a.md", "two")
	after := s.list()
	if v := after["a.md"].Version; v != "" && v == before["a.md"].Version {
		s.Errorf("other bytes have the version %q too", v)
	}
	if before["b.md"] != after["b.md"] {
		s.Errorf("unchanged: %v, before %v", after["b.md"], before["b.md"])
	}
	s.read(after["a.md"], "two")
}

// limits checks that no more bytes are read than allowed.
func (s *suite) limits() {
	s.place.Put("a.md", "12345")
	d := s.list()["a.md"]
	if data, err := s.connector.Read(s.Context(), d, 5); err != nil || string(data) != "12345" {
		s.Errorf("%q, %v", data, err)
	}
	if data, err := s.connector.Read(s.Context(), d, 4); err == nil {
		s.Errorf("over the limit: %q", data)
	}
}

// failures checks that a place that cannot be listed is an error, and not an empty place.
func (s *suite) failures() {
	s.place.Put("a.md", "one")
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if _, err := s.connector.List(ctx); !errors.Is(err, context.Canceled) {
		s.Errorf("cancelled: %v", err)
	}
	s.place.Break()
	if l, err := s.connector.List(s.Context()); err == nil {
		s.Errorf("a broken place has %v", l)
	}
}

// locations checks that the form of a location is stable, and that others are errors.
func (s *suite) locations() {
	if again, err := s.kind.Locate(s.location); err != nil || again != s.location {
		s.Errorf("located %q again: %q, %v", s.location, again, err)
	}
	bad := []string{"", "relative/x", "no\x00thing", strings.Repeat("x", 10)}
	if i := slices.IndexFunc(bad, func(l string) bool { _, err := s.kind.Locate(l); return err == nil }); i >= 0 {
		s.Errorf("located %q", bad[i])
	}
}
