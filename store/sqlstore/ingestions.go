package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/sluice-rag/sluice/sqldb"
	"github.com/sluice-rag/sluice/store"
)

// PutIngestion implements [store.Ingestions].
func (s *Store) PutIngestion(ctx context.Context, i store.Ingestion) error {
	record, err := json.Marshal(i)
	if err == nil {
		_, err = s.write.Do(ctx, "INSERT INTO ingestions (id, record) VALUES (?,?) ON CONFLICT (id) DO UPDATE SET record = excluded.record", i.ID, string(record))
	}
	return wrap("put ingestion", err)
}

// Ingestion implements [store.Ingestions].
func (s *Store) Ingestion(ctx context.Context, id string) (store.Ingestion, error) {
	i, err := one(ctx, s.read, scanRecord[store.Ingestion], "SELECT record FROM ingestions WHERE id = ?", id)
	return i, wrap("find ingestion", err)
}

// Ingestions implements [store.Ingestions].
func (s *Store) Ingestions(ctx context.Context) ([]store.Ingestion, error) {
	list, err := sqldb.All(ctx, s.read, scanRecord[store.Ingestion], "SELECT record FROM ingestions")
	slices.SortFunc(list, func(a, b store.Ingestion) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, wrap("list ingestions", err)
}

// RemoveIngestions implements [store.Ingestions].
func (s *Store) RemoveIngestions(ctx context.Context, ids []string) error {
	return wrap("remove ingestions", s.write.Change(ctx, func(tx sqldb.Querier) error {
		in, list := sqldb.In(tx, "id", ids)
		_, err := tx.Do(ctx, "DELETE FROM ingestions WHERE "+in, list)
		return err
	}))
}
