package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/source"
)

// Page is what a visit found at a URL.
type Page struct {
	URL       *url.URL `json:"-"`
	Status    int      `json:"-"` // of HTTP; 200 also if the page has not changed
	Redirect  string   `json:"-"` // where the page redirects to, in its one form
	Document  bool     `json:"-"` // the content can be a document
	ETag      string   `json:"etag,omitempty"`
	Modified  string   `json:"modified,omitempty"`
	MediaType string   `json:"media_type,omitempty"`
	SHA256    string   `json:"sha256"`
	Canonical string   `json:"canonical,omitempty"`
	Links     []string `json:"links,omitempty"`
	NoIndex   bool     `json:"noindex,omitempty"`
	NoFollow  bool     `json:"nofollow,omitempty"`
}

// Session is one listing of a location. Its methods other than Read must not be called concurrently.
type Session struct {
	*Client
	path    string // of the file of the memory
	before  memory // of the last listing
	seen    map[string]Page
	ends    time.Time
	visits  int
	fetched int64

	mu     sync.Mutex
	spool  *os.File // contents that were downloaded
	stored map[string]part
}

// part is the place of the content of a page in the spool.
type part struct{ at, n int64 }

// ErrLimit is the error of a visit over the limits of pages, bytes or time.
var ErrLimit = errors.New("limit of a listing")

// Open begins a listing. Close must be called after the documents were read.
func (c *Client) Open(location string) (*Session, error) {
	s := &Session{Client: c, seen: map[string]Page{}, stored: map[string]part{}, ends: time.Now().Add(c.o.Time)}
	dir := c.o.Dir
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open pages of source: %w", err)
		}
		s.path, s.before = recall(dir, location)
	}
	f, err := os.CreateTemp(dir, "download-*")
	if err != nil {
		return nil, fmt.Errorf("open pages of source: %w", err)
	}
	_ = os.Remove(f.Name()) // so that nothing is left after a crash; on Windows, Close removes it
	s.spool = f
	return s, nil
}

// Close releases the contents.
func (s *Session) Close() error {
	err := s.spool.Close()
	if rerr := os.Remove(s.spool.Name()); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// Known returns what the last listing found at a URL.
func (s *Session) Known(u string) (Page, bool) {
	p, ok := s.before.Pages[u]
	p.Document = ok
	return p, ok
}

// Complete reports whether all pages that the last listing found are known.
func (s *Session) Complete() bool { return s.before.Complete }

// Visit requests a page, unless its content is known and has not changed. It does not follow redirects. The error is [ErrLimit], that of the context, or
// one for users.
func (s *Session) Visit(ctx context.Context, raw string) (Page, error) {
	u, err := Parse(raw)
	if err != nil {
		return Page{}, err
	}
	if s.visits >= s.o.Pages || s.fetched >= s.o.Bytes {
		return Page{}, ErrLimit
	}
	s.visits++
	known := s.before.Pages[raw]
	p := Page{URL: u}
	from := s.fetched
	res, err := s.get(ctx, u, fetch.Request{URL: raw, ETag: known.ETag, Modified: known.Modified, Direct: true, Accept: func(m string) bool { return isDocument(m, u) }})
	if err != nil {
		return p, err
	}
	p.Status = res.Status
	switch {
	case res.Status == http.StatusNotModified && known.SHA256 != "":
		known.URL, known.Status, known.Document = u, http.StatusOK, true
		s.seen[raw] = known
		return known, nil
	case res.Status >= 300 && res.Status < 400:
		p.Redirect = Resolve(u, res.Header.Get("Location"))
	case res.Status == http.StatusOK && !res.Unwanted:
		if p, err = s.take(p, res, from); err == nil {
			s.seen[raw] = p
		}
	}
	return p, err
}

// take reads what is needed of a page that was downloaded.
func (s *Session) take(p Page, res fetch.Response, from int64) (Page, error) {
	p.Document, p.MediaType = true, res.MediaType
	p.ETag, p.Modified = header(res.Header, "ETag"), header(res.Header, "Last-Modified")
	at := part{from, s.fetched - from}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(s.spool, at.at, at.n)); err != nil {
		return p, fmt.Errorf("read page: %w", err)
	}
	p.SHA256 = hex.EncodeToString(sum.Sum(nil))
	p.headers(p.URL, res.Header)
	if isHTML(p.MediaType) {
		p.scan(p.URL, io.NewSectionReader(s.spool, at.at, at.n))
	}
	s.mu.Lock()
	s.stored[p.URL.String()] = at
	s.mu.Unlock()
	return p, nil
}

// header returns a header that the next request sends back, unless it is too long to be kept.
func header(h http.Header, name string) string {
	if v := h.Get(name); len(v) <= 500 {
		return v
	}
	return ""
}

// tries is how often a page is requested whose server is busy.
const tries = 3

// get requests a URL when it is the turn of its host, and appends the content to the spool.
func (s *Session) get(ctx context.Context, u *url.URL, r fetch.Request) (res fetch.Response, err error) {
	outer := ctx
	ctx, cancel := context.WithDeadline(ctx, s.ends)
	defer cancel()
	for range tries {
		from := s.fetched
		werr := s.with(ctx, u.Host, func() (pause time.Duration) {
			w := &spooler{s: s}
			if res, err = s.o.Fetch.Get(ctx, r, w); err != nil {
				s.fetched = from // what was written is overwritten
			}
			if busy(res.Status) {
				pause = max(retryAfter(res.Header), 2*s.o.Delay)
			}
			return pause
		})
		if err = errors.Join(err, werr); err != nil || !busy(res.Status) {
			break
		}
	}
	switch {
	case outer.Err() != nil:
		return res, outer.Err()
	case err != nil && !time.Now().Before(s.ends), errors.Is(err, ErrLimit):
		return res, ErrLimit
	}
	return res, err
}

// busy reports whether a server asks to be left alone for a while.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 1e6 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// spooler appends to the spool.
type spooler struct{ s *Session }

func (w *spooler) Write(p []byte) (int, error) {
	if w.s.fetched+int64(len(p)) > w.s.o.Bytes {
		return 0, ErrLimit
	}
	n, err := w.s.spool.WriteAt(p, w.s.fetched)
	w.s.fetched += int64(n)
	return n, err
}

// Fetch requests a file that is no page, such as robots.txt, and follows redirects. At most limit bytes of the content are returned.
func (s *Session) Fetch(ctx context.Context, u *url.URL, limit int64) (fetch.Response, io.Reader, error) {
	from := s.fetched
	res, err := s.get(ctx, u, fetch.Request{URL: u.String()})
	return res, io.NewSectionReader(s.spool, from, min(s.fetched-from, limit)), err
}

// DocumentOf returns the document of a page. Its path is for patterns.
func (s *Session) DocumentOf(p Page, path string) source.Document {
	return source.Document{URI: p.URL.String(), Path: path, Name: Name(p.URL), File: fileOf(p.URL, p.MediaType), Version: p.SHA256}
}

// Read returns the content of a listed page. A page that had not changed when it was listed is downloaded.
func (s *Session) Read(ctx context.Context, uri string, limit int64) ([]byte, error) {
	s.mu.Lock()
	at, ok := s.stored[uri]
	s.mu.Unlock()
	if ok {
		if at.n > limit {
			return nil, tooLarge(limit)
		}
		data := make([]byte, at.n)
		_, err := io.ReadFull(io.NewSectionReader(s.spool, at.at, at.n), data)
		return data, err
	}
	u, err := Parse(uri)
	if err != nil {
		return nil, err
	}
	var data limited
	data.limit = limit
	var res fetch.Response
	if werr := s.with(ctx, u.Host, func() time.Duration {
		data.Reset()
		res, err = s.o.Fetch.Get(ctx, fetch.Request{URL: uri, Direct: true}, &data)
		return 0
	}); werr != nil {
		return nil, werr
	}
	if err == nil && res.Status != http.StatusOK {
		err = StatusError(res.Status)
	}
	if err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// StatusError returns the error of a status for users.
func StatusError(status int) *fault.Error {
	return fault.New(fault.Unavailable, "the server answered with status %d", status)
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "larger than the limit of %d bytes", limit)
}

// limited is a buffer with a limit.
type limited struct {
	bytes.Buffer
	limit int64
}

// Write implements [io.Writer].
func (b *limited) Write(p []byte) (int, error) {
	if int64(b.Len()+len(p)) > b.limit {
		return 0, tooLarge(b.limit)
	}
	return b.Buffer.Write(p)
}
