package answer

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-rag/sluice/answer/catalog"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxExamined        = 2000 // documents that are counted, and compared with a name
	batchSize          = 500
	maxListed          = 20 // documents that an answer lists
	maxPagePassages    = 30 // passages that are read for a range of pages
	maxSummarized      = 10 // documents in a summary
	maxSampled         = 400
	maxSummaryPassages = 12 // passages that a summary is made from
)

// The inputs and results of the document tools, as the run's events show them.
type (
	pagesInput struct {
		Document corpus.DocumentID `json:"document_id,omitempty"`
		From     int               `json:"start_page"`
		To       int               `json:"end_page"`
		Name     string            `json:"document,omitempty"` // the requested name, if no document has it
	}
	pagesResult struct {
		Document corpus.DocumentID `json:"document_id"`
		Name     string            `json:"name,omitempty"`
		Title    string            `json:"title"`
		Pages    []int             `json:"pages"`
		Passages []corpus.ChunkID  `json:"passages"`
		Found    int               `json:"passages_found"`
		More     bool              `json:"more,omitempty"` // the pages have more passages than are read at once
	}
	listInput struct {
		Query string `json:"query"`
	}
	listResult struct {
		Documents []listedDocument `json:"documents"`
		Found     int              `json:"documents_found"`
		More      bool             `json:"more,omitempty"` // there are more documents than were counted
	}
	listedDocument struct {
		ID    corpus.DocumentID `json:"document_id"`
		Name  string            `json:"name,omitempty"`
		Title string            `json:"title"`
		Pages int               `json:"pages,omitempty"`
	}
)

// Errors of tools, which the run's events show.
var (
	errNoDocument error = fault.New(fault.NotFound, "no such document")
	errNoPage     error = fault.New(fault.NotFound, "the document has no such pages")
)

// offered reports whether the question allows a tool and the index supports it.
func (j *job) offered(tool string) bool {
	return slices.Contains(j.q.Tools, tool) && j.contents() != nil
}

// runExplicitTool runs the document tool that the question asks for explicitly, before any search: it reads pages, lists documents, or
// summarizes a whole document. If answered is set, the result answers the question and no search is needed.
func (j *job) runExplicitTool(ctx context.Context) (answered bool, err error) {
	if j.contents() == nil {
		return false, nil
	}
	request := catalog.Read(j.q.Query)
	if done, answered, err := j.resumeExplicitTool(ctx, request); done || err != nil {
		return answered, err
	}
	defer func() { j.calls = max(j.calls, event.CallID(len(j.resumed.Calls))) }() // even if the index has changed and no tool runs now
	switch {
	case request.Pages != nil && (j.q.Tools == nil || j.offered(event.ToolReadPages)):
		return j.readRequestedPages(ctx, request.Pages)
	case request.List != nil && (j.q.Tools == nil || j.offered(event.ToolListDocuments)):
		return j.listRequested(ctx, request.List)
	case request.Summary != nil:
		return j.summarizeDocuments(ctx, request.Summary)
	}
	return false, nil
}

// resumeExplicitTool uses the result of runExplicitTool in an earlier process; done is false if that had not finished.
func (j *job) resumeExplicitTool(ctx context.Context, request catalog.Request) (done, answered bool, err error) {
	c := j.resumed.call(1)
	switch {
	case c == nil || c.Plan != nil || c.Tool == event.ToolSelfQuery: // the searches have begun, or no call at all
		return len(j.resumed.Calls)+len(j.resumed.Searches) > 0, false, nil
	case c.Result == nil:
		return false, false, nil
	}
	j.calls = 1
	var list listResult
	if failed := decodeResult(c.Result, &list); failed != nil {
		return true, false, nil //nolint:nilerr // the tool failed in the earlier process, and the question is left to the searches
	}
	found := j.resumed.candidates(c.Result.Passages, j.q.Query)
	switch {
	case c.Tool == event.ToolListDocuments && request.List != nil:
		err = j.loadTermStats(ctx, []string{request.List.About})
		j.restoreListing(*request.List, list, c.Result.Passages)
	case request.Pages != nil:
		err = j.loadTermStats(ctx, []string{request.Pages.Rest})
		j.focus, j.summary = request.Pages.Rest, request.Pages.Rest == ""
	default:
		j.summary = true
	}
	j.addAll(found)
	return true, true, err
}

// runDocumentTool runs a tool that replaces a search and emits its events. If it fails, the question is left to the searches.
func (j *job) runDocumentTool(ctx context.Context, tool, reason string, input any, do func() (any, []candidate, error)) (bool, error) {
	call := j.call()
	if err := j.emitOnce(ctx, call, event.ToolCalled{Call: call, Tool: tool, Iteration: 1, Reason: reason, Input: toJSON(input)}); err != nil {
		return false, err
	}
	began := j.Now()
	result, found, err := do()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	j.addAll(found)
	if err != nil {
		public := fault.Public(j.indexFault(ctx, err))
		result = failure{public.Message}
		if public.Code != fault.NotFound {
			if err := j.warnIndexError(ctx, tool, err); err != nil {
				return false, err
			}
		}
	}
	return err == nil, j.rec.Emit(ctx, event.ToolReturned{Call: call, Tool: tool, Result: toJSON(result), Duration: j.elapsed(began),
		Passages: passagesOf(found)})
}

// readRequestedPages reads the pages that the question names, of the document that it names or of the only one.
func (j *job) readRequestedPages(ctx context.Context, p *catalog.Pages) (bool, error) {
	d, err := j.findDocument(ctx, p.Names)
	if err != nil {
		return false, j.warnIndexError(ctx, "looking for the document", err)
	}
	if d == nil {
		return false, ctx.Err() // the question may mean a book that a document mentions
	}
	from, to := p.From, p.To
	if from < 0 {
		if from, err = j.lastPage(ctx, *d); err != nil {
			return false, j.warnIndexError(ctx, "counting the pages", err)
		}
		to = from
	}
	focus := p.Rest
	if err := j.loadTermStats(ctx, []string{focus}); err != nil {
		return false, j.warnIndexError(ctx, "loading term statistics", err)
	}
	return j.runDocumentTool(ctx, event.ToolReadPages, "the question names pages of a document", pagesInput{Document: d.ID, From: from, To: to}, func() (any, []candidate, error) {
		read, found, err := j.pages(ctx, *d, from, to, focus)
		if err == nil && d.Pages > 0 {
			err = j.trimToPages(ctx, d.ID, found, from, to)
		}
		if err != nil {
			return nil, nil, err
		}
		j.focus, j.summary = focus, focus == ""
		return read, found, nil
	})
}

// pinnedCandidates returns candidates for passages that were requested by name: the generator reads them whatever their grade. The term statistics of the
// focus are loaded first, since several may be graded at once.
func (j *job) pinnedCandidates(ctx context.Context, hits []index.Hit, focus string) ([]candidate, error) {
	asked := cmp.Or(focus, j.q.Query)
	scores := slices.Repeat([]float64{1}, len(hits))
	if focus != "" {
		grades, err := j.Grader.Grade(j.traced(ctx, "grade"), asked, j.searchTexts(ctx, hits), j.stats)
		if err != nil {
			return nil, err
		}
		scores = grades.Scores
	}
	out := make([]candidate, len(hits))
	for i, h := range hits {
		out[i] = candidate{Hit: h, grade: scores[i], asked: asked, place: 1, pinned: true}
	}
	return out, nil
}

func (j *job) addAll(found []candidate) {
	for _, c := range found {
		j.add(c)
	}
}

// documents lists the documents of the collection that the run may read and reports whether there are more.
func (j *job) documents(ctx context.Context, limit int) (all []corpus.Document, more bool, err error) {
	if j.only != nil {
		all, err = j.contents().DocumentsByID(ctx, j.q.Collection, j.only[:min(limit, len(j.only))])
		return all, len(j.only) > limit, err
	}
	after := corpus.DocumentID("")
	for len(all) <= limit {
		docs, err := j.Index.Documents(ctx, j.q.Collection, after, min(batchSize, limit+1))
		if err != nil {
			return nil, false, err
		}
		all = append(all, docs...)
		if len(docs) < min(batchSize, limit+1) {
			break
		}
		after = docs[len(docs)-1].ID
	}
	more = len(all) > limit
	return all[:min(len(all), limit)], more, nil
}

// findDocument returns the document that a text names, or the only document. It returns nil if there is none or the name is ambiguous. In a
// large collection, it also searches for the name.
func (j *job) findDocument(ctx context.Context, names string) (*corpus.Document, error) {
	docs, more, err := j.documents(ctx, maxExamined)
	if err != nil {
		return nil, err
	}
	if len(docs) == 1 && !more {
		return &docs[0], nil
	}
	if more {
		hits, err := j.Index.Search(ctx, index.Query{Collection: j.q.Collection, Text: lang.Truncate(names, maxQuery), Documents: j.only, Limit: 50})
		if err != nil {
			return nil, err
		}
		var ids []corpus.DocumentID
		for _, h := range hits {
			if !slices.Contains(ids, h.Chunk.Document) {
				ids = append(ids, h.Chunk.Document)
			}
		}
		found, err := j.contents().DocumentsByID(ctx, j.q.Collection, ids)
		if err != nil {
			return nil, err
		}
		docs = append(docs, found...)
	}
	var best *corpus.Document
	most := 0
	for i, d := range docs {
		n := catalog.Match(names, d, nameOf(d.URI))
		if n > most || n > 0 && n == most && d.IndexedAt.After(best.IndexedAt) { // if several have the name, the newest
			best, most = &docs[i], n
		}
	}
	return best, nil
}

// beginPages finds the document and emits the start of a call that reads its pages.
func (t *tools) beginPages(ctx context.Context, a *toolCall) error {
	if c := t.resumed.call(a.call); c != nil && c.Result != nil {
		return nil
	}
	in := pagesInput{From: a.From, To: min(a.To, a.From+catalog.MaxPages-1), Name: a.Document}
	switch d, err := t.findDocument(ctx, a.Document); {
	case err != nil && ctx.Err() != nil && !outOfTime(ctx):
		return ctx.Err()
	case err != nil:
		a.err = err
	case d == nil:
		a.err = errNoDocument
	default:
		a.document, in.Document, in.Name = d, d.ID, ""
	}
	return t.emitCall(ctx, a, in)
}

// readPages reads the pages that the planner chose. They are graded by the question and kept.
func (t *tools) readPages(ctx context.Context, a *toolCall) (pagesResult, error) {
	if a.err != nil {
		return pagesResult{}, a.err
	}
	read, found, err := t.pages(ctx, *a.document, a.From, min(a.To, a.From+catalog.MaxPages-1), t.q.Query)
	a.found = found
	return read, err
}

// listDocuments lists documents for the planner. Their passages are graded by the question.
func (t *tools) listDocuments(ctx context.Context, a *toolCall) (listResult, error) {
	out, found, err := t.list(ctx, a.Query)
	if err != nil || len(found) == 0 {
		return out, err
	}
	hits := make([]index.Hit, len(found))
	for i, c := range found {
		hits[i] = c.Hit
	}
	a.documents = out.Found
	if a.found, err = t.pinnedCandidates(ctx, hits, t.q.Query); err != nil {
		return out, err
	}
	for i := range a.found {
		a.found[i].pinned, a.found[i].place = false, a.found[i].grade
	}
	return out, nil
}
