package fingerprint_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/fingerprint"
)

// server is an embedder whose model and health can be changed.
type server struct {
	mu    sync.Mutex
	model string
	noise float32 // added to a component, as another build of a model would
	err   error
	calls int
	wrong int // number of the next calls that give vectors of another model
}

func (*server) Space() string { return "s" }

func (s *server) Embed(_ context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.err != nil {
		return nil, s.err
	}
	name := s.model
	if s.wrong > 0 {
		s.wrong--
		name = "loading"
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = make([]float32, 32)
		f := fnv.New32a()
		for k := range out[i] {
			fmt.Fprint(f, name, t, p)
			out[i][k] = float32(f.Sum32()%1000)/1000 - 0.5
		}
		out[i][0] += s.noise
	}
	return out, nil
}

func (s *server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// bench is an embedder over a server, with a clock of its own.
type bench struct {
	*fingerprint.Embedder
	server   *server
	now      time.Time
	replaced int
}

func open(t *testing.T, path string, s *server) *bench {
	t.Helper()
	b := &bench{server: s, now: time.Unix(1_800_000_000, 0)}
	e, err := fingerprint.New(path, s, fingerprint.Options{Every: time.Minute, OnReplaced: func() { b.replaced++ }, Now: func() time.Time { return b.now }})
	require.NoError(t, err)
	b.Embedder = e
	return b
}

func (b *bench) embed(t *testing.T, wantSpace string) {
	t.Helper()
	if _, err := b.Embed(t.Context(), []string{"a text"}, model.ForQuery); err != nil {
		t.Errorf("embed: %v", err)
	}
	if got := b.Space(); got != wantSpace {
		t.Errorf("space %q, want %q", got, wantSpace)
	}
}

func TestReplacedModelGetsItsOwnSpace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T, b *bench, path string) *bench{
		"between two starts": func(t *testing.T, b *bench, path string) *bench {
			b.server.model = "second"
			return open(t, path, b.server)
		},
		"while it was down at start": func(t *testing.T, b *bench, path string) *bench {
			b.server.model, b.server.err = "second", errors.New("down")
			again := open(t, path, b.server)
			if _, err := again.Check(t.Context()); err == nil {
				t.Error("the check of a server that is down succeeds")
			}
			if _, err := again.Embed(t.Context(), []string{"a text"}, model.ForQuery); err == nil {
				t.Error("a server that is down embeds")
			}
			b.server.err = nil
			return again
		},
		"while it did not answer": func(t *testing.T, b *bench, _ string) *bench {
			b.server.err = errors.New("connection refused")
			if _, err := b.Embed(t.Context(), []string{"a text"}, model.ForQuery); err == nil {
				t.Error("a server that is down embeds")
			}
			b.server.err, b.server.model = nil, "second"
			return b
		},
		"without a failure in between": func(_ *testing.T, b *bench, _ string) *bench {
			b.server.model = "second"
			b.now = b.now.Add(time.Minute)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "embedders.json")
			b := open(t, path, &server{model: "first"})
			b.embed(t, "s")
			b = test(t, b, path)
			b.embed(t, "s#2")
			b.embed(t, "s#2")
			if b.replaced != 1 {
				t.Errorf("OnReplaced was called %d times", b.replaced)
			}
			open(t, path, b.server).embed(t, "s#2")
			b.server.model = "third"
			open(t, path, b.server).embed(t, "s#3")
			b.server.model = "first"
			open(t, path, b.server).embed(t, "s")
		})
	}
}

func TestSameModelKeepsItsSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "embedders.json")
	b := open(t, path, &server{model: "first"})
	b.embed(t, "s")
	b.server.noise = 0.1
	b.now = b.now.Add(time.Hour)
	b.embed(t, "s")
	b.server.err = &model.Error{Model: "s", Failure: model.Rejected}
	if _, err := b.Embed(t.Context(), []string{"a text"}, model.ForQuery); err == nil {
		t.Error("a rejected text is embedded")
	}
	b.server.err, b.server.calls = nil, 0
	for range 10 {
		b.embed(t, "s")
	}
	if b.server.calls != 10 || b.replaced != 0 {
		t.Errorf("%d calls for 10 texts, replaced %d times", b.server.calls, b.replaced)
	}
}

// TestOneWrongReplyIsNotAnotherModel has the server answer one check with other vectors, as one that loads its model may.
func TestOneWrongReplyIsNotAnotherModel(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "embedders.json"), &server{model: "first"})
	b.embed(t, "s")
	b.server.wrong = 1
	b.now = b.now.Add(time.Minute)
	b.embed(t, "s")
	if b.replaced != 0 || b.server.wrong != 0 {
		t.Errorf("replaced %d times after one wrong reply", b.replaced)
	}
}

func TestDamagedFileMakesVectorsAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "embedders.json")
	s := &server{model: "first"}
	open(t, path, s).embed(t, "s")
	for _, content := range []string{"", "[", "null", `{"s":7}`} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		b := open(t, path, s)
		if _, err := b.Check(t.Context()); err != nil {
			t.Error(err)
		}
		space := b.Space()
		if space == "s" {
			t.Errorf("with the file %q the space is still %q", content, space)
		}
		open(t, path, s).embed(t, space)
	}
}

// TestConcurrentCallsAgree replaces the model while many calls embed: every call's vectors are those of the space after it.
func TestConcurrentCallsAgree(t *testing.T) {
	t.Parallel()
	s := &server{model: "first"}
	e, err := fingerprint.New(filepath.Join(t.TempDir(), "embedders.json"), s, fingerprint.Options{Every: time.Nanosecond})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 100 {
				if _, err := e.Embed(t.Context(), []string{fmt.Sprint(i)}, model.ForPassage); err != nil {
					t.Error(err)
				}
				if i == 50 {
					s.change(func() { s.model = "second" })
				}
			}
		})
	}
	all.Wait()
	if e.Space() != "s#2" {
		t.Errorf("space %q", e.Space())
	}
}
