package embedded

import (
	"runtime"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/corpus"
)

// batchBytes bounds the text that goes into a lexical index at once: scorch takes up to some hundred bytes for each term of a
// batch until it is a segment. It is more than most groups of documents have.
const batchBytes = 512 << 10

// addition is a chunk that is to be in a lexical index.
type addition struct {
	row   uint64
	chunk *corpus.Chunk
	named *named
	terms *analysed // nil: not kept, and made again when the chunk's turn comes
}

// bytes is about how much text is analysed.
func (a *addition) bytes() int {
	n := 2*len(a.chunk.Title) + len(a.chunk.SearchText())
	for _, h := range a.chunk.Headings {
		n += len(h)
	}
	if a.named != nil {
		for _, m := range a.named.mentions {
			n += len(m.Name)
		}
	}
	return n
}

// filling changes a lexical index in batches. Only the last sets the generation, so that a change that is cut short does not
// count: it is done again from the documents.
type filling struct {
	lexical *lexical
	batch   []addition
	bytes   int
}

func (f *filling) add(a addition) error {
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

// end adds what is left, removes ranges of rows and sets the generation.
func (f *filling) end(removed [][2]uint64, generation uint64) error {
	return f.lexical.change(analyseAll(f.batch), removed, generation)
}

// fill adds chunks, removes ranges of rows and sets the generation.
func (l *lexical) fill(added []addition, removed [][2]uint64, generation uint64) error {
	f := filling{lexical: l}
	for _, a := range added {
		if err := f.add(a); err != nil {
			return err
		}
	}
	return f.end(removed, generation)
}

// analyseAll gives the terms of each addition, on all processors.
func analyseAll(added []addition) []analysed {
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

// inParallel calls do with 0, 1 … n-1 on all processors.
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

// lengths are a chunk's numbers of terms. The terms themselves are kept of small groups.
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
			places = append(places, place{i, k})
			a := addition{chunk: &ch.entries[k].Chunk, named: ch.named[k]}
			bytes += a.bytes()
		}
	}
	inParallel(len(places), func(n int) {
		p := places[n]
		a := analyse(&group[p.i].entries[p.k].Chunk, group[p.i].named[p.k])
		l := lengths{text: uint64(len(a.text)), title: uint64(len(a.title))}
		if bytes <= batchBytes*levels {
			l.terms = &a
		}
		out[p.i][p.k] = l
	})
	return out
}
