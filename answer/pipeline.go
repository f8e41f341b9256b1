package answer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/condense"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/history"
	"github.com/sluice-rag/sluice/answer/hyde"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/selfquery"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// rules is the name, in events, of the implementations that need no model.
const rules = "rules"

// Pipeline answers questions: analyze, search, grade, expand or search again, rerank, generate, verify, attribute. In
// agentic mode, a planner chooses the searches until the evidence suffices. Do not change its fields once it answers. It may answer
// many questions at once.
type Pipeline struct {
	Index         index.Reader
	Vectors       Vectors             // nil: searches are lexical
	Summarizer    history.Summarizer  // summarizes the older messages of a long history; nil: by rules
	HistoryTokens int                 // budget of a history; 0: [history.DefaultBudget]
	Condenser     condense.Condenser  // makes a follow-up self-contained; nil: by rules
	Analyzer      analyze.Analyzer    // nil: by rules
	Filters       selfquery.Extractor // finds the conditions of questions with the method [event.SelfQuery]; nil: by rules
	// Attributes returns the attributes of documents, which the filter of a question compares; nil: [filter.OfDocument]. Calls may be concurrent.
	Attributes func(ctx context.Context, docs []corpus.Document) ([]filter.Attributes, error)
	// SourceAttributes returns, by id, the attributes of documents that the places that they are from set; nil: none. They are not changed. Calls may be concurrent.
	SourceAttributes func(ctx context.Context, documents []string) (map[string]map[string]any, error)
	// Collections returns the names of collections with documents that the caller of the context may see, for errors; nil: none.
	Collections func(ctx context.Context) []string
	Drafter     hyde.Writer // nil: by relevance feedback
	Generator   model.Generator
	// MinConfidence is the confidence, 0..1, below which an answer of a generator without a language model becomes an abstention, and one of a model, whose text
	// is streamed, is flagged. 0: none.
	MinConfidence float64
	// Generators returns the generator that prefers the model of a name, or nil if the name is empty or unknown. Without it, the
	// Generator answers. Calls may be concurrent.
	Generators func(name string) model.Generator
	Grader     grade.Grader // nil: the Scorer, whose scores are then the grades
	Scorer     grade.Grader // scores search results without a model; nil: by coverage
	Reranker   rerank.Reranker
	Verifier   verify.Verifier
	Planner    agent.Planner    // chooses the tools of agentic mode; nil: rules
	Graph      index.Graph      // nil: the index, if it implements it; otherwise graph traversal fails
	Budget     agent.Budget     // of agentic mode's loop; zero fields: its defaults
	Now        func() time.Time // for durations; default time.Now
	Cache      *cache.Cache     // nil: answers are not cached; otherwise the index must be an [index.Versions]
	Setup      string           // fingerprint of what answers depend on besides question and documents; part of the cache's key
}

// Vectors embeds texts in the vector space that searches of a collection use.
type Vectors interface {
	SearchVector(ctx context.Context, collection, text string, p model.Purpose) (index.SearchVector, error)
}

// OneEmbedder returns the Vectors of one embedder for all collections, with the index's own weights.
func OneEmbedder(e model.Embedder) Vectors { return oneEmbedder{e} }

type oneEmbedder struct{ model.Embedder }

// SearchVector implements [Vectors].
func (o oneEmbedder) SearchVector(ctx context.Context, _, text string, p model.Purpose) (index.SearchVector, error) {
	vectors, err := o.Embed(ctx, []string{text}, p)
	if err != nil {
		return index.SearchVector{}, err
	}
	return index.SearchVector{Space: o.Space(), Vector: vectors[0]}, nil
}

// job is one question being answered.
type job struct {
	*Pipeline
	rec         *Recorder
	resumed     resumedRun
	q           event.RunStarted // its query is the standalone question
	standalone  string           // the standalone question, if it differs from the original one
	rewritten   bool             // the question was made self-contained
	analysis    analyze.Analysis
	calls       event.CallID
	only        []corpus.DocumentID               // documents that may be read, sorted; nil: all
	documentSet string                            // hash of the documents that meet the filter of the question; empty without one
	pool        []candidate                       // results so far, each chunk once
	poolIndex   map[corpus.ChunkID]int            // index in pool of each chunk
	replacedBy  map[corpus.ChunkID]corpus.ChunkID // the parent that is read instead of a chunk
	stats       index.TermStats
	context     []candidate // passages that may be read, best first; a passage's number is its index + 1
	read        []int       // indexes in context of the passages that the generator reads
	order       []int       // indexes in context of the sources, by number
	quotes      []quote     // of the cited sources, by number
	claims      []verify.Claim
	confidence  float64                     // in the answer, if it was computed for the verification
	finished    bool                        // the sources are in the log
	files       map[corpus.DocumentID]file  // of the documents whose passages are shown
	searchMu    sync.Mutex                  // held while readFiles and found are used
	readFiles   map[corpus.DocumentID]file  // that were read: several searches find the same documents
	found       map[string][]corpus.ChunkID // by [cacheDocuments.Search], by question

	focus   string   // the topic of a question that names documents or pages
	summary bool     // the question asks for a summary of whole documents or pages
	listing *listing // the question asks for a list of documents

	indexErr error // the first failure of the index after which the run continued

	start      event.GenerationStarted // written with the first piece of the answer
	started    bool                    // start was written by this process
	cacheable  bool                    // the answer may be cached
	scored     bool                    // the scores of searches are the grades of their hits
	version    uint64                  // of the collection, before the first search
	modelCalls modelCalls
}

// Answer implements [Answerer].
func (p *Pipeline) Answer(ctx context.Context, r *Recorder) error {
	j := &job{Pipeline: p, rec: r, resumed: resumedRun{State: r.Resumed()}, q: r.State().RunStarted, poolIndex: map[corpus.ChunkID]int{}, replacedBy: map[corpus.ChunkID]corpus.ChunkID{}, readFiles: map[corpus.DocumentID]file{}}
	with := *p
	if with.Now == nil {
		with.Now = time.Now
	}
	if with.Summarizer == nil {
		with.Summarizer = history.Rules{}
	}
	if with.Condenser == nil {
		with.Condenser = condense.Rules{}
	}
	if with.Analyzer == nil {
		with.Analyzer = analyze.Rules{}
	}
	if with.Filters == nil {
		with.Filters = selfquery.Rules{}
	}
	if with.Scorer == nil {
		with.Scorer = grade.Coverage{}
	}
	if with.Grader == nil {
		with.Grader, j.scored = with.Scorer, true
	}
	if with.Drafter == nil {
		with.Drafter = hyde.Feedback{}
	}
	if with.Graph == nil {
		with.Graph, _ = with.Index.(index.Graph)
	}
	if with.Planner == nil {
		with.Planner = agent.Rules{Index: with.Index, Graph: with.Graph}
	}
	with.Generator = p.generator(j.q)
	if n := j.q.Iterations; n > 0 {
		with.Budget.Iterations = min(n, cmp.Or(max(with.Budget.Iterations, 0), agent.DefaultIterations))
	}
	j.Pipeline = &with
	if over, err := j.resumed.ended(); over {
		return err
	}
	err := j.answer(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.Join(err, j.listPartialSources(ctx))
	}
	return err
}

// generator returns the generator for the model of a question.
func (p *Pipeline) generator(q event.RunStarted) model.Generator {
	if q.Model != "" && p.Generators != nil {
		if g := p.Generators(q.Model); g != nil {
			return g
		}
	}
	return p.Generator
}

func (j *job) answer(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"analyze", j.smallTalk}, {"summarize", j.readHistory}, {"condense", j.condense}, {"search", j.restrict}, {"analyze", j.analyze}, {"search", j.prepare}, {"search", j.retrieve}, {"search", j.checkIndexError}, {"rerank", j.rerank}, {event.StepGenerate, j.generate},
		{"verify", j.verify}, {"attribute", j.attribute}} {
		err := step.do(j.traced(ctx, step.name))
		if err := errors.Join(err, j.flushModelCalls(ctx)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if j.finished {
			break
		}
	}
	j.cacheAnswer(ctx)
	return nil
}

// smallTalk answers a message without a question, such as thanks, without a search or citations. Of a message that also asks something,
// it keeps the question.
func (j *job) smallTalk(ctx context.Context) error {
	question, reply := analyze.SmallTalk(j.q.Query, len(j.q.History) > 0)
	if question != j.q.Query && question != "" {
		j.q.Query, j.standalone = question, question
	}
	if question != "" {
		return nil
	}
	for _, step := range []struct {
		logged bool
		body   event.Body
	}{
		{j.resumed.Analysis != nil, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: rules}},
		{j.resumed.Cache != nil, event.CacheChecked{}},
		{j.resumed.Generation != nil, event.GenerationStarted{Model: rules}},
		{len(j.resumed.Text) > 0, event.Token{Text: reply}},
		{j.resumed.Stop != "", event.GenerationFinished{Reason: string(model.StopEnd)}},
		{j.resumed.Check != nil, event.Verified{Claims: []event.Claim{}, By: rules}},
		{j.resumed.Sources != nil, event.Attributed{Sources: []event.Source{}, By: rules}},
	} {
		if step.logged {
			continue
		}
		if err := j.rec.Emit(ctx, step.body); err != nil {
			return err
		}
	}
	j.finished = true
	return nil
}

// analyze answers from the cache, or emits the analysis of the question and a cache miss.
func (j *job) analyze(ctx context.Context) error {
	if answered, err := j.answerFromCache(ctx); answered || err != nil {
		return err
	}
	if a := j.resumed.Analysis; a != nil {
		j.analysis = analyze.Analysis{Complexity: a.Complexity, Parts: a.Parts, Several: a.Several, Chained: a.Chained, By: a.By}
		if j.resumed.Cache != nil {
			return nil
		}
		return j.rec.Emit(ctx, event.CacheChecked{})
	}
	a, err := j.Analyzer.Analyze(ctx, j.q.Query)
	if err != nil {
		return err
	}
	analysis := event.QueryAnalyzed{Complexity: a.Complexity, Mode: j.q.Mode, By: a.By, Standalone: j.standalone}
	switch {
	case analysis.Mode != event.Agentic:
		if analysis.Mode = event.Direct; !a.Several { // the search is for the whole question, and each of several questions is answered
			a.Parts = nil
		}
	case j.Budget.Iterations == 1:
		a.Parts = nil // the limit of iterations allows no decomposition
	}
	j.analysis, analysis.Decomposed = a, len(a.Parts) > 0
	analysis.Parts, analysis.Chained, analysis.Several = a.Parts, a.Chained, a.Several
	if err := j.rec.Emit(ctx, analysis); err != nil {
		return err
	}
	return j.rec.Emit(ctx, event.CacheChecked{})
}

// prepare checks that there are documents and loads the statistics of the question's words.
func (j *job) prepare(ctx context.Context) error {
	if err := j.resumed.loadChunks(ctx, j.Index, j.q.Collection); err != nil {
		return j.indexFault(ctx, err)
	}
	docs, err := j.Index.Documents(ctx, j.q.Collection, "", 1)
	if err != nil {
		return j.indexFault(ctx, err)
	}
	if j.resumed.Rerank == nil && j.resumed.Generation == nil {
		switch {
		case len(docs) == 0:
			return fault.New(fault.NoDocuments, "no documents are in %s%s", scopeNames(j.q.Collection), j.otherCollections(ctx))
		case j.only != nil && len(j.only) == 0:
			return fault.New(fault.NoDocuments, "no document in %s matches the filter: %s%s", scopeNames(j.q.Collection), printable(lang.Truncate(j.q.Filter.String(), maxName)), j.examplePath(docs[0]))
		}
	}
	if err := j.loadTermStats(ctx, j.questions()); err != nil {
		return j.indexFault(ctx, err)
	}
	return nil
}

// examplePath returns the end of an error about a filter that no document meets: how paths look, if the filter has a condition on them.
func (j *job) examplePath(d corpus.Document) string {
	if !j.q.Filter.Has("path") {
		return ""
	}
	return "; a path here is, for example, " + printable(lang.Truncate(cmp.Or(d.Path, d.URI), maxName))
}

// scopeNames returns the names of a question's scope for messages, such as "the collections default and files": printable and not too many.
func scopeNames(collection string) string {
	names := strings.Split(printable(lang.Truncate(collection, maxName)), ",")
	kind := "the collection "
	if len(names) > 1 {
		kind = "the collections "
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if strings.HasPrefix(names[i], "file:") { // a document
			kind = ""
		}
	}
	last := len(names) - 1
	if last == 0 {
		return kind + names[0]
	}
	return kind + strings.Join(names[:last], ", ") + " and " + names[last]
}

// maxCollections is how many collections an error names.
const maxCollections = 10

// otherCollections returns the end of an error about a scope without documents: which collections have some.
func (j *job) otherCollections(ctx context.Context) string {
	if j.Collections == nil {
		return ""
	}
	names := j.Collections(ctx)
	if len(names) == 0 {
		return ""
	}
	end := ""
	if len(names) > maxCollections {
		names, end = names[:maxCollections], " and more"
	}
	return "; there are documents in " + printable(lang.Truncate(strings.Join(names, ", "), maxName)) + end
}

// loadTermStats adds the statistics of the words in texts.
func (j *job) loadTermStats(ctx context.Context, texts []string) error {
	words := lang.ContentWords(lang.Truncate(strings.Join(texts, "\n"), maxQuery), maxWords)
	words = slices.DeleteFunc(words, func(w string) bool { _, known := j.stats.DF[w]; return known })
	if len(words) == 0 && j.stats.DF != nil {
		return nil
	}
	more, err := j.Index.Terms(ctx, j.q.Collection, words)
	if err != nil {
		return err
	}
	df := maps.Clone(j.stats.DF) // concurrent graders may read the old map
	if df == nil {
		df = map[string]int{}
	}
	maps.Copy(df, more.DF)
	j.stats = index.TermStats{Chunks: more.Chunks, DF: df}
	return nil
}

// retrieve runs the document tool that the question asks for explicitly, or else searches in the run's mode.
func (j *job) retrieve(ctx context.Context) error {
	if answered, err := j.runExplicitTool(ctx); answered || err != nil {
		return err
	}
	if err := j.selfQuery(ctx); err != nil {
		return err
	}
	if j.q.Mode == event.Agentic {
		return j.agentic(ctx)
	}
	return j.direct(ctx)
}

// warnIndexError records a failure of the index after which the run continues, and emits a warning.
func (j *job) warnIndexError(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = j.indexFault(ctx, err)
	j.keepIndexError(err)
	public := fault.Public(err)
	return j.rec.Emit(ctx, event.Warned{Code: public.Code, Message: what + " failed: " + public.Message, Step: "search"})
}

// keepIndexError records the first error whose cause is the index.
func (j *job) keepIndexError(err error) {
	if code := fault.Public(err).Code; j.indexErr == nil && (code == fault.Index || code == fault.NoSpace) {
		j.indexErr = err
	}
}

// checkIndexError ends the run if the index failed and nothing useful was found: the run must not abstain as if the documents held no
// answer.
func (j *job) checkIndexError(context.Context) error {
	if j.indexErr == nil || j.listing != nil || j.summary || slices.ContainsFunc(j.pool, func(c candidate) bool { return c.pinned }) || j.useful() {
		return nil
	}
	return j.indexErr
}

// indexFault adds a code to an error of the index, unless it is the context's error.
func (j *job) indexFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, coded := errors.AsType[*fault.Error](err); coded {
		return err
	}
	return fault.Wrap(fault.Index, err, "the index could not be searched")
}

// maxWords limits the words of a question that are weighted.
const maxWords = 256

// questions returns the question and the parts that it was split into.
func (j *job) questions() []string {
	if j.focus != "" {
		return []string{j.focus}
	}
	return append([]string{j.q.Query}, j.analysis.Parts...)
}

func (j *job) elapsed(began time.Time) event.Millis { return event.MillisOf(j.Now().Sub(began)) }
