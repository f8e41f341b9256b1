// Package wiretest holds protocols to the laws of the design.
package wiretest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Subject is a protocol under test.
type Subject struct {
	Protocol wire.Protocol
	// Read gives what a client knows after the frames, in a form that is the same for all streams that mean the same:
	// text joined, snapshots that another one replaces left out. It fails on frames that no client could read.
	Read func(frames []wire.Frame) ([]string, error)
	// Lasting, if set, says that frames tell states: a client that misses any of them but the last so many knows the same in
	// the end.
	Lasting int
}

// Laws checks the protocol over the logs under random cuts of each:
//
//   - However the log is cut into batches, a client knows the same.
//   - Every cursor resumes: what came before it and what a resumed stream gives add up to the same.
//   - Cursors rise from frame to frame and read back as they were written; data is one line.
//   - Projecting the same batches twice gives the same bytes.
//   - Where frames tell states, any of them but the last ones can be missed; see [Subject.Lasting].
func Laws(t *testing.T, s Subject, logs map[string][]event.Event) {
	t.Helper()
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(len(log))))
			whole := Project(s.Protocol.New(), [][]event.Event{log})
			want := s.read(t, whole)
			for range rounds(len(log)) {
				batches := Cut(rng, log)
				frames := Project(s.Protocol.New(), batches)
				checkFrames(t, s.Protocol, frames)
				if diff := lines(want, s.read(t, frames)); diff != "" {
					t.Fatalf("another cut tells another story (-whole +cut):\n%s", diff)
				}
				if diff := lines(golden(s.Protocol, frames), golden(s.Protocol, Project(s.Protocol.New(), batches))); diff != "" {
					t.Fatalf("the same batches give other frames (-first +second):\n%s", diff)
				}
				s.resumes(t, rng, log, frames, want)
				s.misses(t, rng, frames, want)
			}
		})
	}
}

func (s Subject) read(t *testing.T, frames []wire.Frame) []string {
	t.Helper()
	got, err := s.Read(frames)
	if err != nil {
		t.Fatalf("read frames: %v", err)
	}
	return got
}

// resumes breaks a stream off behind frames and goes on from there, over other cuts.
func (s Subject) resumes(t *testing.T, rng *rand.Rand, log []event.Event, frames []wire.Frame, want []string) {
	t.Helper()
	for _, i := range sample(rng, len(frames), 25) {
		rest := Project(wire.Resume(s.Protocol.New(), frames[i].ID), Cut(rng, log))
		if len(rest) > 0 && rest[0].ID.Compare(frames[i].ID) <= 0 {
			t.Fatalf("resumed behind %s, the stream repeats %s", frames[i].ID, rest[0].ID)
		}
		if diff := lines(want, s.read(t, slices.Concat(frames[:i+1], rest))); diff != "" {
			t.Fatalf("resumed behind %s, the story differs (-whole +resumed):\n%s", frames[i].ID, diff)
		}
	}
}

// misses leaves frames out, from a few to all that may be missed.
func (s Subject) misses(t *testing.T, rng *rand.Rand, frames []wire.Frame, want []string) {
	t.Helper()
	if s.Lasting == 0 {
		return
	}
	if len(frames) < s.Lasting {
		t.Fatalf("%d frames, of which the last %d matter", len(frames), s.Lasting)
	}
	for _, share := range []float64{0.1, 0.5, 0.9, 1} {
		var seen []wire.Frame
		for i, f := range frames {
			if i >= len(frames)-s.Lasting || rng.Float64() >= share {
				seen = append(seen, f)
			}
		}
		if diff := lines(want, s.read(t, seen)); diff != "" {
			t.Fatalf("with %d of %d frames seen, the story differs (-whole +seen):\n%s", len(seen), len(frames), diff)
		}
	}
}

// lines tells how two readings differ. Most do not, and cmp takes long to say so.
func lines(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// golden gives the bytes of each frame.
func golden(p wire.Protocol, frames []wire.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, string(p.AppendFrame(nil, f)))
	}
	return out
}

// sample gives up to k of the numbers below n, the first and the last among them.
func sample(rng *rand.Rand, n, k int) []int {
	if n <= k {
		return rng.Perm(n)
	}
	return append(rng.Perm(n)[:k-2], 0, n-1)
}

func checkFrames(t *testing.T, p wire.Protocol, frames []wire.Frame) {
	t.Helper()
	var last wire.Cursor
	for _, f := range frames {
		if f.ID.Compare(last) <= 0 {
			t.Fatalf("cursor %s follows %s", f.ID, last)
		}
		if back, err := wire.ParseCursor(f.ID.String()); err != nil || back != f.ID {
			t.Fatalf("cursor %s reads back as %v, %v", f.ID, back, err)
		}
		if bytes.ContainsAny(f.Data, "\n\r") {
			t.Fatalf("the data of %s has a line break: %.80q", f.ID, f.Data)
		}
		if b := p.AppendFrame([]byte("x"), f); !bytes.HasPrefix(b, []byte("x")) || !bytes.Contains(b, f.Data) {
			t.Fatalf("frame %s is written as %.80q", f.ID, b)
		}
		last = f.ID
	}
}

// Project runs batches through a projection and copies the frames.
func Project(p wire.Projection, batches [][]event.Event) []wire.Frame {
	var out, buf []wire.Frame
	for _, b := range batches {
		buf = p.Project(buf[:0], b)
		for _, f := range buf {
			f.Data = bytes.Clone(f.Data)
			out = append(out, f)
		}
	}
	return out
}

// Cut cuts a log into batches at random: single events, pairs, long ones.
func Cut(rng *rand.Rand, log []event.Event) [][]event.Event {
	most := 1 << rng.IntN(8)
	var out [][]event.Event
	for len(log) > 0 {
		n := min(1+rng.IntN(most), len(log))
		out = append(out, log[:n])
		log = log[n:]
	}
	return out
}

// Golden gives the bytes of a whole stream, a batch at a time.
func Golden(p wire.Protocol, batches [][]event.Event) string {
	var b []byte
	for _, f := range Project(p.New(), batches) {
		b = p.AppendFrame(b, f)
	}
	return string(b)
}

// rounds is how many cuts are tried: fewer of a long log.
func rounds(n int) int {
	if n > 1000 {
		return 2
	}
	return 8
}
