package wire_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
)

func TestCursorsInOrder(t *testing.T) {
	t.Parallel()
	inOrder := []string{"", "1.1", "1.2", "1.10", "1", "2.1", "2", "10", "100.1", "9223372036854775807.1", "9223372036854775807"}
	var cursors []wire.Cursor
	for _, s := range inOrder {
		c, err := wire.ParseCursor(s)
		require.NoError(t, err)
		if s != "" && c.String() != s {
			t.Errorf("%q is written as %q", s, c)
		}
		cursors = append(cursors, c)
	}
	for i, a := range cursors {
		for j, b := range cursors {
			if got := a.Compare(b); got != compare(i, j) {
				t.Errorf("%s to %s: %d", a, b, got)
			}
		}
	}
	if c, err := wire.ParseCursor("0"); err != nil || c != (wire.Cursor{}) {
		t.Errorf("0 is %v, %v", c, err)
	}
}

func compare(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

// FuzzParseCursor: a valid cursor is formatted as it was parsed.
func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"", "0", "1", "1.1", "01", "1.01", "+1", "1.+1", "0.1", "1.0", "-1", "9223372036854775808", "1e3", "1.", ".1", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := wire.ParseCursor(s)
		if err != nil {
			if len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if s != "" && c.String() != s || c.Frame < 0 || c.Frame > 0 && c.Seq == 0 {
			t.Errorf("%q is %v", s, c)
		}
	})
}

// triple returns three frames for each even event, and none for each third event. It reuses the memory of the data.
type triple struct {
	folded int
	buf    []byte
}

func (p *triple) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	p.buf = p.buf[:0]
	for _, e := range batch {
		p.folded++
		if e.Seq%3 == 0 {
			continue
		}
		ids := []wire.Cursor{{Seq: e.Seq}}
		if e.Seq%2 == 0 {
			ids = []wire.Cursor{{Seq: e.Seq, Frame: 1}, {Seq: e.Seq, Frame: 2}, {Seq: e.Seq}}
		}
		for _, id := range ids {
			from := len(p.buf)
			p.buf = id.Append(p.buf)
			dst = append(dst, wire.Frame{ID: id, Data: p.buf[from:len(p.buf):len(p.buf)]})
		}
	}
	return dst
}

func ids(p wire.Projection, batches [][]event.Event) (out []string) {
	for _, b := range batches {
		for _, f := range p.Project([]wire.Frame{{Event: "before"}}, b)[1:] {
			if f.ID.String() != string(f.Data) {
				return []string{"the data of " + f.ID.String() + " is " + string(f.Data)}
			}
			out = append(out, f.ID.String())
		}
	}
	return out
}

// TestResumeReturnsLaterFrames: for every cursor and any batches, Resume returns the later frames, and folds every event.
func TestResumeReturnsLaterFrames(t *testing.T) {
	t.Parallel()
	var log []event.Event
	for i := range event.Seq(40) {
		log = append(log, event.Event{Seq: i + 1})
	}
	all := ids(new(triple), [][]event.Event{log})
	rng := rand.New(rand.NewPCG(1, 2))
	for i, after := range append([]string{""}, all...) {
		cursor, err := wire.ParseCursor(after)
		require.NoError(t, err)
		for range 20 {
			var batches [][]event.Event
			for rest := log; len(rest) > 0; {
				n := 1 + rng.IntN(len(rest))
				batches, rest = append(batches, rest[:n]), rest[n:]
			}
			inner := new(triple)
			if got := ids(wire.Resume(inner, cursor), batches); !slices.Equal(got, all[i:]) {
				t.Fatalf("after %q: %v, want %v", after, got, all[i:])
			}
			if inner.folded != len(log) {
				t.Fatalf("%d events were folded", inner.folded)
			}
		}
	}
	if got := ids(wire.Resume(new(triple), wire.Cursor{Seq: 99}), [][]event.Event{log}); got != nil {
		t.Errorf("after the end: %v", got)
	}
}
