package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of the functions of documents.
const (
	defaultPage     = 20
	maxExamined     = 2000 // documents that one list with conditions reads
	defaultPassages = 100
	maxSections     = 500
	maxParts        = 1 << 20 // parts of one level that a document can have; ingestion allows fewer
)

type listArguments struct {
	_          struct{}       `additionalProperties:"false"`
	Collection string         `json:"collection,omitempty" description:"Names of collections and vector stores, separated by commas. Default: the collection of the server and all uploaded documents. files stands for all uploaded documents."`
	Cursor     string         `json:"cursor,omitempty" maxLength:"600" description:"The next_cursor of the previous page."`
	Limit      int            `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20"`
	Status     string         `json:"status,omitempty" enum:"pending,processing,completed,failed,cancelled" description:"Only documents with this status."`
	Filter     map[string]any `json:"filter,omitempty" description:"A condition on the attributes of documents, as in rag.search."`
}

type listResult struct {
	Documents  []document `json:"documents"`
	NextCursor *string    `json:"next_cursor" description:"Null at the end. A page with conditions may have fewer documents than the limit before the end."`
}

// document is an uploaded file or a document of a folder.
type document struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Status      string           `json:"status" enum:"pending,processing,completed,failed,cancelled" description:"Searches find completed documents."`
	Error       string           `json:"error,omitempty" description:"Why it failed."`
	Origin      string           `json:"origin" enum:"upload,url,folder" description:"Documents of folders change with their files, and cannot be deleted here."`
	URL         string           `json:"url,omitempty"`
	MediaType   string           `json:"media_type"`
	Bytes       int64            `json:"bytes"`
	Pages       int              `json:"pages,omitempty"`
	Metadata    map[string]any   `json:"metadata"`
	DublinCore  *wire.DublinCore `json:"dublin_core,omitempty"`
	Contributor string           `json:"contributor,omitempty"`
	CreatedAt   string           `json:"created_at" format:"date-time"`
	UpdatedAt   string           `json:"updated_at" format:"date-time"`
	IndexedAt   string           `json:"indexed_at,omitempty" format:"date-time"`
}

type getArguments struct {
	_          struct{} `additionalProperties:"false"`
	ID         string   `json:"id" required:"true" minLength:"1" maxLength:"512"`
	Collection string   `json:"collection,omitempty" description:"Where to look for a document that is neither uploaded nor in the collection of the server."`
	From       int      `json:"from,omitempty" minimum:"0" maximum:"1000000" description:"Index of the first passage."`
	Limit      *int     `json:"limit,omitempty" minimum:"0" maximum:"500" default:"100" description:"Number of passages."`
}

type getResult struct {
	document
	Collections  []string   `json:"collections" description:"The vector stores or the collection that it belongs to. Uploaded documents are also in files."`
	Progress     float64    `json:"progress" minimum:"0" maximum:"1" description:"Of the ingestion."`
	PassageCount int        `json:"passage_count"`
	Sections     []section  `json:"sections" description:"The first 500."`
	Passages     []fragment `json:"passages"`
	Next         *int       `json:"next" description:"Value of from for the next passages. Null at the end."`
}

// section is the text under one heading.
type section struct {
	Index    int      `json:"index"`
	Headings []string `json:"headings" description:"From the outermost to the innermost."`
	Pages    []int    `json:"pages,omitempty"`
	Start    int      `json:"start" description:"Byte offsets into the text of the document."`
	End      int      `json:"end"`
}

// fragment is a passage of a known document.
type fragment struct {
	section
	ID   string `json:"id"`
	Text string `json:"text"`
}

type deleteArguments struct {
	_  struct{} `additionalProperties:"false"`
	ID string   `json:"id" required:"true" minLength:"1" maxLength:"512"`
}

type deleteResult struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

func (d *documents) documentFunctions() []function {
	list := forrst.Func("documents.list", "1.0.0", coded(d.list))
	list.Description = "Lists the documents of a collection, also those that are not indexed yet or failed."
	get := forrst.Func("documents.get", "1.0.0", coded(d.get))
	get.Description = "Returns a document with its sections and its text."
	remove := forrst.Func("documents.delete", "1.0.0", coded(d.remove))
	remove.Description = "Deletes an uploaded document with its text and bytes."
	remove.SideEffects = []string{"delete"}
	return []function{{list, auth.Read}, {get, auth.Read}, {remove, auth.Write}, {d.ingestFunction(), auth.Write}}
}

// coded returns a function whose errors are those of the protocol.
func coded[In, Out any](call func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		out, err := call(ctx, in)
		return out, callError(err)
	}
}

func (d *documents) list(ctx context.Context, in listArguments) (listResult, error) {
	out := listResult{Documents: []document{}}
	f, err := filterOf(in.Filter)
	if err != nil {
		return out, err
	}
	in.Collection = cmp.Or(in.Collection, d.o.Scope)
	scope, err := corpus.ParseScope(in.Collection)
	switch {
	case err != nil:
		return out, err
	case len(scope.Documents) > 0:
		return out, fault.Invalid("collection", "want names of collections; documents.get returns a single document")
	case strings.ContainsFunc(in.Cursor, unicode.IsControl):
		return out, fault.Invalid("cursor", "not the cursor of a page")
	}
	if in.Cursor == "" {
		if err := d.checkList(ctx, in.Collection); err != nil {
			return out, err
		}
	}
	limit, after := cmp.Or(in.Limit, defaultPage), in.Cursor
	for examined := 0; ; {
		all, more, err := d.page(ctx, scope, after, limit)
		if err != nil {
			return out, err
		}
		if len(all) == 0 && !more {
			if in.Cursor == "" && examined == 0 {
				err = d.checkCollections(ctx, in.Collection)
			}
			return out, err
		}
		for i, a := range all {
			after = a.ID()
			if examined++; !a.Matches(f) || in.Status != "" && statusOf(a) != in.Status {
				continue
			}
			if out.Documents = append(out.Documents, documentOf(a)); len(out.Documents) == limit {
				if more || i < len(all)-1 {
					out.NextCursor = &after
				}
				return out, nil
			}
		}
		if !more {
			return out, nil
		}
		if examined >= maxExamined {
			out.NextCursor = &after
			return out, nil
		}
	}
}

// page returns documents by id, beginning after an id, and whether more follow. The sources are the files that were added to the collections,
// of which some are not indexed, and the index.
func (d *documents) page(ctx context.Context, scope corpus.Scope, after string, limit int) (all []*search.Info, more bool, err error) {
	docs, err := d.o.Index.Documents(ctx, scope.String(), corpus.DocumentID(after), limit+1)
	if err != nil {
		return nil, false, err
	}
	indexed := map[string]corpus.Document{}
	var ids []string
	for _, doc := range docs {
		indexed[string(doc.ID)] = doc
		ids = append(ids, string(doc.ID))
	}
	for _, name := range scope.Collections {
		some, err := d.members(ctx, name, after, limit+1)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, some...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if more = len(ids) > limit; more {
		ids = ids[:limit]
	}
	byID, err := d.o.Files.FilesByID(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	for _, id := range ids {
		f, isFile := byID[id]
		doc, isIndexed := indexed[id]
		if isFile || isIndexed { // otherwise it was just deleted
			all = append(all, search.NewInfo(f, doc))
		}
	}
	return all, more, d.searcher("").AddAttributes(ctx, all)
}

// members returns the ids of the files that were added to a collection, indexed or not.
func (d *documents) members(ctx context.Context, name, after string, limit int) (ids []string, err error) {
	if name == files.Collection {
		fs, err := d.o.Files.Files(ctx, after, limit)
		for _, f := range fs {
			ids = append(ids, f.ID)
		}
		return ids, err
	}
	ms, err := d.o.Files.Members(ctx, name, after, limit)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	for _, m := range ms {
		ids = append(ids, m.File)
	}
	return ids, err
}

func (d *documents) get(ctx context.Context, in getArguments) (out getResult, err error) {
	limit := defaultPassages
	if in.Limit != nil {
		limit = *in.Limit
	}
	found, err := d.o.Files.Document(ctx, in.ID, in.From, limit)
	if fault.CodeOf(err) == fault.NotFound && in.Collection != "" {
		found, err = d.elsewhere(ctx, in, limit)
	}
	if fault.CodeOf(err) == fault.NotFound {
		return out, notFound("document", "id")
	}
	if err != nil {
		return out, err
	}
	a := search.NewInfo(found.File, found.Document)
	if err := d.searcher("").AddAttributes(ctx, []*search.Info{a}); err != nil {
		return out, err
	}
	out = getResult{document: documentOf(a), Collections: orEmpty(found.Stores), Sections: []section{}, Passages: []fragment{}}
	if out.Progress, err = d.progressOf(ctx, a); err != nil || found.Document.ID == "" {
		return out, err
	}
	collection := collectionOf(found.Document)
	sections, err := d.o.Index.DocumentChunks(ctx, collection, found.Document.ID, corpus.Section, 0, maxSections)
	if err != nil {
		return out, err
	}
	for _, c := range sections {
		out.Sections = append(out.Sections, sectionOf(c))
	}
	if out.PassageCount, err = d.countPassages(ctx, found.Document); err != nil {
		return out, err
	}
	text := 0
	for i, c := range found.Segments {
		if text += len(c.Text); i > 0 && text > maxText {
			found.More = true
			break
		}
		out.Passages = append(out.Passages, fragment{section: sectionOf(c), ID: string(c.ID), Text: c.Text})
	}
	if n := len(out.Passages); found.More && n > 0 {
		next := out.Passages[n-1].Index + 1
		out.Next = &next
	}
	return out, nil
}

// elsewhere returns a document of a collection that the files do not know.
func (d *documents) elsewhere(ctx context.Context, in getArguments, limit int) (out files.Document, err error) {
	docs, err := d.o.Index.DocumentsByID(ctx, in.Collection, []corpus.DocumentID{corpus.DocumentID(in.ID)})
	if err != nil {
		return out, err
	}
	if len(docs) == 0 {
		return out, fault.New(fault.NotFound, "no such document")
	}
	out = files.Document{Document: docs[0], Stores: []string{docs[0].Collection}}
	if limit > 0 {
		out.Segments, err = d.o.Index.DocumentChunks(ctx, collectionOf(docs[0]), docs[0].ID, corpus.Passage, in.From, limit+1)
		if out.More = len(out.Segments) > limit; out.More {
			out.Segments = out.Segments[:limit]
		}
	}
	return out, err
}

// progressOf returns how much of the ingestion of a document is done, 0..1.
func (d *documents) progressOf(ctx context.Context, a *search.Info) (float64, error) {
	if statusOf(a) == completed {
		return 1, nil
	}
	t, err := d.o.Files.Task(ctx, "upload-"+a.ID())
	if fault.CodeOf(err) == fault.NotFound { // it was just deleted
		return 0, nil
	}
	return min(max(t.Progress/100, 0), 1), err
}

// countPassages returns the number of passages of a document, by a binary search for the first position without one.
func (d *documents) countPassages(ctx context.Context, doc corpus.Document) (n int, err error) {
	n = sort.Search(maxParts, func(i int) bool {
		if err != nil {
			return true
		}
		var some []corpus.Chunk
		some, err = d.o.Index.DocumentChunks(ctx, collectionOf(doc), doc.ID, corpus.Passage, i, 1)
		return len(some) == 0
	})
	return n, err
}

func (d *documents) remove(ctx context.Context, in deleteArguments) (out deleteResult, err error) {
	err = d.o.Files.DeleteFile(ctx, in.ID)
	if fault.CodeOf(err) == fault.NotFound {
		if found, failed := d.o.Files.Document(ctx, in.ID, 0, 0); failed == nil && isOfFolder(found.Document) {
			return out, fault.New(fault.Conflict, "the document comes from a folder of the server: delete its file there")
		}
		return out, notFound("document", "id")
	}
	return deleteResult{in.ID, true}, err
}

// Statuses of a document.
const (
	pending    = "pending"
	processing = "processing"
	completed  = "completed"
	failed     = "failed"
	cancelled  = "cancelled"
)

var statuses = map[store.Status]string{store.Pending: pending, store.Running: processing, store.Completed: completed, store.Failed: failed, store.Cancelled: cancelled}

// statusOf returns the status of a document. A document without a file is indexed.
func statusOf(a *search.Info) string { return cmp.Or(statuses[a.File.Status], completed) }

// isOfFolder reports whether a document was indexed from a folder.
func isOfFolder(doc corpus.Document) bool { return doc.ID != "" && doc.Collection != files.Collection }

// collectionOf returns the collection to read a document from.
func collectionOf(doc corpus.Document) string {
	if isOfFolder(doc) {
		return doc.Collection
	}
	return corpus.Scope{Documents: []corpus.DocumentID{doc.ID}}.String()
}

func documentOf(a *search.Info) document {
	f, doc := a.File, a.Document
	out := document{ID: a.ID(), Name: a.Name(), Title: a.Title(), Status: statusOf(a), Error: f.Failure, Origin: "upload", URL: f.URL, MediaType: a.MediaType(),
		Bytes: max(f.Bytes, doc.Bytes), Pages: doc.Pages, Metadata: a.Metadata, CreatedAt: timestamp(f.CreatedAt), UpdatedAt: timestamp(f.UpdatedAt)}
	var set struct {
		DublinCore  *wire.DublinCore `json:"dublin_core"`
		Contributor string           `json:"contributor"`
	}
	if len(f.Fields) > 0 {
		_ = json.Unmarshal(f.Fields, &set) // it was checked when it was stored
	}
	out.DublinCore, out.Contributor = set.DublinCore, set.Contributor
	if doc.ID != "" {
		out.DublinCore, out.Contributor, out.IndexedAt = wire.DublinCoreOfDocument(doc), doc.Contributor, timestamp(doc.IndexedAt)
	}
	switch {
	case isOfFolder(doc):
		out.Origin, out.CreatedAt, out.UpdatedAt = "folder", out.IndexedAt, out.IndexedAt
	case f.URL != "":
		out.Origin = "url"
	}
	if out.Metadata == nil {
		out.Metadata = map[string]any{}
	}
	return out
}

func sectionOf(c corpus.Chunk) section {
	return section{Index: c.Ordinal, Headings: orEmpty(c.Headings), Pages: c.Pages, Start: c.Start, End: c.End}
}

func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
