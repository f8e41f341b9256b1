// Package wiretest tests implementations of [wire.Protocol].
package wiretest

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	files "github.com/sluice-rag/sluice/internal/tools/golden"
	"github.com/sluice-rag/sluice/wire"
)

// Subject is a protocol under test.
type Subject struct {
	Protocol wire.Protocol
	// Read returns the state of a client that has received the frames. States that mean the same must be equal: text is
	// joined, and snapshots that were replaced are left out. It fails for frames that a client could not read.
	Read func(frames []wire.Frame) ([]string, error)
	// FinalFrames is set for protocols whose frames are snapshots of the whole state: a client that receives only the last
	// FinalFrames frames has the same final state as a client that receives all.
	FinalFrames int
}

// TestProtocol checks the protocol with each log, cut into batches at random:
//
//   - The state of a client does not depend on how the log is cut into batches.
//   - A stream can be resumed after each frame: the frames before and after it add up to the same state.
//   - Cursors increase, and parse to the value that was written; data is one line, unless the protocol is a [wire.ByteStream].
//   - The bytes of a [wire.ByteStream] do not depend on how the log is cut into batches, and can be resumed at each of them.
//   - Projecting the same batches twice gives the same bytes.
//   - If the frames are snapshots, all but the last ones can be missed; see [Subject.FinalFrames].
func TestProtocol(t *testing.T, s Subject, logs map[string][]event.Event) {
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
					t.Fatalf("the state depends on the batches (-whole +cut):\n%s", diff)
				}
				if diff := lines(golden(s.Protocol, frames), golden(s.Protocol, Project(s.Protocol.New(), batches))); diff != "" {
					t.Fatalf("the same batches give other frames (-first +second):\n%s", diff)
				}
				s.resumes(t, rng, log, frames, want)
				s.resumesAtBytes(t, rng, log, whole, frames)
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

// resumes checks that streams which break off after some of the frames can be resumed there, with the log cut in another
// way.
func (s Subject) resumes(t *testing.T, rng *rand.Rand, log []event.Event, frames []wire.Frame, want []string) {
	t.Helper()
	for _, i := range sample(rng, len(frames), 25) {
		rest := Project(wire.Resume(s.Protocol.New(), frames[i].ID), Cut(rng, log))
		if len(rest) > 0 && rest[0].ID.Compare(frames[i].ID) <= 0 {
			t.Fatalf("resumed after %s, the stream repeats %s", frames[i].ID, rest[0].ID)
		}
		if diff := lines(want, s.read(t, slices.Concat(frames[:i+1], rest))); diff != "" {
			t.Fatalf("resumed after %s, the state differs (-whole +resumed):\n%s", frames[i].ID, diff)
		}
	}
}

// resumesAtBytes checks that a [wire.ByteStream] can be resumed after some of its bytes, with the log cut in another way.
func (s Subject) resumesAtBytes(t *testing.T, rng *rand.Rand, log []event.Event, whole, cut []wire.Frame) {
	t.Helper()
	p, ok := s.Protocol.(wire.ByteStream)
	if !ok {
		return
	}
	want := strings.Join(golden(p, whole), "")
	if diff := cmp.Diff(want, strings.Join(golden(p, cut), "")); diff != "" {
		t.Fatalf("the bytes depend on the batches (-whole +cut):\n%s", diff)
	}
	for _, n := range sample(rng, len(want)+1, 8) {
		frames := Project(p.From(int64(n)).New(), Cut(rng, log))
		checkFrames(t, p, frames)
		if got := strings.Join(golden(p, frames), ""); got != want[n:] {
			t.Fatalf("resumed after %d of %d bytes, the stream is not the rest (-rest +resumed):\n%s", n, len(want), cmp.Diff(want[n:], got))
		}
	}
}

// misses checks that snapshots can be missed: from a few of them to all but the last ones.
func (s Subject) misses(t *testing.T, rng *rand.Rand, frames []wire.Frame, want []string) {
	t.Helper()
	if s.FinalFrames == 0 {
		return
	}
	if len(frames) < s.FinalFrames {
		t.Fatalf("%d frames, of which the last %d matter", len(frames), s.FinalFrames)
	}
	for _, share := range []float64{0.1, 0.5, 0.9, 1} {
		var seen []wire.Frame
		for i, f := range frames {
			if i >= len(frames)-s.FinalFrames || rng.Float64() >= share {
				seen = append(seen, f)
			}
		}
		if diff := lines(want, s.read(t, seen)); diff != "" {
			t.Fatalf("with %d of %d frames received, the state differs (-whole +received):\n%s", len(seen), len(frames), diff)
		}
	}
}

// lines returns the difference between two states. It compares them first, because cmp.Diff is slow.
func lines(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// golden returns the encoded form of each frame.
func golden(p wire.Protocol, frames []wire.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, string(p.AppendFrame(nil, f)))
	}
	return out
}

// sample returns at most k of the numbers below n, including the first and the last.
func sample(rng *rand.Rand, n, k int) []int {
	if n <= k {
		return rng.Perm(n)
	}
	return append(rng.Perm(n)[:k-2], 0, n-1)
}

func checkFrames(t *testing.T, p wire.Protocol, frames []wire.Frame) {
	t.Helper()
	_, raw := p.(wire.ByteStream)
	var last wire.Cursor
	for _, f := range frames {
		if f.ID.Compare(last) <= 0 {
			t.Fatalf("cursor %s follows %s", f.ID, last)
		}
		if back, err := wire.ParseCursor(f.ID.String()); err != nil || back != f.ID {
			t.Fatalf("cursor %s reads back as %v, %v", f.ID, back, err)
		}
		if !raw && bytes.ContainsAny(f.Data, "\n\r") {
			t.Fatalf("the data of %s has a line break: %.80q", f.ID, f.Data)
		}
		if b := p.AppendFrame([]byte("x"), f); !bytes.HasPrefix(b, []byte("x")) || !bytes.Contains(b, f.Data) {
			t.Fatalf("frame %s is written as %.80q", f.ID, b)
		}
		last = f.ID
	}
}

// Project runs the batches through a projection and returns copies of the frames.
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

// Cut cuts a log into batches of random sizes.
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

// Golden returns the bytes of a whole stream.
func Golden(p wire.Protocol, batches [][]event.Event) string {
	var b []byte
	for _, f := range Project(p.New(), batches) {
		b = p.AppendFrame(b, f)
	}
	return string(b)
}

// TestGoldens compares the streams of logs with the files of their names in testdata. Blanks are underscores in the names of files.
func TestGoldens(t *testing.T, p wire.Protocol, extension string, logs map[string][]event.Event) {
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			if err := event.CheckLog(log, true); err != nil {
				t.Fatal(err)
			}
			files.Check(t, filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+extension), Golden(p, [][]event.Event{log}))
		})
	}
}

// rounds returns how many random cuts are tested; fewer for long logs.
func rounds(n int) int {
	if n > 1000 {
		return 2
	}
	return 8
}
