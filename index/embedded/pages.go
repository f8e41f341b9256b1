package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	bolt "go.etcd.io/bbolt"
)

// The format of a bbolt file, version 2: pages of a fixed size in the byte order of the machine. Pages 0 and 1
// hold the meta records; the one with the higher transaction id is current. Content that is larger than a page continues in the next.
const (
	pageHeader   = 16 // id, 8 bytes; flags, 2; count, 2; overflow, 4
	pageElement  = 16 // of a branch: position, 4, key size, 4, page, 8; of a leaf: flags, position, key size, value size, 4 each
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageMeta     = 0x04
	pageFreelist = 0x10
	bucketHeader = 16 // root page, 8; sequence, 8
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	noFreelist   = ^uint64(0)
	maxDepth     = 64
	maxPageSize  = 64 << 10
)

// tree is one state of a bbolt file.
type tree struct {
	root, freelist uint64 // pages
	high           uint64 // the number of pages
	txid           uint64
	pageSize       int64
}

// readMetaPage reads one of the two meta records.
func readMetaPage(f io.ReaderAt, at int64) (m tree, err error) {
	b := make([]byte, pageHeader+metaSize)
	if _, err := f.ReadAt(b, at); err != nil {
		return m, fmt.Errorf("%w: %w", errDamaged, err)
	}
	order := binary.NativeEndian
	b = b[pageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSize-8])
	if order.Uint32(b) != metaMagic || order.Uint32(b[4:]) != metaVersion || order.Uint64(b[metaSize-8:]) != sum.Sum64() {
		return m, fmt.Errorf("%w: a meta page is not valid", errDamaged)
	}
	return tree{pageSize: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		high: order.Uint64(b[40:]), txid: order.Uint64(b[48:])}, nil
}

// readTrees reads the current state of a file and the one before. Both have to be valid: a meta record is smaller than what a disk
// writes at once, so an invalid one is damaged, and the other one may lack the last change.
func readTrees(f io.ReaderAt) (newest, before tree, err error) {
	a, err := readMetaPage(f, 0)
	if err != nil {
		return a, a, err
	}
	if a.pageSize < 512 || a.pageSize > maxPageSize {
		return a, a, fmt.Errorf("%w: pages of %d bytes", errDamaged, a.pageSize)
	}
	b, err := readMetaPage(f, a.pageSize)
	if err != nil {
		return a, a, err
	}
	if a.txid > b.txid {
		return a, b, nil
	}
	return b, a, nil
}

// newPages returns a reader of one state of a file.
func newPages(ctx context.Context, t tree, f io.ReaderAt) *pages {
	return &pages{tree: t, ctx: ctx, f: f, seen: make([]uint64, (t.high+63)/64)}
}

// pages reads the pages of one state of a file. It checks everything that it reads, so damage is an error. In bbolt, it may be a fault
// that ends the process.
type pages struct {
	tree
	ctx     context.Context
	f       io.ReaderAt
	seen    []uint64 // one bit a page
	buffers [][]byte // by depth
}

func (p *pages) mark(id uint64) error {
	if id < 2 || id >= p.high {
		return fmt.Errorf("%w: page %d of %d", errDamaged, id, p.high)
	}
	if p.seen[id>>6]&(1<<(id&63)) != 0 {
		return fmt.Errorf("%w: page %d is used twice", errDamaged, id)
	}
	p.seen[id>>6] |= 1 << (id & 63)
	return nil
}

// read returns a page together with its overflow pages. The bytes are valid until the next read at the same depth.
func (p *pages) read(id uint64, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, fmt.Errorf("%w: page %d is too deep", errDamaged, id)
	}
	for len(p.buffers) <= depth {
		p.buffers = append(p.buffers, make([]byte, p.pageSize))
	}
	if err := errors.Join(p.ctx.Err(), p.mark(id)); err != nil {
		return nil, err
	}
	b := p.buffers[depth][:p.pageSize]
	if _, err := p.f.ReadAt(b, int64(id)*p.pageSize); err != nil {
		return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	if binary.NativeEndian.Uint64(b) != id {
		return nil, fmt.Errorf("%w: page %d has the number of another page", errDamaged, id)
	}
	more := uint64(binary.NativeEndian.Uint32(b[12:]))
	if more == 0 {
		return b, nil
	}
	if more >= p.high-id {
		return nil, fmt.Errorf("%w: page %d goes beyond the end", errDamaged, id)
	}
	for next := id + 1; next <= id+more; next++ {
		if err := p.mark(next); err != nil {
			return nil, err
		}
	}
	if need := int(more+1) * int(p.pageSize); cap(b) < need {
		b = append(make([]byte, 0, need), b...)
		p.buffers[depth] = b
	}
	b = b[:int64(more+1)*p.pageSize]
	if _, err := p.f.ReadAt(b[p.pageSize:], int64(id+1)*p.pageSize); err != nil {
		return nil, fmt.Errorf("%w: page %d: %w", errDamaged, id, err)
	}
	return b, nil
}

// element is a key with its value in a leaf page.
type element struct {
	bucket     bool
	key, value []byte
}

// span is the range of keys that a page may hold; a nil end means no limit.
type span struct{ from, to []byte }

func (s span) holds(key []byte) bool {
	return bytes.Compare(key, s.from) >= 0 && (s.to == nil || bytes.Compare(key, s.to) < 0)
}

// walk calls do with the elements of the leaves under a page, in order.
func (p *pages) walk(id uint64, depth int, s span, do func(e element) error) error {
	b, err := p.read(id, depth)
	if err != nil {
		return err
	}
	order := binary.NativeEndian
	switch flags := order.Uint16(b[8:]); flags {
	case pageLeaf:
		return leaf(b, id, s, do)
	case pageBranch:
	default:
		return fmt.Errorf("%w: page %d has flags %x", errDamaged, id, flags)
	}
	count := int(order.Uint16(b[10:]))
	if count == 0 || pageHeader+count*pageElement > len(b) {
		return fmt.Errorf("%w: page %d has %d children", errDamaged, id, count)
	}
	keys := make([][]byte, count)
	for i := range count {
		at := pageHeader + i*pageElement
		position, size := int(order.Uint32(b[at:])), int(order.Uint32(b[at+4:]))
		if at+position+size > len(b) {
			return fmt.Errorf("%w: page %d: a key goes beyond the end", errDamaged, id)
		}
		keys[i] = b[at+position:][:size]
		if !s.holds(keys[i]) || i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 {
			return fmt.Errorf("%w: page %d: a key is out of order", errDamaged, id)
		}
	}
	for i, key := range keys {
		below := span{key, s.to}
		if i+1 < count {
			below.to = keys[i+1]
		}
		child := order.Uint64(b[pageHeader+i*pageElement+8:])
		if err := p.walk(child, depth+1, below, do); err != nil {
			return err
		}
	}
	return nil
}

// leaf calls do with the elements of a leaf page.
func leaf(b []byte, id uint64, s span, do func(e element) error) error {
	order := binary.NativeEndian
	if len(b) < pageHeader || order.Uint16(b[8:]) != pageLeaf {
		return fmt.Errorf("%w: page %d is no leaf", errDamaged, id)
	}
	count := int(order.Uint16(b[10:]))
	if pageHeader+count*pageElement > len(b) {
		return fmt.Errorf("%w: page %d has %d elements", errDamaged, id, count)
	}
	var last []byte
	for i := range count {
		at := pageHeader + i*pageElement
		flags, position := order.Uint32(b[at:]), int(order.Uint32(b[at+4:]))
		key, value := int(order.Uint32(b[at+8:])), int(order.Uint32(b[at+12:]))
		if flags > 1 || at+position+key+value > len(b) {
			return fmt.Errorf("%w: page %d: element %d is not valid", errDamaged, id, i)
		}
		at += position
		e := element{flags == 1, b[at : at+key], b[at+key : at+key+value]}
		if !s.holds(e.key) || i > 0 && bytes.Compare(last, e.key) >= 0 {
			return fmt.Errorf("%w: page %d: a key is out of order", errDamaged, id)
		}
		last = e.key
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// content reads all buckets. It returns their sums as computed, and as they are stored in the file; a file of a format before sums
// stores none.
func (p *pages) content() (computed, stored sums, err error) {
	computed = sums{}
	var format, raw, last []byte
	err = p.walk(p.root, 0, span{}, func(e element) error {
		if !e.bucket || len(e.value) < bucketHeader {
			return fmt.Errorf("%w: %.20q is no bucket", errDamaged, e.key)
		}
		name := string(e.key)
		total := bucketSum{Sequence: binary.NativeEndian.Uint64(e.value[8:])}
		add := func(e element) error {
			switch {
			case e.bucket:
				return fmt.Errorf("%w: a bucket in bucket %.20q", errDamaged, name)
			case name == string(bucketMeta) && bytes.Equal(e.key, keySums):
				raw = bytes.Clone(e.value)
				return nil
			case name == string(bucketMeta) && bytes.Equal(e.key, keyTxID):
				last = bytes.Clone(e.value)
				return nil
			case name == string(bucketMeta) && bytes.Equal(e.key, keyFormat):
				format = bytes.Clone(e.value)
			}
			total.add(e.key, e.value)
			return nil
		}
		var err error
		if root := binary.NativeEndian.Uint64(e.value); root == 0 {
			err = leaf(e.value[bucketHeader:], 0, span{}, add)
		} else {
			err = p.walk(root, maxDepth/2, span{}, add)
		}
		computed[name] = total
		return err
	})
	switch {
	case err != nil:
	case hasSums(string(format)):
		stored = sums{}
		if err = unsealJSON(raw, &stored); err != nil {
			err = fmt.Errorf("%w: sums: %w", errDamaged, err)
		} else if last != nil && !bytes.Equal(last, binary.BigEndian.AppendUint64(nil, p.txid)) {
			err = fmt.Errorf("%w: it is not the state of the last transaction", errDamaged)
		}
	case format == nil && !computed.empty(): // the key always exists, unless its page was overwritten by a page of another bucket
		err = fmt.Errorf("%w: bucket %s has no format", errDamaged, bucketMeta)
	}
	return computed, stored, err
}

// free returns the pages of the freelist. It is an error if one of them is in use.
func (p *pages) free() (ids []uint64, err error) {
	if p.freelist == noFreelist {
		return nil, nil
	}
	b, err := p.read(p.freelist, 0)
	if err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint16(b[8:]) != pageFreelist {
		return nil, fmt.Errorf("%w: page %d is no list of free pages", errDamaged, p.freelist)
	}
	list, count := b[pageHeader:], uint64(binary.NativeEndian.Uint16(b[10:]))
	if count == 0xFFFF {
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if count > uint64(len(list)/8) {
		return nil, fmt.Errorf("%w: %d free pages", errDamaged, count)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(list[8*i:])
		if err := p.mark(id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// verifyFile reads the whole bbolt file at path, without bbolt, and returns the sums of its buckets. It is an error if they differ from
// the sums stored in the file. A file of a format before sums stores none.
func verifyFile(ctx context.Context, path string) (sums, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	newest, _, err := readTrees(f)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if size := info.Size() / newest.pageSize; newest.high < 2 || newest.high > uint64(size) {
		return nil, fmt.Errorf("%w: has %d pages where %d were written", errDamaged, size, newest.high)
	}
	p := newPages(ctx, newest, f)
	// Read ahead: the walk itself goes from page to page.
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.NewSectionReader(f, 0, int64(p.high)*p.pageSize), make([]byte, 1<<20)); err != nil {
		return nil, err
	}
	computed, stored, err := p.content()
	if err != nil {
		return nil, err
	}
	if _, err := p.free(); err != nil {
		return nil, err
	}
	return computed, computed.compare(stored)
}

// verifyTx verifies the state that a read transaction sees.
func verifyTx(ctx context.Context, tx *bolt.Tx, f io.ReaderAt) error {
	size := int64(tx.DB().Info().PageSize)
	computed, stored, err := newPages(ctx, tree{root: uint64(tx.Cursor().Bucket().Root()), high: uint64(tx.Size() / size), txid: uint64(tx.ID()), pageSize: size}, f).content()
	if err != nil {
		return err
	}
	return computed.compare(stored)
}
