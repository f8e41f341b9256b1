package files

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// audit holds the differences between store, bytes and index. Ids of files are sorted.
type audit struct {
	unrecorded []string            // hashes of bytes without a file in the store
	orphans    []corpus.Document   // documents of the index without a file in the store
	missing    []store.File        // files without bytes
	unindexed  []string            // completed files without a document
	edited     []string            // files whose document lacks what users stated last
	stores     []store.VectorStore // copies of vector stores that the store lacks
	joined     map[string][]string // by vector store: files that are members in the index only
	left       map[string][]string // by vector store: files that are members in the store only
	ids        map[string]bool     // of the files of the store
	kept       int                 // number of blobs
}

// audit compares the ids in store, bytes and index. Nothing may change meanwhile.
func (s *Service) audit(ctx context.Context) (*audit, error) {
	a := &audit{ids: map[string]bool{}, joined: map[string][]string{}, left: map[string][]string{}}
	stored, err := s.listBlobs(ctx)
	if err != nil {
		return nil, err
	}
	a.kept = len(stored)
	named := make(map[string]bool, len(stored))
	docs := s.documents(ctx, Collection)
	for f, err := range s.allFiles(ctx) {
		if err != nil {
			return nil, err
		}
		a.ids[f.ID] = true
		named[f.SHA256] = true
		a.orphans = docs.before(f.ID, a.orphans)
		doc, indexed := docs.at(f.ID)
		switch {
		case f.SHA256 == "":
		case !stored[f.SHA256]:
			a.missing = append(a.missing, f)
		case f.Status == store.Completed && !indexed:
			a.unindexed = append(a.unindexed, f.ID)
		case indexed && !givenOf(f).in(doc):
			a.edited = append(a.edited, f.ID)
		}
	}
	a.orphans = docs.before("", a.orphans)
	for sum := range stored {
		if !named[sum] {
			a.unrecorded = append(a.unrecorded, sum)
		}
	}
	slices.Sort(a.unrecorded)
	if docs.err != nil {
		return nil, docs.err
	}
	return a, s.auditStores(ctx, a)
}

// auditStores compares the members of vector stores with the sets of the index.
func (s *Service) auditStores(ctx context.Context, a *audit) error {
	recorded, err := s.recordedStores()
	if err != nil {
		return err
	}
	exists := map[string]bool{}
	for c, err := range s.allStores(ctx) {
		if err == nil {
			exists[c.ID] = true
			err = s.auditMembers(ctx, a, c.ID)
		}
		if err != nil {
			return err
		}
	}
	for _, v := range recorded {
		if !exists[v.ID] {
			a.stores = append(a.stores, v)
		}
	}
	return nil
}

func (s *Service) auditMembers(ctx context.Context, a *audit, id string) error {
	docs := s.documents(ctx, index.Scope{Collection: Collection, Sets: []string{id}}.Name())
	var extra []corpus.Document
	for m, err := range allMembers(func(after string) ([]store.Membership, error) { return s.opts.Store.Members(ctx, id, after, 1000) }) {
		if err != nil {
			return err
		}
		extra = docs.before(m.File, extra)
		if _, indexed := docs.at(m.File); !indexed && m.Status == store.Completed {
			a.left[id] = append(a.left[id], m.File)
		}
	}
	for _, d := range docs.before("", extra) {
		a.joined[id] = append(a.joined[id], string(d.ID))
	}
	return docs.err
}

// listBlobs returns the hashes of the stored bytes.
func (s *Service) listBlobs(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for sum, err := range s.opts.Blobs.List(ctx) {
		if err != nil {
			return nil, err
		}
		out[sum] = true
	}
	return out, nil
}

// cursor iterates over the documents of a scope, ordered by id.
type cursor struct {
	next func(after corpus.DocumentID) ([]corpus.Document, error)
	page []corpus.Document
	last corpus.DocumentID
	done bool
	err  error
}

func (s *Service) documents(ctx context.Context, scope string) *cursor {
	return &cursor{next: func(after corpus.DocumentID) ([]corpus.Document, error) {
		return s.opts.Index.Documents(ctx, scope, after, 1000)
	}}
}

// head returns the next document, if there is one.
func (c *cursor) head() (corpus.Document, bool) {
	if len(c.page) == 0 && !c.done && c.err == nil {
		c.page, c.err = c.next(c.last)
		c.done = len(c.page) == 0
	}
	if len(c.page) == 0 {
		return corpus.Document{}, false
	}
	return c.page[0], true
}

func (c *cursor) skip() {
	c.last = c.page[0].ID
	c.page = c.page[1:]
}

// before appends the documents with lower ids, or all remaining ones if id is empty, and skips them.
func (c *cursor) before(id string, to []corpus.Document) []corpus.Document {
	for {
		d, ok := c.head()
		if !ok || id != "" && string(d.ID) >= id {
			return to
		}
		to = append(to, d)
		c.skip()
	}
}

// at returns the next document if it has the id, and skips it.
func (c *cursor) at(id string) (corpus.Document, bool) {
	d, ok := c.head()
	if ok = ok && string(d.ID) == id; ok {
		c.skip()
	}
	return d, ok
}

// issues describes the differences for users.
func (a *audit) issues() []string {
	var out []string
	add := func(n int, what string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	members := 0
	for _, differing := range []map[string][]string{a.joined, a.left} {
		for _, ids := range differing {
			members += len(ids)
		}
	}
	add(len(a.unrecorded), "uploads without a record in files.db")
	add(len(a.orphans), "indexed files without a record in files.db")
	add(len(a.missing), "files whose bytes are missing")
	add(len(a.stores), "vector stores without a record in files.db")
	add(members, "memberships of vector stores that files.db and the index disagree about")
	return out
}
