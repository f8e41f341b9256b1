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
	maxLooked  = 2000 // documents among which a name is looked for, and that are counted
	perLook    = 500
	maxListed  = 20 // documents that an answer lists
	maxPaged   = 30 // passages that are read of some pages
	maxWhole   = 10 // documents that an account is given of
	maxSurvey  = 400
	maxCentral = 12 // passages that an account is made from
)

// The inputs and results of the document tools, as the run's events show them.
type (
	pagesInput struct {
		Document corpus.DocumentID `json:"document_id,omitempty"`
		From     int               `json:"start_page"`
		To       int               `json:"end_page"`
		Name     string            `json:"document,omitempty"` // as it was asked for, where no document is it
	}
	pagesRead struct {
		Document corpus.DocumentID `json:"document_id"`
		Name     string            `json:"name,omitempty"`
		Title    string            `json:"title"`
		Pages    []int             `json:"pages"`
		Passages []corpus.ChunkID  `json:"passages"`
		Found    int               `json:"passages_found"`
		More     bool              `json:"more,omitempty"` // of these pages, than are read at once
	}
	listInput struct {
		Query string `json:"query"`
	}
	listed struct {
		Documents []document `json:"documents"`
		Found     int        `json:"documents_found"`
		More      bool       `json:"more,omitempty"` // than were counted
	}
	document struct {
		ID    corpus.DocumentID `json:"document_id"`
		Name  string            `json:"name,omitempty"`
		Title string            `json:"title"`
		Pages int               `json:"pages,omitempty"`
	}
)

// Errors of tools, which the run's events show.
var (
	errNoDocument error = fault.New(fault.NotFound, "no such document is there")
	errNoPage     error = fault.New(fault.NotFound, "the document has no such pages")
)

// offered reports whether the question allows a tool and the index supports it.
func (j *job) offered(tool string) bool {
	return slices.Contains(j.q.Tools, tool) && j.contents() != nil
}

// plainly runs the document tool that the question asks for explicitly, before any search: it reads pages, lists documents, or
// summarizes a whole document. If known is set, the result answers the question and no search is needed.
func (j *job) plainly(ctx context.Context) (known bool, err error) {
	if j.contents() == nil {
		return false, nil
	}
	w := catalog.Read(j.q.Query)
	if done, known, err := j.plainlyBefore(ctx, w); done || err != nil {
		return known, err
	}
	defer func() { j.calls = max(j.calls, event.CallID(len(j.past.Calls))) }() // also if the index has changed, and nothing is done now
	switch {
	case w.Pages != nil && j.offered(event.ToolReadPages):
		return j.asksPages(ctx, w.Pages)
	case w.List != nil && j.offered(event.ToolListDocuments):
		return j.asksList(ctx, w.List)
	case w.Summary != nil:
		return j.asksAccount(ctx, w.Summary)
	}
	return false, nil
}

// plainlyBefore uses the result of plainly in an earlier process; done is false if that had not finished.
func (j *job) plainlyBefore(ctx context.Context, w catalog.Request) (done, known bool, err error) {
	c := j.past.call(1)
	switch {
	case c == nil || c.Plan != nil: // the searches have begun, or nothing has
		return len(j.past.Calls)+len(j.past.Searches) > 0, false, nil
	case c.Result == nil:
		return false, false, nil
	}
	j.calls = 1
	var list listed
	if failed := returned(c.Result, &list); failed != nil {
		return true, false, nil //nolint:nilerr // the tool failed in the earlier process, and the question is left to the searches
	}
	found := j.past.candidates(c.Result.Passages, j.q.Query)
	switch {
	case c.Tool == event.ToolListDocuments && w.List != nil:
		err = j.learn(ctx, []string{w.List.About})
		j.asListing(*w.List, list, c.Result.Passages)
	case w.Pages != nil:
		err = j.learn(ctx, []string{w.Pages.Rest})
		j.focus, j.whole = w.Pages.Rest, w.Pages.Rest == ""
	default:
		j.whole = true
	}
	j.take(found)
	return true, true, err
}

// tell runs a tool that replaces a search and emits its events. If it fails, the question is left to the searches.
func (j *job) tell(ctx context.Context, tool, reason string, input any, do func() (any, []candidate, error)) (bool, error) {
	call := j.call()
	if err := j.emitOnce(ctx, call, event.ToolCalled{Call: call, Tool: tool, Iteration: 1, Reason: reason, Input: object(input)}); err != nil {
		return false, err
	}
	began := j.Now()
	result, found, err := do()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	j.take(found)
	if err != nil {
		public := fault.Public(j.indexFault(ctx, err))
		result = failure{public.Message}
		if public.Code != fault.NotFound {
			if err := j.survive(ctx, tool, err); err != nil {
				return false, err
			}
		}
	}
	return err == nil, j.rec.Emit(ctx, event.ToolReturned{Call: call, Tool: tool, Result: object(result), Duration: j.since(began),
		Passages: logged(found)})
}

// asksPages reads the pages that the question names, of the document that it names or of the only one.
func (j *job) asksPages(ctx context.Context, p *catalog.Pages) (bool, error) {
	d, err := j.find1(ctx, p.Names)
	if err != nil {
		return false, j.survive(ctx, "looking for the document", err)
	}
	if d == nil {
		return false, ctx.Err() // maybe a book is meant that a document tells of
	}
	from, to := p.From, p.To
	if from < 0 {
		if from, err = j.lastPage(ctx, *d); err != nil {
			return false, j.survive(ctx, "counting the pages", err)
		}
		to = from
	}
	focus := p.Rest
	if err := j.learn(ctx, []string{focus}); err != nil {
		return false, j.survive(ctx, "weighing the words", err)
	}
	return j.tell(ctx, event.ToolReadPages, "the question names pages of a document", pagesInput{Document: d.ID, From: from, To: to}, func() (any, []candidate, error) {
		read, found, err := j.pages(ctx, *d, from, to, focus)
		if err == nil && d.Pages > 0 {
			err = j.onPages(ctx, d.ID, found, from, to)
		}
		if err != nil {
			return nil, nil, err
		}
		j.focus, j.whole = focus, focus == ""
		return read, found, nil
	})
}

// asNamed returns candidates for passages that were requested by name: they are kept whatever their grade. The term statistics of the
// focus are loaded first, since several may be graded at once.
func (j *job) asNamed(ctx context.Context, hits []index.Hit, focus string) ([]candidate, error) {
	asked := cmp.Or(focus, j.q.Query)
	scores := slices.Repeat([]float64{1}, len(hits))
	if focus != "" {
		grades, err := j.Grader.Grade(j.traced(ctx, "grade"), asked, hits, j.stats)
		if err != nil {
			return nil, err
		}
		scores = grades.Scores
	}
	out := make([]candidate, len(hits))
	for i, h := range hits {
		out[i] = candidate{Hit: h, grade: scores[i], asked: asked, place: 1, kept: true}
	}
	return out, nil
}

func (j *job) take(found []candidate) {
	for _, c := range found {
		j.add(c)
	}
}

// documents lists the documents of the collection and reports whether there are more.
func (j *job) documents(ctx context.Context, most int) (all []corpus.Document, more bool, err error) {
	after := corpus.DocumentID("")
	for len(all) <= most {
		docs, err := j.Index.Documents(ctx, j.q.Collection, after, min(perLook, most+1))
		if err != nil {
			return nil, false, err
		}
		all = append(all, docs...)
		if len(docs) < min(perLook, most+1) {
			break
		}
		after = docs[len(docs)-1].ID
	}
	more = len(all) > most
	return all[:min(len(all), most)], more, nil
}

// find1 returns the document that a text names, or the only document. It returns nil if there is none or the name is ambiguous. In a
// large collection, it also searches for the name.
func (j *job) find1(ctx context.Context, names string) (*corpus.Document, error) {
	docs, more, err := j.documents(ctx, maxLooked)
	if err != nil {
		return nil, err
	}
	if len(docs) == 1 && !more {
		return &docs[0], nil
	}
	if more {
		hits, err := j.Index.Search(ctx, index.Query{Collection: j.q.Collection, Text: lang.Truncate(names, maxQuery), Limit: 50})
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
		if n > most || n > 0 && n == most && d.IndexedAt.After(best.IndexedAt) { // of the same name, the newest
			best, most = &docs[i], n
		}
	}
	return best, nil
}

// beginPages emits the start of reading pages of a document that the planner named.
func (t *tools) beginPages(ctx context.Context, a *tool) error {
	if c := t.past.call(a.call); c != nil && c.Result != nil {
		return nil
	}
	in := pagesInput{From: a.From, To: min(a.To, a.From+catalog.MaxPages-1), Name: a.Document}
	switch d, err := t.find1(ctx, a.Document); {
	case err != nil && ctx.Err() != nil && !late(ctx):
		return ctx.Err()
	case err != nil:
		a.failed = err
	case d == nil:
		a.failed = errNoDocument
	default:
		a.document, in.Document, in.Name = d, d.ID, ""
	}
	return t.called(ctx, a, in)
}

// readPages reads the pages that the planner chose. They are graded by the question and kept.
func (t *tools) readPages(ctx context.Context, a *tool) (pagesRead, error) {
	if a.failed != nil {
		return pagesRead{}, a.failed
	}
	read, found, err := t.pages(ctx, *a.document, a.From, min(a.To, a.From+catalog.MaxPages-1), t.q.Query)
	a.found = found
	return read, err
}

// listDocuments lists documents for the planner. Their passages are graded by the question.
func (t *tools) listDocuments(ctx context.Context, a *tool) (listed, error) {
	out, found, err := t.list(ctx, a.Query)
	if err != nil || len(found) == 0 {
		return out, err
	}
	hits := make([]index.Hit, len(found))
	for i, c := range found {
		hits[i] = c.Hit
	}
	a.count = out.Found
	if a.found, err = t.asNamed(ctx, hits, t.q.Query); err != nil {
		return out, err
	}
	for i := range a.found {
		a.found[i].kept, a.found[i].place = false, a.found[i].grade
	}
	return out, nil
}
