package conform

import (
	"fmt"
	"slices"
)

// Grammar checks the order of the frames of a stream. Next is called with each frame, and End after the last.
type Grammar interface {
	Next(f Frame) error
	End() error
}

// Order is a grammar as a table of the kinds of frames.
type Order struct {
	First, Last []string          // the first frame; the last one
	Any         []string          // other kinds; a kind that is in no field is an error
	Once        []string          // kinds that occur at most once
	Pairs       map[string]string // the start of something, and its end
	Within      map[string]string // what only occurs between such a start and its end
	Closed      []string          // before these, all pairs have ended
	Numbers     string            // a member that counts the frames, each one more than the last; empty: none
}

// order is the state of an [Order].
type order struct {
	Order
	kind func(Frame) (kind, key string)
	seen map[string]int
	open map[[2]string]bool // by start and key
	last string
	n    string
}

// grammar returns the grammar. kind returns the kind of a frame, and the key by which its start and end belong together.
func (o Order) grammar(kind func(Frame) (kind, key string)) func() Grammar {
	return func() Grammar {
		return &order{Order: o, kind: kind, seen: map[string]int{}, open: map[[2]string]bool{}}
	}
}

// Next implements [Grammar].
func (o *order) Next(f Frame) error {
	kind, key := o.kind(f)
	first := o.last == ""
	switch {
	case slices.Contains(o.Last, o.last):
		return fmt.Errorf("want nothing after %s; got %s", o.last, f)
	case first && !slices.Contains(o.First, kind):
		return fmt.Errorf("want one of %q first; got %s", o.First, f)
	case !first && slices.Contains(o.First, kind) || o.seen[kind] > 0 && slices.Contains(o.Once, kind):
		return fmt.Errorf("want %s only once; got %s", kind, f)
	}
	if o.Numbers != "" {
		var was, is int
		_, _ = fmt.Sscan(o.n, &was)
		if _, err := fmt.Sscan(f.field(o.Numbers), &is); err != nil || o.n != "" && is != was+1 {
			return fmt.Errorf("want %s one more than %q; got %s", o.Numbers, o.n, f)
		}
		o.n = f.field(o.Numbers)
	}
	known := slices.Contains(slices.Concat(o.First, o.Last, o.Any, o.Once), kind)
	if start, ok := o.Within[kind]; ok {
		if known = true; !o.open[[2]string{start, key}] {
			return fmt.Errorf("want %s between %s %q and its end; got %s", kind, start, key, f)
		}
	}
	for start, end := range o.Pairs {
		at := [2]string{start, key}
		switch kind {
		case start:
			if known = true; o.open[at] {
				return fmt.Errorf("want the end of %s %q before it starts again; got %s", start, key, f)
			}
			o.open[at] = true
		case end:
			if known = true; !o.open[at] {
				return fmt.Errorf("want %s %q before its end; got %s", start, key, f)
			}
			delete(o.open, at)
		}
	}
	if slices.Contains(o.Closed, kind) {
		for at := range o.open {
			return fmt.Errorf("want the end of %s %q before %s; got %s", at[0], at[1], kind, f)
		}
	}
	if !known {
		return fmt.Errorf("%q is no kind of the protocol: %s", kind, f)
	}
	o.seen[kind]++
	o.last = kind
	return nil
}

// End implements [Grammar].
func (o *order) End() error {
	if !slices.Contains(o.Last, o.last) {
		return fmt.Errorf("want one of %q last; got %q", o.Last, o.last)
	}
	return nil
}

// stepped is a [Grammar] of functions.
type stepped struct {
	next  func(Frame) error
	ended func() bool
}

// Next implements [Grammar].
func (s stepped) Next(f Frame) error {
	if err := s.next(f); err != nil {
		return fmt.Errorf("%w: %s", err, f)
	}
	return nil
}

// End implements [Grammar].
func (s stepped) End() error {
	if !s.ended() {
		return fmt.Errorf("the stream ends without its last frame")
	}
	return nil
}
