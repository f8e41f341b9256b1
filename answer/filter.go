package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/sluice-rag/sluice/answer/selfquery"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

const (
	maxFiltered = 200_000 // documents that are compared with conditions found in a question
	filterPage  = 2000    // documents that are loaded at once
)

// filterResult is the result of event.ToolSelfQuery.
type filterResult struct {
	Documents int  `json:"documents"`      // that meet the conditions
	More      bool `json:"more,omitempty"` // not all documents were compared
}

// nothingMatches warns that the conditions of a question are not applied.
var nothingMatches = event.Warned{Code: fault.NoDocuments, Message: "no document meets the conditions of the question; all documents are searched", Step: "search"}

// selfQuery finds the conditions of a question with the method [event.SelfQuery], and limits the searches to the documents that meet them. If
// no document does, it emits a warning, and the searches are not limited.
func (j *job) selfQuery(ctx context.Context) error {
	if j.q.Method != event.SelfQuery {
		return nil
	}
	found, err := j.conditions(ctx)
	if err != nil || found.Empty() {
		return err
	}
	call, began := j.call(), j.Now()
	start := event.ToolCalled{Call: call, Tool: event.ToolSelfQuery, Iteration: 1, Reason: "the question has conditions on documents", Input: toJSON(found)}
	if err := j.emitOnce(ctx, call, start); err != nil {
		return err
	}
	only, result, err := j.matching(ctx, found.Where(), maxFiltered)
	if err != nil {
		return j.indexFault(ctx, err)
	}
	if c := j.resumed.call(call); c == nil || c.Result == nil {
		if err := j.rec.Emit(ctx, event.ToolReturned{Call: call, Tool: event.ToolSelfQuery, Result: toJSON(result), Duration: j.elapsed(began)}); err != nil {
			return err
		}
	}
	if len(only) > 0 {
		j.only, j.q.Query = only, found.Query
		return j.loadTermStats(ctx, []string{found.Query})
	}
	if slices.Contains(j.resumed.Warnings, nothingMatches) {
		return nil
	}
	return j.rec.Emit(ctx, nothingMatches)
}

// conditions returns the conditions of the question, or those in the log of a resumed run.
func (j *job) conditions(ctx context.Context) (f selfquery.Filter, err error) {
	next := j.calls + 1
	if c := j.resumed.call(next); c != nil && c.Tool == event.ToolSelfQuery {
		if json.Unmarshal(c.Input, &f) != nil {
			return f, errChanged
		}
		return f, nil
	}
	if j.resumed.call(next) != nil || j.resumed.search(next) != nil || j.resumed.Rerank != nil || j.resumed.Generation != nil {
		return f, nil // the earlier process found none
	}
	return j.Filters.Extract(j.traced(ctx, "analyze"), j.q.Query)
}

// restrict limits the run to the documents that meet the filter of the question.
func (j *job) restrict(ctx context.Context) error {
	if j.q.Filter.Empty() {
		return nil
	}
	ids, _, err := j.matching(ctx, j.q.Filter, math.MaxInt)
	if err != nil {
		return j.indexFault(ctx, err)
	}
	j.only = append([]corpus.DocumentID{}, ids...) // not nil, which means all
	h := sha256.New()
	for _, id := range j.only {
		fmt.Fprintf(h, "%q", id)
	}
	j.documentSet = hex.EncodeToString(h.Sum(nil))
	return nil
}

// matching returns the documents, of those that the run is limited to, that meet conditions. It compares at most limit documents.
func (j *job) matching(ctx context.Context, f *filter.Filter, limit int) (ids []corpus.DocumentID, r filterResult, err error) {
	after := corpus.DocumentID("")
	for seen := 0; ; {
		page, err := j.Index.Documents(ctx, j.q.Collection, after, filterPage)
		if err != nil || len(page) == 0 {
			return ids, r, err
		}
		if seen += len(page); seen > limit {
			r.More = true
			return ids, r, nil
		}
		attributes, err := j.attributes(ctx, page)
		if err != nil {
			return nil, r, err
		}
		for i, d := range page {
			if after = d.ID; j.within(d.ID) && f.Matches(attributes[i]) == filter.Yes {
				ids = append(ids, d.ID)
			}
		}
		r.Documents = len(ids)
	}
}

func (j *job) attributes(ctx context.Context, docs []corpus.Document) ([]filter.Attributes, error) {
	if j.Attributes != nil {
		return j.Attributes(ctx, docs)
	}
	out := make([]filter.Attributes, len(docs))
	for i, d := range docs {
		out[i] = filter.OfDocument(d)
	}
	return out, nil
}

// within reports whether the run may read a document.
func (j *job) within(id corpus.DocumentID) bool {
	if j.only == nil {
		return true
	}
	_, is := slices.BinarySearch(j.only, id)
	return is
}
