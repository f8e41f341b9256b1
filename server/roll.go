package server

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// The bounds of what a roll holds, in bytes. What every reader has is held up to keep for those who come late, and what some
// have not yet up to hold: who falls behind that gets a prefix of its own.
const (
	keep = 64 << 10
	hold = 1 << 20
)

// cutEvery is how often a place is made at which readers can join. Frames behind one cannot refer to those before it, which
// costs all readers some bytes.
const cutEvery = time.Second

// lag is how many chunks a reader may be behind in a protocol whose frames each tell the whole state, before it skips some.
const lag = 16

// errLost says that a reader has fallen out of what is held.
var errLost = errors.New("no longer held")

// form is what readers of a roll have in common.
type form struct {
	run      event.RunID
	protocol wire.Protocol
	coding   *coding
}

// joint is a place at which readers can join a roll: what comes behind it refers to nothing before it.
type joint struct {
	next int         // the chunk behind it
	at   wire.Cursor // everything up to it is told before
	told sum
}

// roll is the log of the chunks of one run in one form. Its readers pull from it by position, and the first that needs a
// chunk which is not there makes it, for all of them: so nothing is made that nobody is ready to take, and no goroutine
// makes it.
type roll struct {
	s    *Server
	feed feed // the leader's
	form form

	readers int // guarded by the server

	mu      sync.Mutex
	press   *press
	chunks  []chunk
	base    int // position of the first chunk
	held    int // bytes of them
	look    int // bytes from which on it is looked for what everybody has
	joints  []joint
	cutAt   time.Time // when the last one was made
	wrote   time.Time // when the last chunk was made
	leading bool
	over    bool          // the last chunk is made
	err     error         // of the leader, [io.EOF] behind the end; nothing comes behind it
	changed chan struct{} // closed when something of the above has changed; nil: nobody waits
	at      map[*reader]int
}

// room is what a chunk takes besides its bytes.
const room = 80

// attach gives the roll of a form with one more reader, which stands at a place in the run.
func (s *Server) attach(f form, after wire.Cursor) *roll {
	s.rollsMu.Lock()
	defer s.rollsMu.Unlock()
	r := s.rolls[f]
	if r == nil {
		r = &roll{s: s, form: f, feed: newFeed(s.engine, f.run, f.protocol), press: s.press(f.protocol, f.coding, after, sum{}),
			wrote: time.Now(), at: map[*reader]int{}, look: keep}
		r.joints = []joint{{at: after}}
		s.rolls[f] = r
	}
	r.readers++
	return r
}

// detach takes a reader off a roll. The last one ends it.
func (s *Server) detach(r *roll) {
	s.rollsMu.Lock()
	defer s.rollsMu.Unlock()
	if r.readers--; r.readers == 0 {
		delete(s.rolls, r.form)
		r.press.close() // nobody is left who could use it
		s.metrics.held.Sub(float64(r.held))
	}
}

// end is the position behind the last chunk.
func (r *roll) end() int { return r.base + len(r.chunks) }

// take waits for chunks from the reader's place on, and appends as many to dst as fit into a write. Errors: errLost; [io.EOF]
// behind the end; those of ctx and of the log.
func (r *roll) take(ctx context.Context, rd *reader, dst []chunk) ([]chunk, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case rd.next < r.base:
			return dst, errLost
		case rd.next < r.end():
			for size := 0; rd.next < r.end(); rd.next++ {
				c := r.chunks[rd.next-r.base]
				if size += len(c.b); size > packet && len(dst) > 0 {
					break
				}
				dst = append(dst, c)
			}
			r.at[rd] = rd.next
			return dst, nil
		case r.err != nil:
			return dst, r.err
		case ctx.Err() != nil:
			return dst, ctx.Err()
		case !r.leading:
			r.lead(ctx)
		default:
			r.wait(ctx)
		}
	}
}

// wait waits until something has changed, or for ctx.
func (r *roll) wait(ctx context.Context) {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	changed := r.changed
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

func (r *roll) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// lead waits for the next events and makes their chunks. If ctx ends before, another reader is woken to lead.
func (r *roll) lead(ctx context.Context) {
	r.leading = true
	whole := false
	defer func() {
		if !whole { // a protocol has panicked, in whose reader's stream that is reported
			r.err = errors.New("the stream's frames could not be made")
		}
		r.leading = false
		r.wake()
	}()
	folded, shown, quiet := r.press.folded, r.press.shown, r.wrote.Add(r.s.heartbeat(r.press.answers))
	r.mu.Unlock()
	batch, err := func() ([]event.Event, error) {
		defer r.mu.Lock()
		return r.feed.next(ctx, folded, shown, quiet)
	}()
	switch {
	case errors.Is(err, errQuiet):
		var c chunk
		if c, err = r.press.idle(); err == nil {
			r.add(c)
		}
	case err == nil:
		var made []chunk
		made, err = r.press.make(nil, batch)
		r.s.metrics.made.Add(float64(len(made)))
		r.add(made...)
		if event.Terminal(batch[len(batch)-1].Body) {
			r.over = true
			r.press.close() // whoever is slow to take the end needs no compressor meanwhile
		}
	}
	whole = true
	if err != nil && ctx.Err() == nil {
		r.err = err
	}
}

// add holds chunks, and forgets the oldest that need not be held.
func (r *roll) add(chunks ...chunk) {
	if len(chunks) == 0 {
		return
	}
	before := r.held
	defer func() { r.s.metrics.held.Add(float64(r.held - before)) }()
	for _, c := range chunks {
		r.chunks = append(r.chunks, c)
		r.held += len(c.b) + room
	}
	r.wrote = time.Now()
	if r.held <= r.look {
		return
	}
	slowest := math.MaxInt
	for _, next := range r.at {
		slowest = min(slowest, next)
	}
	n := 0
	for n < len(r.chunks)-1 && (r.held > hold || r.held > keep && r.base+n < slowest) {
		r.held -= len(r.chunks[n].b) + room
		n++
	}
	r.chunks = slices.Delete(r.chunks, 0, n)
	r.base += n
	r.joints = slices.DeleteFunc(r.joints, func(j joint) bool { return j.next < r.base })
	r.look = max(keep, min(hold, r.held+keep/2))
}

// seat gives a place at which a reader that stands at a cursor can join, once it has told itself what is between the two. It
// makes one if it may. False: there is none for now.
func (r *roll) seat(rd *reader, from wire.Cursor) (joint, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && !errors.Is(r.err, io.EOF) {
		return joint{}, false
	}
	for _, j := range r.joints {
		if j.at == from && !r.behind(j.next) {
			return r.sit(rd, j), true
		}
	}
	j, ok := r.newest(from)
	if ok {
		j = r.sit(rd, j)
	}
	return j, ok
}

// ahead gives a place to which a reader that lags can skip. Alone: there will be none, as the last chunk is made.
func (r *roll) ahead(rd *reader) (j joint, ok, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.behind(rd.next) {
		return joint{}, false, false
	}
	if j, ok = r.newest(rd.at); !ok || j.next < rd.next+lag/2 {
		return joint{}, false, r.over
	}
	return r.sit(rd, j), true, false
}

// behind tells whether the frames from a place on are so many that the newest should stand for them.
func (r *roll) behind(next int) bool { return r.feed.paced != nil && r.end()-next > lag }

func (r *roll) sit(rd *reader, j joint) joint {
	rd.next = j.next
	r.at[rd] = j.next
	return j
}

// leave says that a reader is at no place of the roll.
func (r *roll) leave(rd *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, rd)
}

// newest gives the last joint, or a new one at the end, if that is behind a cursor.
func (r *roll) newest(from wire.Cursor) (joint, bool) {
	end := joint{next: r.end(), at: r.press.at, told: r.press.told}
	usable := func(j joint) bool { return j.at.Frame == 0 && j.at.Compare(from) >= 0 }
	var last joint
	if n := len(r.joints); n > 0 {
		last = r.joints[n-1]
		if last.next == end.next && last.at.Compare(end.at) < 0 { // of the events since then no frame tells
			last.at = end.at
			r.joints[n-1] = last
		}
		if last.next == end.next && usable(last) {
			return last, true
		}
	}
	if now := time.Now(); !r.over && usable(end) && (r.form.coding == nil || now.Sub(r.cutAt) >= cutEvery) {
		if r.form.coding != nil {
			r.cutAt = now
		}
		if c := r.press.cut(); len(c.b) > 0 {
			r.add(c)
			r.wake()
		}
		end.next, end.told = r.end(), r.press.told
		r.joints = append(r.joints, end)
		return end, true
	}
	return last, len(r.joints) > 0 && usable(last)
}
