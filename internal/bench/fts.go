package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/disk/sqlitedb"
)

// createFTS creates a database with a full-text index of passages (https://sqlite.org/fts5.html).
func createFTS(ctx context.Context, path string) (*sqlitedb.DB, error) {
	db, err := sqlitedb.Writer(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	if _, err := db.ExecContext(ctx, "CREATE VIRTUAL TABLE passages USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')"); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return db, nil
}

// searchFTS returns the ids of the ten best passages that have at least one of the words, by BM25.
func searchFTS(ctx context.Context, db *sqlitedb.DB, words []string) (ids []string, err error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	err = db.Each(ctx, func(scan func(...any) error) error {
		var id, text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, "SELECT id, text FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 10", strings.Join(quoted, " OR "))
	if err != nil {
		return nil, fmt.Errorf("search with FTS5: %w", err)
	}
	return ids, nil
}
