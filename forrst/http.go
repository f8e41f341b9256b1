package forrst

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// ServeHTTP answers one call. Mount it at any path, usually POST /forrst.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := Incoming{Headers: HeadersOf(r.Header), Received: time.Now()}
	out := &httpWriter{w: w, rc: http.NewResponseController(w), timeout: s.options.WriteTimeout, proto: r.ProtoMajor}
	refuse := func(status int, e *CallError) {
		e.status = status
		s.Refuse(in, e, out)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(http.StatusMethodNotAllowed, Errorf(InvalidRequest, "the method must be POST"))
		return
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		refuse(http.StatusUnsupportedMediaType, Errorf(InvalidRequest, "the content type must be application/json"))
		return
	}
	var err error
	in.Body, err = readBody(w, r, s.options.MaxRequest)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		s.Refuse(in, s.tooLarge(), out)
		return
	}
	if err != nil {
		refuse(http.StatusBadRequest, Errorf(InvalidRequest, "the body cannot be read"))
		return
	}
	s.Serve(r.Context(), in, out)
}

// readBody reads the body to its end: only then net/http notices that the client has disconnected.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// HeadersOf returns what the headers of HTTP say, or those of another transport that have the same names.
func HeadersOf(h http.Header) Headers {
	return Headers{TraceID: h.Get("X-Forrst-Trace-Id"), SpanID: h.Get("X-Forrst-Span-Id"), ParentSpanID: h.Get("X-Forrst-Parent-Span-Id"),
		Traceparent: h.Get("Traceparent"), RequestID: h.Get("X-Forrst-Request-Id"), Caller: h.Get("X-Forrst-Caller")}
}

// httpWriter writes the reply of a call over HTTP.
type httpWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	proto   int       // major version of HTTP
	limit   time.Time // the write deadline
}

// Header implements [Writer].
func (h *httpWriter) Header() http.Header { return h.w.Header() }

// Reply implements [Writer].
func (h *httpWriter) Reply(status int, document []byte) error {
	header := h.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(document)))
	h.w.WriteHeader(status)
	var err error
	for part := range slices.Chunk(document, writeSize) { // each has the timeout, so that large documents can take longer
		h.limitWrite()
		if _, err = h.w.Write(part); err != nil {
			return err
		}
	}
	return h.flush(true)
}

// writeSize is the size of a part of a document that is written at once, in bytes.
const writeSize = 64 << 10

// limitWrite sets the write deadline: a client has between half of the timeout and all of it to take what is written.
func (h *httpWriter) limitWrite() {
	if now := time.Now(); h.limit.Sub(now) < h.timeout/2 { // setting it for each event would be slow
		h.limit = now.Add(h.timeout)
		_ = h.rc.SetWriteDeadline(h.limit) // not every writer has one
	}
}

func (h *httpWriter) flush(last bool) error {
	err := h.rc.Flush()
	if last {
		_ = h.rc.SetWriteDeadline(time.Time{}) // the next request on the connection has none
	}
	return err
}

// Begin implements [Writer].
func (h *httpWriter) Begin() error {
	header := h.w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	if h.proto == 1 {
		header.Set("Connection", "keep-alive")
	}
	h.w.WriteHeader(http.StatusOK)
	return nil
}

// Event implements [Writer] with one write and one flush.
func (h *httpWriter) Event(event []byte, last bool) error {
	h.limitWrite()
	if _, err := h.w.Write(event); err != nil {
		return err
	}
	return h.flush(last)
}
