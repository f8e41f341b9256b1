package knowledge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Limits of a document in one reply. The rest can be requested from the next segment or page on.
const (
	maxSegments   = 500
	maxText       = 512 << 10 // bytes of text
	maxOutline    = 200       // headings
	maxFileFields = 64 << 10
)

type (
	uploadForm struct {
		Upload
		File *multipart.FileHeader `formData:"file"`
	}
	contentParams struct {
		idParam
		Start int `query:"start_segment" minimum:"0" description:"First segment, from 0."`
		Limit int `query:"limit" minimum:"1" maximum:"500" default:"500" description:"Number of segments."`
	}
	pagesParams struct {
		idParam
		Start int `query:"start_page" minimum:"0" description:"First page, from 1. 0 means the first page too."`
		End   int `query:"end_page" minimum:"0" description:"Last page. 0 means the first page."`
	}
	updateRequest struct {
		idParam
		knowledge.DocumentUpdate
	}
)

func (s *routes) fileRoutes() []server.Route {
	return []server.Route{
		{Method: "POST", Path: "/v1/files", Scope: auth.Write, Serve: s.uploadFile, MaxBody: s.o.MaxFileBytes + maxForm, BodyIdle: bodyIdle, Timeout: uploadTime,
			Summary: "Upload a file, or fetch it from a URL", Request: []any{uploadForm{}}, Reply: knowledge.File{}, Faults: []int{400, 409, 413, 415, 507}},
		{Method: "GET", Path: "/v1/files", Scope: auth.Read, Serve: s.listFiles,
			Summary: "List files", Request: []any{listParams{}}, Reply: knowledge.FileList{}, Faults: []int{400}},
		{Method: "GET", Path: "/v1/files/{id}", Scope: auth.Read, Serve: s.getFile,
			Summary: "Show a file", Request: []any{idParam{}}, Reply: knowledge.File{}, Faults: []int{404}},
		{Method: "DELETE", Path: "/v1/files/{id}", Scope: auth.Write, Serve: s.deleteFile,
			Summary: "Delete a file", Request: []any{idParam{}}, Reply: knowledge.Deleted{}, Faults: []int{404, 507}},
		{Method: "GET", Path: "/v1/files/{id}/content", Scope: auth.Read, Serve: s.getContent, Timeout: readingTime,
			Summary: "Show a file with its text", Request: []any{contentParams{}}, Reply: knowledge.Document{}, Faults: []int{400, 404}},
		{Method: "POST", Path: "/v1/files/{id}/content", Scope: auth.Write, Serve: s.updateContent, Timeout: readingTime,
			Summary: "Set fields of a file", Request: []any{updateRequest{}}, Reply: knowledge.Document{}, Faults: []int{400, 404, 413, 415, 507}},
		{Method: "GET", Path: "/v1/files/{id}/pages", Scope: auth.Read, Serve: s.getPages, Timeout: readingTime,
			Summary: "Show pages of a file's text", Request: []any{pagesParams{}}, Reply: knowledge.Pages{}, Faults: []int{400, 404}},
		{Method: "GET", Path: "/v1/tasks/{id}", Scope: auth.Read, Serve: s.getTask,
			Summary: "Show a background task", Request: []any{idParam{}}, Reply: knowledge.Task{}, Faults: []int{404}},
	}
}

func (s *routes) uploadFile(w http.ResponseWriter, r *http.Request) error {
	form, err := openForm(r)
	if err == nil && r.ContentLength > s.o.MaxFileBytes+maxForm {
		err = files.TooLarge(s.o.MaxFileBytes)
	}
	if err != nil && r.Header.Get("Expect") != "" {
		return err // the client waits for permission to send the body
	}
	if err == nil {
		err = s.upload(w, r, form)
	}
	if err != nil {
		drain(r)
	}
	return err
}

func (s *routes) upload(w http.ResponseWriter, r *http.Request, form *form) error {
	u, err := form.readUpload()
	if err != nil {
		return err
	}
	if by, ok := auth.From(r.Context()); ok && by.Key != "" {
		u.Contributor = cmp.Or(u.Contributor, by.Account)
	}
	f, _, err := s.o.Files.Upload(r.Context(), u)
	if err == nil {
		server.ReplyJSON(w, http.StatusOK, fileOf(f))
	}
	return err
}

// readUpload reads a form up to its file. The fields after the file are read by Rest, once the file was read.
func (f *form) readUpload() (files.Upload, error) {
	if err := f.next(); err != nil {
		return files.Upload{}, err
	}
	u, err := f.upload()
	if err != nil {
		return u, err
	}
	if f.file == nil {
		if u.URL == "" {
			return u, fault.Invalid("file", "required, or a url")
		}
		return u, nil
	}
	u.Name, u.MediaType, u.Body = f.name, f.file.Header.Get("Content-Type"), fileBody{f}
	u.AfterBody = func(u *files.Upload) error {
		if err := f.rest(); err != nil {
			return err
		}
		if f.fields["url"] != "" {
			return fault.Invalid("url", "want a file or a url")
		}
		whole, err := f.upload()
		u.ID, u.Purpose, u.MD5, u.SkipExists, u.Options = whole.ID, whole.Purpose, whole.MD5, whole.SkipExists, whole.Options
		u.Meta, u.Contributor = whole.Meta, cmp.Or(whole.Contributor, u.Contributor)
		return err
	}
	return u, nil
}

func (s *routes) listFiles(w http.ResponseWriter, r *http.Request) error {
	after, limit, err := page(r)
	if err != nil {
		return err
	}
	fs, err := s.o.Files.Files(r.Context(), after, limit+1)
	if err != nil {
		return err
	}
	list := knowledge.FileList{Object: "list", Data: []knowledge.File{}, HasMore: len(fs) > limit}
	for _, f := range fs[:min(limit, len(fs))] {
		list.Data = append(list.Data, fileOf(f))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = list.Data[0].ID, list.Data[n-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}

func (s *routes) getFile(w http.ResponseWriter, r *http.Request) error {
	d, err := s.o.Files.Document(r.Context(), r.PathValue("id"), 0, 0)
	if err != nil {
		return notFound(err, "file")
	}
	out := fileOf(d.File)
	if d.Document.ID != "" {
		out.DublinCore, out.Contributor = wire.DublinCoreOfDocument(d.Document), d.Document.Contributor
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (s *routes) deleteFile(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := s.o.Files.DeleteFile(r.Context(), id); err != nil {
		return notFound(err, "file")
	}
	server.ReplyJSON(w, http.StatusOK, knowledge.Deleted{ID: id, Object: "file", Deleted: true})
	return nil
}

func (s *routes) getTask(w http.ResponseWriter, r *http.Request) error {
	t, err := s.o.Files.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		return notFound(err, "task")
	}
	out := knowledge.Task{ID: t.ID, Object: "task", Type: t.Type, Status: taskStatus(t.Status), Progress: min(max(t.Progress, 0), 100), ResourceID: t.Resource,
		CreatedAt: unix(t.CreatedAt), UpdatedAt: unix(t.UpdatedAt), FailureReason: t.Failure, ErrorMessage: t.Failure, Data: json.RawMessage("{}")}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// taskStatus returns the status of a task in JSON.
func taskStatus(s store.Status) string {
	if s == store.Running {
		return "in_progress"
	}
	return string(s)
}

// fileStatus returns the status of a file in JSON.
func fileStatus(s store.Status) string {
	switch s {
	case store.Pending:
		return knowledge.FileUploaded
	case store.Running:
		return knowledge.FileProcessing
	case store.Failed:
		return knowledge.FileError
	case store.Cancelled:
		return knowledge.FileCancelled
	}
	return knowledge.FileProcessed
}

func fileOf(f store.File) knowledge.File {
	n := fieldsOf(f)
	return knowledge.File{ID: f.ID, Object: "file", Filename: f.Name, Bytes: f.Bytes, Purpose: f.Purpose, CreatedAt: unix(f.CreatedAt),
		UpdatedAt: unix(f.UpdatedAt), ContentType: f.MediaType, MD5: f.MD5, Status: fileStatus(f.Status), TaskID: "upload-" + f.ID,
		ProcessingError: f.Failure, URL: files.WithoutQuery(f.URL), Metadata: orEmpty(n.Metadata), DublinCore: n.DublinCore, Contributor: n.Contributor}
}

// fileFields holds the fields that people have set on a file.
type fileFields struct {
	Title        string           `json:"title"`
	Author       string           `json:"author"`
	Owner        string           `json:"owner"`
	ReadProgress float64          `json:"read_progress"`
	LastReadAt   string           `json:"last_read_at"`
	Bookmarks    []int            `json:"bookmarks"`
	Highlights   []string         `json:"highlights"`
	Notes        []string         `json:"notes"`
	RelatedDocs  []string         `json:"related_docs"`
	Permissions  []string         `json:"permissions"`
	IsFavorite   bool             `json:"is_favorite"`
	Metadata     json.RawMessage  `json:"metadata"`
	DublinCore   *wire.DublinCore `json:"dublin_core"`
	Contributor  string           `json:"contributor"`
}

func fieldsOf(f store.File) fileFields {
	var n fileFields
	_ = json.Unmarshal(orEmpty(f.Fields), &n) // it was checked when it was stored
	if bytes.Equal(n.Metadata, []byte("null")) {
		n.Metadata = nil
	}
	return n
}

func (s *routes) getContent(w http.ResponseWriter, r *http.Request) error {
	start, err := server.IntParam(r.URL.Query(), "start_segment", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	limit, err := server.IntParam(r.URL.Query(), "limit", maxSegments, 1, maxSegments)
	if err != nil {
		return err
	}
	d, err := s.o.Files.Document(r.Context(), r.PathValue("id"), start, limit)
	if err != nil {
		return notFound(err, "file")
	}
	out := documentOf(d)
	if out.Content != nil {
		out.Content.Outline = s.outline(r.Context(), d)
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// outline returns the headings of a document, indented by depth. It is empty if the headings cannot be read.
func (s *routes) outline(ctx context.Context, d files.Document) string {
	collection := d.Document.Collection
	if collection == files.Collection {
		collection = corpus.Scope{Documents: []corpus.DocumentID{d.Document.ID}}.String()
	}
	sections, err := s.o.Index.DocumentChunks(ctx, collection, d.Document.ID, corpus.Section, 0, maxOutline)
	if err != nil {
		return ""
	}
	var b strings.Builder
	var last []string
	for _, c := range sections {
		if len(c.Headings) > 0 && !slices.Equal(c.Headings, last) {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", len(c.Headings)-1), c.Heading())
		}
		last = c.Headings
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// documentOf returns the JSON of a document, with as much text as one reply may have.
func documentOf(d files.Document) knowledge.Document {
	f, n, meta := d.File, fieldsOf(d.File), d.Document.Metadata()
	out := knowledge.Document{ID: f.ID, Object: "file", Filename: f.Name, Bytes: f.Bytes, Size: f.Bytes, Purpose: f.Purpose, ContentType: f.MediaType,
		MD5: f.MD5, Status: fileStatus(f.Status), TaskID: "upload-" + f.ID, ProcessingError: f.Failure, CreatedAt: isoTime(f.CreatedAt), UpdatedAt: isoTime(f.UpdatedAt),
		MD5Sum: f.MD5, MimeType: f.MediaType, Title: first(n.Title, d.Document.Title, f.Name), Author: first(n.Author, meta.Creator),
		Owner: n.Owner, URL: files.WithoutQuery(f.URL), ReadProgress: n.ReadProgress, LastReadAt: n.LastReadAt, Bookmarks: orEmptyList(n.Bookmarks), Highlights: orEmptyList(n.Highlights),
		Notes: orEmptyList(n.Notes), RelatedDocs: orEmptyList(n.RelatedDocs), Permissions: orEmptyList(n.Permissions), VectorStoreIDs: orEmptyList(d.Stores),
		IsFavorite: n.IsFavorite, Metadata: orEmpty(n.Metadata), DublinCore: n.DublinCore, Contributor: n.Contributor}
	if d.Document.ID == "" {
		return out
	}
	out.DublinCore, out.Contributor = wire.DublinCoreOfDocument(d.Document), d.Document.Contributor
	c := &knowledge.Content{ID: first(f.MD5, f.ID), Abstract: meta.Description, Language: meta.Language, FileType: f.MediaType, URL: files.WithoutQuery(f.URL),
		Status: string(f.Status), PageCount: d.Document.Pages, Keywords: keywords(meta.Subject), Metadata: json.RawMessage("{}"),
		VectorStoreIDs: orEmptyList(d.Stores), Contexts: []string{}, Images: []string{}, Segments: []knowledge.Segment{}}
	text := 0
	for i, chunk := range d.Segments {
		if text += len(chunk.Text); i > 0 && text > maxText {
			c.HasMore, c.NextSegment = true, chunk.Ordinal
			break
		}
		c.Segments = append(c.Segments, knowledge.Segment{ID: fmt.Sprintf("%s-P%04d", c.ID, chunk.Ordinal), Content: chunk.Text, Index: chunk.Ordinal,
			Metadata: knowledge.SegmentMetadata{ChunkID: string(chunk.ID), Heading: chunk.Heading(), Pages: chunk.Pages, Start: chunk.Start, End: chunk.End}})
	}
	if !c.HasMore && d.More {
		c.HasMore, c.NextSegment = true, d.Segments[len(d.Segments)-1].Ordinal+1
	}
	out.Content = c
	return out
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func orEmptyList[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func keywords(subject string) []string {
	out := []string{}
	for word := range strings.FieldsFuncSeq(subject, func(r rune) bool { return r == ',' || r == ';' }) {
		if word = strings.TrimSpace(word); word != "" && len(out) < 50 {
			out = append(out, word)
		}
	}
	return out
}

func (s *routes) getPages(w http.ResponseWriter, r *http.Request) error {
	from, err := server.IntParam(r.URL.Query(), "start_page", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	to, err := server.IntParam(r.URL.Query(), "end_page", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("end_page") != "" {
		to = max(to, 1)
	}
	if to > 0 && to < from {
		return fault.Invalid("end_page", "want start_page or more")
	}
	id := r.PathValue("id")
	ps, err := s.o.Files.Pages(r.Context(), id, from, to)
	if err != nil {
		return notFound(err, "file")
	}
	out := knowledge.Pages{Object: "list", FileID: id, Pages: []knowledge.Page{}}
	text := 0
	for _, p := range ps {
		if text += len(p.Text); len(out.Pages) > 0 && text > maxText {
			break
		}
		out.Pages = append(out.Pages, knowledge.Page{Number: p.Number, Content: p.Text})
	}
	if n := len(out.Pages); n > 0 {
		next := out.Pages[n-1].Number + 1
		more := n < len(ps)
		if !more && (to == 0 || next <= to) {
			follows, err := s.o.Files.Pages(r.Context(), id, next, next)
			more = err == nil && len(follows) > 0
		}
		if more {
			out.HasMore, out.NextPage = true, next
		}
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}
