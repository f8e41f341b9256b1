package answer_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// harbours returns a pipeline over documents of one passage each, by their paths.
func harbours(t *testing.T, texts map[string]string) *answer.Pipeline {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	for path, text := range texts {
		d := corpus.Document{ID: corpus.DocumentID("doc_" + path), Collection: corpus.DefaultCollection, Title: "Guide", URI: "/" + path, Path: path, Hash: path}
		c := corpus.Chunk{ID: corpus.ChunkID(path), Document: d.ID, Level: corpus.Passage, Title: d.Title, End: len(text), Text: text}
		require.NoError(t, ix.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{{{Chunk: c}}}))
	}
	p := library()
	p.Index, p.Graph = ix, nil
	return p
}

// TestRepeatedPassages reads one of several documents with about the same passage: the version that the question names, or else the newest.
func TestRepeatedPassages(t *testing.T) {
	t.Parallel()
	limit := func(version, n, more string) string {
		return "The upload limit of the harbour server " + version + " is " + n + " megabytes for each file. Administrators of a harbour can change this limit at any time in the settings page of the server, below the heading Uploads, and each change is written to the log." + more
	}
	p := harbours(t, map[string]string{
		"docs/v1.9/limits.md":    limit("1.9", "five", ""),
		"docs/v1.10/limits.md":   limit("1.10", "twenty", " It needs no restart."),
		"docs/v1.2/limits.md":    limit("1.2", "two", ""),
		"docs/v1.10/ferries.md":  "Ferries leave the harbour at seven. The server of the harbour shows their times on a page.",
		"copies/ferries (1).md":  "Ferries leave the harbour at seven. The server of the harbour shows their times on a page.",
		"docs/v1.10/captains.md": "Captains of the harbour upload their papers to the server.",
		"docs/tolls.html":        "Tolls of the harbour are paid by ships:\n\n1. Barges pay ninety euros for each day.\n2. Sailing boats pay half of that.\n3. Tugs pay nothing.",
		"copies/charges.md":      "# Tolls of the harbour are paid by ships:\n\n- Barges pay ninety euros for each day.\n- Sailing boats pay half of that.\n- Tugs pay nothing.",
		"docs/tolls.txt.gz":      "Tolls of the harbour are paid by ships:\nBarges pay ninety euros for each day.\nSailing boats pay half of that.\nTugs pay nothing.",
	})
	all := []string{"docs/v1.10/limits.md", "docs/v1.2/limits.md", "docs/v1.9/limits.md"}
	for question, want := range map[string]struct {
		says string
		in   []string
	}{
		"What is the upload limit of the harbour server?":     {"twenty megabytes", all},
		"What is the upload limit of the harbour server 1.9?": {"five megabytes", all},
		"What is the upload limit of the harbour server 1.2?": {"two megabytes", all},
		"What do barges pay in the harbour?":                  {"ninety euros", []string{"copies/charges.md", "docs/tolls.html", "docs/tolls.txt.gz"}},
		"When do ferries leave the harbour?":                  {"at seven", []string{"copies/ferries (1).md", "docs/v1.10/ferries.md"}},
	} {
		s := event.Fold(askDirect(t, p, question))
		i := slices.IndexFunc(s.Sources, func(o event.Source) bool { return o.Cited })
		if i < 0 || !strings.Contains(string(s.Text), want.says) || strings.Count(string(s.Text), want.says[len(want.says)-5:]) != 1 {
			t.Errorf("%s: %q, sources %+v", question, s.Text, s.Sources)
			continue
		}
		also := slices.Sorted(slices.Values(append(slices.Clone(s.Sources[i].AlsoIn), s.Sources[i].URI)))
		if !slices.Equal(also, want.in) {
			t.Errorf("%s: in %q, want %q", question, also, want.in)
		}
	}
}

// TestSimilarPassagesThatDiffer reads passages that are made alike and say different things.
func TestSimilarPassagesThatDiffer(t *testing.T) {
	t.Parallel()
	text := func(name, n string) string {
		return "The harbour of " + name + " has a quay of " + n + " metres. Ships that arrive at the quay pay a toll, which depends on their length, and the harbour master writes the name of each ship in the book."
	}
	p := harbours(t, map[string]string{"harbour-1.md": text("Osterby", "120"), "harbour-2.md": text("Farland", "340"), "harbour-3.md": text("Lunden", "75")})
	for name, n := range map[string]string{"Osterby": "120", "Farland": "340", "Lunden": "75"} {
		s := event.Fold(askDirect(t, p, "How long is the quay of the harbour of "+name+"?"))
		if !strings.Contains(string(s.Text), n) || len(s.Sources) != 3 {
			t.Errorf("%s: %q from %d sources", name, s.Text, len(s.Sources))
		}
	}
}
