package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// ParseZip parses the files of a ZIP archive. The name of each is a heading above its text. Files that cannot be read, such as pictures, and
// hidden ones are left out, as are links.
func ParseZip(ctx context.Context, src document.Source) (document.Parsed, error) {
	z, err := Open(src.Data)
	if err != nil {
		return document.Parsed{}, err
	}
	c := collector{ctx: ctx, src: src}
	for _, name := range z.Members {
		if hidden(name) || z.files[name].UncompressedSize64 > uint64(src.Limits.Bytes) {
			continue
		}
		data, err := z.Read(name)
		if r, ok := errors.AsType[document.Refusal](err); ok && r.Code != fault.TooLarge {
			continue // a damaged member
		}
		if err == nil {
			err = c.add(name, data)
		}
		if err != nil {
			return document.Parsed{}, err
		}
		if c.full {
			break
		}
	}
	return c.parsed()
}

// ParseTar is like ParseZip, for tar archives (POSIX.1-2001 pax, ustar, and GNU's).
func ParseTar(ctx context.Context, src document.Source) (document.Parsed, error) {
	return parseTar(ctx, src, bytes.NewReader(src.Data))
}

// IsTar reports whether data begins like a tar archive.
func IsTar(data []byte) bool { return len(data) >= 512 && string(data[257:262]) == "ustar" }

func parseTar(ctx context.Context, src document.Source, r io.Reader) (document.Parsed, error) {
	c := collector{ctx: ctx, src: src}
	left := int64(MaxSize) // of the contents, which a sparse file can make larger than the archive
	t := tar.NewReader(r)
	for n := 0; !c.full; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return c.parsed()
		case n >= MaxMembers:
			return document.Parsed{}, document.TooLarge("holds more than %d files", MaxMembers)
		case ctx.Err() != nil:
			return document.Parsed{}, ctx.Err()
		case err != nil:
			return c.cutOff(err)
		}
		name := strings.TrimPrefix(h.Name, "./")
		if h.Typeflag != tar.TypeReg || !local(name) || hidden(name) || h.Size > int64(src.Limits.Bytes) {
			continue
		}
		if left -= h.Size; left < 0 {
			return document.Parsed{}, document.TooLarge("holds more than %d bytes when it is decompressed", MaxSize)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return c.cutOff(err)
		}
		if err := c.add(name, data); err != nil {
			return document.Parsed{}, err
		}
	}
	return c.parsed()
}

// IsCompressed reports whether data begins like a file of gzip, bzip2, xz or Zstandard.
func IsCompressed(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x1f\x8b\x08")) || bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) || bytes.HasPrefix(data, []byte(xzMagic)) ||
		bytes.HasPrefix(data, []byte("BZh")) && len(data) > 10 && string(data[4:10]) == "1AY&SY"
}

// ParseCompressed parses the document that a compressed file contains, or the files of a tar archive.
func ParseCompressed(ctx context.Context, src document.Source) (document.Parsed, error) {
	r, done, err := decompress(src.Data)
	if err != nil {
		return document.Parsed{}, document.Refuse(err, "not a valid compressed file")
	}
	defer done()
	b := bufio.NewReader(&bounded{ctx: ctx, r: r, packed: int64(len(src.Data))})
	if head, _ := b.Peek(512); IsTar(head) {
		return parseTar(ctx, src, b)
	}
	data, err := io.ReadAll(io.LimitReader(b, int64(src.Limits.Bytes)+1))
	if err != nil {
		return document.Parsed{}, unpacked(err, "compressed file")
	}
	if len(data) > src.Limits.Bytes {
		return document.Parsed{}, document.TooLarge("larger than the limit of %d bytes when it is decompressed", src.Limits.Bytes)
	}
	return src.Embed(ctx, document.Source{Name: strings.TrimSuffix(src.Name, path.Ext(src.Name)), Data: data})
}

// maxWindow limits the memory of a decoder of Zstandard or xz, in bytes.
const maxWindow = 64 << 20

func decompress(data []byte) (r io.Reader, done func(), err error) {
	switch data[0] {
	case 'B':
		return bzip2.NewReader(bytes.NewReader(data)), func() {}, nil
	case xzMagic[0]:
		x, err := newXZ(data)
		return x, func() {}, err
	case 0x28:
		d, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return d, d.Close, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	return z, func() {}, err
}

// bounded is decompressed data within the limits of size and ratio.
type bounded struct {
	ctx          context.Context
	r            io.Reader
	packed, read int64
}

// Read returns an error that is a refusal beyond the limits.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.read += int64(n)
	if b.read > MaxSize {
		return 0, document.TooLarge("holds more than %d bytes when it is decompressed", MaxSize)
	}
	if b.read > ratioFloor && b.read/maxRatio > b.packed {
		return 0, document.TooLarge("a file in it is compressed more than %d times", maxRatio)
	}
	return n, err
}

func unpacked(err error, what string) error {
	if r, ok := errors.AsType[document.Refusal](err); ok {
		return r
	}
	return document.Refuse(err, "not a valid %s", what)
}

// hidden reports whether a member is hidden or belongs to the archive's tool.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") || strings.HasPrefix(name, "__MACOSX/")
}

// collector collects the text of members.
type collector struct {
	ctx  context.Context
	src  document.Source
	out  []document.Block
	size int
	full bool // over a limit for which package parse refuses the document
}

func (c *collector) add(name string, data []byte) error {
	p, err := c.src.Embed(c.ctx, document.Source{Name: name, Data: data})
	if c.ctx.Err() != nil || errors.Is(err, document.ErrEmbedded) {
		return err
	}
	if err != nil || len(p.Blocks) == 0 {
		return nil //nolint:nilerr // a member that cannot be read, such as a picture
	}
	for _, b := range p.Blocks {
		c.size += len(b.Text)
	}
	c.out = append(c.out, document.Block{Kind: document.Heading, Level: 1, Text: name})
	c.out = append(c.out, document.Embedded(p.Blocks, 1)...)
	c.full = c.size > c.src.Limits.Text || len(c.out) > c.src.Limits.Blocks
	return nil
}

// cutOff returns what is before the damaged part of an archive, unless that is a limit.
func (c *collector) cutOff(err error) (document.Parsed, error) {
	if _, ok := errors.AsType[document.Refusal](err); ok || len(c.out) == 0 {
		return document.Parsed{}, unpacked(err, "tar archive")
	}
	return c.parsed()
}

func (c *collector) parsed() (document.Parsed, error) {
	if len(c.out) == 0 {
		return document.Parsed{}, document.Refuse(nil, "an archive without a file that can be read")
	}
	return document.Parsed{Blocks: c.out}, nil
}
