package answer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/cache"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// maxCached is the longest question, in bytes, whose answer is cached.
const maxCached = 4096

// cacheDocuments is the view of a pipeline's index that the cache needs.
type cacheDocuments struct {
	index.Versions
	*Pipeline
	only []corpus.DocumentID // documents that are searched; nil: all
}

// Search implements [cache.Documents].
func (d cacheDocuments) Search(ctx context.Context, collection, question string, limit int) ([]index.Hit, error) {
	q := index.Query{Collection: collection, Text: question, Documents: d.only, Limit: limit}
	if d.Vectors != nil {
		v, err := d.Vectors.SearchVector(ctx, collection, lang.Truncate(question, 8192), model.ForQuery)
		if err != nil {
			return nil, err
		}
		q.Space, q.Vector, q.Weights = v.Space, v.Vector, v.Weights
	}
	return d.Index.Search(ctx, q)
}

// keepFound keeps the best hits of a search that is the same as [cacheDocuments.Search], so that the cache does not have to repeat it.
func (j *job) keepFound(question string, hits []index.Hit) {
	ids := make([]corpus.ChunkID, min(len(hits), cache.Remembered))
	for i := range ids {
		ids[i] = hits[i].Chunk.ID
	}
	j.searchMu.Lock()
	defer j.searchMu.Unlock()
	if j.found == nil {
		j.found = map[string][]corpus.ChunkID{}
	}
	j.found[question] = ids
}

// caching returns the documents for the cache. It returns false if the answer must not be cached: the caller or the settings disable
// the cache, the question is too long, or the generator reads the earlier messages.
func (p *Pipeline) caching(q event.RunStarted) (cacheDocuments, bool) {
	versions, ok := p.Index.(index.Versions)
	independent := len(q.History) == 0 && q.Summary == "" || !model.SupportsParameters(p.generator(q))
	return cacheDocuments{Versions: versions, Pipeline: p}, ok && p.Cache != nil && !q.NoCache && independent && len(q.Query) <= maxCached
}

// scope returns what an answer depends on besides the canonical question and the documents. A question that followed others and was not made
// self-contained may mean something else in another session, so the session is part of its scope. Instructions and parameters count only if
// the generator supports them.
func (p *Pipeline) scope(q event.RunStarted, rewritten bool) cache.Scope {
	g := p.generator(q)
	setup := []string{p.Setup, g.Name()}
	if q.Method != "" && q.Method != event.HybridSearch {
		setup = append(setup, "method", string(q.Method))
	}
	if len(q.Tools) > 0 || q.Iterations > 0 && q.Mode == event.Agentic {
		setup = append(setup, "tools", strings.Join(slices.Sorted(slices.Values(q.Tools)), " "), strconv.Itoa(q.Iterations))
	}
	if model.SupportsParameters(g) && (q.Instructions != "" || q.Temperature != nil || q.MaxTokens > 0) {
		temperature := -1.0
		if q.Temperature != nil {
			temperature = *q.Temperature
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %d", q.Instructions, temperature, q.MaxTokens))
		setup = append(setup, "parameters", hex.EncodeToString(sum[:]))
	}
	if !q.Filter.Empty() {
		text, _ := json.Marshal(q.Filter) // a checked filter always has JSON
		sum := sha256.Sum256(text)
		setup = append(setup, "filter", hex.EncodeToString(sum[:]))
	}
	session := ""
	if (len(q.History) > 0 || q.Summary != "") && !rewritten {
		session = q.Session
	}
	return cache.Scope{Collection: q.Collection, Session: session, Mode: q.Mode, TopK: q.TopK, Setup: strings.Join(setup, "\x00")}
}

// standaloneScope returns the scope of answers to the run's question alone. It changes when other documents meet the filter, since the version of a collection does not
// count changes of metadata.
func (j *job) standaloneScope() cache.Scope {
	s := j.scope(j.q, j.rewritten)
	if j.documentSet != "" {
		s.Setup += "\x00" + j.documentSet
	}
	return s
}

// cacheScope returns the scope of the run's answer.
func (j *job) cacheScope() cache.Scope {
	s := j.standaloneScope()
	if len(j.q.History) > 0 { // generators that do not read all of it read the last turn and the words that the user said now
		last := map[string]string{}
		for _, m := range j.q.History {
			last[m.Role] = m.Text
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", j.rec.State().Query, last[event.RoleUser], last[event.RoleAssistant]))
		s.Setup += "\x00follows " + hex.EncodeToString(sum[:])
	}
	return s
}

// ShareKey returns a key that is equal for questions that one run may answer: the same words with the same parameters, after the same
// conversation, about the same documents. It is empty for a question that needs its own run, such as one whose protocol stores the
// run for its caller.
func (p *Pipeline) ShareKey(ctx context.Context, q event.RunStarted) string {
	asked := q
	q.History, q.Summary = nil, "" // compared in full below
	docs, ok := p.caching(q)
	if !ok || q.Session != "" || len(q.Request) > 0 && !q.Ephemeral {
		return ""
	}
	version, err := docs.Version(ctx, q.Collection)
	if err != nil {
		return ""
	}
	asked.Run, asked.Query = "", strings.Join(strings.Fields(q.Query), " ")
	if len(q.Request) == 0 {
		asked.Protocol = "" // the protocol of the first question does not matter to the others
	}
	h := sha256.New()
	err = json.NewEncoder(h).Encode([]any{p.scope(q, false), asked, version})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// answerFromCache answers from the cache and reports whether it did. A failure counts as a miss.
func (j *job) answerFromCache(ctx context.Context) (bool, error) {
	if j.resumed.Cache != nil && !j.resumed.Cache.Hit {
		return false, nil // the answer of a resumed run is not cached
	}
	hit, err := j.lookupCache(ctx)
	if err == nil && !hit && j.resumed.Cached() {
		return false, errChanged
	}
	return hit, err
}

func (j *job) lookupCache(ctx context.Context) (bool, error) {
	docs, ok := j.caching(j.q)
	if !ok {
		return false, nil
	}
	var err error
	if j.version, err = docs.Version(ctx, j.q.Collection); err != nil {
		return false, ctx.Err()
	}
	j.cacheable, docs.only = true, j.only
	var e *cache.Entry
	var similarity float64
	if j.rewritten { // an answer to the question that it was rewritten to
		e, similarity, err = j.Cache.Lookup(ctx, docs, j.standaloneScope(), j.q.Query)
	}
	if e == nil && err == nil {
		e, similarity, err = j.Cache.Lookup(ctx, docs, j.cacheScope(), j.q.Query)
	}
	if e == nil || err != nil {
		return false, ctx.Err()
	}
	sources, ok := j.currentSources(ctx, e.Sources)
	if !ok {
		return false, ctx.Err()
	}
	e.Analysis.Standalone = j.standalone
	var bodies []event.Body
	if j.resumed.Analysis == nil {
		bodies = append(bodies, e.Analysis)
	}
	if c := j.resumed.Cache; c == nil {
		bodies = append(bodies, event.CacheChecked{Hit: true, Similarity: similarity, Query: e.Question, CachedAt: e.Created, Confidence: e.ClaimSupport, Answerability: e.Answerability})
	} else if c.Query != e.Question || !c.CachedAt.Equal(e.Created) {
		return false, nil // the entry was replaced since
	}
	first := len(bodies)
	var emitted answerText
	for _, p := range e.Pieces {
		if p.N == 0 {
			emitted.text.WriteString(p.Text)
			bodies = append(bodies, event.Token{Text: p.Text})
			continue
		}
		if p.N > min(len(sources), len(j.quotes)+1) {
			j.quotes = nil
			return false, nil // the entry is damaged
		}
		s := sources[p.N-1]
		emitted.cite(s.Chunk)
		bodies = append(bodies, j.cite(p.N, s, emitted.supported()))
	}
	attributed := event.Attributed{Sources: []event.Source{}, By: e.By, Confidence: e.Confidence}
	for i, s := range sources {
		now := j.sourceOf(i+1, s)
		now.Weight, now.Cited = e.Sources[i].Weight, e.Sources[i].Cited
		attributed.Sources = append(attributed.Sources, now)
	}
	bodies = slices.Delete(bodies, first, min(first+j.resumed.Tokens+len(j.resumed.Citations), len(bodies))) // the log has them already
	for _, b := range append(bodies, attributed) {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if err := j.rec.Emit(ctx, b); err != nil {
			return true, err
		}
	}
	j.finished, j.cacheable = true, false
	return true, nil
}

// currentSources reads the passages of cached sources again. It returns false if one no longer exists.
func (j *job) currentSources(ctx context.Context, cached []event.Source) ([]candidate, bool) {
	ids := make([]corpus.ChunkID, len(cached))
	for i, s := range cached {
		ids[i] = s.Chunk
	}
	chunks, err := j.Index.Chunks(ctx, j.q.Collection, ids)
	if err != nil || len(chunks) != len(cached) {
		return nil, false
	}
	j.describe(ctx, chunks)
	out := make([]candidate, len(cached))
	for i, c := range chunks {
		out[i] = candidate{Hit: index.Hit{Chunk: c}, grade: cached[i].Score, path: cached[i].Path}
	}
	return out, true
}

// cacheAnswer caches the run's answer if it is complete and no step failed. Errors are ignored: the question is then answered again.
func (j *job) cacheAnswer(ctx context.Context) {
	docs, ok := j.caching(j.q)
	if !ok || !j.cacheable || j.q.Ephemeral {
		return
	}
	log, err := eventlog.Read(ctx, j.rec.store, j.q.Run, 0, j.rec.State().Seq)
	if err != nil {
		return
	}
	if e, ok := entryOf(log); ok {
		docs.only, e.Scope = j.only, j.cacheScope()
		j.searchMu.Lock()
		defer j.searchMu.Unlock()
		for i := range e.Searches {
			e.Searches[i].Chunks = j.found[e.Searches[i].Question]
		}
		_ = j.Cache.Put(ctx, docs, e, j.version)
	}
}

// entryOf returns the cache entry for a run. It returns false if the answer must not be cached.
func entryOf(log []event.Event) (cache.Entry, bool) {
	var e cache.Entry
	s := event.Fold(log)
	if s.Check == nil || s.Check.Flagged || s.Incomplete() || s.Stop != string(model.StopEnd) || len(s.Warnings) > 0 || s.Failure != nil ||
		s.Analysis == nil || len(s.Text) == 0 {
		return e, false
	}
	for _, c := range s.Calls {
		if c.Tool == event.ToolListDocuments || c.Tool == event.ToolReadPages || c.Tool == event.ToolSelfQuery {
			return e, false // a new document may change the answer, and no search of the entry would find that
		}
	}
	e = cache.Entry{Run: s.Run, Question: cmp.Or(s.Analysis.Standalone, s.Query), Analysis: *s.Analysis, Confidence: s.Confidence, ClaimSupport: s.ClaimSupport(), Answerability: s.Answerability,
		Abstained: len(s.Citations) == 0}
	for _, search := range s.Searches {
		if search.Result == nil || search.Result.Error != "" {
			return e, false
		}
		if search.Tool != event.ToolHydeSearch { // its query is a draft of an answer
			e.Searches = append(e.Searches, cache.Search{Question: search.Query})
		}
	}
	for _, ev := range log {
		switch b := ev.Body.(type) {
		case event.Token:
			e.Pieces = append(e.Pieces, cache.Piece{Text: b.Text})
		case event.Cited:
			e.Pieces = append(e.Pieces, cache.Piece{N: b.N, Chunk: b.Chunk})
		case event.Attributed:
			e.By = b.By
			for _, src := range b.Sources {
				src.Text = "" // the index has it
				e.Sources = append(e.Sources, src)
			}
		}
	}
	return e, true
}
