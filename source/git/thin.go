package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // the format has it
	"encoding/binary"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/sluice-rag/sluice/fault"
)

// complete writes the objects of a thin pack to out as a complete pack without deltas. A thin pack has deltas whose bases are only in other packs. It is needed because servers leave out the objects of an
// earlier commit without history only from thin packs.
func (p *packs) complete(ctx context.Context, thin, out file) error {
	c := &completer{packs: p, out: out, w: bufio.NewWriterSize(out, 1<<20), at: packHeader, objects: map[plumbing.Hash]stored{}}
	_, err := guarded(func() (any, error) {
		in := &input{thin, ctx}
		if err := checkPack(in, p.limits); err != nil {
			return nil, err
		}
		if _, err := thin.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		if _, err := c.w.Write(make([]byte, packHeader)); err != nil {
			return nil, err
		}
		parser, err := packfile.NewParserWithStorage(packfile.NewScanner(in), c)
		if err == nil {
			_, err = parser.Parse()
		}
		return nil, err
	})
	coded, isCoded := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return c.finish()
	case c.err != nil:
		return c.err
	case ctx.Err() != nil:
		return ctx.Err()
	case isCoded:
		return coded
	}
	return errDamaged
}

// file is the part of [os.File] that packs need.
type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
}

// packHeader is the size of the header of a pack in bytes: PACK, its version and the number of objects.
const packHeader = 12

// completer stores the objects of a thin pack. Of its interface, it has the methods that the parser calls.
type completer struct {
	storer.EncodedObjectStorer
	packs   *packs
	out     file
	w       *bufio.Writer
	at      int64 // end of what is written
	objects map[plumbing.Hash]stored
	err     error // of the file
}

// stored is where an object is in the file.
type stored struct {
	at, size int64
	kind     plumbing.ObjectType
}

// SetEncodedObject implements [storer.EncodedObjectStorer].
func (c *completer) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	h := o.Hash()
	if _, twice := c.objects[h]; twice {
		return h, nil
	}
	r, err := o.Reader()
	if err != nil {
		return h, err
	}
	var b bytes.Buffer
	size := uint64(o.Size())
	first := byte(o.Type())<<4 | byte(size&0x0f) // gitformat-pack(5)
	if size >>= 4; size > 0 {
		first |= 0x80
	}
	b.WriteByte(first)
	if size > 0 {
		b.Write(binary.AppendUvarint(nil, size))
	}
	start := int64(b.Len())
	z := zlib.NewWriter(&b)
	_, err = io.Copy(z, r)
	if err = errors.Join(err, z.Close(), r.Close()); err != nil {
		return h, err
	}
	c.objects[h] = stored{c.at + start, o.Size(), o.Type()}
	n, err := b.WriteTo(c.w)
	c.at += n
	if err != nil {
		c.err = err
	}
	return h, err
}

// EncodedObject implements [storer.EncodedObjectStorer]. The type is any.
func (c *completer) EncodedObject(_ plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	at, ok := c.objects[h]
	if !ok {
		return c.packs.find(h, c.packs.limits.Object)
	}
	if err := c.w.Flush(); err != nil {
		c.err = err
		return nil, err
	}
	z, err := zlib.NewReader(io.NewSectionReader(c.out, at.at, c.at-at.at))
	if err != nil {
		return nil, err
	}
	o := new(plumbing.MemoryObject)
	o.SetType(at.kind)
	o.SetSize(at.size)
	_, err = io.Copy(o, io.LimitReader(z, at.size))
	return o, errors.Join(err, z.Close())
}

// finish writes the number of objects and the hash of the pack.
func (c *completer) finish() error {
	if err := c.w.Flush(); err != nil {
		return err
	}
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(c.objects)))
	if _, err := c.out.WriteAt(header, 0); err != nil {
		return err
	}
	sum := sha1.New() //nolint:gosec // the format has it
	if _, err := io.Copy(sum, io.NewSectionReader(c.out, 0, c.at)); err != nil {
		return err
	}
	_, err := c.out.WriteAt(sum.Sum(nil), c.at)
	return err
}
