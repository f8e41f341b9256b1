package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// UploadOptions configures an upload. The zero value works.
type UploadOptions struct {
	ID          string           // id of the file; empty: chosen by the server
	Purpose     string           // empty: general
	MediaType   string           // empty: detected by the server
	MD5         string           // expected MD5 of the file, in hex
	SkipExists  bool             // if a file with the same bytes exists, return that one
	Parse       json.RawMessage  // parse_options: a JSON object
	DublinCore  *wire.DublinCore // metadata, which takes precedence over what the file states; may be nil
	Contributor string           // account that earns a share of the answers that use the file; empty: that of the key
	// Progress is called with the number of bytes sent so far, from the goroutine that sends them.
	Progress func(sent int64)
}

// Upload uploads a file. A negative size means unknown. The body is read once, from its current position; an upload is only
// repeated if the body is an [io.Seeker]. The server indexes the file in the background: see [Client.WaitForTask] and the
// TaskID of the file.
func (c *Client) Upload(ctx context.Context, name string, body io.Reader, size int64, o UploadOptions) (f File, err error) {
	head, tail, contentType, err := form(name, o)
	if err != nil {
		return f, fmt.Errorf("upload: %w", err)
	}
	if size >= 0 {
		size += int64(len(head) + len(tail))
	}
	start, seekable := int64(0), false
	seeker, ok := body.(io.Seeker)
	if ok {
		start, err = seeker.Seek(0, io.SeekCurrent)
		seekable = err == nil
	}
	var last *sending
	r := request{method: http.MethodPost, path: "/v1/files", contentType: contentType, size: size,
		body: func() (io.Reader, error) {
			if last != nil {
				if err := last.wait(ctx); err != nil {
					return nil, err
				}
				if _, err := seeker.Seek(start, io.SeekStart); err != nil {
					return nil, err
				}
			}
			last = &sending{over: make(chan struct{}),
				Reader: io.MultiReader(bytes.NewReader(head), &counted{r: body, report: o.Progress}, bytes.NewReader(tail))}
			return last, nil
		},
		retryable: func(err error) bool { return seekable && unsent(err) }}
	err = c.call(ctx, "upload", r, &f)
	return f, err
}

// sending is a request body that reports when it is no longer read. The HTTP transport may still read the body after the
// reply.
type sending struct {
	io.Reader
	once sync.Once
	over chan struct{}
}

// Close implements [io.Closer].
func (s *sending) Close() error {
	s.once.Do(func() { close(s.over) })
	return nil
}

func (s *sending) wait(ctx context.Context) error {
	select {
	case <-s.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// form returns the parts of the body before and after the bytes of the file, and the content type.
func form(name string, o UploadOptions) (head, tail []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"id", o.ID}, {"purpose", o.Purpose}, {"md5", o.MD5}, {"parse_options", string(o.Parse)}, {"contributor", o.Contributor}}
	if o.DublinCore != nil {
		for name, value := range o.DublinCore.All() {
			fields = append(fields, [2]string{name, value})
		}
	}
	if o.SkipExists {
		fields = append(fields, [2]string{"skip_exists", "true"})
	}
	for _, f := range fields {
		if f[1] != "" {
			err = errors.Join(err, w.WriteField(f[0], f[1]))
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", `form-data; name="file"; filename="`+escaped(name)+`"`)
	h.Set("Content-Type", "application/octet-stream")
	if o.MediaType != "" && !strings.ContainsAny(o.MediaType, "\r\n") {
		h.Set("Content-Type", o.MediaType)
	}
	_, perr := w.CreatePart(h)
	head = bytes.Clone(b.Bytes())
	err = errors.Join(err, perr, w.Close())
	return head, b.Bytes()[len(head):], w.FormDataContentType(), err
}

// escaped percent-encodes the name of a file, as the server expects it.
func escaped(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }

// counted reports how many bytes of a reader were read.
type counted struct {
	r      io.Reader
	report func(int64)
	n      int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.report != nil && n > 0 {
		c.report(c.n)
	}
	return n, err
}

// UploadURL lets the server fetch a file. If the name is empty, it is taken from the URL.
func (c *Client) UploadURL(ctx context.Context, address, name string, o UploadOptions) (f File, err error) {
	v := url.Values{"url": {address}}
	for key, value := range map[string]string{"name": name, "file_type": o.MediaType, "purpose": o.Purpose, "id": o.ID, "md5": o.MD5, "parse_options": string(o.Parse)} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if o.SkipExists {
		v.Set("skip_exists", "true")
	}
	text := v.Encode()
	err = c.call(ctx, "upload", request{method: http.MethodPost, path: "/v1/files", contentType: "application/x-www-form-urlencoded", size: int64(len(text)),
		body: func() (io.Reader, error) { return strings.NewReader(text), nil }}, &f)
	return f, err
}

// File returns a file without its text.
func (c *Client) File(ctx context.Context, id string) (f File, err error) {
	err = c.call(ctx, "get file", get("/v1/files/"+url.PathEscape(id)), &f)
	return f, err
}

// Files lists at most limit files after the one with the id after. The limit 0 selects the server's default.
func (c *Client) Files(ctx context.Context, limit int, after string) (l FileList, err error) {
	err = c.call(ctx, "list files", get("/v1/files"+page(limit, after)), &l)
	return l, err
}

// Content returns a file with its text in segments.
func (c *Client) Content(ctx context.Context, id string) (d Document, err error) {
	err = c.call(ctx, "get content", get("/v1/files/"+url.PathEscape(id)+"/content"), &d)
	return d, err
}

// Pages returns pages of a file's text, from first to last, counted from 1. 0 means the first and the last page of the
// document.
func (c *Client) Pages(ctx context.Context, id string, first, last int) (p Pages, err error) {
	v := url.Values{}
	if first > 0 {
		v.Set("start_page", strconv.Itoa(first))
	}
	if last > 0 {
		v.Set("end_page", strconv.Itoa(last))
	}
	path := "/v1/files/" + url.PathEscape(id) + "/pages"
	if len(v) > 0 {
		path += "?" + v.Encode()
	}
	err = c.call(ctx, "get pages", get(path), &p)
	return p, err
}

// UpdateFile changes fields of a file.
func (c *Client) UpdateFile(ctx context.Context, id string, u DocumentUpdate) (d Document, err error) {
	err = c.send(ctx, "update file", "/v1/files/"+url.PathEscape(id)+"/content", u, &d)
	return d, err
}

// DeleteFile deletes a file. Questions that are asked afterwards do not find it.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.delete(ctx, "delete file", "/v1/files/"+url.PathEscape(id))
}

// delete sends a DELETE request. If an attempt failed without a reply, it may have succeeded: NotFound is then not an
// error.
func (c *Client) delete(ctx context.Context, what, path string) error {
	broke := false
	r := request{method: http.MethodDelete, path: path, retryable: func(err error) bool {
		retryable := repeatable(http.MethodDelete, err)
		broke = broke || retryable && !unsent(err)
		return retryable
	}}
	if err := c.call(ctx, what, r, nil); err != nil && (!broke || fault.CodeOf(err) != fault.NotFound) {
		return err
	}
	return nil
}
