package server

import (
	"context"
	"errors"
	"io"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// reader sends one reader the chunks of a run in a form that many may share. It reads the roll; where it lacks what the roll
// has no longer, or has in a form that depends on what it has not got, a press of its own makes the chunks until it can join.
type reader struct {
	st   *stream
	form form
	roll *roll // nil: nothing can be shared
	own  *press
	feed feed        // of own
	at   wire.Cursor // everything up to it is sent
	next int         // position in the roll
	base sum         // told by the roll where the reader joined
	seen sum         // told by the roll up to next
	told sum         // to the reader, before it joined
	head []byte      // of the body, which goes with the first chunk
	buf  []chunk
}

// follow sends a run from behind a cursor to its end.
func (st *stream) follow(ctx context.Context, f form, after wire.Cursor) error {
	rd := &reader{st: st, form: f, at: after, feed: newFeed(st.s.engine, f.run, f.protocol)}
	if f.coding.joins(comments(f.protocol)) {
		rd.roll = st.s.attach(f, after)
		defer func() {
			rd.roll.leave(rd)
			st.s.detach(rd.roll)
		}()
	}
	defer func() {
		if rd.own != nil {
			rd.own.close()
		}
	}()
	if f.coding != nil {
		rd.head = f.coding.head
	}
	err := rd.run(ctx)
	if !errors.Is(err, io.EOF) {
		return err
	}
	if f.coding == nil {
		return nil
	}
	return rd.send(chunk{b: f.coding.end(nil, rd.sum())})
}

// run sends what there is and what comes. It ends with an error, [io.EOF] behind the end.
func (rd *reader) run(ctx context.Context) error {
	if err := rd.join(ctx); err != nil {
		return err
	}
	for {
		var err error
		if rd.own != nil {
			err = rd.alone(ctx)
		} else {
			err = rd.share(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// sum gives what the reader was told so far.
func (rd *reader) sum() sum {
	if rd.own != nil {
		return rd.own.told
	}
	told := rd.told
	told.join(rd.base, rd.seen)
	return told
}

// share sends the next chunks of the roll.
func (rd *reader) share(ctx context.Context) error {
	j, ok, alone := rd.roll.ahead(rd)
	switch {
	case ok:
		if err := rd.part(); err != nil {
			return err
		}
		return rd.meet(ctx, j)
	case alone:
		rd.roll.leave(rd)
		return rd.part()
	}
	chunks, err := rd.roll.take(ctx, rd, rd.buf[:0])
	switch {
	case errors.Is(err, errLost):
		rd.roll.leave(rd)
		if err := rd.part(); err != nil {
			return err
		}
		return rd.join(ctx)
	case err != nil:
		return err
	}
	last := chunks[len(chunks)-1]
	rd.at, rd.seen = last.at, last.told
	err = rd.send(chunks...)
	clear(chunks) // what the roll forgets is to be freed
	if rd.buf = chunks[:0]; cap(chunks) > maxKept {
		rd.buf = nil
	}
	return err
}

// part gives the reader a press of its own.
func (rd *reader) part() error {
	rd.own = rd.st.s.press(rd.form.protocol, rd.form.coding, rd.at, rd.sum())
	return rd.send(rd.own.cut())
}

// alone sends what is due next, or joins the roll where there is a place for it.
func (rd *reader) alone(ctx context.Context) error {
	batch, err := rd.feed.next(ctx, rd.own.folded, rd.own.shown, rd.st.silence(rd.own.answers))
	if errors.Is(err, errQuiet) {
		c, err := rd.own.idle()
		if err != nil {
			return err
		}
		return rd.send(c)
	}
	if err != nil {
		return err
	}
	if rd.roll != nil {
		if j, ok := rd.roll.seat(rd, rd.own.at); ok {
			return rd.meet(ctx, j)
		}
	}
	if rd.buf, err = rd.own.make(rd.buf[:0], batch); err != nil {
		return err
	}
	if !event.Terminal(batch[len(batch)-1].Body) {
		return rd.sendOwn(rd.buf)
	}
	// Nothing follows: whoever is slow to take the end needs no compressor meanwhile.
	rd.told, rd.base, rd.seen, rd.at = rd.own.told, sum{}, sum{}, rd.own.at
	rd.own.close()
	rd.own = nil
	rd.st.s.metrics.made.Add(float64(len(rd.buf)))
	if err := rd.send(rd.buf...); err != nil {
		return err
	}
	return io.EOF
}

func (rd *reader) sendOwn(chunks []chunk) error {
	if rd.at = rd.own.at; len(chunks) == 0 {
		return nil
	}
	rd.st.s.metrics.made.Add(float64(len(chunks)))
	err := rd.send(chunks...)
	clear(chunks)
	return err
}

// join finds the reader a place in the roll, or gives it a press of its own.
func (rd *reader) join(ctx context.Context) error {
	if rd.roll != nil {
		if j, ok := rd.roll.seat(rd, rd.at); ok {
			return rd.meet(ctx, j)
		}
	}
	if rd.own == nil {
		rd.own = rd.st.s.press(rd.form.protocol, rd.form.coding, rd.at, rd.told)
	}
	return nil
}

// meet sends what the reader lacks up to a joint, and then reads the roll.
func (rd *reader) meet(ctx context.Context, j joint) error {
	begun := rd.own != nil
	if !begun && rd.at == j.at && (rd.form.coding == nil || !aligns(rd.form.protocol) || j.told.n%decoded == 0) {
		rd.base, rd.seen, rd.told = j.told, j.told, sum{}
		return nil
	}
	if !begun {
		rd.own = rd.st.s.press(rd.form.protocol, rd.form.coding, rd.at, rd.told)
	}
	rd.feed.rest = nil
	batch, err := rd.feed.until(ctx, rd.own.folded, j.at.Seq)
	if err != nil {
		return err
	}
	for len(batch) > 0 {
		n := len(batch)
		if rd.feed.paced == nil {
			n = min(n, piece)
		}
		if rd.buf, err = rd.own.make(rd.buf, batch[:n]); err != nil {
			return err
		}
		if err := rd.sendOwn(rd.buf); err != nil {
			return err
		}
		rd.buf, batch = rd.buf[:0], batch[n:]
	}
	if rd.form.coding != nil {
		// Behind the bridge, the body stands to the boundaries of decoders as the roll does.
		c, err := rd.own.level(j.told.n - uint64(len(rd.form.coding.filler)))
		if err != nil {
			return err
		}
		if err := rd.send(c, rd.own.cut()); err != nil {
			return err
		}
	}
	rd.own.close()
	rd.told, rd.base, rd.seen, rd.at = rd.own.told, j.told, j.told, j.at
	rd.own = nil
	return nil
}

// send writes chunks, some of which may be empty.
func (rd *reader) send(chunks ...chunk) error {
	head := rd.head
	rd.head = nil
	return rd.st.put(head, chunks)
}
