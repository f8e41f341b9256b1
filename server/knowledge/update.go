package knowledge

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// maxStores is the maximum number of vector stores in one update.
const maxStores = 100

// updateContent sets the fields of a file that people edit, and the vector stores that it belongs to.
func (s *routes) updateContent(w http.ResponseWriter, r *http.Request) error {
	body, err := server.ReadJSON(r)
	if err != nil {
		return err
	}
	var in knowledge.DocumentUpdate
	if err := wire.Decode(body, &in); err != nil {
		return err
	}
	id := r.PathValue("id")
	before, err := s.o.Files.Document(r.Context(), id, 0, 0)
	if err == nil {
		_, err = s.o.Files.File(r.Context(), id) // documents of folders have no fields
	}
	if err != nil {
		return notFound(err, "file")
	}
	if in.DublinCore != nil {
		if err := corpus.DublinCore(*in.DublinCore).Validate(); err != nil {
			return err
		}
	}
	if in.Contributor != nil {
		if err := mayRename(r.Context(), before); err != nil {
			return err
		}
	}
	changes, err := s.changes(in, body)
	if err != nil {
		return err
	}
	if in.VectorStoreIDs != nil {
		if err := s.moveFile(r.Context(), id, in.VectorStoreIDs); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if _, err := s.o.Files.UpdateFile(r.Context(), id, changes); err != nil {
			return notFound(err, "file")
		}
	}
	d, err := s.o.Files.Document(r.Context(), id, 0, 0)
	if err != nil {
		return notFound(err, "file")
	}
	out := documentOf(d)
	out.Content = nil // an update does not change it
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// mayRename reports whether the sender may name another contributor of a file. An account must not claim the files of another one.
func mayRename(ctx context.Context, d files.Document) error {
	by, ok := auth.From(ctx)
	present := first(d.Document.Contributor, fieldsOf(d.File).Contributor, auth.Owner)
	if ok && !by.Permits(auth.Admin) && by.Account != present {
		return fault.Invalid("contributor", "only the present contributor and administrators can change it")
	}
	return nil
}

// changes returns the validated fields of an update as they are stored.
func (s *routes) changes(in knowledge.DocumentUpdate, body []byte) (map[string]json.RawMessage, error) {
	if p := in.ReadProgress; p != nil && (*p < 0 || *p > 1) {
		return nil, fault.Invalid("read_progress", "want 0 to 1")
	}
	metadata, err := object("metadata", in.Metadata, maxFileFields)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, fault.Invalid("body", "not valid JSON")
	}
	changes := map[string]json.RawMessage{}
	size := 0
	for _, name := range []string{"title", "author", "owner", "read_progress", "bookmarks", "highlights", "notes", "related_docs", "permissions", "is_favorite", "metadata", "dublin_core", "contributor"} {
		value, ok := all[name]
		if !ok || bytes.Equal(value, []byte("null")) {
			continue
		}
		if size += len(value); size > maxFileFields {
			return nil, fault.Invalid(name, "want at most %d bytes in all fields", maxFileFields)
		}
		changes[name] = value
	}
	if metadata != nil {
		changes["metadata"] = metadata
	}
	if _, ok := changes["read_progress"]; ok {
		at, err := json.Marshal(isoTime(s.o.Now()))
		if err != nil {
			return nil, err
		}
		changes["last_read_at"] = at
	}
	return changes, nil
}

// moveFile sets the vector stores that a file belongs to. Nothing is changed if one of them does not exist.
func (s *routes) moveFile(ctx context.Context, id string, want []string) error {
	if len(want) > maxStores {
		return fault.Invalid("vector_store_ids", "want at most %d", maxStores)
	}
	for _, vs := range want {
		if _, err := s.o.Files.Store(ctx, vs); err != nil {
			if fault.Public(notFound(err, "vector store")).Code == fault.NotFound {
				return fault.Invalid("vector_store_ids", "no such vector store")
			}
			return err
		}
	}
	in, err := s.o.Files.StoresOf(ctx, id)
	if err != nil {
		return err
	}
	for _, vs := range want {
		if !slices.Contains(in, vs) {
			if _, err := s.o.Files.ModifyStore(ctx, vs, files.StoreUpdate{Join: []string{id}}); err != nil {
				return err
			}
		}
	}
	for _, vs := range in {
		if !slices.Contains(want, vs) {
			if _, err := s.o.Files.ModifyStore(ctx, vs, files.StoreUpdate{Leave: []string{id}}); err != nil {
				return err
			}
		}
	}
	return nil
}
