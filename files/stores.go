package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/store"
)

// Limits of the fields of a vector store, in bytes.
const (
	maxStoreName   = 512
	maxDescription = 8 << 10
	maxMetadata    = 64 << 10
	maxJoin        = 10_000 // files that join or leave in one call
)

// folder counts the documents of a collection made from folders.
type folder struct {
	version   uint64
	documents int
	bytes     int64
	since     time.Time // when the document with the lowest id was indexed
}

// folder counts the documents of a collection made from folders. Other names have no documents. If the index has versions, each version is
// counted once.
func (s *Service) folder(ctx context.Context, id string) (folder, error) {
	if !validFolder(id) {
		return folder{}, nil
	}
	versions, ok := s.opts.Index.(index.Versions)
	version := uint64(0)
	if ok {
		var err error
		if version, err = versions.Version(ctx, id); err != nil || version == 0 {
			return folder{}, err
		}
		s.mu.Lock()
		known := s.folders[id]
		s.mu.Unlock()
		if known.version == version {
			return known, nil
		}
	}
	out := folder{version: version}
	for d, err := range s.allDocuments(ctx, id) {
		if err != nil {
			return folder{}, err
		}
		if out.documents == 0 {
			out.since = d.IndexedAt
		}
		out.documents++
		out.bytes += d.Bytes
	}
	if ok && out.documents > 0 { // an index has few collections with documents
		s.mu.Lock()
		s.folders[id] = out
		s.mu.Unlock()
	}
	return out, nil
}

// validFolder reports whether a name can be that of a collection made from folders.
func validFolder(id string) bool {
	return id != Collection && id != "" && len(id) <= 255 && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
}

// HasStore reports whether [Service.Store] finds a vector store, which may be empty, or a collection made from folders. It reads neither its files nor all its
// documents.
func (s *Service) HasStore(ctx context.Context, id string) (bool, error) {
	if validFolder(id) {
		if docs, err := s.opts.Index.Documents(ctx, id, "", 1); err != nil || len(docs) > 0 {
			return err == nil, err
		}
	}
	_, err := s.storeRecord(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, databaseFault(ctx, err)
}

// databaseFault returns the error of a question for one of the database, unless the context has ended.
func databaseFault(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fault.Wrap(fault.Index, err, "the file database failed")
}

// storeRecord returns the record of a vector store, or [store.ErrNotFound] if it does not exist or has expired.
func (s *Service) storeRecord(ctx context.Context, id string) (store.VectorStoreInfo, error) {
	c, err := s.opts.Store.Store(ctx, id)
	if err == nil && s.expired(c) {
		if err = s.expire(ctx, id); err == nil {
			err = store.ErrNotFound
		}
	}
	return c, err
}

// ensureRecord creates the record of a collection of folders that files join. It returns [store.ErrNotFound] if the id is neither a collection
// nor a vector store.
func (s *Service) ensureRecord(ctx context.Context, id string) error {
	_, err := s.storeRecord(ctx, id)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	f, err := s.folder(ctx, id)
	if err != nil {
		return err
	}
	if f.documents == 0 || !index.ValidSet(id) {
		return store.ErrNotFound
	}
	s.storesMu.Lock()
	defer s.storesMu.Unlock()
	if err := s.flushOutbox(ctx); err != nil {
		return err
	}
	err = s.opts.Store.AddStore(ctx, store.VectorStore{ID: id, Name: id, CreatedAt: f.since, UpdatedAt: s.opts.Now().UTC()}, nil)
	if err == nil {
		s.saveStoreRecord(ctx, id)
	}
	return ignore(err, store.ErrExists)
}

// CreateStore creates a vector store with files in it.
func (s *Service) CreateStore(ctx context.Context, n StoreParams) (StoreInfo, error) {
	if n.ID == "" {
		n.ID = "vs_" + strings.ReplaceAll(s.opts.NewID(), "-", "")
	} else if !validID(n.ID) || n.ID == Collection {
		return StoreInfo{}, fault.Invalid("id", "want 1 to %d letters, digits, dashes and underscores, and not %q", maxID, Collection)
	}
	n.Name = cmp.Or(n.Name, n.ID)
	if err := errors.Join(checkStore(n.Name, n.Description, n.Metadata, n.Lifetime), s.checkFiles("file_ids", n.Files)); err != nil {
		return StoreInfo{}, err
	}
	if err := s.opts.Reserve.Check(); err != nil {
		return StoreInfo{}, err
	}
	if err := s.Sweep(ctx); err != nil {
		return StoreInfo{}, err
	}
	if f, err := s.folder(ctx, n.ID); err != nil || f.documents > 0 {
		return StoreInfo{}, cmp.Or(err, error(fault.New(fault.Conflict, "%s is a collection made from folders", n.ID)))
	}
	if err := s.addStore(ctx, n); err != nil {
		return StoreInfo{}, err
	}
	if len(n.Files) > 0 {
		if err := s.flushOutbox(ctx); err != nil {
			return StoreInfo{}, err
		}
	}
	return s.Store(ctx, n.ID)
}

func (s *Service) addStore(ctx context.Context, n StoreParams) error {
	s.storesMu.Lock()
	defer s.storesMu.Unlock()
	if s.outboxFailed.Load() { // the index may still have one of this id
		if err := s.flushOutbox(ctx); err != nil {
			return err
		}
	}
	now := s.opts.Now().UTC()
	v := store.VectorStore{ID: n.ID, Name: n.Name, Description: n.Description, Metadata: n.Metadata, CreatedAt: now, UpdatedAt: now}
	if n.Lifetime > 0 {
		v.ExpiresAt = now.Add(n.Lifetime)
	}
	err := s.opts.Store.AddStore(ctx, v, n.Files)
	if errors.Is(err, store.ErrExists) {
		return fault.Wrap(fault.Conflict, err, "a vector store with the id %s already exists", n.ID)
	}
	if err == nil {
		s.saveStoreRecord(ctx, n.ID)
	}
	return joinFault("file_ids", err)
}

func checkStore(name, description string, metadata json.RawMessage, lifetime time.Duration) error {
	switch {
	case len(name) > maxStoreName:
		return fault.Invalid("name", "want at most %d bytes", maxStoreName)
	case len(description) > maxDescription:
		return fault.Invalid("description", "want at most %d bytes", maxDescription)
	case metadata != nil && (len(metadata) > maxMetadata || !isObject(metadata)):
		return fault.Invalid("metadata", "want an object of at most %d bytes", maxMetadata)
	case lifetime < 0:
		return fault.Invalid("expires_after", "want 0 or more")
	}
	return nil
}

func (s *Service) checkFiles(field string, ids []string) error {
	if len(ids) > maxJoin {
		return fault.Invalid(field, "want at most %d ids", maxJoin)
	}
	for _, id := range ids {
		if !validID(id) {
			return fault.Invalid(field, "not a valid file id: %.80q", id)
		}
	}
	return nil
}

func unknownFile(field, id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.Invalid(field, "no such file: %s", id)
	}
	return err
}

func joinFault(field string, err error) error {
	if m, ok := errors.AsType[*store.NotFoundError](err); ok && m.What == "file" {
		return unknownFile(field, m.ID, err)
	}
	return notFound(err, "vector store")
}

// Store returns a vector store. The id may be that of a collection made from folders; its counts include its documents and the files that joined it.
func (s *Service) Store(ctx context.Context, id string) (StoreInfo, error) {
	c, err := s.storeRecord(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return StoreInfo{}, err
	}
	exists := err == nil
	f, err := s.folder(ctx, id)
	if err != nil {
		return StoreInfo{}, err
	}
	if !exists && f.documents == 0 {
		return StoreInfo{}, notFound(store.ErrNotFound, "vector store")
	}
	info := withFolder(id, c, f)
	ms, err := s.members(ctx, id, f, "", s.opts.MaxListed)
	for _, m := range ms {
		info.Files = append(info.Files, m.File)
	}
	return info, err
}

// withFolder adds the documents of a collection made from folders to a vector store, which may have no record.
func withFolder(id string, c store.VectorStoreInfo, f folder) StoreInfo {
	info := StoreInfo{VectorStore: c.VectorStore, Counts: c.Counts, Bytes: c.Bytes + f.bytes}
	if c.ID == "" {
		info.VectorStore = store.VectorStore{ID: id, Name: id, CreatedAt: f.since, UpdatedAt: f.since}
	}
	info.Counts.Completed += f.documents
	info.Counts.Total += f.documents
	return info
}

// Stores lists vector stores ordered by id, beginning after the given id, without their Files. The list includes Options.Collections.
func (s *Service) Stores(ctx context.Context, after string, limit int) ([]StoreInfo, error) {
	if err := s.Sweep(ctx); err != nil {
		return nil, err
	}
	limit = listing(limit)
	kept, err := s.opts.Store.Stores(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	var out []StoreInfo
	for _, c := range kept {
		f, err := s.folder(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, withFolder(c.ID, c, f))
	}
	for _, id := range s.opts.Collections {
		if id <= after || slices.ContainsFunc(kept, func(c store.VectorStoreInfo) bool { return c.ID == id }) {
			continue
		}
		f, err := s.folder(ctx, id)
		if err != nil {
			return nil, err
		}
		if f.documents > 0 {
			out = append(out, withFolder(id, store.VectorStoreInfo{}, f))
		}
	}
	slices.SortFunc(out, func(a, b StoreInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out[:min(len(out), limit)], nil
}

// Members lists the files of a vector store ordered by id, beginning after the given id.
func (s *Service) Members(ctx context.Context, id, after string, limit int) ([]store.Membership, error) {
	_, err := s.storeRecord(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	exists := err == nil
	f, err := s.folder(ctx, id)
	if err != nil {
		return nil, err
	}
	if !exists && f.documents == 0 {
		return nil, notFound(store.ErrNotFound, "vector store")
	}
	return s.members(ctx, id, f, after, limit)
}

// members lists the files that joined a vector store and the documents of its folders.
func (s *Service) members(ctx context.Context, id string, f folder, after string, limit int) ([]store.Membership, error) {
	limit = listing(limit)
	out, err := s.opts.Store.Members(ctx, id, after, limit)
	if err != nil || f.documents == 0 {
		return out, err
	}
	docs, err := s.opts.Index.Documents(ctx, id, corpus.DocumentID(after), limit)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		out = append(out, store.Membership{Store: id, File: string(d.ID), Status: store.Completed})
	}
	slices.SortFunc(out, func(a, b store.Membership) int { return cmp.Compare(a.File, b.File) })
	return out[:min(len(out), limit)], nil
}

// ModifyStore changes a vector store. If a file to join does not exist, ModifyStore changes nothing. Later searches of the vector store do not find
// files that left. Files that joined count as in progress until they are indexed.
func (s *Service) ModifyStore(ctx context.Context, id string, c StoreUpdate) (StoreInfo, error) {
	if err := errors.Join(s.checkFiles("join_file_ids", c.Join), s.checkFiles("left_file_ids", c.Leave)); err != nil {
		return StoreInfo{}, err
	}
	leaves := make(map[string]bool, len(c.Leave))
	for _, file := range c.Leave {
		leaves[file] = true
	}
	for _, file := range c.Join {
		if leaves[file] {
			return StoreInfo{}, fault.Invalid("left_file_ids", "also in join_file_ids: %s", file)
		}
	}
	var name, description string
	var lifetime time.Duration
	for _, field := range []struct{ to, from *string }{{&name, c.Name}, {&description, c.Description}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if c.Lifetime != nil {
		lifetime = *c.Lifetime
	}
	if err := checkStore(name, description, c.Metadata, lifetime); err != nil {
		return StoreInfo{}, err
	}
	if err := s.ensureRecord(ctx, id); err != nil {
		return StoreInfo{}, notFound(err, "vector store")
	}
	if lifetime > 0 {
		if f, err := s.folder(ctx, id); err != nil || f.documents > 0 {
			return StoreInfo{}, cmp.Or(err, error(fault.Invalid("expires_after", "a collection made from folders does not expire")))
		}
	}
	if len(c.Join) > 0 {
		if err := s.opts.Reserve.Check(); err != nil {
			return StoreInfo{}, err
		}
		if err := s.opts.Store.Join(ctx, id, c.Join); err != nil {
			return StoreInfo{}, joinFault("join_file_ids", err)
		}
	}
	if len(c.Leave) > 0 {
		if err := s.opts.Reserve.Use(func() error { return s.opts.Store.Leave(ctx, id, c.Leave) }); err != nil {
			return StoreInfo{}, notFound(err, "vector store")
		}
	}
	_, err := s.opts.Store.UpdateStore(ctx, id, func(v *store.VectorStore) error {
		v.Name, v.UpdatedAt = cmp.Or(name, v.Name), s.opts.Now().UTC()
		if c.Description != nil {
			v.Description = description
		}
		if c.Metadata != nil {
			v.Metadata = c.Metadata
		}
		if c.Lifetime != nil {
			v.ExpiresAt = time.Time{}
			if lifetime > 0 {
				v.ExpiresAt = v.UpdatedAt.Add(lifetime)
			}
		}
		return nil
	})
	if err == nil {
		s.storesMu.Lock() // otherwise a concurrent deletion could leave the copy behind
		s.saveStoreRecord(ctx, id)
		s.storesMu.Unlock()
	}
	if err = errors.Join(s.flushOutbox(ctx), notFound(err, "vector store")); err != nil {
		return StoreInfo{}, err
	}
	return s.Store(ctx, id)
}

// DeleteStore deletes a vector store. Its files are kept. For a collection made from folders it returns a Conflict.
func (s *Service) DeleteStore(ctx context.Context, id string) error {
	if f, err := s.folder(ctx, id); err != nil || f.documents > 0 {
		return cmp.Or(err, error(fault.New(fault.Conflict, "%s is made from folders and cannot be deleted: remove its files instead", id)))
	}
	if _, err := s.storeRecord(ctx, id); err != nil {
		return notFound(err, "vector store")
	}
	s.storesMu.Lock()
	defer s.storesMu.Unlock()
	return s.deleteStore(ctx, id)
}

// storeTask returns a task that describes the present state of a vector store.
func (s *Service) storeTask(ctx context.Context, id string) (store.Task, error) {
	kind, of, _ := strings.Cut(id, "-")
	if kind != "create" && kind != "vectorize" {
		return store.Task{}, notFound(store.ErrNotFound, "task")
	}
	info, err := s.Store(ctx, of)
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			err = notFound(store.ErrNotFound, "task")
		}
		return store.Task{}, err
	}
	t := store.Task{ID: id, Type: kind, Status: store.Completed, Progress: 100, Resource: of, CreatedAt: info.CreatedAt, UpdatedAt: info.UpdatedAt}
	if n := info.Counts; kind == "vectorize" && n.InProgress > 0 {
		t.Status, t.Progress = store.Running, 100*float64(n.Total-n.InProgress)/float64(n.Total)
	}
	return t, nil
}

// StoresOf lists the ids of the vector stores that contain a file.
func (s *Service) StoresOf(ctx context.Context, id string) ([]string, error) {
	ids, err := s.opts.Store.StoresOf(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("list vector stores: %w", err)
	}
	return ids, nil
}
