package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestUploadIsParsedAgain uploads bytes whose failure is remembered. They are parsed, and the failure is forgotten unless it happens again.
func TestUploadIsParsedAgain(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "failures.json")
	write(t, dir, map[string]string{"file.md": "# Good\n\nText.\n"})
	f, err := ingest.OpenFailureStore(kept, 1, time.Second)
	require.NoError(t, err)
	parsed, exhausted := 0, false
	g := ingest.New(newMemory(), nil, ingest.Options{Failures: f, Parse: func(ctx context.Context, name string, data []byte, l parse.Limits) (parse.Parsed, error) {
		if parsed++; exhausted {
			return parse.Parsed{}, fault.Wrap(fault.TooLarge, parse.ErrExhausted, "%s: takes too long", name)
		}
		return parse.Parse(ctx, name, data, l)
	}})
	upload := func() error {
		_, err := g.IngestFile(t.Context(), ingest.File{Collection: "files", ID: "f", Path: filepath.Join(dir, "file.md"), Name: "file.md"}, nil)
		return err
	}
	folder := func() error {
		report, err := g.Ingest(t.Context(), ingest.Request{Paths: []string{dir}}, nil)
		if err == nil && len(report.Failed) > 0 {
			err = errors.New(report.Failed[0].Reason)
		}
		return err
	}
	for _, tt := range []struct {
		name       string
		do         func() error
		exhausted  bool
		parsed     bool
		fails      bool
		remembered int
	}{
		{"upload that takes too much", upload, true, true, true, 1},
		{"folder with the same bytes", folder, false, false, true, 1},
		{"upload that takes too much again", upload, true, true, true, 1},
		{"upload that succeeds", upload, false, true, false, 0},
		{"folder after the success", folder, false, true, false, 0},
	} {
		parsed, exhausted = 0, tt.exhausted
		if err := tt.do(); (err != nil) != tt.fails {
			t.Errorf("%s: error %v, want one: %v", tt.name, err, tt.fails)
		}
		raw, err := os.ReadFile(kept)
		if n := strings.Count(string(raw), `"hash"`); err != nil || n != tt.remembered || (parsed > 0) != tt.parsed {
			t.Errorf("%s: %d failures remembered, want %d; parsed %d times, want it parsed: %v; %v", tt.name, n, tt.remembered, parsed, tt.parsed, err)
		}
	}
}

// TestFailuresAreRemembered ingests a folder at several starts. One document exhausts a limit, and another is invalid.
func TestFailuresAreRemembered(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "failures.json")
	write(t, dir, map[string]string{"bomb.md": "bomb", "wrong.md": "wrong", "good.md": "# Good\n\nText.\n"})
	const mib, second = 1 << 20, time.Second
	for _, tt := range []struct {
		name   string
		memory int64
		time   time.Duration
		before func(*ingest.FailureStore)
		parsed bool // the bomb is parsed again
	}{
		{"first start", 512 * mib, 30 * second, nil, true},
		{"second start", 512 * mib, 30 * second, nil, false},
		{"lower limits", 256 * mib, 10 * second, nil, false},
		{"under another name", 512 * mib, 30 * second, func(*ingest.FailureStore) {
			require.NoError(t, os.Rename(filepath.Join(dir, "bomb.md"), filepath.Join(dir, "other.md")))
		}, false},
		{"more memory", 1024 * mib, 30 * second, nil, true},
		{"remembered with more memory", 1024 * mib, 30 * second, nil, false},
		{"more time", 1024 * mib, 60 * second, nil, true},
		{"forgotten", 1024 * mib, 60 * second, func(f *ingest.FailureStore) {
			require.NoError(t, f.Clear())
		}, true},
		{"damaged", 1024 * mib, 60 * second, func(*ingest.FailureStore) {
			require.NoError(t, os.WriteFile(kept, []byte("{"), 0o600))
		}, false}, // failures of this process are still known
		{"after the damage", 1024 * mib, 60 * second, nil, true},
		{"changed", 1024 * mib, 60 * second, func(*ingest.FailureStore) { write(t, dir, map[string]string{"other.md": "bomb!"}) }, true},
	} {
		f, err := ingest.OpenFailureStore(kept, tt.memory, tt.time)
		require.NoError(t, err)
		if tt.before != nil {
			tt.before(f)
		}
		bombs, wrong := 0, 0
		g := ingest.New(newMemory(), nil, ingest.Options{Failures: f, Parse: func(ctx context.Context, name string, data []byte, l parse.Limits) (parse.Parsed, error) {
			switch string(data) {
			case "bomb", "bomb!":
				bombs++
				return parse.Parsed{}, fault.Wrap(fault.TooLarge, parse.ErrExhausted, "%s: needs more than 512 MiB of memory to read", name)
			case "wrong":
				wrong++
				return parse.Parsed{}, fault.New(fault.InvalidRequest, "%s: not valid Markdown", name)
			}
			return parse.Parse(ctx, name, data, l)
		}, Workers: 1})
		report, err := g.Ingest(t.Context(), ingest.Request{Paths: []string{dir}}, nil)
		if err != nil || report.Added != 1 || len(report.Failed) != 2 {
			t.Fatalf("%s: %+v, %v", tt.name, report, err)
		}
		if (bombs == 1) != tt.parsed || wrong != 1 {
			t.Errorf("%s: parsed %d and %d times; want it parsed again: %v", tt.name, bombs, wrong, tt.parsed)
		}
		if got := report.Failed[0].Reason; got != "needs more than 512 MiB of memory to read" {
			t.Errorf("%s: reason %q", tt.name, got)
		}
	}
}
