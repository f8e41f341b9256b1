// Package documents provides the routes of the page for documents: the list of all of them, their text as it is indexed, their original bytes,
// and questions that they answer.
package documents

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/store"
)

// Index is the part of an index that the routes read. Collections are the texts of scopes.
type Index interface {
	index.Reader
	index.DocumentReader
}

// Options configures the routes. All fields are required.
type Options struct {
	Files *files.Service
	Index Index
	// Questions returns questions that the documents of a collection answer. Those in the language come first.
	Questions func(ctx context.Context, collection, language string) ([]string, error)
	// Scope returns the collection of questions for a request that names none. Default: [corpus.DefaultCollection].
	Scope func(context.Context) string
}

// Limits of requests and replies.
const (
	maxFilter   = 200 // bytes of a parameter
	maxPage     = 200 // documents in a reply
	maxPassages = 200 // in a reply
	maxSections = 2000
)

type (
	idParam struct {
		ID string `path:"id"`
	}
	listParams struct {
		Collection string `query:"collection" description:"Vector store or collection of folders. The default is all documents."`
		Query      string `query:"q" description:"Words in the name, the title or the path."`
		Status     string `query:"status" enum:"waiting,reading,ready,failed"`
		Type       string `query:"type" description:"Media type."`
		Sort       string `query:"sort" enum:"name,title,size,added,status" default:"added"`
		Order      string `query:"order" enum:"asc,desc" description:"The default is desc for added and size, otherwise asc."`
		Offset     int    `query:"offset" minimum:"0" default:"0"`
		Limit      int    `query:"limit" minimum:"1" maximum:"200" default:"100"`
	}
	passageParams struct {
		idParam
		From  int    `query:"from" minimum:"0" default:"0" description:"First passage."`
		Limit int    `query:"limit" minimum:"1" maximum:"200" default:"100"`
		Chunk string `query:"chunk" description:"Id of a chunk of any level, such as that of a source. The reply begins shortly before it, and from is ignored."`
	}
	suggestionParams struct {
		Collection string `query:"collection" description:"As in questions."`
		Language   string `query:"language" description:"Code of ISO 639-1. Questions in this language come first."`
	}
)

type routes struct{ o Options }

// Routes returns the routes.
func Routes(o Options) []server.Route {
	if o.Scope == nil {
		o.Scope = func(context.Context) string { return corpus.DefaultCollection }
	}
	s := &routes{o}
	id := []any{idParam{}}
	return []server.Route{
		{Method: "GET", Path: "/api/suggestions", Scope: auth.Ask, Limited: true, Serve: s.suggestions, Request: []any{suggestionParams{}}, Reply: Suggestions{},
			Faults: []int{400, 403}, Summary: "Suggest questions that the documents answer"},
		{Method: "GET", Path: "/api/documents", Scope: auth.Read, Serve: s.list, Request: []any{listParams{}}, Reply: DocumentList{},
			Faults: []int{400, 404}, Summary: "List all documents: uploaded files and those of folders"},
		{Method: "GET", Path: "/api/documents/{id}", Scope: auth.Read, Serve: s.show, Request: id, Reply: DocumentView{}, Faults: []int{404},
			Summary: "Show a document with its outline"},
		{Method: "GET", Path: "/api/documents/{id}/passages", Scope: auth.Read, Serve: s.passages, Request: []any{passageParams{}}, Reply: DocumentText{},
			Faults: []int{400, 404}, Summary: "Show the text of a document as it is indexed"},
		{Method: "GET", Path: "/api/documents/{id}/original", Scope: auth.Read, Serve: s.original, Timeout: originalTime, Request: id, Text: "application/octet-stream",
			Faults: []int{404, 409, 500}, Summary: "Download the file of a document"},
		{Method: "POST", Path: "/api/documents/{id}/retry", Scope: auth.Write, Serve: s.retry, Request: id, Reply: ListedDocument{}, Faults: []int{404, 409, 507},
			Summary: "Read a file that failed again"},
	}
}

func (s *routes) suggestions(w http.ResponseWriter, r *http.Request) error {
	scope, err := corpus.ParseScope(cmp.Or(r.URL.Query().Get("collection"), s.o.Scope(r.Context())))
	if err != nil {
		return err
	}
	if by, ok := auth.From(r.Context()); ok {
		if err := by.CheckCollection(scope.String()); err != nil {
			return err
		}
	}
	language, err := text(r, "language")
	if err != nil {
		return err
	}
	questions, err := s.o.Questions(r.Context(), scope.String(), language)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, Suggestions{Questions: append([]string{}, questions...)})
	return nil
}

func (s *routes) list(w http.ResponseWriter, r *http.Request) error {
	p, err := readListParams(r)
	if err != nil {
		return err
	}
	all, err := s.o.Files.Entries(r.Context(), p.Collection)
	if err != nil {
		return err
	}
	out := DocumentList{Documents: []ListedDocument{}, Statuses: map[string]int{}, Types: map[string]int{}}
	words := strings.Fields(strings.ToLower(p.Query))
	var found []files.Entry
	for _, e := range all {
		if !contains(e, words) {
			continue
		}
		status, media := statusOf(e.Status), e.MediaType
		if p.Type == "" || p.Type == media {
			out.Statuses[status]++
		}
		if p.Status == "" || p.Status == status {
			out.Types[media]++
		}
		if (p.Type == "" || p.Type == media) && (p.Status == "" || p.Status == status) {
			found = append(found, e)
		}
	}
	order(found, p)
	out.Total = len(found)
	for _, e := range found[min(p.Offset, len(found)):min(p.Offset+p.Limit, len(found))] {
		out.Documents = append(out.Documents, entryOf(e))
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func readListParams(r *http.Request) (p listParams, err error) {
	for name, to := range map[string]*string{"collection": &p.Collection, "q": &p.Query, "status": &p.Status, "type": &p.Type, "sort": &p.Sort, "order": &p.Order} {
		if *to, err = text(r, name); err != nil {
			return p, err
		}
	}
	if p.Offset, err = server.IntParam(r.URL.Query(), "offset", 0, 0, 1<<30); err != nil {
		return p, err
	}
	if p.Limit, err = server.IntParam(r.URL.Query(), "limit", 100, 1, maxPage); err != nil {
		return p, err
	}
	p.Sort = cmp.Or(p.Sort, "added")
	if p.Order == "" {
		p.Order = "asc"
		if p.Sort == "added" || p.Sort == "size" {
			p.Order = "desc"
		}
	}
	for _, c := range []struct {
		name, value string
		of          []string
	}{{"status", p.Status, []string{"", Waiting, Reading, Ready, Failed}}, {"sort", p.Sort, []string{"name", "title", "size", "added", "status"}}, {"order", p.Order, []string{"asc", "desc"}}} {
		if !slices.Contains(c.of, c.value) {
			return p, fault.Invalid(c.name, "want one of: %s", strings.TrimSpace(strings.Join(c.of, " ")))
		}
	}
	return p, nil
}

// contains reports whether the name, the title or the path of a document contain all words.
func contains(e files.Entry, words []string) bool {
	if len(words) == 0 {
		return true
	}
	all := strings.ToLower(e.Name + "\n" + e.Title + "\n" + e.Path)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
}

// order sorts documents. Equal ones are in the order of their ids.
func order(es []files.Entry, p listParams) {
	rank := map[store.Status]int{store.Failed: 0, store.Cancelled: 1, store.Running: 2, store.Pending: 3, store.Completed: 4}
	compare := map[string]func(a, b files.Entry) int{
		"name": func(a, b files.Entry) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) },
		"title": func(a, b files.Entry) int {
			return cmp.Compare(strings.ToLower(titleOf(a)), strings.ToLower(titleOf(b)))
		},
		"size":   func(a, b files.Entry) int { return cmp.Compare(a.Bytes, b.Bytes) },
		"added":  func(a, b files.Entry) int { return a.CreatedAt.Compare(b.CreatedAt) },
		"status": func(a, b files.Entry) int { return cmp.Compare(rank[a.Status], rank[b.Status]) },
	}[p.Sort]
	slices.SortFunc(es, func(a, b files.Entry) int {
		c := compare(a, b)
		if p.Order == "desc" {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.ID, b.ID))
	})
}

func (s *routes) retry(w http.ResponseWriter, r *http.Request) error {
	f, err := s.o.Files.Retry(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, entryOf(files.Entry{File: f}))
	return nil
}

// text reads a parameter of limited length.
func text(r *http.Request, name string) (string, error) {
	v := strings.TrimSpace(r.URL.Query().Get(name))
	if len(v) > maxFilter || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
		return "", fault.Invalid(name, "want at most %d bytes without control characters", maxFilter)
	}
	return v, nil
}
