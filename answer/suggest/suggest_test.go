package suggest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/suggest"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

var words = local.New(local.Options{}) // creating it is slow

// asker answers each question from the passage that the index finds first, and records the questions.
type asker struct {
	index index.Reader
	asked []string
	low   map[string]bool // questions without an answer
	wait  func()
	err   error
}

func (a *asker) ask(ctx context.Context, collection, question string) (suggest.Answer, error) {
	a.asked = append(a.asked, question)
	if a.wait != nil {
		a.wait()
	}
	hits, err := a.index.Search(ctx, index.Query{Collection: collection, Text: question, Limit: 1})
	if err = errors.Join(err, a.err); err != nil || len(hits) == 0 {
		return suggest.Answer{}, err
	}
	out := suggest.Answer{Cited: []corpus.ChunkID{hits[0].Chunk.ID}, Answerability: 0.5}
	if a.low[question] {
		out.Answerability = 0.1
	}
	return out, nil
}

// open indexes documents.
func open(t *testing.T, documents map[string]string) (*embedded.Index, *ingest.Ingester, *asker) {
	t.Helper()
	ix, err := embedded.Open(t.Context(), filepath.Join(t.TempDir(), "index"), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	in := ingest.New(ix, words, ingest.Options{})
	for name, text := range documents {
		add(t, in, name, text)
	}
	return ix, in, &asker{index: ix}
}

func add(t *testing.T, in *ingest.Ingester, name, text string) {
	t.Helper()
	if _, err := in.IngestDocuments(t.Context(), "c", []ingest.Source{{URI: name, Name: name, Data: []byte(text)}}, nil); err != nil {
		t.Fatal(err)
	}
}

func questions(t *testing.T, m *suggest.Maker, language string) []string {
	t.Helper()
	out, err := m.Questions(t.Context(), "c", language)
	require.NoError(t, err)
	return out
}

var everyday = map[string]string{
	"pool.md":   "# Pool\n\nA locker costs €1 per day. The pool opens at 8 in the morning.\n",
	"coffee.md": "# Coffee machine\n\nTo reset the machine, hold the button. The warranty period is two years.\n",
	"fair.md":   "# Minutes\n\nThe society decided to hold the summer fair on 4 July. Mrs Okafor will repair the pump.\n",
	"verein.md": "# Satzung\n\nDer Verein wurde im Jahr 1921 gegründet. Die Gebühr beträgt 20 Euro. Um die Maschine zu starten, drücken Sie den Schalter. Eine Wäsche kostet 3 Euro.\n",
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	ix, in, a := open(t, everyday)
	m := suggest.New(ix, a.ask, suggest.Options{Budget: time.Hour})
	got := questions(t, m, "en")
	if len(got) != 6 || slices.ContainsFunc(got, func(q string) bool { return strings.Contains(q, "Verein") || strings.Contains(q, "Wie") }) {
		t.Errorf("questions in English: %q", got)
	}
	german := questions(t, m, "de")
	if len(german) != 4 || !slices.Contains(german, "Wann wurde der Verein gegründet?") {
		t.Errorf("questions in German: %q", german)
	}
	// In a language of no document, all are offered.
	if none := questions(t, m, "fr"); len(none) < 4 {
		t.Errorf("questions in French: %q", none)
	}
	// Nothing is asked again until the collection changes.
	n := len(a.asked)
	if again := questions(t, m, "en"); len(a.asked) != n || !cmp.Equal(again, got) {
		t.Errorf("asked %d questions again: %q", len(a.asked)-n, again)
	}
	add(t, in, "tram.md", "# Tram\n\nThe tram is free because the council pays for it.\n")
	if questions(t, m, "en"); len(a.asked) == n {
		t.Error("a new document changes nothing")
	}
}

// TestOnlyGoodQuestions: questions that are not answered well, or from another passage, are not offered, and neither are two of the same.
func TestOnlyGoodQuestions(t *testing.T) {
	t.Parallel()
	ix, _, a := open(t, map[string]string{
		"a.md": "# Pool\n\nA locker costs €1 per day. A small locker costs €2 per day. The pool opens at 8 in the morning.\n",
		"b.md": "# Pool\n\nA locker costs €2 per day.\n",
	})
	a.low = map[string]bool{"When does the pool open?": true}
	got := questions(t, suggest.New(ix, a.ask, suggest.Options{Budget: time.Hour}), "en")
	n := 0
	for _, q := range got {
		if strings.Contains(q, "locker") {
			n++
		}
		if a.low[q] {
			t.Errorf("offered: %s", q)
		}
	}
	if n > 1 {
		t.Errorf("%d questions about the same: %q", n, got)
	}
	wrong := &asker{index: other{ix}}
	if got := questions(t, suggest.New(ix, wrong.ask, suggest.Options{Budget: time.Hour}), "en"); len(got) > 0 || len(wrong.asked) == 0 {
		t.Errorf("answered from another passage, and offered: %q", got)
	}
	failing := &asker{index: ix, err: errors.New("the embedder failed")}
	if got := questions(t, suggest.New(ix, failing.ask, suggest.Options{Budget: time.Hour}), "en"); len(got) > 0 {
		t.Errorf("not answered, and offered: %q", got)
	}
}

// other finds a passage that does not exist.
type other struct{ index.Reader }

func (other) Search(context.Context, index.Query) ([]index.Hit, error) {
	return []index.Hit{{Chunk: corpus.Chunk{ID: "other"}}}, nil
}

// TestBudget: with enough questions, asking ends after the budget, and otherwise after three times as long.
func TestBudget(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i, what := range strings.Fields("museum library bakery theatre harbour stadium market zoo church castle garden cinema") {
		many[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("# News\n\nThe %s opens at 8 in the morning.\n", what)
	}
	for every, want := range map[time.Duration]int{100 * time.Millisecond: 4, 500 * time.Millisecond: 2, time.Millisecond: 6} {
		ix, _, a := open(t, many)
		clock := time.Unix(0, 0)
		a.wait = func() { clock = clock.Add(every) }
		m := suggest.New(ix, a.ask, suggest.Options{Now: func() time.Time { return clock }})
		if got := questions(t, m, "en"); len(got) != want {
			t.Errorf("%v for each question: %q", every, got)
		}
	}
}

func TestEmptyAndCancelled(t *testing.T) {
	t.Parallel()
	ix, in, a := open(t, nil)
	m := suggest.New(ix, a.ask, suggest.Options{})
	if got := questions(t, m, "en"); len(got) > 0 {
		t.Errorf("%q", got)
	}
	for name, text := range everyday {
		add(t, in, name, text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a.wait = cancel
	if got, err := m.Questions(ctx, "c", "en"); !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", got, err)
	}
	a.wait = nil
	if got := questions(t, m, "en"); len(got) < 4 {
		t.Errorf("what a cancelled call found was kept: %q", got)
	}
}
