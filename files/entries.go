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
	byID := map[string]corpus.Document{}
	for d, err := range s.allDocuments(ctx, Collection) {
		if err != nil {
			return nil, err
		}
		byID[string(d.ID)] = d
	}
	for f, err := range s.allFiles(ctx) {
		if err != nil {
			return nil, err
		}
		if d := byID[f.ID]; member(f.ID) {
			s.setRunning(&f)
			out = append(out, Entry{File: f, Title: TitleOf(f, d), Pages: d.Pages})
		}
	}
	for _, folder := range folders {
		for d, err := range s.allDocuments(ctx, folder) {
			if err != nil {
				return nil, err
			}
			out = append(out, Entry{File: asFile(d), Title: TitleOf(store.File{}, d), Pages: d.Pages, Folder: folder, Path: d.Path})
		}
	}
	return out, nil
}

// memberIDs returns the ids of the files that joined a vector store or a collection of folders.
func (s *Service) memberIDs(ctx context.Context, id string) (map[string]bool, error) {
	out := map[string]bool{}
	for m, err := range allMembers(func(after string) ([]store.Membership, error) { return s.Members(ctx, id, after, 10_000) }) {
		if err != nil {
			return nil, err
		}
		out[m.File] = true
	}
	return out, nil
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
	if _, err := s.retry(ctx, id, ""); err != nil {
		return f, notFound(err, "file")
	}
	s.notifyWorkers()
	return s.File(ctx, id)
}
