package answer

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/answer/catalog"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// summarizeDocuments reads the most central passages of a whole document or of a small collection if the question asks for a summary, since
// such a question has no words to search for. Larger collections, and parts of one that are not documents, are searched.
func (j *job) summarizeDocuments(ctx context.Context, a *catalog.Summary) (bool, error) {
	docs, more, err := j.documents(ctx, maxSummarized)
	if err != nil {
		return false, j.warnIndexError(ctx, "listing the documents", err)
	}
	switch {
	case a.Names != "":
		if docs, err = j.documentNamed(ctx, a.Names); err == nil && len(docs) == 0 {
			docs, err = j.documentDescribed(ctx, a.Names)
		}
		if err != nil {
			return false, j.warnIndexError(ctx, "looking for the document", err)
		}
		if len(docs) == 0 {
			return false, ctx.Err()
		}
	case more:
		return false, nil
	}
	in := pagesInput{From: 1, To: 0}
	for _, d := range docs {
		in.To = max(in.To, d.Pages, 1)
	}
	if len(docs) == 1 {
		in.Document = docs[0].ID
	}
	return j.runDocumentTool(ctx, event.ToolReadPages, "the question asks for a summary of the whole", in, func() (any, []candidate, error) {
		hits, pages, err := j.sections(ctx, docs, a.Names)
		if err == nil && len(hits) == 0 {
			hits, pages, err = j.centralPassages(ctx, docs)
		}
		if err != nil || len(hits) == 0 {
			return nil, nil, cmp.Or(err, errNoPage)
		}
		found, err := j.pinnedCandidates(ctx, hits, "")
		if err != nil {
			return nil, nil, err
		}
		j.summary = true
		read := pagesResult{Document: in.Document, Pages: pages, Passages: []corpus.ChunkID{}, Found: len(hits)}
		if len(docs) == 1 {
			read.Name, read.Title = nameOf(docs[0].URI), shortTitle(docs[0].Title)
		}
		for _, h := range hits {
			read.Passages = append(read.Passages, h.Chunk.ID)
		}
		return read, found, nil
	})
}

// documentNamed returns the document with exactly this name.
func (j *job) documentNamed(ctx context.Context, name string) ([]corpus.Document, error) {
	d, err := j.findDocument(ctx, name)
	if err != nil || d == nil || !catalog.IsName(name, *d, nameOf(d.URI)) {
		return nil, err
	}
	return []corpus.Document{*d}, nil
}

// minDescribed is the share of the terms of a description that the beginning of a document must have.
const minDescribed = 0.6

// documentDescribed returns the document whose name, title, headings and first passage have most terms of a description, such as "the minutes of May".
func (j *job) documentDescribed(ctx context.Context, what string) ([]corpus.Document, error) {
	hits, err := j.Index.Search(ctx, index.Query{Collection: j.q.Collection, Text: lang.Truncate(what, maxQuery), Documents: j.only, Limit: 50})
	if err != nil {
		return nil, err
	}
	texts := map[corpus.DocumentID]string{}
	var ids []corpus.DocumentID
	for _, h := range hits {
		id := h.Chunk.Document
		if _, known := texts[id]; !known {
			ids = append(ids, id)
		}
		texts[id] += strings.Join(h.Chunk.Headings, "\n") + "\n"
	}
	docs, err := j.contents().DocumentsByID(ctx, j.q.Collection, ids)
	if err != nil {
		return nil, err
	}
	l := lang.OfQuestion(j.q.Query)
	terms := l.UniqueTerms(what)
	best, most := []corpus.Document(nil), 0.0
	for _, d := range docs {
		first, err := j.contents().DocumentChunks(ctx, j.q.Collection, d.ID, corpus.Passage, 0, 1)
		if err != nil {
			return nil, err
		}
		name := separated.Replace(nameOf(d.URI)) + "\n" + d.Title
		text := name + "\n" + texts[d.ID]
		for _, c := range first {
			text += lang.Truncate(c.Text, maxName)
		}
		share := shareOf(l, terms, text)
		if share < minDescribed {
			continue
		}
		if share += shareOf(l, terms, name); share > most { // of documents that are described equally well, the one whose name says it
			best, most = []corpus.Document{d}, share
		}
	}
	return best, nil
}

// separated replaces what separates the words of a file name.
var separated = strings.NewReplacer("-", " ", "_", " ", ".", " ")

// shareOf returns the share of terms that a text has, 0..1.
func shareOf(l *lang.Language, terms []lang.Term, text string) float64 {
	has := map[string]bool{}
	for _, t := range l.UniqueTerms(text) {
		has[t.Stem] = true
		if dot := strings.LastIndexByte(t.Word, '.'); dot > 0 {
			has[t.Word[:dot]] = true // version 4.2 is described in the notes of 4.2.0
		}
	}
	n := 0
	for _, t := range terms {
		if has[t.Stem] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(terms)))
}

// sections returns the passages of one document below the headings that have the last number of a description, such as 4.2 in "Lumo 4.2". There are none
// if the description has no number, or all headings have it.
func (j *job) sections(ctx context.Context, docs []corpus.Document, what string) (hits []index.Hit, pages []int, err error) {
	number := ""
	for _, w := range lang.Words(what) {
		if strings.ContainsFunc(w.Text, unicode.IsDigit) {
			number = w.Text
		}
	}
	if number == "" || len(docs) != 1 {
		return nil, nil, nil
	}
	all, err := j.sample(ctx, docs[0].ID, maxSampled)
	if err != nil {
		return nil, nil, err
	}
	pages = []int{}
	for _, is := range []func(lang.Token) bool{
		func(w lang.Token) bool { return w.Text == number },
		func(w lang.Token) bool { return strings.HasPrefix(w.Text, number+".") }, // 4.2.0
	} {
		for _, c := range all {
			if len(hits) < maxSummaryPassages && slices.ContainsFunc(lang.Words(strings.Join(c.Headings, "\n")), is) {
				hits, pages = append(hits, index.Hit{Chunk: c}), append(pages, c.Pages...)
			}
		}
		if len(hits) > 0 {
			break
		}
	}
	if len(hits) == len(all) {
		return nil, nil, nil
	}
	slices.Sort(pages)
	return hits, slices.Compact(pages), nil
}

// centralPassages returns passages of documents in their order: the first of each document, and the most central one of each of its parts. Of
// long documents, it only considers passages at equal distances.
func (j *job) centralPassages(ctx context.Context, docs []corpus.Document) (hits []index.Hit, pages []int, err error) {
	limit := max(maxSummaryPassages, j.q.TopK)
	perDocument := max(1, limit/max(1, len(docs)))
	pages = []int{}
	for _, d := range docs {
		chunks, err := j.sample(ctx, d.ID, max(1, maxSampled/len(docs)))
		if err != nil {
			return nil, nil, err
		}
		scores := centrality(chunks)
		parts := min(perDocument, len(chunks))
		for k := range parts {
			from, to := k*len(chunks)/parts, (k+1)*len(chunks)/parts
			best := from
			for i := from; i < to && chunks[from].Ordinal > 0; i++ { // the first passage of a document introduces it, and is always used
				if scores[i] > scores[best] {
					best = i
				}
			}
			hits = append(hits, index.Hit{Chunk: chunks[best]})
			pages = append(pages, chunks[best].Pages...)
		}
	}
	slices.Sort(pages)
	return hits, slices.Compact(pages), nil
}

// sample returns a limited number of passages of a document at equal distances.
func (j *job) sample(ctx context.Context, id corpus.DocumentID, most int) ([]corpus.Chunk, error) {
	passages := func(from, limit int) ([]corpus.Chunk, error) {
		return j.contents().DocumentChunks(ctx, j.q.Collection, id, corpus.Passage, from, limit)
	}
	all, err := passages(0, most+1)
	if err != nil || len(all) <= most {
		return all, err
	}
	end := most // an ordinal after the last one, once the loop has ended
	for {
		cs, err := passages(end, 1)
		if err != nil {
			return nil, err
		}
		if len(cs) == 0 || end > 1<<30 {
			break
		}
		end *= 2
	}
	low := end / 2 // a passage has at least this ordinal
	for low+1 < end {
		cs, err := passages((low+end)/2, 1)
		if err != nil {
			return nil, err
		}
		if len(cs) > 0 {
			low = (low + end) / 2
		} else {
			end = (low + end) / 2
		}
	}
	const pieces = 8 // groups of adjacent passages
	out := all[:0:0]
	for i := range pieces {
		cs, err := passages(i*(low+1)/pieces, most/pieces)
		if err != nil {
			return nil, err
		}
		for _, c := range cs {
			if len(out) == 0 || c.Ordinal > out[len(out)-1].Ordinal {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// centrality returns for each chunk how common its terms are among all chunks, 0..1.
func centrality(all []corpus.Chunk) []float64 {
	df := map[string]int{}
	terms := make([]map[string]struct{}, len(all))
	for i, c := range all {
		terms[i] = lang.TermSet(c.Text)
		for t := range terms[i] {
			df[t]++
		}
	}
	out := make([]float64, len(all))
	for i, set := range terms {
		others := 0 // an integer, whose sum does not depend on the order of the map
		for t := range set {
			others += df[t] - 1
		}
		out[i] = float64(others) / float64(len(all)) / float64(len(set)+12) // the constant lowers the score of short chunks such as headings
	}
	return out
}
