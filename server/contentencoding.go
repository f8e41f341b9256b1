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

// maxWindow limits the memory that the zstd decoder of a request needs, in bytes. RFC 8878 recommends to support at least 8
// MiB.
const maxWindow = 8 << 20

// bodyDecoders returns a decoder for a content coding.
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

// maxEncoded returns the limit of an encoded body that decodes to at most limit bytes. Encoding can make data slightly
// larger. A larger body consists of parts that decode to nothing, such as empty gzip members.
func maxEncoded(limit int64) int64 { return limit + limit/16 + 4<<10 }

// decoded decodes the body of a request according to its Content-Encoding, so that all limits count decoded bytes. It
// limits the encoded bytes too. Unsupported encodings are rejected with 415.
func (h handler) decoded(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		coding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
		if r.Body == nil || r.Body == http.NoBody || coding == "" || coding == "identity" {
			next.ServeHTTP(w, r)
			return
		}
		open := bodyDecoders[coding]
		if open == nil {
			h.setDeadlines(w, r)
			w.Header().Set("Accept-Encoding", "gzip, zstd, deflate")
			h.replyError(w, UnsupportedMedia("Content-Encoding", "want one of gzip, zstd and deflate, or none"))
			return
		}
		d := &decodedBody{raw: http.MaxBytesReader(w, r.Body, maxEncoded(limit)), coding: coding, open: open}
		defer d.release()
		r = r.WithContext(r.Context()) // the handler must not modify the caller's request
		r.Header = r.Header.Clone()
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
		r.Body, r.ContentLength = d, -1
		next.ServeHTTP(w, r)
	})
}

// decodedBody decodes a body. The first Read opens the decoder, because the deadlines of the route are set by then.
type decodedBody struct {
	raw    io.ReadCloser
	coding string
	open   func(io.Reader) (io.ReadCloser, error)
	buf    *bufio.Reader
	dec    io.ReadCloser
	failed error // error of reading raw
	err    error
}

// Read implements [io.Reader].
func (d *decodedBody) Read(b []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.dec == nil {
		d.buf = bufio.NewReader(rawBody{d}) // an io.ByteReader, so that decoders do not read beyond their end
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

// atEnd returns io.EOF if no data follows the encoded data.
func (d *decodedBody) atEnd() error {
	if _, err := d.buf.ReadByte(); err == nil {
		return errors.New("something follows the encoded data")
	}
	return io.EOF // replaced by the error of rawBody, if there is one
}

// fail sets the error of all further reads. If the decoder has failed, the body is invalid.
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

// rawBody reads the encoded body and keeps its error, because decoders may return another one.
type rawBody struct{ *decodedBody }

// Read implements [io.Reader].
func (r rawBody) Read(b []byte) (int, error) {
	n, err := r.raw.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}
