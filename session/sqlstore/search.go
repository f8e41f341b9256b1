package sqlstore

import (
	"context"
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
	matches := tx.Dialect().Pick("words MATCH ?1", "vector(text) @@ CAST(CAST(?1 AS TEXT) AS tsquery)")
	rest, err := sqldb.All(ctx, tx, scanSession, "SELECT "+sessionColumns+" FROM (SELECT DISTINCT rowid >> 24 AS found FROM words WHERE "+matches+`) AS matching
		`+ordered(tx)+` sessions ON key = found WHERE hidden = 0 AND account = coalesce(?2, account) AND archived = coalesce(?3, archived) AND (used_at, key) < (?4, ?5)
		ORDER BY used_at DESC, key DESC LIMIT ?6`, match(tx.Dialect(), words), f.Account, f.Archived, usedAt, key, limit-len(found))
	return append(found, rest...), err
}

// compareWords returns which of the sessions have the words, and how many rows it read. It reads one more than recentRows, and then not all.
func compareWords(ctx context.Context, tx sqldb.Querier, sessions []session.Session, words []string) (have map[session.Key]bool, read int, err error) {
	have = map[session.Key]bool{}
	keys := make([]int64, len(sessions))
	for i, s := range sessions {
		keys[i] = int64(s.Key)
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, 0, err
	}
	each := tx.Dialect().Pick("json_each(?)", "(SELECT CAST(json_array_elements_text(CAST(CAST(? AS TEXT) AS json)) AS BIGINT) AS value) AS keys")
	err = tx.Each(ctx, func(scan func(...any) error) error {
		var row int64
		var text string
		if err := scan(&row, &text); err != nil {
			return err
		}
		if key := keyOf(row); !have[key] && containsAll(text, words) {
			have[key] = true
		}
		read++
		return nil
	}, "SELECT words.rowid, text FROM "+each+" "+ordered(tx)+" words ON words.rowid BETWEEN value << 24 AND (value << 24) + 16777215 LIMIT ?", string(list), recentRows+1)
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

// maxLexeme is how many characters of a word PostgreSQL indexes: see the function vector of its schema.
const maxLexeme = 500

// match returns the query for words, whose last one may be the beginning of a word: of FTS5 (https://sqlite.org/fts5.html#full_text_query_syntax), or as
// a tsquery (https://www.postgresql.org/docs/current/datatype-textsearch.html).
func match(d sqldb.Dialect, words []string) string {
	if d == sqldb.PostgreSQL {
		escape := strings.NewReplacer("'", "''", `\`, `\\`)
		for i, w := range words {
			words[i] = "'" + escape.Replace(firstRunes(w, maxLexeme)) + "'"
		}
		return strings.Join(words, " & ") + ":*"
	}
	for i, w := range words {
		words[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return strings.Join(words, " AND ") + "*"
}

// firstRunes returns at most n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
