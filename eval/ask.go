package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/lang"
)

// Outcome is the result of a run.
type Outcome struct {
	State     event.State
	Documents map[corpus.ChunkID]string // ids in the set of the documents of all ranked and read chunks
}

// AskFunc answers a question, which may have a history. Calls may run concurrently. A failed run is no error; its state contains the failure.
type AskFunc func(ctx context.Context, q event.Question) (Outcome, error)

// AskOptions configure [Ask]. The zero value works.
type AskOptions struct {
	Mode     event.Mode
	TopK     int                   // number of passages that are ranked and read; 0: the default of the engine
	Workers  int                   // concurrent questions; 0: number of processors
	Verifier verify.Verifier       // checks citations; nil: [verify.Overlap]
	Progress func(done, total int) // called from several goroutines; may be nil
}

// AskResult is the result of one question.
type AskResult struct {
	Query     string             `json:"query"`          // id of the question
	Text      string             `json:"text,omitempty"` // the question
	Groups    []string           `json:"groups,omitempty"`
	Ranked    []string           `json:"ranked"` // the first ten documents
	Answer    string             `json:"answer"` // the beginning of the answer
	Cited     []string           `json:"cited,omitempty"`
	Abstained bool               `json:"abstained,omitempty"`
	Failed    string             `json:"failed,omitempty"` // message of the failure, if the run failed
	Tools     []string           `json:"tools,omitempty"`
	Rounds    int                `json:"rounds,omitempty"`
	Took      time.Duration      `json:"took_ns"` // from the first event of the run to the last
	Scores    map[string]float64 `json:"scores"`  // by the key of the measure; only measures that apply
	// Confidence is the estimate that the answer is right, 0..1; 0 if there is none. Right is whether the answer contains an expected one; nil
	// if none is known.
	Confidence float64 `json:"confidence,omitempty"`
	Right      *bool   `json:"right,omitempty"`
	// Evidence are the features from which the confidence is computed, in the order of [confidence.Names]; nil without an answer.
	Evidence []float64 `json:"evidence,omitempty"`
}

// ModeReport holds the results of a set in one mode.
type ModeReport struct {
	Set     string        `json:"set"`
	Mode    event.Mode    `json:"mode"`
	Rows    []Row         `json:"rows"` // first all questions, then the groups by name
	Failed  int           `json:"failed"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Results []AskResult   `json:"results"` // in the order of the set's questions
}

// Ask asks every question of a set and measures the results. Measures of retrieval apply to questions with relevant documents, measures
// of answers to questions with expected answers and to unanswerable ones, measures of citations to all answers with statements. Ask
// stops at the first error. It counts failed runs.
func Ask(ctx context.Context, set *Set, ask AskFunc, opts AskOptions) (*ModeReport, error) {
	if len(set.Questions) == 0 {
		return nil, fmt.Errorf("ask %s: no questions", set.Name)
	}
	if opts.Verifier == nil {
		opts.Verifier = verify.Overlap{}
	}
	if opts.Progress == nil {
		opts.Progress = func(int, int) {}
	}
	refuses := slices.ContainsFunc(set.Questions, func(q Question) bool { return q.Unanswerable })
	r := &ModeReport{Set: set.Name, Mode: opts.Mode, Results: make([]AskResult, len(set.Questions))}
	var done atomic.Int64
	err := parallel(ctx, opts.Workers, len(set.Questions), func(ctx context.Context, i int) error {
		q := set.Questions[i]
		out, err := converse(ctx, ask, event.Question{Mode: opts.Mode, TopK: opts.TopK}, append(slices.Clone(q.Before), q.Text))
		if err == nil {
			r.Results[i], err = set.measure(ctx, q, out, opts.Verifier, refuses)
		}
		if err != nil {
			return fmt.Errorf("ask %s: query %.100q: %w", set.Name, q.ID, err)
		}
		opts.Progress(int(done.Add(1)), len(set.Questions))
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.summarize()
	return r, nil
}

// summarize computes everything but the results.
func (r *ModeReport) summarize() {
	took := make([]time.Duration, len(r.Results))
	for i, a := range r.Results {
		took[i] = a.Took
		if a.Failed != "" {
			r.Failed++
		}
	}
	slices.Sort(took)
	r.P50, r.P99 = took[len(took)/2], took[len(took)*99/100]
	r.Rows = rows(r.Results)
}

// converse asks the questions of a conversation in order, and returns the outcome of the last one. The others take mode and number of passages from how.
func converse(ctx context.Context, ask AskFunc, how event.Question, questions []string) (out Outcome, err error) {
	for _, text := range questions {
		how.Query = text
		if out, err = ask(ctx, how); err != nil {
			return out, err
		}
		how.History = append(how.History, event.Message{Role: event.RoleUser, Text: text}, event.Message{Role: event.RoleAssistant, Text: string(out.State.Text)})
	}
	return out, nil
}

// maxAnswer is the maximum length in bytes of an answer in a report.
const maxAnswer = 2000

func (s *Set) measure(ctx context.Context, q Question, out Outcome, v verify.Verifier, refuses bool) (AskResult, error) {
	state := &out.State
	answerable := !q.Unanswerable && (q.Answerable || len(q.Answers) > 0 || q.judges() || s.Relevant(q.ID) > 0)
	a := AskResult{Query: q.ID, Text: q.Text, Groups: q.groups(answerable && refuses), Ranked: out.ranked(10), Took: state.Elapsed(), Scores: map[string]float64{},
		Tools: state.Tools, Rounds: state.Iterations, Abstained: state.Status == event.Finished && state.Abstained(),
		Answer: lang.Truncate(string(state.Text), maxAnswer)}
	if state.Failure != nil {
		a.Failed = state.Failure.Message
	}
	for _, c := range state.Citations {
		if doc := out.Documents[c.Chunk]; !slices.Contains(a.Cited, doc) {
			a.Cited = append(a.Cited, doc)
		}
	}
	judged := s.Qrels[q.ID]
	if relevant(judged) > 0 {
		a.ranking(a.Ranked, judged)
	}
	a.answering(string(state.Text), q, answerable, refuses)
	a.Confidence = state.Confidence
	if f, ok := confidence.Read(state); ok {
		a.Evidence = f[:]
	}
	if holds, known := a.Scores["holds"]; known || q.Unanswerable {
		a.Right = new(holds == 1)
	}
	if right, known := a.Scores["right"]; known {
		a.Right = new(right == 1)
	}
	if a.Abstained {
		return a, nil // its sources are what was found nearest
	}
	if relevant(judged) > 0 && len(a.Cited) > 0 {
		a.attribution(&out, judged)
	}
	if statements := Statements(state); len(statements) > 0 {
		c, err := Citations(ctx, v, q.Text, statements)
		if err != nil {
			return a, err
		}
		a.Scores["citation_recall"], a.Scores["citation_precision"] = c.Recall, c.Precision
	}
	return a, nil
}

// attribution adds the measures of the cited documents and of the shares of the sources in an answer that cites some.
func (a *AskResult) attribution(out *Outcome, judged map[string]int) {
	right := 0
	for _, doc := range a.Cited {
		right += int(one(judged[doc] > 0))
	}
	a.Scores["citation_gold"], a.Scores["gold_cited"] = share(right, len(a.Cited)), share(right, relevant(judged))
	gold, sum := 0.0, 0.0
	for _, s := range out.State.Sources {
		sum += s.Weight
		gold += s.Weight * one(judged[out.Documents[s.Chunk]] > 0)
	}
	if sum > 0 {
		a.Scores["weight_gold"] = gold / sum
	}
}

func (q Question) groups(answerable bool) (out []string) {
	if answerable {
		out = append(out, Answerable)
	}
	if q.MultiHop {
		out = append(out, MultiHop)
	}
	if q.Language != "" {
		out = append(out, lang.Truncate(lang.Clean(q.Language), maxGroup))
	}
	if kind := strings.Join(strings.Fields(lang.Clean(lang.Truncate(q.Type, maxGroup))), " "); kind != "" && !slices.Contains(out, kind) {
		out = append(out, kind)
	}
	return out
}

// maxGroup is the maximum length in bytes of the name of a group.
const maxGroup = 40

// Ingest ingests the documents of a set into a collection, as the server does.
func (s *Set) Ingest(ctx context.Context, g *ingest.Ingester, collection string, progress func(ingest.Progress)) (ingest.Report, error) {
	if s.Folder != "" {
		return g.Ingest(ctx, ingest.Request{Collection: collection, Paths: []string{s.Folder}}, progress)
	}
	sources := make([]ingest.Source, len(s.Docs))
	for i, d := range s.Docs {
		sources[i] = ingest.Source{URI: s.uri(d), Name: "document.txt", Title: d.Title, Data: []byte(d.Text)}
	}
	return g.IngestDocuments(ctx, collection, sources, progress)
}

// EngineAsker returns an AskFunc that asks an engine about the set's documents, which [Set.Ingest] put into the collection. The answer cache is not
// used. The collection of a question is replaced.
func EngineAsker(eng *engine.Engine, ix index.Reader, set *Set, collection string) AskFunc {
	names := map[corpus.DocumentID]string{}
	for _, d := range set.Docs {
		names[ingest.DocumentID(collection, set.uri(d))] = d.ID
	}
	return func(ctx context.Context, q event.Question) (out Outcome, err error) {
		q.Collection, q.NoCache = collection, true
		id, err := eng.Ask(ctx, q, engine.Caller{Protocol: "eval"})
		if err != nil {
			return out, err
		}
		for batch, err := range eng.Events(ctx, id, 0) {
			if err != nil {
				_ = eng.Cancel(context.WithoutCancel(ctx), id, "")
				return out, err
			}
			for _, e := range batch {
				out.State.Apply(e)
			}
		}
		var ids []corpus.ChunkID
		if out.State.Rerank != nil {
			for _, f := range out.State.Rerank.Outputs {
				ids = append(ids, f.Chunk)
			}
		}
		out.Documents = map[corpus.ChunkID]string{}
		chunks, err := ix.Chunks(ctx, collection, ids)
		if err != nil {
			return out, err
		}
		for _, c := range chunks {
			out.Documents[c.ID] = names[c.Document]
		}
		for _, s := range out.State.Sources {
			out.Documents[s.Chunk] = names[s.Document]
		}
		return out, nil
	}
}
