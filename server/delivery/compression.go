package delivery

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

// compressor is a writer whose Flush ends a block, so that clients can read what was written before.
type compressor interface {
	io.Writer
	Flush() error
	Reset(w io.Writer)
}

// compression is a content coding (RFC 9110, 8.4.1). A body in it is head, blocks, tail and, with checksum, a trailer. Blocks of
// one compressor may follow those of another after a bridge, because they refer only to the text of their own compressor.
type compression struct {
	name       string
	pool       sync.Pool // of compressors
	skip       int       // length of the header that a compressor writes, which is not used
	head       []byte
	bridge     []byte // blocks between those of two compressors
	bridgeText string // decompressed bridge: a comment of the protocol
	tail       []byte // the last block
	checksum   bool   // the body has the trailer
}

// compressions are the supported compressions, the preferred one first. The window of Zstandard is 64 KiB, which holds several
// snapshots. Its level compresses frames that repeat the one before best. gzip is that of the standard library, because it
// compresses small flushed frames best.
var compressions = []*compression{
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
		bridge: repeatOffsets, bridgeText: ":" + strings.Repeat(" ", 17) + "\n",
		tail: []byte{1, 0, 0}}, // the last block, raw, of no bytes
	{name: "gzip", pool: sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, flate.DefaultCompression)
		if err != nil {
			panic(err) // the level is constant
		}
		return w
	}},
		head: []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, // deflate, and nothing about a file (RFC 1952, 2.3)
		tail: []byte{3, 0}, checksum: true},                 // the last block, with Huffman's fixed codes, of no bytes
}

// repeatOffsets are two blocks after which the three offsets used last are 1, 4 and 8, as at the start of a frame (RFC 8878,
// 3.1.1.5). The first block of a compressor may use these. Both blocks hold literals, then sequences whose codes are given once
// for all of them, and the extra bits of the codes: nine literals and three bytes from eight before; then three bytes from four
// before, three from one before, and a literal.
var repeatOffsets = append(append([]byte{16<<3 | 4, 0, 0, 9 << 3}, ":        \x01\x54\x09\x03\x00\x0b"...),
	8<<3|4, 0, 0, 1<<3, '\n', 2, 0x54, 0, 2, 0, 0x1c)

// withoutHeader removes the header of a compressor from its first bytes.
func (c *compression) withoutHeader(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, c.head[:c.skip]) {
		return nil, fmt.Errorf("compress with %s: unknown header %.16x", c.name, b)
	}
	return b[c.skip:], nil
}

// end returns the end of a body whose uncompressed text has a checksum.
func (c *compression) end(sum checksum) []byte {
	end := bytes.Clone(c.tail)
	if c.checksum {
		end = binary.LittleEndian.AppendUint32(end, sum.crc)
		end = binary.LittleEndian.AppendUint32(end, uint32(sum.n)) //nolint:gosec // the length modulo 2^32
	}
	return end
}

// negotiate returns the compression for an Accept-Encoding header (RFC 9110, 12.5.3): the one with the highest weight, and of
// equal ones the first in compressions. It returns nil, for no compression, if the header is empty.
func negotiate(header string) *compression {
	var best *compression
	bestQ, named := accepted(header, "identity")
	if !named {
		bestQ = 0 // acceptable, but every named coding is preferred
	}
	for _, c := range compressions {
		q, _ := accepted(header, c.name)
		if q > bestQ || best == nil && named && q == bestQ && q > 0 {
			best, bestQ = c, q
		}
	}
	return best
}

// accepted returns the weight of a coding. "*" stands for all that are not named.
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
