package answer

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// resumedRun is the state of a resumed run from its log. A step uses its result from here if there is one. It is empty for a new run.
type resumedRun struct {
	event.State
	chunks map[corpus.ChunkID]corpus.Chunk // chunks that the log names and the index still has
}

// errChanged ends a resumed run whose log cannot be continued.
var errChanged = fault.New(fault.Unavailable, "the server restarted, and the documents have changed since")

// loadChunks reads the chunks that the log names.
func (p *resumedRun) loadChunks(ctx context.Context, ix index.Reader, collection string) error {
	wanted := map[corpus.ChunkID]bool{}
	for _, s := range p.Searches {
		if s.Result != nil {
			for _, f := range s.Result.Found {
				wanted[f.Chunk] = true
			}
		}
	}
	for _, g := range p.Grades {
		for _, d := range g.Grades {
			if d.Parent != "" {
				wanted[d.Parent] = true
			}
		}
	}
	for _, c := range p.Calls {
		if c.Result != nil {
			for _, r := range c.Result.Passages {
				wanted[r.Chunk] = true
			}
		}
	}
	ids := make([]corpus.ChunkID, 0, len(wanted))
	for id := range wanted {
		ids = append(ids, id)
	}
	p.chunks = make(map[corpus.ChunkID]corpus.Chunk, len(ids))
	slices.Sort(ids)
	for batch := range slices.Chunk(ids, batchSize) {
		chunks, err := ix.Chunks(ctx, collection, batch)
		if err != nil {
			return err
		}
		for _, c := range chunks {
			p.chunks[c.ID] = c
		}
	}
	for _, s := range p.Quoted {
		if _, ok := p.chunks[s.Chunk]; !ok {
			p.chunks[s.Chunk] = chunkOf(s)
		}
	}
	return nil
}

// ended reports whether the run only needs its terminal event, and with which error.
func (p *resumedRun) ended() (bool, error) {
	switch {
	case p.Sources != nil && (p.Cached() || p.Check != nil):
		return true, nil
	case p.Sources != nil, p.Stop == reason(fault.Timeout):
		return true, context.DeadlineExceeded
	case p.Stop == reason(fault.Cancelled):
		return true, fault.New(fault.Cancelled, "the run was cancelled")
	case p.Stop == reason(fault.Internal):
		return true, fault.New(fault.Internal, "the answer could not be finished")
	case slices.ContainsFunc(p.Citations, func(c event.Citation) bool { return c.N > len(p.Quoted) && !p.Cached() }):
		return true, errChanged // an earlier version wrote the log
	case slices.ContainsFunc(p.Grades, func(g event.Graded) bool {
		return slices.ContainsFunc(g.Grades, func(d event.Grade) bool { return d.Call == 0 })
	}):
		return true, errChanged // an earlier version wrote the log: the grades do not name their searches
	}
	return false, nil
}

// search returns the search with the call id, or nil if the log does not have it.
func (p *resumedRun) search(id event.CallID) *event.Search {
	for i := range p.Searches {
		if p.Searches[i].Call == id {
			return &p.Searches[i]
		}
	}
	return nil
}

// call returns the call of another tool with the id, or nil.
func (p *resumedRun) call(id event.CallID) *event.Call {
	for i := range p.Calls {
		if p.Calls[i].ToolCalled.Call == id {
			return &p.Calls[i]
		}
	}
	return nil
}

// graded returns the grades of a round, or nil if the log does not have them.
func (p *resumedRun) graded(round int) *event.Graded {
	for i := range p.Grades {
		if p.Grades[i].Iteration == round {
			return &p.Grades[i]
		}
	}
	return nil
}

// plan returns the actions of an iteration; ok is false if the log does not have them. After the last iteration of the log there
// are none.
func (p *resumedRun) plan(iteration int) (actions []agent.Action, ok bool) {
	var logged json.RawMessage
	for _, s := range p.Searches {
		if s.Iteration == iteration && s.Plan != nil {
			logged = s.Plan
		}
	}
	for _, c := range p.Calls {
		if c.Iteration == iteration && c.Plan != nil {
			logged = c.Plan
		}
	}
	if logged != nil {
		return actions, json.Unmarshal(logged, &actions) == nil
	}
	return nil, p.Rerank != nil || p.Generation != nil
}

// hits returns the results of a search that still exist.
func (p *resumedRun) hits(r *event.RetrievalFinished) []index.Hit {
	var out []index.Hit
	for _, f := range r.Found {
		if c, ok := p.chunks[f.Chunk]; ok {
			out = append(out, index.Hit{Chunk: c, Score: f.Fused, Lexical: f.Lexical, Cosine: f.Cosine, Space: r.Space})
		}
	}
	return out
}

// candidates returns the passages of a tool that still exist.
func (p *resumedRun) candidates(passages []event.Passage, asked string) []candidate {
	var out []candidate
	for _, r := range passages {
		c, ok := p.chunks[r.Chunk]
		if !ok {
			continue
		}
		part := r.Start != c.Start || r.End != c.End
		if start, end := r.Start-c.Start, r.End-c.Start; part && start >= 0 && start < end && end <= len(c.Text) {
			c = c.Slice(start, end)
		}
		if len(c.PageStarts) == 0 {
			c.Pages = r.Pages
		}
		out = append(out, candidate{Hit: index.Hit{Chunk: c, Score: r.Score}, grade: r.Grade, asked: asked, path: r.Path, place: r.Place, pinned: r.Kept})
	}
	return out
}

// passagesOf returns candidates as the log stores them.
func passagesOf(cs []candidate) []event.Passage {
	var out []event.Passage
	for _, c := range cs {
		out = append(out, event.Passage{Chunk: c.Chunk.ID, Score: c.Score, Grade: c.grade, Place: c.place, Kept: c.pinned, Path: c.path, Start: c.Chunk.Start,
			End: c.Chunk.End, Pages: c.Chunk.Pages})
	}
	return out
}

// decodeResult decodes the result of a tool into out. It returns the tool's error if the tool failed.
func decodeResult(r *event.ToolReturned, out any) error {
	var f failure
	if json.Unmarshal(r.Result, &f) == nil && f.Error != "" {
		return fault.New(fault.Index, "%s", f.Error)
	}
	if json.Unmarshal(r.Result, out) != nil {
		return errChanged
	}
	return nil
}

// emitOnce emits the start of a call unless the log has it.
func (j *job) emitOnce(ctx context.Context, id event.CallID, b event.Body) error {
	if j.resumed.search(id) != nil || j.resumed.call(id) != nil {
		return nil
	}
	return j.rec.Emit(ctx, b)
}

// closeCalls emits results for calls of an earlier process that were not repeated, because the index has changed.
func (j *job) closeCalls(ctx context.Context) error {
	const message = "the server restarted before the call returned"
	s := j.rec.State()
	for _, c := range s.Calls {
		if c.Result == nil {
			if err := j.rec.Emit(ctx, event.ToolReturned{Call: c.ToolCalled.Call, Tool: c.Tool, Result: toJSON(failure{message})}); err != nil {
				return err
			}
		}
	}
	for _, c := range s.Searches {
		if c.Result == nil {
			if err := j.rec.Emit(ctx, event.RetrievalFinished{Call: c.Call, Tool: c.Tool, Found: []event.Found{}, Error: message}); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreQuotes restores the numbers of the sources that the answer has cited. The text of a source is in the log and replaces a passage
// that no longer exists.
func (j *job) restoreQuotes() {
	if len(j.order) > 0 {
		return
	}
	for _, c := range j.resumed.Citations {
		if c.Source == nil {
			continue
		}
		if c.N > len(j.order) {
			at := slices.IndexFunc(j.context, func(o candidate) bool { return o.Chunk.ID == c.Chunk })
			if at < 0 {
				at = len(j.context)
				j.context = append(slices.Clip(j.context), candidate{Hit: index.Hit{Chunk: chunkOf(*c.Source)}, grade: c.Source.Score, path: c.Source.Path})
			}
			j.order = append(j.order, at)
			j.quotes = append(j.quotes, quote{span: lang.Span{Start: c.Source.Quote, End: c.Source.QuoteEnd}})
		}
		q := &j.quotes[c.N-1]
		q.lastSpan = lang.Span{Start: c.Source.Quote, End: c.Source.QuoteEnd}
		q.pages, q.lastPages = sortedUnique(slices.Concat(q.pages, c.Source.Pages)), c.Source.Pages
	}
}

// chunkOf returns the chunk of a source, as far as the source has it.
func chunkOf(s event.Source) corpus.Chunk {
	c := corpus.Chunk{ID: s.Chunk, Document: s.Document, Level: s.Level, Ordinal: s.Ordinal, Title: s.Title, Pages: s.Pages,
		Start: s.Start, End: s.End, Text: s.Text}
	if s.Heading != s.Title {
		c.Headings = []string{s.Heading}
	}
	return c
}

// resumedPassages returns the passages that the generator read, in its order.
func (j *job) resumedPassages(all []model.Passage) []model.Passage {
	var out []model.Passage
	for _, id := range j.resumed.Generation.Passages {
		if i := slices.IndexFunc(all, func(p model.Passage) bool { return p.Chunk.ID == id }); i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// emittedText returns the answer so far for the extraction of claims.
func (j *job) emittedText() *answerText {
	text := new(answerText)
	text.text.Write(j.resumed.Text)
	for _, c := range j.resumed.Citations {
		text.marks = append(text.marks, citeMark{c.At, j.context[j.order[c.N-1]].Chunk})
	}
	return text
}

// emittedDeltas returns the answer so far as its generator produced it, with adjacent texts joined.
func (j *job) emittedDeltas() []model.Delta {
	var out []model.Delta
	from := 0
	until := func(at int) {
		if at > from {
			out, from = append(out, model.Delta{Text: string(j.resumed.Text[from:at])}), at
		}
	}
	for _, c := range j.resumed.Citations {
		until(c.At)
		out = append(out, model.Delta{Cite: j.order[c.N-1] + 1})
	}
	until(len(j.resumed.Text))
	return out
}

// withMarkers returns the answer so far with its citations as models write them.
func withMarkers(shown []model.Delta) string {
	var out strings.Builder
	for _, d := range shown {
		if out.WriteString(d.Text); d.Cite != 0 {
			out.WriteString("⟦" + strconv.Itoa(d.Cite) + "⟧")
		}
	}
	return out.String()
}

// skipEmitted removes the text that was emitted before from the output of a generator; ok is false if the output differs.
func skipEmitted(shown []model.Delta, d model.Delta) (left []model.Delta, rest model.Delta, ok bool) {
	switch {
	case len(shown) == 0:
		return nil, d, true
	case d.Cite != 0:
		return shown[1:], model.Delta{}, d.Cite == shown[0].Cite
	case strings.HasPrefix(shown[0].Text, d.Text):
		if shown[0].Text = shown[0].Text[len(d.Text):]; shown[0].Text == "" && shown[0].Cite == 0 {
			shown = shown[1:]
		}
		return shown, model.Delta{}, true
	case len(shown) == 1 && shown[0].Cite == 0:
		more, ok := strings.CutPrefix(d.Text, shown[0].Text)
		return nil, model.Delta{Text: more}, ok
	}
	return shown, model.Delta{}, false
}
