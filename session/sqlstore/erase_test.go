package sqlstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

// kinds are the texts of a session, which TestErase finds again.
var kinds = []string{"title", "renamed", "question", "asked", "answer", "standalone", "citation", "summary", "reason", "rerated"}

// marker is a word of a text of a session. Similar words are in other sessions, so it is next to them in the index of words.
func marker(kind string, n int) string { return fmt.Sprintf("%smarker%05dx", kind, n) }

// marked adds a session whose texts have markers, and returns its key and the run of its last answer.
func marked(t *testing.T, s *sqlstore.Store, n int) (session.Key, event.RunID) {
	t.Helper()
	ctx := t.Context()
	key := add(t, s, fmt.Sprint(n))
	text := func(kind string) string { return "some words and " + marker(kind, n) + " again" }
	last := ""
	for i := range 2 {
		b := turn(2*n+i, last, text("question"))
		b.Title, b.Asked.Query = text("title"), text("asked")
		if _, err := s.Begin(ctx, key, b); err != nil {
			t.Fatal(err)
		}
		last = b.Run.AnswerID()
		e := end(b.Run, text("answer"))
		e.Standalone, e.Summary, e.SummaryOf = text("standalone"), text("summary"), last
		e.Citations = []session.Citation{{N: 1, Source: event.Source{Text: text("citation") + strings.Repeat(" long", 2000)}}}
		require.NoError(t, s.End(ctx, e))
		for _, kind := range []string{"reason", "rerated"} {
			require.NoError(t, s.Rate(ctx, key, last, &session.Feedback{Reason: text(kind), At: start}))
		}
		if i == 1 {
			if _, err := s.Update(ctx, key, session.Change{Title: new(text("renamed")), TitleBy: session.TitleByUser}); err != nil {
				t.Fatal(err)
			}
			return key, b.Run
		}
	}
	return 0, ""
}

// contains reports whether a file of a folder has a text.
func contains(t *testing.T, dir, text string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}

// TestErase searches the bytes of all files for the texts of sessions before and after they are erased.
func TestErase(t *testing.T) {
	t.Parallel()
	const sessions = 60
	dir := t.TempDir()
	s, other := open(t, filepath.Join(dir, "sessions.db")), open(t, filepath.Join(dir, "sessions.db"))
	keys, runs := map[int]session.Key{}, map[int]event.RunID{}
	for n := range sessions {
		keys[n], runs[n] = marked(t, s, n)
	}
	for _, kind := range kinds {
		if kind != "title" && kind != "reason" && !contains(t, dir, marker(kind, 7)) {
			t.Errorf("no file has the %s", kind)
		}
	}
	for n := range sessions {
		if n%3 == 0 {
			continue
		}
		if list, err := other.List(t.Context(), session.Filter{Words: []string{marker("answer", n)}}, session.Cursor{}, 9); err != nil || len(list) != 1 {
			t.Errorf("search before: %v, %v", list, err)
		}
		var err error
		gone := kinds
		switch n % 3 {
		case 1:
			err = s.Erase(t.Context(), keys[n])
		case 2: // both answers
			in, m, rerr := s.ByRun(t.Context(), runs[n])
			if rerr != nil || in.Key != keys[n] {
				t.Fatal(in, rerr)
			}
			err = s.EraseRun(t.Context(), event.RunID(strings.Replace(string(m.Run), fmt.Sprint(2*n+1), fmt.Sprint(2*n), 1)))
			if err == nil {
				err = s.EraseRun(t.Context(), m.Run)
			}
			gone = []string{"answer", "standalone", "citation", "summary"}
		}
		require.NoError(t, err)
		for _, kind := range gone {
			if contains(t, dir, marker(kind, n)) {
				t.Errorf("session %d: a file still has the %s", n, kind)
			}
		}
	}
	for n := 0; n < sessions; n += 3 {
		if !contains(t, dir, marker("answer", n)) {
			t.Errorf("the answer of session %d is gone", n)
		}
		if list, err := other.List(t.Context(), session.Filter{Words: []string{marker("answer", n)}}, session.Cursor{}, 9); err != nil || len(list) != 1 {
			t.Errorf("search after: %v, %v", list, err)
		}
	}
}

// TestEraseWhileReading erases a session while another program reads the file: Erase says that it is not complete, and can be repeated. Until then,
// the store knows that the runs are kept.
func TestEraseWhileReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.db")
	s := open(t, path)
	key, _ := marked(t, s, 1)
	require.NoError(t, s.Hide(t.Context(), key, true))
	reader := reading(t, path)
	s.Pragma(t, "busy_timeout = 1")
	if err := s.Erase(t.Context(), key); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("erase: %v", err)
	}
	if hidden, err := s.Hidden(t.Context()); err != nil || len(hidden) != 1 || !hidden[0].KeepRuns {
		t.Errorf("hidden: %v, %v", hidden, err)
	}
	require.NoError(t, reader.Rollback())
	if err := s.Erase(t.Context(), key); err != nil {
		t.Error(err)
	}
	for _, kind := range kinds {
		if contains(t, dir, marker(kind, 1)) {
			t.Errorf("a file still has the %s", kind)
		}
	}
}
