package inverted

import (
	"bytes"
	"errors"

	"github.com/blevesearch/vellum"
)

// cursors iterate over the terms of a field of several segments together.
type cursors struct {
	all   []cursor
	found []place // those of the current term
	term  []byte
	err   error
}

type cursor struct {
	segment int
	it      *vellum.FSTIterator
	key     []byte
	offset  uint64
}

// place is a list: the offset of its postings in a segment.
type place struct {
	segment int
	offset  uint64
}

// openCursors begins at the first term that an automaton accepts; nil: at the first one.
func openCursors(segments []live, field int, a vellum.Automaton) (*cursors, error) {
	cs := &cursors{}
	for i, seg := range segments {
		c := cursor{segment: i}
		var err error
		if a == nil {
			c.it, err = seg.fields[field].terms.Iterator(nil, nil)
		} else {
			c.it, err = seg.fields[field].terms.Search(a, nil, nil)
		}
		if errors.Is(err, vellum.ErrIteratorDone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.key, c.offset = c.it.Current()
		cs.all = append(cs.all, c)
	}
	return cs, nil
}

// next returns the next term, and its lists in the order of the segments. They are valid until the next call. After the last term, and after an error, which is in
// err, it returns false.
func (cs *cursors) next() (string, []place, bool) {
	if len(cs.all) == 0 || cs.err != nil {
		return "", nil, false
	}
	least := cs.all[0].key
	for i := range cs.all[1:] {
		if k := cs.all[i+1].key; bytes.Compare(k, least) < 0 {
			least = k
		}
	}
	cs.term, cs.found = append(cs.term[:0], least...), cs.found[:0]
	kept := cs.all[:0]
	for i := range cs.all {
		c := cs.all[i]
		if bytes.Equal(c.key, cs.term) {
			cs.found = append(cs.found, place{c.segment, c.offset})
			err := c.it.Next()
			if errors.Is(err, vellum.ErrIteratorDone) {
				continue
			}
			if err != nil {
				cs.err = err
				return "", nil, false
			}
			c.key, c.offset = c.it.Current()
		}
		kept = append(kept, c)
	}
	cs.all = kept
	return string(cs.term), cs.found, true
}
