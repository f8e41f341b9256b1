package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

// A search compares at most recentRows rows of recentBatches times recentSessions sessions before it asks the index.
const (
	recentRows     = 400
	recentSessions = 25
	recentBatches  = 4
)

// putTitle replaces the words of a title.
func putTitle(ctx context.Context, tx sqldb.Querier, key session.Key, title string) error {
	row, _ := bounds(key)
	return putWords(ctx, tx, row, title)
}

// putWords replaces the words of a title or a message.
func putWords(ctx context.Context, tx sqldb.Querier, row int64, text string) error {
	if _, err := tx.Do(ctx, "DELETE FROM words WHERE rowid = ?", row); err != nil {
		return err
	}
	words := wordsOf(text)
	if len(words) == 0 {
		return nil
	}
	_, err := tx.Do(ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", row, strings.Join(words, " "))
	return err
}

func wordsOf(text string) []string {
	tokens := lang.Words(text)
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.Text
	}
	return words
}

// queryWords returns the words of a filter. What is not one word is split or dropped, so that the rest cannot be syntax of a query.
func queryWords(filter []string) (words []string) {
	for _, w := range filter[:min(len(filter), session.MaxWords)] {
		words = append(words, wordsOf(w)...)
	}
	return words[:min(len(words), session.MaxWords)]
}

// search returns sessions that have the words. It first compares the most recently used sessions, because common words are in enough of them to fill
// a page. If the page is not full, it queries the index, which returns all sessions with the words in no useful order.
func search(ctx context.Context, tx sqldb.Querier, f session.Filter, words []string, after session.Cursor, limit int) (found []session.Session, err error) {
	rows := 0
	for range recentBatches {
		batch, err := list(ctx, tx, f, after, recentSessions)
		if err != nil {
			return nil, err
		}
		have, read, err := compareWords(ctx, tx, batch, words)
		if rows += read; err != nil {
			return nil, err
		}
		if rows > recentRows {
			break
		}
		for _, s := range batch {
			if after = (session.Cursor{UsedAt: s.UsedAt, Key: s.Key}); have[s.Key] {
				if found = append(found, s); len(found) == limit {
					return found, nil
				}
			}
		}
		if len(batch) < recentSessions {
			return found, nil
		}
	}
	usedAt, key := position(after)
	rest, err := sqldb.All(ctx, tx, scanSession, "SELECT "+sessionColumns+` FROM (SELECT DISTINCT rowid >> 24 AS found FROM words WHERE words MATCH ?)
		CROSS JOIN sessions ON key = found WHERE hidden = 0 AND (?2 IS NULL OR account = ?2) AND (?3 IS NULL OR archived = ?3) AND (used_at, key) < (?4, ?5)
		ORDER BY used_at DESC, key DESC LIMIT ?6`, match(words), f.Account, f.Archived, usedAt, key, limit-len(found))
	return append(found, rest...), err
}

// compareWords returns which of the sessions have the words, and how many rows it read. It reads one more than recentRows, and then not all.
func compareWords(ctx context.Context, tx sqldb.Querier, sessions []session.Session, words []string) (have map[session.Key]bool, read int, err error) {
	have = map[session.Key]bool{}
	keys := make([]session.Key, len(sessions))
	for i, s := range sessions {
		keys[i] = s.Key
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, 0, err
	}
	_, err = sqldb.All(ctx, tx, func(scan func(...any) error) (none struct{}, err error) {
		var row int64
		var text sql.RawBytes
		if err := scan(&row, &text); err != nil {
			return none, err
		}
		if key := keyOf(row); !have[key] && containsAll(string(text), words) {
			have[key] = true
		}
		read++
		return none, nil
	}, "SELECT words.rowid, text FROM json_each(?) CROSS JOIN words ON words.rowid BETWEEN value << 24 AND (value << 24) + 0xffffff LIMIT ?", string(list), recentRows+1)
	return have, read, err
}

// containsAll reports whether a row of words has all words; the last one may be the beginning of a word.
func containsAll(row string, words []string) bool {
	row = " " + row + " "
	for i, w := range words {
		if i < len(words)-1 {
			w += " "
		}
		if !strings.Contains(row, " "+w) {
			return false
		}
	}
	return true
}

// match returns the query of FTS5 for words (https://sqlite.org/fts5.html#full_text_query_syntax).
func match(words []string) string {
	for i, w := range words {
		words[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return strings.Join(words, " AND ") + "*"
}
