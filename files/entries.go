package files

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/store"
)

// Entry is a document in a list of all documents.
type Entry struct {
	store.File        // made up for a document from a folder
	Title      string // as a user set it, or as the document states it; empty: not indexed, or it has none
	Pages      int
	Folder     string // the collection of a document from a folder; empty: it was uploaded
	Path       string // of a document from a folder, beginning with the folder's name
}

// Entries returns the uploaded files and the documents of folders in a collection, by id. Without a collection, it returns those of all
// collections, and files that are in none.
func (s *Service) Entries(ctx context.Context, collection string) ([]Entry, error) {
	member := func(string) bool { return true }
	folders := s.opts.Collections
	if collection != "" && collection != Collection {
		ids, err := s.memberIDs(ctx, collection)
		if err != nil {
			return nil, err
		}
		member, folders = func(id string) bool { return ids[id] }, []string{collection}
	} else if collection == Collection {
		folders = nil
	}
	var out []Entry
	indexed, err := s.documentsOf(ctx, Collection)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]corpus.Document, len(indexed))
	for _, d := range indexed {
		byID[string(d.ID)] = d
	}
	for after := ""; ; {
		fs, err := s.Files(ctx, after, 10_000)
		if err != nil || len(fs) == 0 {
			if err != nil {
				return nil, err
			}
			break
		}
		for _, f := range fs {
			if d := byID[f.ID]; member(f.ID) {
				out = append(out, Entry{File: f, Title: TitleOf(f, d), Pages: d.Pages})
			}
		}
		after = fs[len(fs)-1].ID
	}
	for _, folder := range folders {
		docs, err := s.documentsOf(ctx, folder)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			out = append(out, Entry{File: asFile(d), Title: TitleOf(store.File{}, d), Pages: d.Pages, Folder: folder, Path: d.Path})
		}
	}
	return out, nil
}

// documentsOf returns all documents of a collection of the index.
func (s *Service) documentsOf(ctx context.Context, collection string) (out []corpus.Document, err error) {
	for after := corpus.DocumentID(""); ; {
		docs, err := s.opts.Index.Documents(ctx, collection, after, 10_000)
		if err != nil || len(docs) == 0 {
			return out, err
		}
		out = append(out, docs...)
		after = docs[len(docs)-1].ID
	}
}

// memberIDs returns the ids of the files that joined a vector store or a collection of folders.
func (s *Service) memberIDs(ctx context.Context, id string) (map[string]bool, error) {
	out := map[string]bool{}
	for after := ""; ; {
		ms, err := s.Members(ctx, id, after, 10_000)
		if err != nil || len(ms) == 0 {
			return out, err
		}
		for _, m := range ms {
			out[m.File] = true
		}
		after = ms[len(ms)-1].File
	}
}

// TitleOf returns the title of a file: as a user set it, or as its document states it, or an empty text.
func TitleOf(f store.File, d corpus.Document) string {
	var set struct {
		Title string `json:"title"`
	}
	if len(f.Fields) > 0 {
		_ = json.Unmarshal(f.Fields, &set) // it was checked when it was stored
	}
	return cmp.Or(set.Title, d.Given.Title, d.Title)
}

// Retry queues a file that failed again. A file that did not fail is a Conflict.
func (s *Service) Retry(ctx context.Context, id string) (store.File, error) {
	f, err := s.File(ctx, id)
	if err != nil {
		return f, err
	}
	if f.Status != store.Failed {
		return f, fault.New(fault.Conflict, "the file did not fail")
	}
	if err := s.opts.Reserve.Check(); err != nil {
		return f, err
	}
	if _, err := s.retry(ctx, id); err != nil {
		return f, notFound(err, "file")
	}
	s.notifyWorkers()
	return s.File(ctx, id)
}
