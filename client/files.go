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
)

// File is an upload, as POST /v1/files answers it.
type File struct {
	ID              string          `json:"id"`
	Object          string          `json:"object"`
	Filename        string          `json:"filename"`
	Bytes           int64           `json:"bytes"` // 0 until a file of a URL was fetched.
	Purpose         string          `json:"purpose"`
	CreatedAt       int64           `json:"created_at"` // Unix seconds.
	UpdatedAt       int64           `json:"updated_at"`
	ContentType     string          `json:"content_type"`
	MD5             string          `json:"md5"`
	Status          string          `json:"status"`
	TaskID          string          `json:"task_id"` // "upload-" and the file's id; also where the file was there already.
	ProcessingError string          `json:"processing_error_message,omitempty"`
	URL             string          `json:"url,omitempty"` // Where it was fetched.
	Metadata        json.RawMessage `json:"metadata"`
}

// FileList is a page of files.
type FileList struct {
	Object  string `json:"object"`
	Data    []File `json:"data"`
	FirstID string `json:"first_id,omitempty"`
	LastID  string `json:"last_id,omitempty"` // Give it as after to get the next page.
	HasMore bool   `json:"has_more"`
}

// Document is a file with its content: what the three readers of GET /v1/files/{id}/content want, in one object. Its texts, lists and objects
// are never null.
type Document struct {
	ID              string `json:"id"`
	Object          string `json:"object"`
	Filename        string `json:"filename"`
	Bytes           int64  `json:"bytes"`
	Size            int64  `json:"size"`
	Purpose         string `json:"purpose"`
	ContentType     string `json:"content_type"`
	MD5             string `json:"md5"`
	Status          string `json:"status"`
	TaskID          string `json:"task_id"`
	ProcessingError string `json:"processing_error_message,omitempty"`

	CreatedAt      string          `json:"created_at"` // UTC, ISO 8601 with microseconds and without a zone.
	UpdatedAt      string          `json:"updated_at"`
	MD5Sum         string          `json:"md5sum"`
	MimeType       string          `json:"mime_type"`
	Title          string          `json:"title"`
	Author         string          `json:"author"`
	Owner          string          `json:"owner"`
	URL            string          `json:"url"`
	ReadProgress   float64         `json:"read_progress"`
	LastReadAt     string          `json:"last_read_at,omitempty"`
	Bookmarks      []int           `json:"bookmarks"`
	Highlights     []string        `json:"highlights"`
	Notes          []string        `json:"notes"`
	RelatedDocs    []string        `json:"related_docs"`
	Permissions    []string        `json:"permissions"`
	VectorStoreIDs []string        `json:"vector_store_ids"`
	IsFavorite     bool            `json:"is_favorite"`
	IsDelete       bool            `json:"is_delete"`
	Metadata       json.RawMessage `json:"metadata"`
	Content        *Content        `json:"content,omitempty"` // Left out until the file is indexed.
}

// Content is a document's text in segments, which are what citations count: the index of a citation is that of a segment.
type Content struct {
	ID             string          `json:"id"` // The MD5 of the bytes.
	Abstract       string          `json:"abstract"`
	Summary        string          `json:"summary"`
	Outline        string          `json:"outline"` // The headings, a line each.
	Language       string          `json:"language"`
	FileType       string          `json:"file_type"`
	URL            string          `json:"url"`
	Encoding       string          `json:"encoding"`
	Status         string          `json:"status"`
	PageCount      int             `json:"page_count"`
	Keywords       []string        `json:"keywords"`
	Metadata       json.RawMessage `json:"metadata"`
	VectorStoreIDs []string        `json:"vector_store_ids"`
	Contexts       []string        `json:"contexts"`
	Images         []string        `json:"images"`
	Segments       []Segment       `json:"segments"`
	HasMore        bool            `json:"has_more"`               // Segments follow those that are here.
	NextSegment    int             `json:"next_segment,omitempty"` // Give it as start_segment to get them.
}

// Segment is a passage of a document.
type Segment struct {
	ID       string          `json:"id"`
	Content  string          `json:"content"`
	Index    int             `json:"index"` // From 0.
	URL      string          `json:"url"`
	Metadata SegmentMetadata `json:"metadata"`
}

// SegmentMetadata says where a segment stands.
type SegmentMetadata struct {
	ChunkID string `json:"chunk_id"`
	Heading string `json:"heading,omitempty"`
	Pages   []int  `json:"pages,omitempty"`
	Start   int    `json:"start"` // Byte offsets into the document's extracted text.
	End     int    `json:"end"`
}

// DocumentUpdate changes what people note on a file. Fields that are left out stay.
type DocumentUpdate struct {
	Title          *string         `json:"title,omitempty"`
	Author         *string         `json:"author,omitempty"`
	Owner          *string         `json:"owner,omitempty"`
	ReadProgress   *float64        `json:"read_progress,omitempty"`
	Bookmarks      []int           `json:"bookmarks,omitempty"`
	Highlights     []string        `json:"highlights,omitempty"`
	Notes          []string        `json:"notes,omitempty"`
	RelatedDocs    []string        `json:"related_docs,omitempty"`
	Permissions    []string        `json:"permissions,omitempty"`
	IsFavorite     *bool           `json:"is_favorite,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`         // An object, which takes the place of the one before.
	VectorStoreIDs []string        `json:"vector_store_ids,omitempty"` // The vector stores that the file shall be in, and no others.
}

// Pages are pages of a document's text.
type Pages struct {
	Object   string `json:"object"`
	FileID   string `json:"file_id"`
	Pages    []Page `json:"pages"`
	HasMore  bool   `json:"has_more"`            // Pages of those asked for are left out.
	NextPage int    `json:"next_page,omitempty"` // Give it as start_page to get them.
}

// Page is one of them: of the format's own, or, where it has none, as much as fits one.
type Page struct {
	Number  int    `json:"page_number"` // From 1.
	Content string `json:"content"`
}

// UploadOptions tune an upload. The zero value works.
type UploadOptions struct {
	ID         string          // to be used as the file's; empty: the server makes one
	Purpose    string          // empty: general
	MediaType  string          // empty: the server finds out
	MD5        string          // that the bytes must have, in hex
	SkipExists bool            // a file of the same bytes that is there already is given instead
	Parse      json.RawMessage // parse_options: an object
	// Progress is called as the bytes are sent, from the goroutine that sends them, with how many were so far.
	Progress func(sent int64)
}

// Upload sends a file of a name and a size in bytes; a negative size is one that is not known. It is read once, from where it stands, unless it
// can seek and the server has to be asked again. The file is indexed in the background: see [Client.Wait] and the file's TaskID.
func (c *Client) Upload(ctx context.Context, name string, body io.Reader, size int64, o UploadOptions) (f File, err error) {
	head, tail, kind, err := form(name, o)
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
	r := request{method: http.MethodPost, path: "/v1/files", kind: kind, size: size,
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
				Reader: io.MultiReader(bytes.NewReader(head), &counted{r: body, tell: o.Progress}, bytes.NewReader(tail))}
			return last, nil
		},
		again: func(err error) bool { return seekable && unsent(err) }}
	err = c.call(ctx, "upload", r, &f)
	return f, err
}

// sending is a body that tells when it is read no more. The server's answer does not: net/http may go on reading behind it.
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

// form gives what stands before and behind the file's bytes in the body, and its content type.
func form(name string, o UploadOptions) (head, tail []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"id", o.ID}, {"purpose", o.Purpose}, {"md5", o.MD5}, {"parse_options", string(o.Parse)}}
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

// escaped writes a file's name as the server reads it: in percent escapes, but for letters and digits of ASCII and what is harmless.
func escaped(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }

// counted tells how much of a reader was read.
type counted struct {
	r    io.Reader
	tell func(int64)
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.tell != nil && n > 0 {
		c.tell(c.n)
	}
	return n, err
}

// UploadURL has the server fetch a file. The name may be empty: then it is taken from the address.
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
	err = c.call(ctx, "upload", request{method: http.MethodPost, path: "/v1/files", kind: "application/x-www-form-urlencoded", size: int64(len(text)),
		body: func() (io.Reader, error) { return strings.NewReader(text), nil }}, &f)
	return f, err
}

// File gets what is known of a file, without its text.
func (c *Client) File(ctx context.Context, id string) (f File, err error) {
	err = c.call(ctx, "get file", get("/v1/files/"+url.PathEscape(id)), &f)
	return f, err
}

// Files lists files: at most limit, or the server's default for 0, behind the one of the id after.
func (c *Client) Files(ctx context.Context, limit int, after string) (l FileList, err error) {
	err = c.call(ctx, "list files", get("/v1/files"+page(limit, after)), &l)
	return l, err
}

// Content gets a file with its text in segments.
func (c *Client) Content(ctx context.Context, id string) (d Document, err error) {
	err = c.call(ctx, "get content", get("/v1/files/"+url.PathEscape(id)+"/content"), &d)
	return d, err
}

// Pages gets pages of a file's text, from the first to the last, counted from 1; 0 is the first and the last there is.
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

// UpdateFile changes what is noted on a file.
func (c *Client) UpdateFile(ctx context.Context, id string, u DocumentUpdate) (d Document, err error) {
	err = c.send(ctx, "update file", "/v1/files/"+url.PathEscape(id)+"/content", u, &d)
	return d, err
}

// DeleteFile deletes a file from everywhere. It is in no answer to a question asked afterwards.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.delete(ctx, "delete file", "/v1/files/"+url.PathEscape(id))
}

// delete is sent again where the connection broke; that nothing was left by then is what was wanted.
func (c *Client) delete(ctx context.Context, what, path string) error {
	broke := false
	r := request{method: http.MethodDelete, path: path, again: func(err error) bool {
		again := repeatable(http.MethodDelete, err)
		broke = broke || again && !unsent(err)
		return again
	}}
	if err := c.call(ctx, what, r, nil); err != nil && (!broke || !absent(err)) {
		return err
	}
	return nil
}
