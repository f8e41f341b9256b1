package server

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// compressor is a writer that can end a block, so that what was written so far can be read.
type compressor interface {
	io.Writer
	Flush() error
	Reset(w io.Writer)
}

// coding is a content coding with its idle compressors. A body in it is head, blocks, tail and trailer. Blocks of one
// compressor may follow those of another behind a bridge: what they refer to they have told themselves.
type coding struct {
	name   string
	pool   sync.Pool
	skip   int    // bytes of its own head that a compressor begins with
	head   []byte // of a body
	bridge []byte // blocks between those of one compressor and those of another
	filler []byte // what the bridge is decompressed to; readers of a protocol with comments ignore it
	tail   []byte // the last block
	sums   bool   // the trailer is a checksum and a length
}

// The codings, the preferred one first. Zstandard's window is 64 KiB, which holds several snapshots, at the level whose frames
// are smallest where they repeat the one before; gzip is the standard library's, which makes small flushed frames the smallest.
var codings = []*coding{
	{name: "zstd", pool: sync.Pool{New: func() any {
		w, err := zstd.NewWriter(nil, zstd.WithWindowSize(64<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			panic(err) // the options are constant
		}
		return w
	}},
		// A frame of unknown size without a checksum, and its window (RFC 8878, 3.1.1.1).
		head: []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 6 << 3}, skip: 6,
		bridge: repeatOffsets, filler: []byte(":" + strings.Repeat(" ", 17) + "\n"),
		tail: []byte{1, 0, 0}}, // the last block, raw, of no bytes
	{name: "gzip", pool: sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, flate.DefaultCompression)
		if err != nil {
			panic(err) // the level is constant
		}
		return w
	}},
		head: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, // deflate, and nothing about a file (RFC 1952, 2.3)
		tail: []byte{3, 0}, sums: true},                     // the last block, with Huffman's fixed codes, of no bytes
}

// repeatOffsets are two blocks that leave a decoder with the offsets 1, 4 and 8 as the ones used last, as a frame's first
// block finds them (RFC 8878, 3.1.1.5): a compressor's first block may use them. Both hold literals, sequences whose codes
// stand once for all of them, and the bits that the codes want more: nine literals and three bytes from eight before; then
// three bytes from four before, three from one before, and a literal.
var repeatOffsets = append(append([]byte{16<<3 | 4, 0, 0, 9 << 3}, ":        \x01\x54\x09\x03\x00\x0b"...),
	8<<3|4, 0, 0, 1<<3, '\n', 2, 0x54, 0, 2, 0, 0x1c)

// joins tells whether blocks of one compressor may follow those of another in a body: not where the bridge between them is
// something that readers would see.
func (c *coding) joins(comments bool) bool { return c == nil || len(c.filler) == 0 || comments }

// open takes a compressor that begins.
func (c *coding) open(w io.Writer) compressor {
	comp := c.pool.Get().(compressor)
	comp.Reset(w)
	return comp
}

// put keeps a compressor for later.
func (c *coding) put(comp compressor) {
	comp.Reset(nil)
	c.pool.Put(comp)
}

// beheaded takes the compressor's own head from the first of its bytes.
func (c *coding) beheaded(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, c.head[:c.skip]) {
		return nil, fmt.Errorf("compress with %s: the head is %.16x", c.name, b)
	}
	return b[c.skip:], nil
}

// end appends what ends a body of which so much was told.
func (c *coding) end(dst []byte, told sum) []byte {
	dst = append(dst, c.tail...)
	if c.sums {
		dst = binary.LittleEndian.AppendUint32(dst, told.crc)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(told.n)) //nolint:gosec // the length is told modulo 2^32
	}
	return dst
}

// negotiate picks the coding for an Accept-Encoding header (RFC 9110, 12.5.3): of those that we have, the one of the
// highest weight, and of equals the first of ours. Nil is identity, which is also for a request without the header.
func negotiate(header string) *coding {
	var best *coding
	bestQ, named := accepted(header, "identity")
	if !named {
		bestQ = 0 // it may be sent, but nobody has asked for it
	}
	for _, c := range codings {
		q, _ := accepted(header, c.name)
		if q > bestQ || best == nil && named && q == bestQ && q > 0 {
			best, bestQ = c, q
		}
	}
	return best
}

// accepted gives the weight of a coding, which "*" stands for where it is not named.
func accepted(header, coding string) (q float64, named bool) {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == coding:
			q, named = weight(params), true
		case name == "*" && !named:
			q = weight(params)
		}
	}
	return q, named
}

func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		if v, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
			q, err := strconv.ParseFloat(v, 64)
			if err != nil || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}
