package embedded

import (
	"runtime"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/prepare"
)

// batchBytes limits the text of one batch of a lexical index, which needs some ten bytes for each byte of text until it is a
// segment. Most groups of documents are smaller.
const batchBytes = 4 << 20

// newChunk is a chunk to add to a lexical index.
type newChunk struct {
	row   uint64
	chunk *corpus.Chunk
	named *prepare.Mentions
	terms *analysed // nil: not kept; computed again when the chunk is indexed
}

// bytes estimates the size of the analysed text.
func (a *newChunk) bytes() int {
	n := 2*len(a.chunk.Title) + len(a.chunk.SearchText())
	for _, h := range a.chunk.Headings {
		n += len(h)
	}
	if a.named != nil {
		for _, m := range a.named.List {
			n += len(m.Name)
		}
	}
	return n
}

// batchWriter changes a lexical index in batches. Only the last batch sets the generation, so that an interrupted change does not
// count and is repeated from documents.db.
type batchWriter struct {
	lexical *lexical
	batch   []newChunk
	bytes   int
}

func (f *batchWriter) add(a newChunk) error {
	n := a.bytes()
	if len(f.batch) > 0 && f.bytes+n > batchBytes {
		if err := f.lexical.change(analyseAll(f.batch), nil, 0); err != nil {
			return err
		}
		f.batch, f.bytes = f.batch[:0], 0
	}
	f.batch = append(f.batch, a)
	f.bytes += n
	return nil
}

// end adds the remaining chunks, removes ranges of rows and sets the generation.
func (f *batchWriter) end(removed [][2]uint64, generation uint64) error {
	return f.lexical.change(analyseAll(f.batch), removed, generation)
}

// fill adds chunks, removes ranges of rows and sets the generation.
func (l *lexical) fill(added []newChunk, removed [][2]uint64, generation uint64) error {
	f := batchWriter{lexical: l}
	for _, a := range added {
		if err := f.add(a); err != nil {
			return err
		}
	}
	return f.end(removed, generation)
}

// analyseAll analyses chunks on all processors.
func analyseAll(added []newChunk) []analysed {
	out := make([]analysed, len(added))
	inParallel(len(added), func(i int) {
		a := &added[i]
		if a.terms != nil {
			out[i] = *a.terms
		} else {
			out[i] = analyse(a.chunk, a.named)
		}
		out[i].row = a.row
	})
	return out
}

// inParallel calls do(0) … do(n-1) on all processors.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	of := make([]int, n)
	for i := range of {
		of[i] = i
	}
	for part := range slices.Chunk(of, max(1, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for _, i := range part {
				do(i)
			}
		})
	}
	wg.Wait()
}

// lengths holds the numbers of terms of a chunk. The terms themselves are only kept for small groups.
type lengths struct {
	text, title uint64
	terms       *analysed
}

// lengthsOf counts the terms of each entry of each change.
func lengthsOf(group []change) [][]lengths {
	type place struct{ i, k int }
	var places []place
	out := make([][]lengths, len(group))
	bytes := 0
	for i, ch := range group {
		out[i] = make([]lengths, len(ch.entries))
		for k := range ch.entries {
			if ch.nesting != nil && ch.entries[k].Level != corpus.Passage {
				continue
			}
			places = append(places, place{i, k})
			a := newChunk{chunk: &ch.entries[k].Chunk, named: ch.named[k]}
			bytes += a.bytes()
		}
	}
	inParallel(len(places), func(n int) {
		p := places[n]
		a := analyse(&group[p.i].entries[p.k].Chunk, group[p.i].named[p.k])
		l := lengths{text: uint64(len(a.text)), title: uint64(len(a.title))}
		if bytes <= batchBytes {
			l.terms = &a
		}
		out[p.i][p.k] = l
	})
	return out
}
