package sqlstore_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// turn returns a turn of the n-th run that asks a question after an answer.
func turn(n int, parent, text string) session.Begin {
	run := event.RunID(fmt.Sprintf("run%08d", n))
	at := start.Add(time.Duration(n) * time.Second)
	return session.Begin{Run: run, New: true, At: at, Until: at.Add(time.Hour), Asked: event.Question{Query: text},
		Question: session.Message{ID: run.QuestionID(), Parent: parent, Text: text}}
}

func end(run event.RunID, text string) session.End {
	return session.End{Run: run, Text: text, Answer: session.Answer{Status: session.Completed, EndedAt: start}}
}

// add creates a session.
func add(tb testing.TB, s *sqlstore.Store, id string) session.Key {
	tb.Helper()
	created, err := s.Create(tb.Context(), session.Session{ID: id, CreatedAt: start})
	require.NoError(tb, err)
	return created.Key
}

// ask adds a turn with its answer, and returns the id of the answer.
func ask(tb testing.TB, s *sqlstore.Store, key session.Key, b session.Begin, answer string) string {
	tb.Helper()
	m, err := s.Begin(tb.Context(), key, b)
	if err == nil {
		err = s.End(tb.Context(), end(b.Run, answer))
	}
	require.NoError(tb, err)
	return m.ID
}

// texts returns a source of texts of so many words. The frequency of a word falls with its rank, and each text has the word common.
func texts() func(words int) string {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible
	zipf := rand.NewZipf(rnd, 1.1, 5, 30_000)
	return func(words int) string {
		out := make([]string, words)
		for i := range out {
			out[i] = fmt.Sprint("w", zipf.Uint64())
		}
		out[rnd.IntN(words)] = "common"
		return strings.Join(out, " ")
	}
}

// inserts are rows to add to a table.
type inserts struct {
	table, columns string
	rows           [][]any
}

func (i *inserts) add(row ...any) { i.rows = append(i.rows, row) }

// A benchEngine opens a store for a benchmark, and adds rows in one transaction, which is faster than the methods of the store.
type benchEngine struct {
	open func(b *testing.B) (s *sqlstore.Store, place string)
	fill func(b *testing.B, place string, all []*inserts)
}

var benchEngines = map[string]benchEngine{"sqlite": {
	open: func(b *testing.B) (*sqlstore.Store, string) {
		path := filepath.Join(b.TempDir(), "sessions.db")
		return open(b, path), path
	},
	fill: fillFile,
}}

func fillFile(b *testing.B, path string, all []*inserts) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)")
	require.NoError(b, err)
	defer db.Close()
	tx, err := db.BeginTx(b.Context(), nil)
	require.NoError(b, err)
	for _, i := range all {
		statement, err := tx.PrepareContext(b.Context(), "INSERT INTO "+i.table+" ("+i.columns+") VALUES (?"+strings.Repeat(", ?", strings.Count(i.columns, ","))+")") //nolint:sqlclosecheck // the end of the transaction closes it
		require.NoError(b, err)
		for _, row := range i.rows {
			if _, err := statement.ExecContext(b.Context(), row...); err != nil {
				b.Fatal(err)
			}
		}
	}
	require.NoError(b, tx.Commit())
}

// sessions returns n sessions of one turn each. The last 200 belong to an account of their own and do not have the common word.
func sessions(n int) []*inserts {
	sessions := &inserts{table: "sessions", columns: "key, account, id, title, title_by, archived, head, turns, created_at, used_at, hidden"}
	messages := &inserts{table: "messages", columns: "seq, id, parent, depth, role, status, at, text"}
	words := &inserts{table: "words", columns: "rowid, text"}
	text := texts()
	for key := int64(1); key <= int64(n); key++ {
		title, question, answer := text(6), text(12), text(120)
		if key%(int64(n)/5) == 1 {
			answer += " rare"
		}
		account := "ann"
		if key > int64(n)-200 {
			account = "bob"
			for _, text := range []*string{&title, &question, &answer} {
				*text = strings.ReplaceAll(*text, "common", "seldom")
			}
		}
		sessions.add(key, account, fmt.Sprint(key), title, "rules", false, fmt.Sprint("msg_", key), 1, key, key*7919%1_000_003, 0)
		messages.add(key<<24+1, fmt.Sprint("ask_", key), key<<24, 0, "user", "completed", 0, question)
		messages.add(key<<24+2, fmt.Sprint("msg_", key), key<<24+1, 1, "assistant", "completed", 0, answer)
		words.add(key<<24, title)
		words.add(key<<24+1, question)
		words.add(key<<24+2, answer)
	}
	return []*inserts{sessions, messages, words}
}

// BenchmarkList lists 20 of many sessions of an account.
func BenchmarkList(b *testing.B) {
	for name, e := range benchEngines {
		b.Run(name, func(b *testing.B) { benchmarkList(b, e) })
	}
}

func benchmarkList(b *testing.B, e benchEngine) {
	for _, n := range []int{1_000, 100_000} {
		s, place := e.open(b)
		e.fill(b, place, sessions(n))
		middle := session.Cursor{UsedAt: time.UnixMicro(500_000)}
		for _, c := range []struct {
			name  string
			words string
			after session.Cursor
		}{{"first page", "", session.Cursor{}}, {"middle page", "", middle}, {"rare word", "rare", session.Cursor{}}, {"common word", "common", session.Cursor{}},
			{"two words", "w40 w30", session.Cursor{}}, {"short prefix", "w400 w1", session.Cursor{}}, {"long prefix", "w400 w123", session.Cursor{}}, {"no match", "common absent", session.Cursor{}}, {"small account", "common", session.Cursor{}}} {
			b.Run(fmt.Sprintf("sessions=%d/%s", n, c.name), func(b *testing.B) {
				f := session.Filter{Account: new("ann"), Archived: new(false), Words: strings.Fields(c.words)}
				if c.name == "small account" {
					f.Account = new("bob")
				}
				for b.Loop() {
					if _, err := s.List(b.Context(), f, c.after, 20); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkTurn measures the last messages of a session, and further turns, in sessions of 2 and of 2,000 turns in one store.
func BenchmarkTurn(b *testing.B) {
	for name, e := range benchEngines {
		b.Run(name, func(b *testing.B) { benchmarkTurn(b, e) })
	}
}

func benchmarkTurn(b *testing.B, e benchEngine) {
	s, _ := e.open(b)
	text := texts()
	n := 0
	next := func(key session.Key, last string) string {
		n++
		return ask(b, s, key, turn(n, last, text(12)), text(120))
	}
	keys, last := map[int]session.Key{}, map[int]string{}
	for _, turns := range []int{2_000, 2} {
		keys[turns] = add(b, s, fmt.Sprint(turns))
		for range turns {
			last[turns] = next(keys[turns], last[turns])
		}
	}
	for _, turns := range []int{2, 2_000} {
		for _, limit := range []int{4, 20} {
			b.Run(fmt.Sprintf("branch of %d/turns=%d", limit, turns), func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Branch(b.Context(), keys[turns], last[turns], limit); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	for _, turns := range []int{2, 2_000, 2, 2_000} {
		b.Run(fmt.Sprintf("turn/turns=%d", turns), func(b *testing.B) {
			for b.Loop() {
				last[turns] = next(keys[turns], last[turns])
			}
		})
	}
}
