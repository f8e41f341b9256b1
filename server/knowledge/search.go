package knowledge

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
)

// listing is the query by which the client of the service lists the files of a vector store. The reply has one row for each
// file.
const listing = "document content text information"

// Limits of a search.
const (
	defaultTopK = 10
	maxTopK     = 100
	maxFiltered = 10_000 // documents that a filter is evaluated for
	maxScoped   = 64     // documents that one search is restricted to
	maxHits     = 6_400  // hits that a filter is evaluated for
)

type searchRequest struct {
	idParam
	SearchRequest
}

// acceptedSearch has the fields that a search may have: ours, and those of OpenAI's API that are ignored.
type acceptedSearch struct {
	SearchRequest
	Filters        acceptedFilter `json:"filters"`
	RankingOptions any            `json:"ranking_options"`
	RewriteQuery   any            `json:"rewrite_query"`
}

type acceptedFilter struct {
	Type    any              `json:"type"`
	Key     any              `json:"key"`
	Value   any              `json:"value"`
	Filters []acceptedFilter `json:"filters"`
}

// search is the state of one search.
type search struct {
	*routes
	ctx    context.Context
	store  string // id of the vector store
	filter *filter
	docs   map[corpus.DocumentID]*docInfo // loaded so far
}

// docInfo is what is known about a document.
type docInfo struct {
	file     store.File // zero for a document of a folder
	doc      corpus.Document
	metadata map[string]any // of the file
}

func (s *routes) search(w http.ResponseWriter, r *http.Request) error {
	body, err := server.ReadJSON(r)
	if err != nil {
		return err
	}
	var in SearchRequest
	if err := parse(body, &in, acceptedSearch{}); err != nil {
		return err
	}
	limit := "top_k"
	if in.TopK == 0 && in.MaxNumResults != 0 {
		limit, in.TopK = "max_num_results", in.MaxNumResults
	}
	if in.TopK == 0 {
		in.TopK = defaultTopK
	}
	query := strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return fault.Invalid("query", "required")
	case len(query) > s.o.MaxQuery:
		return fault.Invalid("query", "want at most %d bytes", s.o.MaxQuery)
	case in.TopK < 1 || in.TopK > maxTopK:
		return fault.Invalid(limit, "want 1 to %d", maxTopK)
	}
	f, err := parseFilter(in.Filters)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, err := s.o.Files.Store(r.Context(), id); err != nil {
		return notFound(err, "vector store")
	}
	x := &search{routes: s, ctx: r.Context(), store: id, filter: f, docs: map[corpus.DocumentID]*docInfo{}}
	rows, more, err := x.rows(query, in.TopK)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, SearchPage{Object: "vector_store.search_results.page", SearchQuery: in.Query, Data: rows, HasMore: more,
		RequestID: "req_" + strings.ToLower(s.o.NewID())})
	return nil
}

// rows returns the best passages, followed by the first passages of documents without a hit. More reports whether hits were
// left out.
func (x *search) rows(query string, topK int) (rows []SearchRow, more bool, err error) {
	docs, err := x.documents(topK)
	if err != nil {
		return nil, false, err
	}
	hits, err := x.hits(query, topK+1, docs)
	if err != nil {
		return nil, false, err
	}
	rows = []SearchRow{}
	shown := map[corpus.DocumentID]bool{}
	for _, h := range hits {
		if query == listing && shown[h.Chunk.Document] {
			continue
		}
		if len(rows) == topK {
			return rows, true, nil
		}
		shown[h.Chunk.Document] = true
		a, err := x.info(h.Chunk.Document)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, row(h.Chunk, h.Score, a))
	}
	for _, d := range docs {
		if shown[d] {
			continue
		}
		if len(rows) == topK {
			return rows, true, nil
		}
		chunks, err := x.o.Index.DocumentChunks(x.ctx, x.store, d, corpus.Passage, 0, 1)
		if err != nil {
			return nil, false, err
		}
		for _, c := range chunks {
			a, err := x.info(d)
			if err != nil {
				return nil, false, err
			}
			if x.filter.matches(a.of(&c)) == yes {
				rows = append(rows, row(c, 0, a))
			}
		}
	}
	return rows, false, nil
}

// documents returns the documents of the vector store that may match the filter. Without a filter it returns only as many
// as are needed.
func (x *search) documents(topK int) ([]corpus.DocumentID, error) {
	const step = 500
	var out []corpus.DocumentID
	after := corpus.DocumentID("")
	for read := 0; read < maxFiltered; {
		limit := step
		if x.filter == nil {
			limit = 2*topK + 1
		}
		docs, err := x.o.Index.Documents(x.ctx, x.store, after, limit)
		if err != nil {
			return nil, err
		}
		var files map[string]store.File
		if x.filter != nil {
			if files, err = x.files(docs); err != nil {
				return nil, err
			}
		}
		for i := range docs {
			after = docs[i].ID
			if x.filter == nil {
				out = append(out, after)
				continue
			}
			a := describe(docs[i], files)
			if x.filter.matches(a.of(nil)) != no {
				out = append(out, after)
				x.docs[after] = a
			}
		}
		if read += len(docs); len(docs) < limit || x.filter == nil {
			break
		}
	}
	return out, nil
}

// hits returns the best passages that match the filter. If few documents can match, only they are searched. Otherwise all
// are searched, with a limit that grows until there are enough matches.
func (x *search) hits(query string, want int, docs []corpus.DocumentID) ([]index.Hit, error) {
	q := index.Query{Collection: x.store, Text: query, Limit: want}
	if x.filter == nil {
		if query == listing {
			q.Limit = 4 * want // a file with several hits has one row
		}
		return x.o.Search(x.ctx, q)
	}
	if len(docs) == 0 {
		return nil, nil
	}
	if scope, ok := x.scope(docs); ok {
		q.Collection = scope
	}
	for q.Limit = 4 * want; ; q.Limit *= 4 {
		all, err := x.o.Search(x.ctx, q)
		if err != nil {
			return nil, err
		}
		var out []index.Hit
		for _, h := range all {
			a, err := x.info(h.Chunk.Document)
			if err != nil {
				return nil, err
			}
			if x.filter.matches(a.of(&h.Chunk)) == yes {
				out = append(out, h)
			}
		}
		if len(out) >= want || len(all) < q.Limit || q.Limit >= maxHits {
			return out[:min(want, len(out))], nil
		}
	}
}

// scope returns the collection name that restricts a search to the documents, which must be few and all uploaded files.
func (x *search) scope(docs []corpus.DocumentID) (name string, ok bool) {
	if len(docs) > maxScoped {
		return "", false
	}
	for _, d := range docs {
		if a := x.docs[d]; a == nil || a.file.ID == "" || strings.Contains(string(d), ",") {
			return "", false
		}
	}
	return corpus.Scope{Documents: docs}.String(), true
}

func (x *search) info(id corpus.DocumentID) (*docInfo, error) {
	if a := x.docs[id]; a != nil {
		return a, nil
	}
	docs, err := x.o.Index.DocumentsByID(x.ctx, x.store, []corpus.DocumentID{id})
	if err != nil {
		return nil, err
	}
	doc := corpus.Document{ID: id}
	if len(docs) > 0 {
		doc = docs[0]
	}
	files, err := x.files([]corpus.Document{doc})
	if err != nil {
		return nil, err
	}
	x.docs[id] = describe(doc, files)
	return x.docs[id], nil
}

// files returns the files of the documents. Documents of folders and deleted files have none.
func (x *search) files(docs []corpus.Document) (map[string]store.File, error) {
	ids := make([]string, len(docs))
	for i := range docs {
		ids[i] = string(docs[i].ID)
	}
	return x.o.Files.FilesByID(x.ctx, ids)
}

func describe(doc corpus.Document, files map[string]store.File) *docInfo {
	a := &docInfo{doc: doc, file: files[string(doc.ID)]}
	if meta := fieldsOf(a.file).Metadata; len(meta) > 0 {
		_ = json.Unmarshal(meta, &a.metadata) // an object; it was checked when it was stored
	}
	return a
}

func (a *docInfo) name() string {
	if a.file.Name != "" {
		return a.file.Name
	}
	if name := path.Base(strings.TrimSuffix(a.doc.URI, "/")); name != "." && name != "/" {
		return name
	}
	return first(a.doc.Title, string(a.doc.ID))
}

func (a *docInfo) title() string {
	if a.file.ID != "" {
		return first(fieldsOf(a.file).Title, a.doc.Title, a.file.Name)
	}
	return a.doc.Title
}

// of returns the attributes of a passage, or of the whole document if c is nil.
func (a *docInfo) of(c *corpus.Chunk) attributes {
	return func(key string) (any, truth) {
		switch key {
		case "file_id":
			return string(a.doc.ID), yes
		case "filename", "name":
			return a.name(), yes
		case "title":
			return a.title(), yes
		case "content_type", "mime_type", "file_type":
			return first(a.file.MediaType, a.doc.MediaType), yes
		case "purpose":
			return a.file.Purpose, yes
		case "created_at":
			return float64(unix(a.file.CreatedAt)), yes
		case "bytes":
			return float64(max(a.file.Bytes, a.doc.Bytes)), yes
		case "segment_index", "chunk_id", "heading", "page":
			if c == nil {
				return nil, unknown
			}
			return ofChunk(key, c)
		}
		v, ok := a.metadata[key]
		if !ok {
			return nil, no
		}
		return v, yes
	}
}

func ofChunk(key string, c *corpus.Chunk) (any, truth) {
	switch key {
	case "segment_index":
		return float64(c.Ordinal), yes
	case "chunk_id":
		return string(c.ID), yes
	case "heading":
		return c.Heading(), yes
	}
	if len(c.Pages) == 0 {
		return nil, no
	}
	return float64(c.Pages[0]), yes
}

func row(c corpus.Chunk, score float64, a *docInfo) SearchRow {
	out := SearchRow{FileID: string(c.Document), Filename: a.name(), Score: min(max(score, 0), 1),
		Content: []SearchText{{Type: "text", Text: c.Text}},
		Attributes: SearchAttributes{FileID: string(c.Document), Filename: a.name(), Title: a.title(), ContentType: first(a.file.MediaType, a.doc.MediaType),
			SegmentIndex: c.Ordinal, ChunkID: string(c.ID), Heading: c.Heading()}}
	if len(c.Pages) > 0 {
		out.Attributes.Page = c.Pages[0]
	}
	return out
}
