package documents

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
)

// originalTime limits a download.
const originalTime = 10 * time.Minute

// find returns a document without its text, and the scope that reads it.
func (s *routes) find(ctx context.Context, id string) (files.Document, files.Entry, string, error) {
	d, err := s.o.Files.Document(ctx, id, 0, 0)
	if err != nil {
		return d, files.Entry{}, "", err
	}
	e := files.Entry{File: d.File, Title: files.TitleOf(d.File, d.Document), Pages: d.Document.Pages}
	scope := corpus.Scope{Documents: []corpus.DocumentID{corpus.DocumentID(id)}}.String()
	if c := d.Document.Collection; c != "" && c != files.Collection {
		e.Folder, e.Path, scope = c, d.Document.Path, c
	}
	return d, e, scope, nil
}

func (s *routes) show(w http.ResponseWriter, r *http.Request) error {
	d, e, scope, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := DocumentView{ListedDocument: entryOf(e), Collections: append([]string{}, d.Stores...), Outline: []DocumentSection{}, Original: d.HasOriginal()}
	if d.Document.ID != "" {
		out.DublinCore = wire.DublinCoreOfDocument(d.Document)
		attributes, err := s.o.Files.AttributesOf(r.Context(), []string{string(d.Document.ID)})
		if err != nil {
			return err
		}
		out.Metadata = attributes[string(d.Document.ID)]
		out.Given = wire.DublinCoreOf(&d.Document.Given, corpus.MaxElement)
		if out.Outline, err = s.outline(r.Context(), scope, d.Document.ID); err != nil {
			return err
		}
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// outline returns the headings of a document. A long section is several chunks, of which the first counts. A heading with nothing but another
// heading below it refers to the text of that one.
func (s *routes) outline(ctx context.Context, scope string, id corpus.DocumentID) ([]DocumentSection, error) {
	chunks, err := s.o.Index.DocumentChunks(ctx, scope, id, corpus.Section, 0, maxSections)
	if err != nil {
		return nil, err
	}
	out := []DocumentSection{}
	var last []string
	for _, c := range chunks {
		same := 0
		for same < min(len(last), len(c.Headings)) && last[same] == c.Headings[same] {
			same++
		}
		for i := same; i < len(c.Headings); i++ {
			section := DocumentSection{ChunkID: string(c.ID), Heading: c.Headings[i], Depth: i + 1}
			if len(c.Pages) > 0 {
				section.Page = c.Pages[0]
			}
			out = append(out, section)
		}
		last = c.Headings
	}
	return out, nil
}

func (s *routes) passages(w http.ResponseWriter, r *http.Request) error {
	from, err := server.IntParam(r.URL.Query(), "from", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	limit, err := server.IntParam(r.URL.Query(), "limit", 100, 1, maxPassages)
	if err != nil {
		return err
	}
	chunk, err := text(r, "chunk")
	if err != nil {
		return err
	}
	d, _, scope, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := DocumentText{Passages: []DocumentPassage{}}
	if d.Document.ID != "" {
		if chunk != "" {
			found, err := s.o.Index.Chunks(r.Context(), scope, []corpus.ChunkID{corpus.ChunkID(chunk)})
			if err != nil {
				return err
			}
			if len(found) == 1 && found[0].Document == d.Document.ID {
				out.Start, out.End = found[0].Start, found[0].End
				if from, err = s.ordinalAt(r.Context(), scope, d.Document.ID, out.Start); err != nil {
					return err
				}
				from = max(from-before, 0)
			}
		}
		chunks, err := s.o.Index.DocumentChunks(r.Context(), scope, d.Document.ID, corpus.Passage, from, limit+1)
		if err != nil {
			return err
		}
		if out.More = len(chunks) > limit; out.More {
			chunks = chunks[:limit]
		}
		for _, c := range chunks {
			out.Passages = append(out.Passages, passageOf(c))
		}
	}
	out.From = from
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// before is how many passages a reply has before the requested chunk.
const before = 10

// ordinalAt returns the number of the passage in which the text at a byte offset is. It reads about twice as many passages as the logarithm
// of that number.
func (s *routes) ordinalAt(ctx context.Context, scope string, id corpus.DocumentID, offset int) (int, error) {
	var failed error
	beyond := func(n int) bool { // the text at the offset is before passage n
		chunks, err := s.o.Index.DocumentChunks(ctx, scope, id, corpus.Passage, n, 1)
		if err != nil {
			failed = err
		}
		return len(chunks) == 0 || chunks[0].Start > offset
	}
	low, high := 0, 1
	for !beyond(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; beyond(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low, failed
}

// plainTypes are the media types that a download names. Whatever else users upload is sent as bytes without a type.
var plainTypes = []string{"application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp"}

// original sends the bytes of a file as a download. Browsers must neither show nor run them as a part of this site, since anybody with the scope
// write can upload HTML.
func (s *routes) original(w http.ResponseWriter, r *http.Request) error {
	body, f, err := s.o.Files.Open(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer body.Close()
	media := "application/octet-stream"
	if slices.Contains(plainTypes, f.MediaType) {
		media = f.MediaType
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	if f.SHA256 != "" { // it was uploaded
		h.Set("ETag", `"`+f.SHA256+`"`)
	}
	http.ServeContent(w, r, "", f.UpdatedAt, body)
	return nil
}
