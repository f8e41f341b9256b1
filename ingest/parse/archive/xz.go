package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

const xzMagic = "\xfd7zXZ\x00"

// xzReader reads the blocks of an xz file (The .xz File Format 1.2.1), which may be of several streams. The library's own reader of files allocates
// the dictionary that a block states, of up to 4 GiB; this one refuses those over maxWindow. The index at the end of a stream is skipped.
type xzReader struct {
	src   *bytes.Reader
	check byte // of the stream, by its number
	block io.Reader
	from  int64 // offset of the block's data
	err   error // of the last Read
	left  int64 // bytes of dictionaries that may still be allocated
	sum   hash.Hash
}

// maxWindows limits the memory of the dictionaries of all blocks together in bytes, since each block allocates its own.
const maxWindows = 4 << 30

var (
	errXZ      = errors.New("xz: damaged")
	errXZKind  = errors.New("xz: unknown filter or check")
	ecma       = crc64.MakeTable(crc64.ECMA)
	xzChecksum = map[byte]int{0: 0, 1: 4, 4: 8, 10: 32} // sizes in bytes: none, CRC-32, CRC-64, SHA-256
)

// newXZ reads the header of the first stream.
func newXZ(data []byte) (*xzReader, error) {
	x := &xzReader{src: bytes.NewReader(data), left: maxWindows}
	return x, x.stream()
}

func (x *xzReader) stream() error {
	var h [12]byte
	if _, err := io.ReadFull(x.src, h[:]); err != nil || string(h[:6]) != xzMagic || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return errXZ
	}
	if _, ok := xzChecksum[h[7]]; !ok || h[6] != 0 {
		return errXZKind
	}
	x.check = h[7]
	return nil
}

// Read returns decompressed data.
func (x *xzReader) Read(p []byte) (n int, err error) {
	for n == 0 && x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err = x.block.Read(p)
		if x.sum != nil {
			x.sum.Write(p[:n])
		}
		if errors.Is(err, io.EOF) {
			x.block, err = nil, x.end()
		}
		x.err = err
	}
	return n, x.err
}

// next reads the header of the next block. At the end of a stream, it skips the index and begins the next stream, if any.
func (x *xzReader) next() error {
	size, err := x.src.ReadByte()
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	if size == 0 {
		return x.nextStream()
	}
	h := make([]byte, (int(size)+1)*4)
	h[0] = size
	if _, err := io.ReadFull(x.src, h[1:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	body := h[:len(h)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(h[len(body):]) {
		return errXZ
	}
	flags, rest := body[1], body[2:]
	if flags&^0xc0 != 0 { // more than one filter, which is for programs
		return errXZKind
	}
	size64 := uint64(maxWindow) // of the block, decompressed
	for _, flag := range []byte{0x40, 0x80} {
		if flags&flag == 0 {
			continue
		}
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return errXZ
		}
		if rest = rest[n:]; flag == 0x80 {
			size64 = v
		}
	}
	if len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		return errXZKind
	}
	window, err := lzma.DecodeDictCap(rest[2])
	if err != nil || window > maxWindow {
		return errXZKind
	}
	window = max(min(window, int64(min(size64, maxWindow))), lzma.MinDictCap) // a block needs no dictionary that is larger than itself
	if x.left -= window; x.left < 0 {
		return errXZKind
	}
	x.from = x.src.Size() - int64(x.src.Len())
	switch x.sum = nil; x.check {
	case 1:
		x.sum = crc32.NewIEEE()
	case 4:
		x.sum = crc64.New(ecma)
	}
	x.block, err = lzma.Reader2Config{DictCap: int(window)}.NewReader2(x.src)
	return err
}

// end checks the checksum at the end of a block.
func (x *xzReader) end() error {
	read := x.src.Size() - int64(x.src.Len()) - x.from
	tail := make([]byte, int(-read&3)+xzChecksum[x.check])
	if _, err := io.ReadFull(x.src, tail); err != nil {
		return io.ErrUnexpectedEOF
	}
	got := tail[len(tail)-xzChecksum[x.check]:]
	if x.sum != nil {
		want := x.sum.Sum(nil) // the most significant byte first
		for i, c := range want {
			if got[len(got)-1-i] != c {
				return errXZ
			}
		}
	}
	return nil
}

// nextStream skips the index and the footer of a stream, and zeros after it. It begins the next stream, or returns io.EOF.
func (x *xzReader) nextStream() error {
	from := x.src.Size() - int64(x.src.Len()) - 1
	count, err := binary.ReadUvarint(x.src)
	if err != nil || count > uint64(x.src.Len()) {
		return errXZ
	}
	for range 2 * count { // the sizes of the blocks
		if _, err := binary.ReadUvarint(x.src); err != nil {
			return errXZ
		}
	}
	read := x.src.Size() - int64(x.src.Len()) - from
	if _, err := io.CopyN(io.Discard, x.src, (-read&3)+4+12); err != nil {
		return errXZ
	}
	for {
		c, err := x.src.ReadByte()
		if err != nil {
			return io.EOF
		}
		if c != 0 {
			_ = x.src.UnreadByte()
			return x.stream()
		}
	}
}
