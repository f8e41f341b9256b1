package server

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/fault"
)

// maxWindow bounds the memory that a zstd frame of a request may ask for, in bytes. RFC 8878 recommends that decoders support 8 MiB.
const maxWindow = 8 << 20

// bodyDecoders open the decoders of request bodies, by content coding.
var bodyDecoders = map[string]func(io.Reader) (io.ReadCloser, error){
	"gzip":    func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.ReadCloser, error) { return zlib.NewReader(r) }, // RFC 9110, section 8.4.1.2
	"zstd": func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// maxEncoded is the limit of an encoded body whose decoded form may have limit bytes. Data that cannot be compressed grows a
// little. More would be empty: gzip members, blocks or zstd frames that decode to nothing.
func maxEncoded(limit int64) int64 { return limit + limit/16 + 4<<10 }

// decoded decodes the body of a request as its Content-Encoding says, so that every limit of a body counts decoded bytes. The
// encoded bytes are limited too: limit is that of the route. A coding that is not supported is refused with 415.
func (p port) decoded(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		coding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
		if r.Body == nil || r.Body == http.NoBody || coding == "" || coding == "identity" {
			next.ServeHTTP(w, r)
			return
		}
		open := bodyDecoders[coding]
		if open == nil {
			p.limit(w)
			w.Header().Set("Accept-Encoding", "gzip, zstd, deflate")
			p.replyError(w, UnsupportedMedia("Content-Encoding", "want one of gzip, zstd and deflate, or none"))
			return
		}
		d := &decodedBody{raw: http.MaxBytesReader(w, r.Body, maxEncoded(limit)), coding: coding, open: open}
		defer d.release()
		r = r.WithContext(r.Context()) // the caller's stays as it is
		r.Header = r.Header.Clone()
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		r.Body, r.ContentLength = d, -1
		next.ServeHTTP(w, r)
	})
}

// decodedBody decodes a body. The decoder is opened by the first Read, when the deadlines of the route hold.
type decodedBody struct {
	raw    io.ReadCloser
	coding string
	open   func(io.Reader) (io.ReadCloser, error)
	buf    *bufio.Reader
	dec    io.ReadCloser
	failed error // of reading raw
	err    error
}

// Read implements [io.Reader].
func (d *decodedBody) Read(b []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.dec == nil {
		d.buf = bufio.NewReader(rawBody{d}) // decoders that are given an io.ByteReader read nothing beyond their end
		dec, err := d.open(d.buf)
		if err != nil {
			return 0, d.fail(err)
		}
		d.dec = dec
	}
	n, err := d.dec.Read(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		err = d.atEnd()
	}
	return n, d.fail(err)
}

// atEnd returns io.EOF if nothing follows the encoded data.
func (d *decodedBody) atEnd() error {
	if _, err := d.buf.ReadByte(); err == nil {
		return errors.New("something follows the encoded data")
	}
	return io.EOF // or what rawBody kept
}

// fail keeps the first error. Of one that the decoder met, the client learns that the body is not valid.
func (d *decodedBody) fail(err error) error {
	switch {
	case d.failed != nil:
		err = d.failed
	case !errors.Is(err, io.EOF):
		err = fault.Invalid("body", "not valid %s", d.coding)
	}
	d.err = err
	return err
}

// Close implements [io.Closer].
func (d *decodedBody) Close() error { return d.raw.Close() }

func (d *decodedBody) release() {
	if d.dec != nil {
		_ = d.dec.Close()
	}
}

// rawBody reads the encoded body and keeps its error, which decoders may replace.
type rawBody struct{ *decodedBody }

// Read implements [io.Reader].
func (r rawBody) Read(b []byte) (int, error) {
	n, err := r.raw.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}
