package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

// scanRecord reads a record that is stored as JSON.
func scanRecord[T any](scan func(...any) error) (r T, err error) {
	var record string
	if err = scan(&record); err == nil {
		err = json.Unmarshal([]byte(record), &r)
	}
	return r, err
}

// AddSource implements [store.Sources].
func (s *Store) AddSource(ctx context.Context, src store.Source) error {
	record, err := json.Marshal(src)
	if err != nil {
		return wrap("add source", err)
	}
	n, err := s.write.Do(ctx, "INSERT INTO sources (id, record) VALUES (?,?) ON CONFLICT DO NOTHING", src.ID, string(record))
	if err == nil && n == 0 {
		err = fmt.Errorf("source %q: %w", src.ID, store.ErrExists)
	}
	return wrap("add source", err)
}

// Sources implements [store.Sources].
func (s *Store) Sources(ctx context.Context) ([]store.Source, error) {
	list, err := sqldb.All(ctx, s.read, scanRecord[store.Source], "SELECT record FROM sources ORDER BY id")
	return list, wrap("list sources", err)
}

// UpdateSource implements [store.Sources].
func (s *Store) UpdateSource(ctx context.Context, id string, change func(*store.Source) error) (src store.Source, err error) {
	err = s.write.Change(ctx, func(tx sqldb.Querier) error {
		if src, err = getSource(ctx, tx, id); err != nil {
			return err
		}
		if err := change(&src); err != nil {
			return err
		}
		src.ID = id
		record, err := json.Marshal(src)
		if err != nil {
			return err
		}
		_, err = tx.Do(ctx, "UPDATE sources SET record = ? WHERE id = ?", string(record), id)
		return err
	})
	return src, wrap("change source", err)
}

// getSource returns a source. In a transaction for writes, nobody else changes it.
func getSource(ctx context.Context, q sqldb.Querier, id string) (store.Source, error) {
	return one(ctx, q, scanRecord[store.Source], "SELECT record FROM sources WHERE id = ?"+q.Dialect().Pick("", " FOR UPDATE"), id)
}

// RemoveSource implements [store.Sources].
func (s *Store) RemoveSource(ctx context.Context, id string) error {
	return wrap("remove source", s.write.Change(ctx, func(tx sqldb.Querier) error {
		_, err := tx.Do(ctx, "DELETE FROM sources WHERE id = ?", id)
		if err == nil {
			_, err = tx.Do(ctx, "DELETE FROM source_documents WHERE source = ?", id)
		}
		return err
	}))
}

// SourceDocuments implements [store.Sources].
func (s *Store) SourceDocuments(ctx context.Context, source string) ([]store.SourceDocument, error) {
	docs, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (d store.SourceDocument, err error) {
		err = scan(&d.ID, &d.URI, &d.Version, &d.Hash, &d.SHA256)
		return d, err
	}, "SELECT id, uri, version, hash, sha256 FROM source_documents WHERE source = ? ORDER BY id", source)
	return docs, wrap("list documents of source", err)
}

// SourcesOf implements [store.SourceFinder].
func (s *Store) SourcesOf(ctx context.Context, documents []string) (map[string]string, error) {
	in, list := sqldb.In(s.read, "id", documents)
	pairs, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (p [2]string, err error) {
		err = scan(&p[0], &p[1])
		return p, err
	}, "SELECT id, source FROM source_documents WHERE "+in, list)
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p[0]] = p[1]
	}
	return out, wrap("find sources", err)
}

// ChangeSourceDocuments implements [store.Sources].
func (s *Store) ChangeSourceDocuments(ctx context.Context, source string, put []store.SourceDocument, remove []string) error {
	return wrap("change documents of source", s.write.Change(ctx, func(tx sqldb.Querier) error {
		if _, err := getSource(ctx, tx, source); err != nil {
			return err
		}
		for _, d := range put {
			if _, err := tx.Do(ctx, `INSERT INTO source_documents (source, id, uri, version, hash, sha256) VALUES (?,?,?,?,?,?)
				ON CONFLICT (source, id) DO UPDATE SET uri = excluded.uri, version = excluded.version, hash = excluded.hash, sha256 = excluded.sha256`,
				source, d.ID, d.URI, d.Version, d.Hash, d.SHA256); err != nil {
				return err
			}
		}
		in, list := sqldb.In(tx, "id", remove)
		_, err := tx.Do(ctx, "DELETE FROM source_documents WHERE source = ? AND "+in, source, list)
		return err
	}))
}
