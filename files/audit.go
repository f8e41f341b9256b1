package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// audit is how store, bytes and index differ. Ids of files are in order.
type audit struct {
	unrecorded []string            // hashes of bytes that no file of the store has
	orphans    []corpus.Document   // of the index, that no file of the store has
	missing    []store.File        // whose bytes are not there
	unindexed  []string            // completed files with bytes and without a document
	stores     []store.VectorStore // that there is a copy of and no row
	joined     map[string][]string // files that the index has in a vector store, and the store has not
	left       map[string][]string // the other way round
	ids        map[string]bool     // of the files of the store
	kept       int                 // hashes of bytes
}

// look compares store, bytes and index by their lists of ids. Nothing may change meanwhile.
func (s *Service) look(ctx context.Context) (*audit, error) {
	a := &audit{ids: map[string]bool{}, joined: map[string][]string{}, left: map[string][]string{}}
	blobs, err := s.listBlobs()
	if err != nil {
		return nil, err
	}
	a.kept = len(blobs)
	named := make(map[string]bool, len(blobs))
	docs := s.documents(ctx, Collection)
	for after := ""; ; {
		fs, err := s.opts.Store.Files(ctx, after, 1000)
		if err != nil {
			return nil, err
		}
		if len(fs) == 0 {
			break
		}
		for _, f := range fs {
			after = f.ID
			a.ids[f.ID] = true
			named[f.SHA256] = true
			a.orphans = docs.before(f.ID, a.orphans)
			indexed := docs.at(f.ID)
			switch {
			case f.SHA256 == "":
			case !blobs[f.SHA256]:
				a.missing = append(a.missing, f)
			case f.Status == store.Completed && !indexed:
				a.unindexed = append(a.unindexed, f.ID)
			}
		}
	}
	a.orphans = docs.before("", a.orphans)
	for sum := range blobs {
		if !named[sum] {
			a.unrecorded = append(a.unrecorded, sum)
		}
	}
	slices.Sort(a.unrecorded)
	if docs.err != nil {
		return nil, docs.err
	}
	return a, s.lookAtStores(ctx, a)
}

// lookAtStores compares the members of vector stores with the sets of the index.
func (s *Service) lookAtStores(ctx context.Context, a *audit) error {
	recorded, err := s.recordedStores()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for after := ""; ; {
		all, err := s.opts.Store.Stores(ctx, after, 500)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			break
		}
		for _, c := range all {
			after = c.ID
			there[c.ID] = true
			if err := s.lookAtMembers(ctx, a, c.ID); err != nil {
				return err
			}
		}
	}
	for _, v := range recorded {
		if !there[v.ID] {
			a.stores = append(a.stores, v)
		}
	}
	return nil
}

func (s *Service) lookAtMembers(ctx context.Context, a *audit, id string) error {
	docs := s.documents(ctx, index.Scope{Collection: Collection, Sets: []string{id}}.Name())
	var extra []corpus.Document
	for after := ""; ; {
		ms, err := s.opts.Store.Members(ctx, id, after, 1000)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			break
		}
		for _, m := range ms {
			after = m.File
			extra = docs.before(m.File, extra)
			if !docs.at(m.File) && m.Status == store.Completed {
				a.left[id] = append(a.left[id], m.File)
			}
		}
	}
	for _, d := range docs.before("", extra) {
		a.joined[id] = append(a.joined[id], string(d.ID))
	}
	return docs.err
}

// listBlobs gives the hashes of the bytes that are kept.
func (s *Service) listBlobs() (map[string]bool, error) {
	out := map[string]bool{}
	folders, err := os.ReadDir(filepath.Join(s.dir, dirBlobs))
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(s.dir, dirBlobs, folder.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if sumPattern.MatchString(e.Name()) && strings.HasPrefix(e.Name(), folder.Name()) {
				out[e.Name()] = true
			}
		}
	}
	return out, nil
}

// cursor reads the documents of a scope in the order of ids.
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

// head gives the next document, if there is one.
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

// before appends the documents before an id, or all that are left if it is empty.
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

// at tells whether the next document has the id, and goes past it.
func (c *cursor) at(id string) bool {
	d, ok := c.head()
	if ok = ok && string(d.ID) == id; ok {
		c.skip()
	}
	return ok
}

// issues says how store, bytes and index differ, in words that may leave the process.
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
