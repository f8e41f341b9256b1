// Package web has the page of Sluice: the built files of this folder, and their handler. The sources are in src; `make page` builds them into
// dist, which is committed, so that building the program needs no Node.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Most files are compressed, by gzip, which takes 1.7 MB less of the program.
//
//go:embed all:dist
var dist embed.FS

const (
	index       = "dist/index.html"
	embedScript = "/embed.js" // for pages of other origins
)

// policy permits what the page needs: its own files and requests to its own server. There are no inline scripts or styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// file is a built file as it is sent.
type file struct {
	plain, gzip []byte
	etag, media string
}

// Handler serves the page, and passes all other requests to next. The page is public: it holds no data, and asks for a key if the server needs one.
// Programs, which do not ask for HTML, get no page of a run, of a session or of a document that does not exist, but the error of next.
func Handler(next http.Handler) http.Handler {
	var files sync.Map // names to functions that load the file once
	load := func(name string) *file {
		f, _ := files.LoadOrStore(name, sync.OnceValue(func() *file { return read(name) }))
		return f.(func() *file)()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := nameOf(r.URL.Path)
		if name == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		f, status := load(name), http.StatusOK
		if isMissing(next, r) {
			status = http.StatusNotFound // with the page, which tells people that the document is not there
		}
		noPage := status == http.StatusNotFound || strings.HasPrefix(r.URL.Path, "/runs/") || strings.HasPrefix(r.URL.Path, "/sessions/")
		if f == nil || noPage && !strings.Contains(r.Header.Get("Accept"), "text/html") {
			next.ServeHTTP(w, r)
			return
		}
		f.serve(w, r, name, status)
	})
}

// nameOf returns the name of the file for a path; empty: the path is not of the page.
func nameOf(p string) string {
	switch {
	case strings.HasPrefix(p, "/assets/") && path.Clean(p) == p, p == "/favicon.svg", p == embedScript:
		return "dist" + p
	case p == "/" || p == "/documents" || p == "/sources" || p == "/admin" || p == "/compare":
		return index
	}
	for _, prefix := range []string{"/documents/", "/sessions/", "/runs/"} { // pages of one thing
		if id, ok := strings.CutPrefix(p, prefix); ok && id != "" && !strings.Contains(id, "/") {
			return index
		}
	}
	return ""
}

// isMissing reports whether the page is for a document that does not exist, as far as the sender of the request may know: it asks the route of the document with the headers of the request.
func isMissing(next http.Handler, r *http.Request) bool {
	id, ok := strings.CutPrefix(r.URL.Path, "/documents/")
	if !ok {
		return false
	}
	ask := r.Clone(r.Context())
	ask.Method, ask.RequestURI, ask.Body = http.MethodHead, "", http.NoBody
	ask.URL = &url.URL{Path: "/api/documents/" + id, RawPath: "/api/documents/" + url.PathEscape(id)}
	for _, conditional := range []string{"If-None-Match", "If-Modified-Since", "Range"} {
		ask.Header.Del(conditional)
	}
	var reply status
	next.ServeHTTP(&reply, ask)
	return reply.code == http.StatusNotFound
}

// status keeps the status of a reply and discards the rest.
type status struct {
	header http.Header
	code   int
}

// Header implements [http.ResponseWriter].
func (s *status) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}

// WriteHeader implements [http.ResponseWriter].
func (s *status) WriteHeader(code int) {
	if s.code == 0 {
		s.code = code
	}
}

// Write implements [http.ResponseWriter].
func (s *status) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}

func read(name string) *file {
	f := &file{media: mime.TypeByExtension(path.Ext(name))}
	var err error
	if f.gzip, err = dist.ReadFile(name + ".gz"); err == nil {
		f.plain, err = unpack(f.gzip)
	} else {
		f.plain, err = dist.ReadFile(name)
	}
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(f.plain)
	f.etag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return f
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, name string, status int) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "dist/assets/") { // the name contains a hash of the content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if name == "dist"+embedScript {
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*") // for the attribute integrity; the script has no data
	}
	if name == index {
		h.Set("Vary", "Accept, Accept-Encoding")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
	}
	if r.Header.Get("If-None-Match") == f.etag && status == http.StatusOK {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.gzip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = f.gzip
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // fails if the client has left
	}
}
