package answer

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/catalog"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// listing is an answer that names documents.
type listing struct {
	request catalog.List
	found   int  // documents
	more    bool // there are more documents than were counted
	docs    []listedDocument
}

// listRequested lists all documents, or those about a topic, if the question asks for a list.
func (j *job) listRequested(ctx context.Context, l *catalog.List) (bool, error) {
	if err := j.loadTermStats(ctx, []string{l.About}); err != nil {
		return false, j.warnIndexError(ctx, "loading term statistics", err)
	}
	return j.runDocumentTool(ctx, event.ToolListDocuments, "the question asks which documents there are", listInput{l.About}, func() (any, []candidate, error) {
		out, found, err := j.list(ctx, l.About)
		if err != nil || len(found) == 0 {
			return out, nil, cmp.Or(err, errNoDocument)
		}
		j.listing = &listing{*l, out.Found, out.More, out.Documents}
		return out, found, nil
	})
}

// restoreListing uses the list of an earlier process, without the documents whose passage no longer exists.
func (j *job) restoreListing(l catalog.List, made listResult, passages []event.Passage) {
	j.listing = &listing{request: l, found: made.Found, more: made.More}
	for i, p := range passages[:min(len(passages), len(made.Documents))] {
		if _, ok := j.resumed.chunks[p.Chunk]; ok {
			j.listing.docs = append(j.listing.docs, made.Documents[i])
		}
	}
}

// list returns the documents about a topic, best first, each with its best passage; or all documents by their ids, each with its
// first passage.
func (j *job) list(ctx context.Context, about string) (listResult, []candidate, error) {
	if strings.TrimSpace(about) != "" {
		return j.listAbout(ctx, about)
	}
	all, more, err := j.documents(ctx, maxExamined)
	if err != nil {
		return listResult{}, nil, err
	}
	out := listResult{Documents: []listedDocument{}, Found: len(all), More: more}
	var hits []index.Hit
	for _, d := range all {
		if len(hits) == maxListed {
			break
		}
		cs, err := j.contents().DocumentChunks(ctx, j.q.Collection, d.ID, corpus.Passage, 0, 1)
		if err != nil {
			return listResult{}, nil, err
		}
		if len(cs) == 0 {
			out.Found-- // a document without text has nothing to cite
			continue
		}
		hits = append(hits, index.Hit{Chunk: cs[0]})
		out.Documents = append(out.Documents, documentOf(d))
	}
	found, err := j.pinnedCandidates(ctx, hits, "")
	return out, found, err
}

func documentOf(d corpus.Document) listedDocument {
	return listedDocument{ID: d.ID, Name: nameOf(d.URI), Title: shortTitle(d.Title), Pages: d.Pages}
}

// shortTitle returns a title on one line, shortened if it is long.
func shortTitle(s string) string {
	return strings.TrimSpace(lang.Truncate(strings.Join(strings.Fields(lang.Clean(lang.Truncate(s, 4*maxName))), " "), maxName))
}

// listAbout searches for the topic. A document is listed if one of its passages is useful.
func (j *job) listAbout(ctx context.Context, about string) (listResult, []candidate, error) {
	out := listResult{Documents: []listedDocument{}}
	s := j.search(event.ToolHybridSearch, lang.Truncate(about, maxQuery))
	s.asked, s.limit = s.text, max(4*maxListed, 2*j.q.TopK)
	if err := j.find(ctx, s); err != nil {
		return out, nil, err
	}
	grades, err := j.Grader.Grade(j.traced(ctx, "grade"), s.asked, j.searchTexts(ctx, s.hits), j.stats)
	if err != nil {
		return out, nil, err
	}
	var found []candidate
	for i, h := range s.hits {
		if grades.Scores[i] >= grade.AmbiguousFrom {
			found = append(found, candidate{Hit: h, grade: grades.Scores[i], asked: s.asked, place: 1, pinned: true})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.grade, a.grade) })
	var ids []corpus.DocumentID
	best := found[:0]
	for _, c := range found {
		if !slices.Contains(ids, c.Chunk.Document) {
			ids, best = append(ids, c.Chunk.Document), append(best, c)
		}
	}
	docs, err := j.contents().DocumentsByID(ctx, j.q.Collection, ids)
	if err != nil {
		return out, nil, err
	}
	at := map[corpus.DocumentID]corpus.Document{}
	for _, d := range docs {
		at[d.ID] = d
	}
	best = slices.DeleteFunc(best, func(c candidate) bool { return at[c.Chunk.Document].ID == "" }) // deleted in the meantime
	out.Found = len(best)
	best = best[:min(len(best), maxListed)]
	for _, c := range best {
		out.Documents = append(out.Documents, documentOf(at[c.Chunk.Document]))
	}
	return out, best, nil
}

// generateList writes an answer that lists documents, instead of a generator: the title of each, with a passage as its citation. It
// claims that the document exists and, if the question has a topic, that the passage is about it, with its grade as the confidence.
func (j *job) generateList(ctx context.Context) error {
	j.context = slices.Clone(j.pool)
	for i := range j.context {
		j.read = append(j.read, i)
	}
	j.restoreQuotes()
	j.setGenerationStart(ctx, event.GenerationStarted{Model: rules})
	return j.stream(ctx, j.listing.deltas(), j.emittedDeltas())
}

// deltas returns the text of the answer. The passages have the numbers of their documents, from 1.
func (l *listing) deltas() iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if !yield(model.Delta{Text: l.lead()}, nil) {
			return
		}
		for i, d := range l.docs {
			line := "\n- " + printable(cmp.Or(d.Title, d.Name, string(d.ID)))
			if i == 0 {
				line = "\n" + line
			}
			if d.Name != "" && d.Name != d.Title && d.Title != "" {
				line += " (" + printable(d.Name) + ")"
			}
			if !yield(model.Delta{Text: line}, nil) || !yield(model.Delta{Cite: i + 1}, nil) {
				return
			}
		}
	}
}

// lead returns the text before the list.
func (l *listing) lead() string {
	count := fmt.Sprint(l.found)
	about := ""
	if l.request.German {
		if l.request.About != "" {
			about = " über " + printable(l.request.About)
		}
		if l.more {
			count = "mehr als " + count
		}
		if n := len(l.docs); n < l.found {
			return fmt.Sprintf("Es gibt %s Dokumente%s, darunter:", count, about)
		}
		return fmt.Sprintf("Dokumente%s (%s):", about, count)
	}
	if l.request.About != "" {
		about = " about " + printable(l.request.About)
	}
	if l.more {
		count = "over " + count
	}
	if n := len(l.docs); n < l.found {
		return fmt.Sprintf("Documents%s (%d of %s):", about, n, count)
	}
	return fmt.Sprintf("Documents%s (%s):", about, count)
}

// verifyList verifies an answer that lists documents. The index confirms that a document exists; the grade of its passage decides
// whether it is about the topic.
func (j *job) verifyList(ctx context.Context) error {
	var verdicts []verify.Verdict
	v := event.Verified{Claims: []event.Claim{}, By: event.ByTitles}
	for i, c := range j.context {
		d := j.listing.docs[i]
		claim := event.Claim{Text: cmp.Or(d.Title, d.Name, string(d.ID)), Verdict: event.Supported, Chunks: []corpus.ChunkID{c.Chunk.ID}}
		if j.listing.request.About != "" && c.grade < grade.CorrectFrom {
			claim.Verdict = event.PartiallySupported
		}
		v.Claims = append(v.Claims, claim)
		verdicts = append(verdicts, verify.Verdict{Verdict: claim.Verdict})
	}
	v.Confidence = verify.ClaimSupport(verdicts)
	return j.rec.Emit(ctx, v)
}
