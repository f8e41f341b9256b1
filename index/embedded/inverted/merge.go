package inverted

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
)

// Segments are merged when mergeCount of them have sizes of one class: the documents that are left in a segment of a class are up to mergeFactor times those of the class below, and the lowest
// class has up to smallest documents.
const (
	mergeCount  = 8
	mergeFactor = 8
	smallest    = 256
	// mergeGone is the share of deleted documents, as one part of so many, from which a segment is merged by itself.
	mergeGone = 3
)

// class returns the class of sizes of a segment.
func (s live) class() int {
	return (bits.Len(uint(s.docs-s.gone)/smallest) + 2) / bits.Len(mergeFactor-1)
}

// due returns segments that should be merged, or nil.
func (x *Index) due() []live {
	classes := map[int][]live{}
	for _, s := range x.segments {
		if s.gone > smallest && s.gone > s.docs/mergeGone {
			return []live{s}
		}
		c := s.class()
		if classes[c] = append(classes[c], s); len(classes[c]) >= mergeCount {
			return classes[c]
		}
	}
	return nil
}

// startMerge starts a merge in the background, if one is due and none runs.
func (x *Index) startMerge() {
	if x.merging || x.wanted || x.files.isClosed() {
		return
	}
	inputs := x.due()
	if inputs == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := x.beginMerge(inputs, cancel)
	go func() {
		defer cancel()
		if err := run(ctx); err != nil && ctx.Err() == nil {
			x.opts.OnError(err)
		}
	}()
}

// beginMerge notes that a merge runs, and returns the function that runs it. After it, the next one that is due starts.
func (x *Index) beginMerge(inputs []live, stop func()) func(context.Context) error {
	number := x.next
	x.next++
	x.merging, x.stop = true, stop
	for _, s := range inputs {
		s.retain()
	}
	return func(ctx context.Context) error {
		merged, err := x.mergeFiles(ctx, inputs, number)
		x.mu.Lock()
		defer x.mu.Unlock()
		if err == nil {
			err = safely(func() error { return x.replace(inputs, merged) })
		}
		for _, s := range inputs {
			s.release()
		}
		x.merging = false
		if err == nil {
			x.startMerge()
		}
		x.idle.Broadcast()
		return err
	}
}

// Merge rewrites all segments with deleted documents as one without. Changes may happen meanwhile. Snapshots that are in use keep their files until they are closed; see [Index.Erased]. If ctx
// ends before, it returns the error of ctx.
func (x *Index) Merge(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.idle.Broadcast()
	})()
	x.mu.Lock()
	x.wanted = true
	for x.merging && ctx.Err() == nil {
		x.idle.Wait()
	}
	var inputs []live
	for _, s := range x.segments {
		if s.gone > 0 {
			inputs = append(inputs, s)
		}
	}
	var err error
	if ctx.Err() == nil && len(inputs) > 0 && !x.files.isClosed() {
		run := x.beginMerge(inputs, cancel)
		x.mu.Unlock()
		err = run(ctx)
		x.mu.Lock()
	} else {
		err = ctx.Err()
	}
	defer x.mu.Unlock()
	x.wanted = false
	x.startMerge()
	return err
}

// replace puts the merged segment, or nil, in the place of others. Documents that were deleted during the merge are deleted in it.
func (x *Index) replace(inputs []live, merged *Segment) error {
	var next []live
	now := map[*Segment]live{}
	for _, s := range x.segments {
		if now[s.Segment] = s; !slices.ContainsFunc(inputs, func(in live) bool { return in.Segment == s.Segment }) {
			next = append(next, s)
		}
	}
	if merged != nil {
		var removed [][2]uint64
		for _, in := range inputs {
			s, left := now[in.Segment] // not left: all of it was deleted
			for n := range uint32(in.docs) {
				if !in.deleted.Has(n) && (!left || s.deleted.Has(n)) {
					removed = append(removed, [2]uint64{in.Row(n), in.Row(n) + 1})
				}
			}
		}
		if result := (live{Segment: merged}).without(removed, nil); result.gone < result.docs {
			next = append(next, result)
		} else {
			merged.obsolete.Store(true)
			merged.release()
			merged = nil
		}
	}
	return x.install(next, x.tag, merged)
}

// merger merges segments.
type merger struct {
	inputs  []live
	numbers [][]uint32 // new number of each document of each input, or none
	rows    []uint64   // of the new documents
	ordered bool       // whether the documents of each input follow those of the input before
	list    list
	found   []posting // of the current term, if not ordered
}

// posting is a document of a list.
type posting struct {
	doc, tf   uint32
	positions []byte
}

// none is the new number of a document that is deleted.
const none = math.MaxUint32

// mergeFiles writes the segment of the documents of others, without the deleted ones. It returns nil if there are none.
func (x *Index) mergeFiles(ctx context.Context, inputs []live, number uint64) (*Segment, error) {
	m := merger{inputs: inputs}
	if err := safely(func() error { m.order(); return nil }); err != nil || len(m.rows) == 0 {
		return nil, err
	}
	w, err := createSegment(x.path(number), x.opts.Fields)
	if err != nil {
		return nil, err
	}
	return x.adopt(w, number, safely(func() error { return m.run(ctx, w) }))
}

// order numbers the documents by row.
func (m *merger) order() {
	slices.SortStableFunc(m.inputs, func(a, b live) int { return cmp.Compare(a.Row(0), b.Row(0)) })
	type source struct {
		row       uint64
		input, at uint32
	}
	var all []source
	for i, s := range m.inputs {
		m.numbers = append(m.numbers, make([]uint32, s.docs))
		for n := range uint32(s.docs) {
			m.numbers[i][n] = none
			if !s.deleted.Has(n) {
				all = append(all, source{s.Row(n), uint32(i), n})
			}
		}
	}
	byRow := func(a, b source) int { return cmp.Compare(a.row, b.row) }
	m.ordered = slices.IsSortedFunc(all, byRow)
	slices.SortFunc(all, byRow)
	m.rows = make([]uint64, len(all))
	for k, s := range all {
		m.rows[k], m.numbers[s.input][s.at] = s.row, uint32(k)
	}
}

// termsPerCheck is the number of terms between checks whether the merge was cancelled.
const termsPerCheck = 1024

func (m *merger) run(ctx context.Context, w *segmentWriter) error {
	for field, detail := range w.fields {
		if err := w.begin(); err != nil {
			return err
		}
		terms, err := openCursors(m.inputs, field, nil)
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			if n%termsPerCheck == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			term, lists, ok := terms.next()
			if !ok {
				break
			}
			w.list.reset()
			m.merge(&w.list, lists, field)
			if w.list.df == 0 {
				continue
			}
			if err := w.add([]byte(term)); err != nil {
				return err
			}
		}
		if terms.err != nil {
			return terms.err
		}
		lengths := make([]uint32, len(m.rows))
		for i, s := range m.inputs {
			for n, to := range m.numbers[i] {
				if to != none && detail != Documents {
					lengths[to] = s.fields[field].length(uint32(n))
				}
			}
		}
		if err := w.end(lengths); err != nil {
			return err
		}
	}
	return w.finish(m.rows)
}

// merge writes the lists of a term as one.
func (m *merger) merge(w *listWriter, lists []place, field int) {
	m.found = m.found[:0]
	for _, p := range lists {
		f, numbers := &m.inputs[p.segment].fields[field], m.numbers[p.segment]
		m.list.open(f.postings[p.offset:], f.detail)
		for i := range m.list.blocks {
			positions := m.list.blocks[i].positions
			for n := range m.list.decode(i) {
				size := 0
				if f.detail == Positions {
					size = positionsSize(positions, m.list.tfs[n])
				}
				switch to := numbers[m.list.docs[n]]; {
				case to == none:
				case m.ordered:
					w.add(to, m.list.tfs[n], positions[:size])
				default:
					m.found = append(m.found, posting{to, m.list.tfs[n], positions[:size]})
				}
				positions = positions[size:]
			}
		}
	}
	slices.SortFunc(m.found, func(a, b posting) int { return cmp.Compare(a.doc, b.doc) })
	for _, p := range m.found {
		w.add(p.doc, p.tf, p.positions)
	}
}
