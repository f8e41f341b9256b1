package server

import (
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// compressor is a writer that can end a block, so that what was written so far can be read.
type compressor interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// encoding is a content coding with its idle compressors.
type encoding struct {
	name string
	pool sync.Pool
}

// The encodings, the preferred one first. Zstandard's window is 32 KiB, since a stream is flushed at each frame and a large
// window would cost memory for each reader and gain nothing; gzip is the standard library's, which makes small flushed
// frames the smallest.
var encodings = []*encoding{
	{name: "zstd", pool: sync.Pool{New: func() any {
		w, err := zstd.NewWriter(nil, zstd.WithWindowSize(32<<10), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err) // the options are constant
		}
		return w
	}}},
	{name: "gzip", pool: sync.Pool{New: func() any { return gzip.NewWriter(nil) }}},
}

func (e *encoding) open(w io.Writer) compressor {
	c := e.pool.Get().(compressor)
	c.Reset(w)
	return c
}

// put keeps a compressor for later; it was closed.
func (e *encoding) put(c compressor) {
	c.Reset(nil)
	e.pool.Put(c)
}

// negotiate picks the encoding for an Accept-Encoding header (RFC 9110, 12.5.3): of those that we have, the one of the
// highest weight, and of equals the first of ours. Nil is identity, which is also for a request without the header.
func negotiate(header string) *encoding {
	var best *encoding
	bestQ, named := accepted(header, "identity")
	if !named {
		bestQ = 0 // it may be sent, but nobody has asked for it
	}
	for _, e := range encodings {
		q, _ := accepted(header, e.name)
		if q > bestQ || best == nil && named && q == bestQ && q > 0 {
			best, bestQ = e, q
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
