package answer_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

const (
	lighthouse = "# Lighthouses\n\n## The keeper\n\nThe keeper of the Farland lighthouse is Ada Brook. She has kept the light since 1998.\n\n" +
		"## The lamp\n\nThe lamp of the Farland lighthouse burns whale-free rapeseed oil. It is visible for nineteen nautical miles.\n\n" +
		"## Visits\n\nVisitors may climb the tower on Sundays between ten and four. A ticket costs three crowns, and children pay nothing.\n"
	bread = "# Bread\n\n## Sourdough\n\nSourdough rises for twelve hours at room temperature. The starter is fed with rye flour every morning.\n\n" +
		"## Ovens\n\nThe oven is heated to 250 degrees. Steam in the first ten minutes makes the crust thin.\n"
)

// tempDir is for files of all tests.
var tempDir string

// shared is a pipeline of real parts over small documents, made once, since all of them may be used at once.
var shared *answer.Pipeline

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "answer")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		tempDir = dir
		ix, err := embedded.Open(context.Background(), filepath.Join(dir, "library"), embedded.Options{})
		if err != nil {
			panic(err)
		}
		defer ix.Close()
		l := local.New(local.Options{})
		_, err = ingest.New(ix, l, ingest.Options{}).IngestDocuments(context.Background(), corpus.DefaultCollection,
			[]ingest.Source{{URI: "lighthouse.md", Data: []byte(lighthouse)}, {URI: "bread.md", Data: []byte(bread)}}, nil)
		if err != nil {
			panic(err)
		}
		shared = &answer.Pipeline{Index: ix, Vectors: answer.OneEmbedder(l), Generator: l, Grader: grade.Coverage{}, Reranker: rerank.New(l), Verifier: verify.Overlap{}}
		return m.Run()
	}())
}

// library is a copy of the pipeline, whose parts may be replaced.
func library() *answer.Pipeline {
	p := *shared
	return &p
}

// run answers a question in agentic mode, checks the log and returns it.
func run(t *testing.T, ctx context.Context, a answer.Answerer, store eventlog.Store, question string) []event.Event {
	t.Helper()
	return runIn(t, ctx, event.Agentic, a, store, question)
}

func runIn(t *testing.T, ctx context.Context, mode event.Mode, a answer.Answerer, store eventlog.Store, question string) []event.Event {
	t.Helper()
	start := event.RunStarted{Run: "run_1", Protocol: "test", Question: event.Question{Query: question, Mode: mode, Collection: corpus.DefaultCollection, TopK: 5}}
	rec, err := answer.NewRecorder(ctx, store, time.Now, start)
	require.NoError(t, err)
	_ = answer.Run(ctx, a, rec, answer.Ending{}) // it is in the log
	log, err := store.Load(t.Context(), "run_1", 0)
	require.NoError(t, err)
	if err := event.CheckLog(log, true); err != nil {
		t.Fatalf("%v\n%s", err, kinds(log))
	}
	return log
}

func ask(t *testing.T, a answer.Answerer, question string) []event.Event {
	t.Helper()
	return run(t, t.Context(), a, eventlog.NewMemory(), question)
}

func askDirect(t *testing.T, a answer.Answerer, question string) []event.Event {
	t.Helper()
	return runIn(t, t.Context(), event.Direct, a, eventlog.NewMemory(), question)
}

// kinds lists the kinds of events, with adjacent tokens and citations as one.
func kinds(log []event.Event) string {
	var out []string
	for _, e := range log {
		k := string(e.Body.Kind())
		if e.Body.Kind() == event.KindCited {
			k = string(event.KindToken)
		}
		if len(out) == 0 || k != string(event.KindToken) || out[len(out)-1] != k {
			out = append(out, k)
		}
	}
	return strings.Join(out, " ")
}

func code(log []event.Event) fault.Code {
	f, _ := log[len(log)-1].Body.(event.RunFailed)
	return f.Code
}

func TestAnswersFromTheDocuments(t *testing.T) {
	t.Parallel()
	log := ask(t, library(), "Who is the keeper of the Farland lighthouse?")
	want := "run_started query_analyzed cache_checked retrieval_started retrieval_finished graded reranked generation_started token " +
		"generation_finished verified attributed run_finished"
	if got := kinds(log); got != want {
		t.Errorf("%s", got)
	}
	s := event.Fold(log)
	if !strings.Contains(string(s.Text), "Ada Brook") || len(s.Citations) == 0 || s.ClaimSupport() < 0.9 || s.Confidence < 0.3 {
		t.Errorf("%q, cited %v, confidence %v", s.Text, s.Citations, s.Confidence)
	}
	weights := 0.0
	for i, source := range s.Sources {
		weights += source.Weight
		if source.N != i+1 {
			t.Errorf("source %d is %d", i, source.N)
		}
	}
	if first := s.Sources[0]; !first.Cited || first.Weight < 0.5 || weights < 0.999 || weights > 1.001 {
		t.Errorf("%+v, weights %v", first, weights)
	}
	for _, c := range s.Citations {
		if c.N < 1 || c.N > len(s.Sources) || s.Sources[c.N-1].Chunk != c.Chunk {
			t.Errorf("citation %+v", c)
		}
	}
}

func TestAbstention(t *testing.T) {
	t.Parallel()
	for mode, log := range map[string][]event.Event{"direct": askDirect(t, library(), "Which quarks compose xenon isotopes?"),
		"agentic": ask(t, library(), "Which quarks compose xenon isotopes?")} {
		s := event.Fold(log)
		if code(log) != "" || len(s.Citations) != 0 || string(s.Analysis.Mode) != mode {
			t.Errorf("%s: %s: %q", mode, kinds(log), s.Text)
		}
		if len(s.Grades) == 0 || len(s.Grades) > 3 || s.Iterations != len(s.Grades) {
			t.Fatalf("%s: %d grades, %d searches, %d iterations", mode, len(s.Grades), len(s.Searches), s.Iterations)
		}
		for i, g := range s.Grades {
			if again := g.Action == event.ReRetrieve; again != (i < len(s.Grades)-1) || g.Iteration != i+1 || g.Correct+g.Ambiguous > 0 {
				t.Errorf("%s: round %d: %+v", mode, i+1, g)
			}
		}
	}
}

func TestAtMostThreeSearches(t *testing.T) {
	t.Parallel()
	const question = "Which lighthouse quarks compose xenon isotopes, photons, gluons, neutrinos and muons?"
	for mode, log := range map[string][]event.Event{"direct": askDirect(t, library(), question), "agentic": ask(t, library(), question)} {
		s := event.Fold(log)
		if s.Iterations != 3 || len(s.Grades) != 3 || s.Grades[2].Action != event.Proceed {
			t.Fatalf("%s: %d iterations: %+v", mode, s.Iterations, s.Grades)
		}
		asked := map[string]bool{}
		for _, search := range s.Searches {
			asked[search.Tool+search.Query] = true
		}
		if len(asked) != len(s.Searches) || len(asked) < 3 {
			t.Errorf("%s: searched for %v", mode, asked)
		}
	}
}

func TestEmptyCollectionHasNoDocuments(t *testing.T) {
	t.Parallel()
	ix, err := embedded.Open(t.Context(), t.TempDir(), embedded.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	p := library()
	p.Index = ix
	log := ask(t, p, "Who?")
	if got := kinds(log); code(log) != fault.NoDocuments || got != "run_started query_analyzed cache_checked run_failed" {
		t.Errorf("%s: %s", code(log), got)
	}
}

func TestQuestionsOfManyKinds(t *testing.T) {
	t.Parallel()
	p := library()
	for _, q := range []string{"?", "the of and", "😀", "\u200b", strings.Repeat("lighthouse ", 3000), strings.Repeat("x", 30000), "a\tb\nc", "¿Quién es?", "Wie heißt die Wärterin?",
		"NOT AND OR (", `"unclosed`, "keeper AND -lamp +oil", "../../etc/passwd", "%s %d", "Ａｄａ　Ｂｒｏｏｋ"} {
		if log := ask(t, p, q); code(log) != "" {
			t.Errorf("%.30q: %s", q, code(log))
		}
	}
}

// brokenIndex fails at a call.
type brokenIndex struct {
	index.Reader
	at  string
	err error
}

func (b brokenIndex) Search(ctx context.Context, q index.Query) ([]index.Hit, error) {
	if b.at == "search" {
		return nil, b.err
	}
	return b.Reader.Search(ctx, q)
}

func (b brokenIndex) Terms(ctx context.Context, c string, words []string) (index.TermStats, error) {
	if b.at == "terms" {
		return index.TermStats{}, b.err
	}
	return b.Reader.Terms(ctx, c, words)
}

func (b brokenIndex) Documents(ctx context.Context, c string, after corpus.DocumentID, n int) ([]corpus.Document, error) {
	if b.at == "documents" {
		return nil, b.err
	}
	return b.Reader.Documents(ctx, c, after, n)
}

func TestIndexFailure(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"documents", "terms", "search"} {
		p := library()
		p.Index = brokenIndex{p.Index, at, errors.New("secret: connection refused")}
		log := ask(t, p, "Who is the keeper?")
		failed := log[len(log)-1].Body.(event.RunFailed)
		if failed.Code != fault.Index || strings.Contains(failed.Message, "secret") {
			t.Errorf("%s: %+v", at, failed)
		}
	}
}

type brokenEmbedder struct{ model.Embedder }

func (brokenEmbedder) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	return nil, errors.New("secret")
}

func TestEmbedderFailureFallsBackToLexicalSearch(t *testing.T) {
	t.Parallel()
	p := library()
	p.Vectors = answer.OneEmbedder(brokenEmbedder{local.New(local.Options{})})
	s := event.Fold(ask(t, p, "Who is the keeper of the Farland lighthouse?"))
	if s.Status != event.Finished || len(s.Warnings) == 0 || !strings.Contains(string(s.Text), "Ada Brook") {
		t.Errorf("%s, %v: %q", s.Status, s.Warnings, s.Text)
	}
	p.Vectors = nil
	if s := event.Fold(ask(t, p, "Who is the keeper of the Farland lighthouse?")); s.Status != event.Finished || len(s.Warnings) != 0 {
		t.Errorf("without an embedder: %s, %v", s.Status, s.Warnings)
	}
}

// speaker is a generator that a test defines.
type speaker func(ctx context.Context, task model.Task) iter.Seq2[model.Delta, error]

func (speaker) Name() string { return "speaker" }

func (speaker) Fit(_ context.Context, task model.Task) (model.Task, int) { return task, 0 }

func (s speaker) Generate(ctx context.Context, task model.Task) iter.Seq2[model.Delta, error] {
	return s(ctx, task)
}

func speaking(deltas ...model.Delta) speaker {
	return func(context.Context, model.Task) iter.Seq2[model.Delta, error] {
		return func(yield func(model.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
		}
	}
}

func TestGeneratorFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		generate speaker
		want     fault.Code
	}{
		"at once": {func(context.Context, model.Task) iter.Seq2[model.Delta, error] {
			return func(yield func(model.Delta, error) bool) { yield(model.Delta{}, errors.New("secret")) }
		}, fault.Model},
		"half way": {func(context.Context, model.Task) iter.Seq2[model.Delta, error] {
			return func(yield func(model.Delta, error) bool) {
				_ = yield(model.Delta{Text: "The keeper"}, nil) && yield(model.Delta{}, errors.New("secret"))
			}
		}, fault.Model},
		"panics": {func(context.Context, model.Task) iter.Seq2[model.Delta, error] {
			return func(yield func(model.Delta, error) bool) { yield(model.Delta{Text: "The"}, nil); panic("secret") }
		}, fault.Internal},
		"says nothing": {speaking(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := library()
			p.Generator = c.generate
			log := ask(t, p, "Who is the keeper?")
			if code(log) != c.want {
				t.Errorf("%s: %s", code(log), kinds(log))
			}
			if f, ok := log[len(log)-1].Body.(event.RunFailed); ok && strings.Contains(f.Message, "secret") {
				t.Error(f.Message)
			}
		})
	}
}

func TestInvalidModelOutputIsDropped(t *testing.T) {
	t.Parallel()
	p := library()
	p.Generator = speaking(model.Delta{Text: "The \x1d\x1e\x00keeper\u0085 is\r\n\tAda\x7f \xff"}, model.Delta{Cite: 1}, model.Delta{Cite: -1}, model.Delta{Cite: 99},
		model.Delta{Text: " Brook."}, model.Delta{Cite: 2}, model.Delta{Cite: 1}, model.Delta{})
	s := event.Fold(ask(t, p, "Who is the keeper of the Farland lighthouse?"))
	if got, want := string(s.Text), "The keeper is\n\tAda \ufffd Brook."; got != want {
		t.Errorf("%q", got)
	}
	for _, c := range s.Citations {
		if c.N < 1 || c.N > 2 {
			t.Errorf("%+v", c)
		}
	}
}

// stopping is a store that cancels a context after a number of events.
type stopping struct {
	*eventlog.Memory
	after event.Seq
	stop  func()
}

func (s stopping) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	err := s.Memory.Append(ctx, run, es...)
	if es[0].Seq == s.after {
		s.stop()
	}
	return err
}

func TestStopsAtEveryStep(t *testing.T) {
	t.Parallel()
	p := library()
	const question = "Who is the keeper of the Farland lighthouse?"
	whole := ask(t, p, question)
	for after := range event.Seq(len(whole)) {
		ctx, cancel := context.WithCancelCause(t.Context())
		store := stopping{eventlog.NewMemory(), after, func() { cancel(fault.New(fault.Cancelled, "stopped")) }}
		log := run(t, ctx, p, store, question)
		cancel(nil)
		if after == 0 {
			continue
		}
		if got := code(log); got != fault.Cancelled && after < event.Seq(len(whole))-1 {
			t.Errorf("stopped behind %d: %s %s", after, got, kinds(log))
		}
		if len(log) > int(after)+4 {
			t.Errorf("stopped behind %d, it went on for %d events", after, len(log)-int(after))
		}
	}
}

func TestDeadlineAtEveryStepListsSources(t *testing.T) {
	t.Parallel()
	p := library()
	const question = "Who is the keeper of the Farland lighthouse?"
	whole := ask(t, p, question)
	for after := event.Seq(1); after < event.Seq(len(whole))-1; after++ {
		ctx := &deadline{Context: t.Context(), done: make(chan struct{})}
		log := run(t, ctx, p, stopping{eventlog.NewMemory(), after, func() { close(ctx.done) }}, question)
		if code(log) != fault.Timeout {
			t.Errorf("behind %d: %s %s", after, code(log), kinds(log))
		}
		s := event.Fold(log)
		if listed := strings.Contains(kinds(log), "attributed"); listed != (s.Cache != nil) {
			t.Errorf("behind %d: %s", after, kinds(log))
		}
		if len(s.Grades) > 0 && len(s.Sources) == 0 {
			t.Errorf("behind %d, no sources are listed of those found", after)
		}
	}
}

// deadline is a context whose deadline passes when a test says.
type deadline struct {
	context.Context
	done chan struct{}
}

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
