package sqlstore

import (
	"context"
	"errors"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

// errBlocked is the error for a write-ahead log that cannot be truncated yet.
var errBlocked = errors.New("another program is reading the file")

// eraseBatch is the number of messages that a transaction erases. Other writers wait for it.
const eraseBatch = 50

// Hide implements [session.Sessions].
func (s *Store) Hide(ctx context.Context, key session.Key, keepRuns bool) error {
	hidden := 1
	if keepRuns {
		hidden = 2
	}
	n, err := s.write.Do(ctx, "UPDATE sessions SET hidden = ? WHERE key = ? AND hidden = 0", hidden, key)
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	return s.wrap("hide session", err)
}

// Hidden implements [session.Eraser].
func (s *Store) Hidden(ctx context.Context) ([]session.Session, error) {
	hidden, err := sqldb.All(ctx, s.read, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE hidden > 0 ORDER BY key")
	return hidden, s.wrap("list hidden sessions", err)
}

// Runs implements [session.Eraser].
func (s *Store) Runs(ctx context.Context, key session.Key, after event.RunID, limit int) ([]event.RunID, error) {
	first, last := bounds(key)
	runs, err := sqldb.All(ctx, s.read, func(scan func(...any) error) (event.RunID, error) {
		id, err := sqldb.Text(scan)
		return runOf(id), err
	}, "SELECT id FROM messages WHERE seq BETWEEN ? AND ? AND role = 'assistant' AND id > ? ORDER BY id LIMIT ?", first, last, after.AnswerID(), max(limit, 0))
	return runs, s.wrap("list runs of session", err)
}

// Erase implements [session.Eraser]. The row of the session is deleted last, so Hidden returns a session that is not erased yet.
func (s *Store) Erase(ctx context.Context, key session.Key) error {
	if err := s.writing(ctx, "erase session", func(tx sqldb.Querier) error {
		_, err := tx.Do(ctx, "UPDATE sessions SET hidden = CASE hidden WHEN 0 THEN 1 ELSE hidden END, title = '', title_by = '' WHERE key = ?", key)
		if err != nil {
			return err
		}
		return putTitle(ctx, tx, key, "")
	}); err != nil {
		return err
	}
	for more := true; more; {
		if err := s.writing(ctx, "erase messages", func(tx sqldb.Querier) (err error) {
			more, err = eraseMessages(ctx, tx, key)
			return err
		}); err != nil {
			return err
		}
	}
	if err := s.truncate(ctx); err != nil {
		return err
	}
	if _, err := s.write.Do(ctx, "DELETE FROM sessions WHERE key = ?", key); err != nil {
		return s.wrap("erase session", err)
	}
	return s.truncate(ctx)
}

// eraseMessages deletes the last messages of a session. It reports whether there may be more.
func eraseMessages(ctx context.Context, tx sqldb.Querier, key session.Key) (more bool, err error) {
	first, last := bounds(key)
	batch, err := sqldb.All(ctx, tx, sqldb.Integer, "SELECT seq FROM messages WHERE seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?", first, last, eraseBatch)
	if err != nil || len(batch) == 0 {
		return false, err
	}
	for _, statement := range []string{"DELETE FROM words WHERE rowid BETWEEN ? AND ?", "DELETE FROM messages WHERE seq BETWEEN ? AND ?"} {
		if _, err := tx.Do(ctx, statement, batch[len(batch)-1], last); err != nil {
			return false, err
		}
	}
	return len(batch) == eraseBatch, nil
}

// EraseRun implements [session.Eraser].
func (s *Store) EraseRun(ctx context.Context, run event.RunID) error {
	erased := 0
	if err := s.writing(ctx, "erase answer", func(tx sqldb.Querier) error {
		seqs, err := sqldb.All(ctx, tx, sqldb.Integer, `UPDATE messages SET status = 'deleted', owner = '', until = 0, text = '', citations = '', standalone = ''
			WHERE id = ? AND role = 'assistant' RETURNING seq`, run.AnswerID())
		if erased = len(seqs); err != nil || erased == 0 {
			return err
		}
		if _, err := tx.Do(ctx, `WITH RECURSIVE after (seq) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT m.seq FROM after `+ordered(tx)+` messages m ON m.parent = after.seq)
			UPDATE messages SET summary = '' WHERE seq IN (SELECT seq FROM after) AND summary <> ''`, seqs[0]); err != nil {
			return err
		}
		return putWords(ctx, tx, seqs[0], "")
	}); err != nil || erased == 0 {
		return err
	}
	return s.truncate(ctx)
}

// truncate copies the write-ahead log, which has earlier versions of pages, into the database, which overwrites deleted content, and truncates it.
// It waits for reads that began before. PostgreSQL erases deleted rows later by itself.
func (s *Store) truncate(ctx context.Context) error {
	if s.file == nil {
		return nil
	}
	blocked, err := sqldb.One(ctx, s.write, func(scan func(...any) error) (blocked bool, err error) {
		var pages, copied int
		err = scan(&blocked, &pages, &copied)
		return blocked, err
	}, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && blocked {
		err = errBlocked
	}
	return s.wrap("truncate write-ahead log", err)
}
