package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

const storeColumns = `id, name, description, metadata, created_at, updated_at, expires_at,
	in_progress, completed, failed, cancelled, in_progress + completed + failed + cancelled, bytes`

func scanStore(scan func(...any) error) (store.VectorStoreInfo, error) {
	var c store.VectorStoreInfo
	var created, updated, expires int64
	err := scan(&c.ID, &c.Name, &c.Description, (*[]byte)(&c.Metadata), &created, &updated, &expires,
		&c.Counts.InProgress, &c.Counts.Completed, &c.Counts.Failed, &c.Counts.Cancelled, &c.Counts.Total, &c.Bytes)
	c.Metadata = present(c.Metadata)
	c.CreatedAt, c.UpdatedAt, c.ExpiresAt = sqldb.FromMicros(created), sqldb.FromMicros(updated), sqldb.FromMicros(expires)
	return c, err
}

// AddStore implements [store.VectorStores].
func (s *Store) AddStore(ctx context.Context, v store.VectorStore, files []string) error {
	return wrap("add vector store", s.write.Change(ctx, func(tx sqldb.Querier) error {
		if err := addStore(ctx, tx, v); err != nil || len(files) == 0 {
			return err
		}
		return join(ctx, tx, v.ID, files)
	}))
}

func addStore(ctx context.Context, tx sqldb.Querier, v store.VectorStore) error {
	n, err := tx.Do(ctx, `INSERT INTO stores (id, name, description, metadata, created_at, updated_at, expires_at)
		VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
		v.ID, v.Name, v.Description, []byte(v.Metadata), sqldb.Micros(v.CreatedAt), sqldb.Micros(v.UpdatedAt), sqldb.Micros(v.ExpiresAt))
	if err == nil && n == 0 {
		err = fmt.Errorf("vector store %q: %w", v.ID, store.ErrExists)
	}
	return err
}

// Store implements [store.VectorStores].
func (s *Store) Store(ctx context.Context, id string) (store.VectorStoreInfo, error) {
	c, err := getStore(ctx, s.read, id)
	return c, wrap("read vector store", err)
}

func getStore(ctx context.Context, q sqldb.Querier, id string) (store.VectorStoreInfo, error) {
	return one(ctx, q, scanStore, "SELECT "+storeColumns+" FROM stores WHERE id = ?", id)
}

// Stores implements [store.VectorStores].
func (s *Store) Stores(ctx context.Context, after string, limit int) ([]store.VectorStoreInfo, error) {
	cs, err := sqldb.All(ctx, s.read, scanStore, "SELECT "+storeColumns+" FROM stores WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	return cs, wrap("list vector stores", err)
}

// UpdateStore implements [store.VectorStores].
func (s *Store) UpdateStore(ctx context.Context, id string, change func(*store.VectorStore) error) (c store.VectorStoreInfo, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		if c, err = getStore(ctx, tx, id); err != nil {
			return err
		}
		v := c.VectorStore
		if err := change(&v); err != nil {
			return err
		}
		if _, err := tx.Do(ctx, `UPDATE stores SET name = ?, description = ?, metadata = ?, created_at = ?, updated_at = ?, expires_at = ?
			WHERE id = ?`, v.Name, v.Description, []byte(v.Metadata), sqldb.Micros(v.CreatedAt), sqldb.Micros(v.UpdatedAt), sqldb.Micros(v.ExpiresAt), id); err != nil {
			return err
		}
		c, err = getStore(ctx, tx, id)
		return err
	})
	return c, wrap("change vector store", err)
}

// RemoveStore implements [store.VectorStores].
func (s *Store) RemoveStore(ctx context.Context, id string) error {
	err := s.write.Change(ctx, func(tx sqldb.Querier) error {
		// The row is deleted first, so that the triggers do not update its counts for each member.
		if n, err := tx.Do(ctx, "DELETE FROM stores WHERE id = ?", id); err != nil || n == 0 {
			return firstOf(err, store.ErrNotFound)
		}
		if _, err := tx.Do(ctx, "DELETE FROM members WHERE store = ?", id); err != nil {
			return err
		}
		return putChange(ctx, tx, id, "")
	})
	return wrap("remove vector store", err)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// Expired implements [store.VectorStores].
func (s *Store) Expired(ctx context.Context, at time.Time, limit int) ([]string, error) {
	ids, err := sqldb.All(ctx, s.read, sqldb.Text, "SELECT id FROM stores WHERE expires_at > 0 AND expires_at <= ? ORDER BY expires_at LIMIT ?", sqldb.Micros(at), limit)
	return ids, wrap("list expired vector stores", err)
}

// Join implements [store.Memberships].
func (s *Store) Join(ctx context.Context, id string, files []string) error {
	return wrap("join vector store", s.write.Change(ctx, func(tx sqldb.Querier) error { return join(ctx, tx, id, files) }))
}

func join(ctx context.Context, tx sqldb.Querier, id string, files []string) error {
	if found, err := sqldb.All(ctx, tx, sqldb.Text, "SELECT id FROM stores WHERE id = ?", id); err != nil || len(found) == 0 {
		return firstOf(err, &store.NotFoundError{What: "vector store", ID: id})
	}
	for _, file := range files {
		f, err := getFile(ctx, tx, file)
		if errors.Is(err, store.ErrNotFound) {
			return &store.NotFoundError{What: "file", ID: file}
		}
		if err != nil {
			return err
		}
		n, err := tx.Do(ctx, "INSERT INTO members (store, file, status, bytes) VALUES (?, ?, 'pending', ?) ON CONFLICT DO NOTHING", id, file, f.Bytes)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := putChange(ctx, tx, id, file); err != nil {
			return err
		}
	}
	return nil
}

// putChange adds an entry to the outbox. It replaces an earlier one of the same file, and gets a higher sequence number.
func putChange(ctx context.Context, tx sqldb.Querier, store, file string) error {
	if _, err := tx.Do(ctx, "DELETE FROM changes WHERE store = ? AND file = ?", store, file); err != nil {
		return err
	}
	_, err := tx.Do(ctx, "INSERT INTO changes (store, file) VALUES (?, ?)", store, file)
	return err
}

// Leave implements [store.Memberships].
func (s *Store) Leave(ctx context.Context, id string, files []string) error {
	return wrap("leave vector store", s.write.Change(ctx, func(tx sqldb.Querier) error {
		for _, file := range files {
			if _, err := tx.Do(ctx, "DELETE FROM members WHERE store = ? AND file = ?", id, file); err != nil {
				return err
			}
			if err := putChange(ctx, tx, id, file); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Members implements [store.Memberships].
func (s *Store) Members(ctx context.Context, id, after string, limit int) ([]store.Membership, error) {
	ms, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (m store.Membership, err error) {
		err = scan(&m.Store, &m.File, &m.Status)
		return m, err
	}, "SELECT store, file, status FROM members WHERE store = ? AND file > ? ORDER BY file LIMIT ?", id, after, limit)
	return ms, wrap("list members", err)
}

// StoresOf implements [store.Memberships].
func (s *Store) StoresOf(ctx context.Context, file string) ([]string, error) {
	ids, err := sqldb.All(ctx, s.read, sqldb.Text, "SELECT store FROM members WHERE file = ? ORDER BY store", file)
	return ids, wrap("list vector stores of file", err)
}

// PendingChanges implements [store.Memberships].
func (s *Store) PendingChanges(ctx context.Context, after int64, limit int) ([]store.IndexChange, error) {
	cs, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (c store.IndexChange, err error) {
		err = scan(&c.Seq, &c.Store, &c.File, &c.Present)
		return c, err
	}, `SELECT seq, store, file, CASE
			WHEN store = '' THEN EXISTS (SELECT 1 FROM files f WHERE f.id = c.file)
			WHEN file = '' THEN EXISTS (SELECT 1 FROM stores s WHERE s.id = c.store)
			ELSE EXISTS (SELECT 1 FROM members m WHERE m.store = c.store AND m.file = c.file) END
		FROM changes c WHERE seq > ? ORDER BY seq LIMIT ?`, after, limit)
	return cs, wrap("list changes", err)
}

// AcknowledgeChanges implements [store.Memberships].
func (s *Store) AcknowledgeChanges(ctx context.Context, changes []store.IndexChange) error {
	return wrap("acknowledge changes", s.write.Change(ctx, func(tx sqldb.Querier) error {
		for _, c := range changes {
			n, err := tx.Do(ctx, "DELETE FROM changes WHERE seq = ?", c.Seq)
			if err != nil {
				return err
			}
			if n == 0 || c.Store == "" || c.File == "" {
				continue
			}
			if _, err := tx.Do(ctx, `UPDATE members SET status = (SELECT CASE WHEN f.status IN ('completed', 'failed', 'cancelled')
				THEN f.status ELSE 'pending' END FROM files f WHERE f.id = members.file) WHERE store = ? AND file = ?`, c.Store, c.File); err != nil {
				return err
			}
		}
		return nil
	}))
}
