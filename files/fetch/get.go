package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-rag/sluice/fault"
)

// Request is a request for a URL.
type Request struct {
	URL string
	// ETag and Modified are the headers ETag and Last-Modified of an earlier response. If the content has not changed since, the status of the response is 304.
	ETag, Modified string
	// Direct returns the response of a redirect instead of following it.
	Direct bool
	// Accept reports whether the content of a media type is wanted; nil: all are. Other content is not read.
	Accept func(mediaType string) bool
}

// Response is a response without its content.
type Response struct {
	Status    int
	Host      string // that answered
	MediaType string // in lower case, without parameters; "" if the server sends none
	Header    http.Header
	Unwanted  bool // Accept refused the media type
}

// directKey marks the context of a direct request.
type directKey struct{}

// Get requests a URL. If the status is 200 and the content is wanted, it writes the content to w. Other statuses are no errors. Errors are those of
// [Fetcher.Fetch].
func (f *Fetcher) Get(ctx context.Context, r Request, w io.Writer) (Response, error) {
	u, err := f.parse(r.URL)
	if err != nil {
		return Response{}, err
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	at := &currentHost{u.Hostname()}
	res, err := f.get(context.WithValue(context.WithValue(ctx, hostKey{}, at), directKey{}, r.Direct), u, r, w)
	if err == nil {
		return res, nil
	}
	coded, isCoded := errors.AsType[*fault.Error](err)
	_, isWrite := errors.AsType[*writeError](err)
	switch {
	case outer.Err() != nil:
		return res, outer.Err()
	case isCoded:
		return res, coded
	case isWrite:
		return res, err
	case ctx.Err() != nil:
		return res, fault.New(fault.Timeout, "%q took longer than %s", at.name, f.opts.Timeout)
	}
	return res, fault.New(fault.Unavailable, "%q %s", at.name, reason(err))
}

func (f *Fetcher) get(ctx context.Context, u *url.URL, r Request, w io.Writer) (out Response, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return out, err
	}
	req.Header.Set("User-Agent", "sluice")
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Encoding", "identity")
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	if r.Modified != "" {
		req.Header.Set("If-Modified-Since", r.Modified)
	}
	res, err := f.client.Do(req)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	out = Response{Status: res.StatusCode, Host: res.Request.URL.Hostname(), Header: res.Header}
	if mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && len(mediaType) <= 127 {
		out.MediaType = mediaType // otherwise it can be detected from the content and the name
	}
	if res.StatusCode != http.StatusOK {
		return out, nil
	}
	if r.Accept != nil && !r.Accept(out.MediaType) {
		out.Unwanted = true
		return out, nil
	}
	return out, f.copy(w, res, out.Host)
}

// copy writes the content of a response to w.
func (f *Fetcher) copy(w io.Writer, res *http.Response, host string) (err error) {
	tooLarge := fault.New(fault.TooLarge, "the response of %q is larger than the limit of %d bytes", host, f.opts.MaxBytes)
	if res.ContentLength > f.opts.MaxBytes {
		return tooLarge
	}
	var body io.Reader = io.LimitReader(res.Body, f.opts.MaxBytes+1)
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip": // some servers send it although it was not requested; the limit stops decompression bombs
		if body, err = gzip.NewReader(body); err != nil {
			return err
		}
	default:
		return fault.New(fault.Unavailable, "%q sends an unsupported encoding", host)
	}
	n, err := io.Copy(writer{w}, io.LimitReader(body, f.opts.MaxBytes+1))
	if n > f.opts.MaxBytes {
		return tooLarge
	}
	return err
}
