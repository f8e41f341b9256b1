package files

import (
	"context"
	"iter"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/store"
)

// inPages yields the elements of a list that is read in pages, until there is an error. read returns the page after an id; an empty page is the end.
func inPages[T any, ID ~string](id func(T) ID, read func(after ID) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for after := ID(""); ; {
			page, err := read(after)
			if err != nil {
				var none T
				yield(none, err)
			}
			if err != nil || len(page) == 0 {
				return
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
			}
			after = id(page[len(page)-1])
		}
	}
}

// allFiles yields the files of the store, ordered by id.
func (s *Service) allFiles(ctx context.Context) iter.Seq2[store.File, error] {
	return inPages(func(f store.File) string { return f.ID }, func(after string) ([]store.File, error) { return s.opts.Store.Files(ctx, after, 1000) })
}

// allStores yields the vector stores of the store, ordered by id.
func (s *Service) allStores(ctx context.Context) iter.Seq2[store.VectorStoreInfo, error] {
	return inPages(func(v store.VectorStoreInfo) string { return v.ID }, func(after string) ([]store.VectorStoreInfo, error) { return s.opts.Store.Stores(ctx, after, 500) })
}

// allDocuments yields the documents of a scope of the index, ordered by id.
func (s *Service) allDocuments(ctx context.Context, scope string) iter.Seq2[corpus.Document, error] {
	return inPages(func(d corpus.Document) corpus.DocumentID { return d.ID }, func(after corpus.DocumentID) ([]corpus.Document, error) {
		return s.opts.Index.Documents(ctx, scope, after, 1000)
	})
}

// allMembers yields the members of a vector store that list returns in pages, ordered by the ids of their files.
func allMembers(list func(after string) ([]store.Membership, error)) iter.Seq2[store.Membership, error] {
	return inPages(func(m store.Membership) string { return m.File }, list)
}
