package sqlstore

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

const sessionColumns = "key, account, id, title, title_by, archived, head, turns, created_at, used_at, hidden = 2"

func scanSession(scan func(...any) error) (s session.Session, err error) {
	var created, used int64
	err = scan(&s.Key, &s.Account, &s.ID, &s.Title, &s.TitleBy, &s.Archived, &s.Head, &s.Turns, &created, &used, &s.KeepRuns)
	s.CreatedAt, s.UsedAt = sqldb.FromMicros(created), sqldb.FromMicros(used)
	return s, err
}

// Create implements [session.Sessions].
func (s *Store) Create(ctx context.Context, n session.Session) (created session.Session, err error) {
	if n.UsedAt.IsZero() {
		n.UsedAt = n.CreatedAt
	}
	if n.Title == "" {
		n.TitleBy = ""
	}
	err = s.writing(ctx, "create session", func(tx sqldb.Querier) error {
		switch _, err := one(ctx, tx, session.ErrNotFound, sqldb.Integer, "SELECT key FROM sessions WHERE account = ? AND id = ? AND hidden = 0", n.Account, n.ID); {
		case err == nil:
			return session.ErrExists
		case !errors.Is(err, session.ErrNotFound):
			return err
		}
		created, err = sqldb.One(ctx, tx, scanSession, `INSERT INTO sessions (account, id, title, title_by, archived, head, turns, created_at, used_at, hidden)
			VALUES (?, ?, ?, ?, ?, '', 0, ?, ?, 0) RETURNING `+sessionColumns,
			n.Account, n.ID, n.Title, n.TitleBy, n.Archived, sqldb.Micros(n.CreatedAt), sqldb.Micros(n.UsedAt))
		if err != nil {
			return err
		}
		return putTitle(ctx, tx, created.Key, created.Title)
	})
	return created, err
}

// Session implements [session.Sessions].
func (s *Store) Session(ctx context.Context, account, id string) (session.Session, error) {
	found, err := one(ctx, s.read, session.ErrNotFound, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE account = ? AND id = ? AND hidden = 0", account, id)
	return found, s.wrap("read session", err)
}

// byKey returns a session that is not hidden.
func byKey(ctx context.Context, q sqldb.Querier, key session.Key) (session.Session, error) {
	return one(ctx, q, session.ErrNotFound, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE key = ? AND hidden = 0", key)
}

// Update implements [session.Sessions].
func (s *Store) Update(ctx context.Context, key session.Key, c session.Change) (updated session.Session, err error) {
	err = s.writing(ctx, "update session", func(tx sqldb.Querier) error {
		if updated, err = byKey(ctx, tx, key); err != nil {
			return err
		}
		if c.Head != nil {
			if _, err := find(ctx, tx, key, *c.Head); err != nil {
				return err
			}
			updated.Head = *c.Head
		}
		if c.Archived != nil {
			updated.Archived = *c.Archived
		}
		if c.Title != nil && (c.TitleBy == session.TitleByUser || updated.TitleBy != session.TitleByUser) {
			if updated.Title, updated.TitleBy = *c.Title, c.TitleBy; updated.Title == "" {
				updated.TitleBy = ""
			}
			if err := putTitle(ctx, tx, key, updated.Title); err != nil {
				return err
			}
		}
		_, err := tx.Do(ctx, "UPDATE sessions SET title = ?, title_by = ?, archived = ?, head = ? WHERE key = ?",
			updated.Title, updated.TitleBy, updated.Archived, updated.Head, key)
		return err
	})
	return updated, err
}

// List implements [session.Sessions].
func (s *Store) List(ctx context.Context, f session.Filter, after session.Cursor, limit int) (page []session.Session, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.reading(ctx, "list sessions", func(tx sqldb.Querier) error {
		if words := queryWords(f.Words); len(words) > 0 {
			page, err = search(ctx, tx, f, words, after, limit)
			return err
		}
		page, err = list(ctx, tx, f, after, limit)
		return err
	})
	return page, err
}

// list returns sessions with any words.
func list(ctx context.Context, tx sqldb.Querier, f session.Filter, after session.Cursor, limit int) ([]session.Session, error) {
	if f.Archived == nil { // an index has the archived sessions apart from the others: merge both
		var both []session.Session
		for _, archived := range []bool{false, true} {
			f.Archived = &archived
			part, err := list(ctx, tx, f, after, limit)
			if err != nil {
				return nil, err
			}
			both = append(both, part...)
		}
		slices.SortFunc(both, func(a, b session.Session) int { return compare(b, a) })
		return both[:min(limit, len(both))], nil
	}
	usedAt, key := position(after)
	const page = " AND hidden = 0 AND (used_at, key) < (?, ?) ORDER BY used_at DESC, key DESC LIMIT ?"
	if f.Account == nil {
		return sqldb.All(ctx, tx, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE archived = ?"+page, *f.Archived, usedAt, key, limit)
	}
	return sqldb.All(ctx, tx, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE account = ? AND archived = ?"+page,
		*f.Account, *f.Archived, usedAt, key, limit)
}

// compare compares sessions in the reverse order of lists.
func compare(a, b session.Session) int {
	if n := a.UsedAt.Compare(b.UsedAt); n != 0 {
		return n
	}
	return int(a.Key - b.Key)
}

// position returns the stored form of a cursor.
func position(c session.Cursor) (usedAt int64, key session.Key) {
	if c == (session.Cursor{}) {
		return 1<<63 - 1, 1<<63 - 1
	}
	return sqldb.Micros(c.UsedAt), c.Key
}
