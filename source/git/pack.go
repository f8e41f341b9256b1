package git

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/sluice-rag/sluice/fault"
)

// indexPack returns the index of a pack. Its objects are decoded twice. The first time only checks their sizes, because the library holds a whole object and the base of
// its delta in memory.
func indexPack(ctx context.Context, f io.ReadSeeker, l Limits) (*idxfile.MemoryIndex, error) {
	in := &input{f, ctx}
	index, err := guarded(func() (*idxfile.MemoryIndex, error) {
		if err := checkPack(in, l); err != nil {
			return nil, err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		w := new(idxfile.Writer)
		p, err := packfile.NewParser(packfile.NewScanner(in), w)
		if err == nil {
			_, err = p.Parse()
		}
		if err != nil {
			return nil, err
		}
		return w.Index()
	})
	coded, isCoded := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return index, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case isCoded:
		return nil, coded
	}
	return nil, errDamaged
}

// input is a file whose reads fail after the end of a context.
type input struct {
	io.ReadSeeker
	ctx context.Context
}

func (in *input) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	return in.ReadSeeker.Read(p)
}

// checkPack checks the number and the sizes of the objects of a pack, also those that a delta makes. Format: Git's gitformat-pack(5).
func checkPack(in io.ReadSeeker, l Limits) error {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := packfile.NewScanner(in)
	_, count, err := s.Header()
	if err != nil {
		return err
	}
	if int64(count) > int64(l.Objects) {
		return fault.New(fault.TooLarge, "the branch has more than %d files and folders", l.Objects)
	}
	left := 4 * l.Bytes // the objects of one commit are about as large as its files
	for range count {
		h, err := s.NextObjectHeader()
		if err != nil {
			return err
		}
		size := h.Length
		if size < 0 || size > l.Object {
			return largeObject(l)
		}
		start := &prefix{}
		if _, _, err := s.NextObject(start); err != nil {
			return err
		}
		if h.Type == plumbing.OFSDeltaObject || h.Type == plumbing.REFDeltaObject {
			made, ok := start.target()
			if !ok {
				return errDamaged
			}
			if made > uint64(l.Object) {
				return largeObject(l)
			}
			size += int64(made)
		}
		if left -= size; left < 0 {
			return fault.New(fault.TooLarge, "the files of the branch are larger than the limit of %d bytes together", 4*l.Bytes)
		}
	}
	return nil
}

func largeObject(l Limits) error {
	return fault.New(fault.TooLarge, "the branch has a file of more than %d bytes, and the server does not support filters to leave it out", l.Object)
}

// prefix keeps the first bytes that are written to it.
type prefix struct {
	data [2 * binary.MaxVarintLen64]byte
	n    int
}

func (p *prefix) Write(b []byte) (int, error) {
	p.n += copy(p.data[p.n:], b)
	return len(b), nil
}

// target returns the size of the object that a delta makes: the second of two numbers at its beginning.
func (p *prefix) target() (uint64, bool) {
	_, n := binary.Uvarint(p.data[:p.n])
	if n <= 0 {
		return 0, false
	}
	size, m := binary.Uvarint(p.data[n:p.n])
	return size, m > 0
}
