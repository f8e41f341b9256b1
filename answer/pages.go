package answer

import (
	"context"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
)

// pages reads passages of a document by their pages. If the question has a topic, they are graded by it. Otherwise they were
// requested by name and get the best grade.
func (j *job) pages(ctx context.Context, d corpus.Document, from, to int, focus string) (pagesResult, []candidate, error) {
	read := pagesResult{Document: d.ID, Name: nameOf(d.URI), Title: d.Title, Pages: []int{}, Passages: []corpus.ChunkID{}}
	load := j.passagesOnPages
	if d.Pages == 0 {
		load = j.passagesOnCountedPages
	}
	hits, on, err := load(ctx, d.ID, from, to)
	if err != nil {
		return read, nil, err
	}
	if len(hits) == 0 {
		return read, nil, errNoPage
	}
	if read.More = len(hits) > maxPagePassages; read.More {
		hits = hits[:maxPagePassages]
	}
	slices.Sort(on)
	read.Pages, read.Found = slices.Compact(on), len(hits)
	found, err := j.pinnedCandidates(ctx, hits, focus)
	for _, c := range found {
		read.Passages = append(read.Passages, c.Chunk.ID)
	}
	return read, found, err
}

// passagesOnPages returns the passages on pages of a document whose format has pages, and the pages. It returns at most one passage
// more than the limit.
func (j *job) passagesOnPages(ctx context.Context, id corpus.DocumentID, from, to int) (hits []index.Hit, on []int, err error) {
	at, err := j.firstOnPage(ctx, id, corpus.Passage, from)
	for behind := false; err == nil && !behind && len(hits) <= maxPagePassages; {
		var chunks []corpus.Chunk
		chunks, err = j.contents().DocumentChunks(ctx, j.q.Collection, id, corpus.Passage, at, maxPagePassages+1)
		behind = len(chunks) <= maxPagePassages
		for _, c := range chunks {
			here := slices.DeleteFunc(slices.Clone(pagesOf(c)), func(n int) bool { return n < from || n > to })
			behind = behind || slices.Min(pagesOf(c)) > to
			if len(here) > 0 {
				hits = append(hits, index.Hit{Chunk: c})
				on = append(on, here...)
			}
			at = c.Ordinal + 1
		}
	}
	return hits, on, err
}

// passagesOnCountedPages does the same for a format without pages: [corpus.PageCounter] counts them.
func (j *job) passagesOnCountedPages(ctx context.Context, id corpus.DocumentID, from, to int) (hits []index.Hit, on []int, err error) {
	err = j.eachPassage(ctx, id, func(c corpus.Chunk, page int) bool {
		if page >= from && page <= to {
			hits = append(hits, index.Hit{Chunk: c})
			on = append(on, page)
		}
		return page <= to && len(hits) <= maxPagePassages
	})
	return hits, on, err
}

// eachPassage calls more with each passage of a document and its counted page, until more returns false.
func (j *job) eachPassage(ctx context.Context, id corpus.DocumentID, more func(c corpus.Chunk, page int) bool) error {
	var paging corpus.PageCounter
	for at := 0; at < maxCounted; {
		chunks, err := j.contents().DocumentChunks(ctx, j.q.Collection, id, corpus.Passage, at, batchSize)
		if err != nil || len(chunks) == 0 {
			return err
		}
		for _, c := range chunks {
			if at = c.Ordinal + 1; !more(c, paging.Next(c.Text)) {
				return nil
			}
		}
	}
	return nil
}

// maxCounted limits the passages whose pages are counted, since all of them have to be read.
const maxCounted = 50_000

func (j *job) lastPage(ctx context.Context, d corpus.Document) (int, error) {
	last := max(1, d.Pages)
	if d.Pages > 0 {
		return last, nil
	}
	err := j.eachPassage(ctx, d.ID, func(_ corpus.Chunk, page int) bool { last = page; return true })
	return last, err
}

// trimToPages shortens passages that extend over other pages to their sentences on the pages. It does not change a passage without
// known sentences.
func (j *job) trimToPages(ctx context.Context, id corpus.DocumentID, found []candidate, from, to int) error {
	extends := func(c candidate) bool {
		return slices.Min(pagesOf(c.Chunk)) < from || slices.Max(pagesOf(c.Chunk)) > to
	}
	if !slices.ContainsFunc(found, extends) {
		return nil
	}
	at, err := j.firstOnPage(ctx, id, corpus.Sentence, from)
	if err != nil {
		return err
	}
	spans := map[corpus.ChunkID][2]int{} // offsets in the document of the sentences on the pages, by passage
	for behind := false; !behind; {
		sentences, err := j.contents().DocumentChunks(ctx, j.q.Collection, id, corpus.Sentence, at, batchSize)
		if err != nil {
			return err
		}
		behind = len(sentences) < batchSize
		for _, s := range sentences {
			at, behind = s.Ordinal+1, behind || slices.Min(pagesOf(s)) > to
			if slices.Min(pagesOf(s)) > to || slices.Max(pagesOf(s)) < from {
				continue
			}
			span, known := spans[s.Parent]
			if !known {
				span = [2]int{s.Start, s.End}
			}
			spans[s.Parent] = [2]int{min(span[0], s.Start), max(span[1], s.End)}
		}
	}
	for i := range found {
		c := &found[i].Chunk
		span, known := spans[c.ID]
		if start, end := span[0]-c.Start, span[1]-c.Start; extends(found[i]) && known && start >= 0 && start < end && end <= len(c.Text) {
			*c = c.Slice(start, end)
			if len(c.PageStarts) == 0 {
				c.Pages = slices.DeleteFunc(slices.Clone(c.Pages), func(n int) bool { return n < from || n > to })
			}
		}
	}
	return nil
}

// pagesOf returns the pages of a chunk of a document whose format has pages.
func pagesOf(c corpus.Chunk) []int {
	if len(c.Pages) == 0 {
		return []int{1}
	}
	return c.Pages
}

// firstOnPage returns the ordinal of a document's first chunk of a level that reaches a page. Chunks are in the order of their pages, so it
// uses binary search.
func (j *job) firstOnPage(ctx context.Context, id corpus.DocumentID, level corpus.Level, page int) (int, error) {
	before := func(ordinal int) (bool, error) {
		cs, err := j.contents().DocumentChunks(ctx, j.q.Collection, id, level, ordinal, 1)
		return err == nil && len(cs) == 1 && slices.Max(pagesOf(cs[0])) < page, err
	}
	low, high := 0, 1
	for high < 1<<30 {
		is, err := before(high)
		if err != nil {
			return 0, err
		}
		if !is {
			break
		}
		low, high = high, 2*high
	}
	for low < high {
		mid := (low + high) / 2
		is, err := before(mid)
		if err != nil {
			return 0, err
		}
		if is {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}
