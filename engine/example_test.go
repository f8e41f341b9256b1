package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/model/openai"
)

// An engine is made of an index and of the judgements of the pipeline. Its events are Go values.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	ix, err := embedded.Open(ctx, dir, embedded.Options{})
	if err != nil {
		panic(err)
	}
	defer ix.Close()
	m := local.New(local.Options{})
	_, err = ingest.New(ix, m, ingest.Options{}).IngestDocuments(ctx, corpus.DefaultCollection, []ingest.Source{{
		URI:  "sluices.md",
		Data: []byte("# Sluice boxes\n\nGold is heavier than gravel, so it settles behind the riffles. The water carries the gravel away."),
	}}, nil)
	if err != nil {
		panic(err)
	}

	eng := engine.New(&answer.Pipeline{Index: ix, Vectors: answer.OneEmbedder(m), Generator: m,
		Grader: grade.Coverage{}, Reranker: rerank.New(m), Verifier: verify.Overlap{}}, engine.Options{})
	defer eng.Close(ctx)
	run, err := eng.Ask(ctx, event.Question{Query: "Why does gold settle behind the riffles?"}, engine.Caller{})
	if err != nil {
		panic(err)
	}
	for batch, err := range eng.Events(ctx, run, 0) {
		if err != nil {
			panic(err)
		}
		for _, e := range batch {
			switch b := e.Body.(type) {
			case event.RetrievalFinished:
				fmt.Println("found:", len(b.Found))
			case event.Token:
				fmt.Print(b.Text)
			case event.Cited:
				fmt.Printf(" [%d]\n", b.N)
			case event.Verified:
				fmt.Println("claim support:", b.Confidence)
			case event.RunFailed:
				fmt.Println("failed:", b.Code, b.Message)
			}
		}
	}
	// Output:
	// found: 1
	// Gold is heavier than gravel, so it settles behind the riffles. [1]
	// claim support: 1
}

// A chain of language models writes and judges; what needs no model stands behind it.
func ExampleNew_models() {
	ix, err := embedded.Open(context.Background(), filepath.Join(os.TempDir(), "sluice-models"), embedded.Options{})
	if err != nil {
		panic(err)
	}
	defer ix.Close()
	m := local.New(local.Options{})

	llama, err := openai.New(openai.Options{URL: "http://127.0.0.1:8080/v1"})
	if err != nil {
		panic(err)
	}
	claude, err := anthropic.New(anthropic.Options{Key: os.Getenv("ANTHROPIC_API_KEY")})
	if err != nil {
		panic(err)
	}
	chat := failover.New([]model.Chat{llama, claude}, failover.Options{})
	pipeline := &answer.Pipeline{
		Index:     ix,
		Vectors:   answer.OneEmbedder(m),
		Analyzer:  analyze.NewModel(chat, nil, analyze.Rules{}, analyze.Options{}),
		Grader:    grade.NewModel(chat, nil, grade.Coverage{}, grade.Options{}),
		Generator: generate.NewModel(chat, nil, m, generate.Options{}),
		Reranker:  rerank.New(m),
		Verifier:  verify.NewModel(chat, nil, verify.Overlap{}, verify.Options{}),
	}
	eng := engine.New(pipeline, engine.Options{})
	defer eng.Close(context.Background())
}

// The fold of a log is what is known of a run: here, the whole answer with its sources.
func ExampleEngine_Events() {
	ctx := context.Background()
	eng := engine.New(parrot{}, engine.Options{})
	defer eng.Close(ctx)
	run, err := eng.Ask(ctx, event.Question{Query: "Who is there?"}, engine.Caller{})
	if err != nil {
		panic(err)
	}
	var state event.State
	for batch, err := range eng.Events(ctx, run, 0) {
		if err != nil {
			panic(err)
		}
		for _, e := range batch {
			state.Apply(e)
		}
	}
	fmt.Printf("%s: %s\n", state.Status, state.Text)
	// Output: finished: Who is there?
}

// Runs on disk outlive the process. Those that an earlier process left open are resumed, or ended if their deadline has passed.
func ExampleEngine_Recover() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	log, err := filelog.Open(dir, filelog.Options{MaxAge: 30 * 24 * time.Hour})
	if err != nil {
		panic(err)
	}
	defer log.Close()
	eng := engine.New(parrot{}, engine.Options{Store: log})
	defer eng.Close(ctx)
	runs, err := eng.Recover(ctx, engine.Recovery{})
	if err != nil {
		panic(err)
	}
	fmt.Println("runs resumed:", runs.Resumed, "ended:", runs.Failed)
	// Output: runs resumed: 0 ended: 0
}

// parrot is an answerer of one's own: it says the question.
type parrot struct{}

// Answer implements [answer.Answerer].
func (parrot) Answer(ctx context.Context, r *answer.Recorder) error {
	for _, b := range []event.Body{
		event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "parrot"},
		event.CacheChecked{},
		event.GenerationStarted{Model: "parrot"},
		event.Token{Text: r.State().Query},
		event.GenerationFinished{Reason: "stop"},
		event.Verified{By: "parrot"},
		event.Attributed{By: "parrot"},
	} {
		if err := r.Emit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
