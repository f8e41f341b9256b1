// Package sessiontest holds the conformance suite of stores of sessions.
package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
)

// start is the time of the first turn. Times have microseconds.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123000, time.UTC)

// TestStore runs the suite. The function open returns an empty store, and a function that opens the same store again, as another process would. It
// must also close them.
func TestStore(t *testing.T, open func(t *testing.T) (s session.Store, reopen func() session.Store)) {
	for name, test := range map[string]func(*suite){
		"create": (*suite).create, "list": (*suite).list, "search": (*suite).search, "languages": (*suite).languages, "hostile words": (*suite).hostile,
		"titles": (*suite).titles, "tree": (*suite).tree, "siblings": (*suite).siblings, "answer": (*suite).answer, "order of turns": (*suite).order, "expired": (*suite).expired,
		"race": (*suite).race, "waiting": (*suite).waiting, "hide": (*suite).hide, "erase": (*suite).erase, "erase run": (*suite).eraseRun,
		"feedback": (*suite).feedback, "limits": (*suite).limits, "cancelled": (*suite).cancelled, "random": (*suite).random,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reopen := open(t)
			test(&suite{T: t, ctx: t.Context(), Store: s, reopen: reopen})
		})
	}
}

type suite struct {
	*testing.T
	ctx context.Context
	session.Store
	reopen func() session.Store
}

// must fails the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// is checks an error.
func (s *suite) is(want, got error) {
	s.Helper()
	if !sameError(got, want) {
		s.Errorf("error %v, want %v", got, want)
	}
}

func (s *suite) equal(want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Error(diff)
	}
}

// add creates a session.
func (s *suite) add(account, id string) session.Key {
	s.Helper()
	created, err := s.Create(s.ctx, session.Session{Account: account, ID: id, CreatedAt: start})
	s.must(err)
	return created.Key
}

// turn returns a turn of the n-th run that asks a question after an answer.
func turn(n int, parent, text string) session.Begin {
	at := start.Add(time.Duration(n) * time.Second)
	run := runID(n)
	return session.Begin{Run: run, New: true, At: at, Until: at.Add(time.Hour), Server: "s", Question: session.Message{ID: run.QuestionID(), Parent: parent, Text: text}}
}

// ask adds a turn with its answer, and returns the id of the answer.
func (s *suite) ask(key session.Key, n int, parent, question, answer string) string {
	s.Helper()
	_, err := s.Begin(s.ctx, key, turn(n, parent, question))
	s.must(err)
	s.must(s.End(s.ctx, session.End{Run: runID(n), Text: answer, Answer: session.Answer{Status: session.Completed}}))
	return runID(n).AnswerID()
}

// ids returns the ids of the sessions that a filter selects.
func (s *suite) ids(f session.Filter) (ids []string) {
	s.Helper()
	list, err := s.List(s.ctx, f, session.Cursor{}, 1000)
	s.must(err)
	for _, found := range list {
		ids = append(ids, found.ID)
	}
	return ids
}

func words(text string) (words []string) {
	for _, t := range lang.Words(text) {
		words = append(words, t.Text)
	}
	return words
}

func (s *suite) create() {
	n := session.Session{Key: 99, Account: "ann", ID: "a", Title: "T", TitleBy: session.TitleByUser, Archived: true, Head: "x", Turns: 7, CreatedAt: start}
	created, err := s.Create(s.ctx, n)
	s.must(err)
	want := session.Session{Key: created.Key, Account: "ann", ID: "a", Title: "T", TitleBy: session.TitleByUser, Archived: true, CreatedAt: start, UsedAt: start}
	s.equal(want, created)
	found, err := s.reopen().Session(s.ctx, "ann", "a")
	s.must(err)
	s.equal(want, found)
	_, err = s.Create(s.ctx, n)
	s.is(session.ErrExists, err)
	other := s.add("bob", "a")
	if other == created.Key {
		s.Errorf("two sessions have the key %d", other)
	}
	for _, missing := range [][2]string{{"ann", "b"}, {"", "a"}, {"a", "ann"}} {
		_, err = s.Session(s.ctx, missing[0], missing[1])
		s.is(session.ErrNotFound, err)
	}
	var winners atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			switch _, err := s.Create(s.ctx, session.Session{ID: "raced"}); {
			case err == nil:
				winners.Add(1)
			case !errors.Is(err, session.ErrExists):
				s.Error(err)
			}
		})
	}
	if group.Wait(); winners.Load() != 1 {
		s.Errorf("%d callers created the same session", winners.Load())
	}
}

func (s *suite) list() {
	var want []session.Session
	for i := range 30 {
		n := session.Session{Account: []string{"ann", "bob", ""}[i%3], ID: fmt.Sprint(i), Archived: i%4 == 0, CreatedAt: start, UsedAt: start.Add(time.Duration(i/5) * time.Microsecond)}
		created, err := s.Create(s.ctx, n)
		s.must(err)
		want = append(want, created)
	}
	slices.Reverse(want) // later ones have a later or the same time, and a larger key
	for _, account := range []*string{nil, new("ann"), new(""), new("nobody")} {
		for _, archived := range []*bool{nil, new(true), new(false)} {
			selected := slices.DeleteFunc(slices.Clone(want), func(n session.Session) bool {
				return account != nil && n.Account != *account || archived != nil && n.Archived != *archived
			})
			for _, limit := range []int{1, 4, 100} {
				var got []session.Session
				var after session.Cursor
				for {
					page, err := s.List(s.ctx, session.Filter{Account: account, Archived: archived}, after, limit)
					s.must(err)
					if got = append(got, page...); len(page) < limit {
						break
					}
					after = session.Cursor{UsedAt: page[limit-1].UsedAt, Key: page[limit-1].Key}
				}
				if diff := cmp.Diff(selected, append([]session.Session{}, got...)); diff != "" {
					s.Errorf("account %v, archived %v, pages of %d: %s", account, archived, limit, diff)
				}
			}
		}
	}
}

// search searches so many sessions that a store cannot compare each one.
func (s *suite) search() {
	const sessions = 130
	m := &model{}
	for i := range sessions {
		n := session.Session{Account: []string{"ann", "bob"}[i%2], ID: fmt.Sprint(i), Archived: i%10 == 0, CreatedAt: start.Add(time.Duration(i) * time.Second), TitleBy: "rules",
			Title: fmt.Sprintf("common number%d ends%d", i, i%10)}
		if i == 3 || i == 110 {
			n.Title += " rare"
		}
		created, err := s.Create(s.ctx, n)
		s.must(err)
		m.sessions = append(m.sessions, &record{Session: created})
	}
	key := m.sessions[1].Key
	s.ask(key, 1, "", "only question", "only answer")
	m.sessions[1].UsedAt, m.sessions[1].Turns, m.sessions[1].Head = start.Add(time.Second), 1, runID(1).AnswerID()
	m.sessions[1].messages = []*message{{Message: session.Message{Text: "only question"}}, {Message: session.Message{Text: "only answer"}}}
	for _, query := range []string{"common", "rare", "rar", "common rare", "rare common", "number1", "ends7", "ends7 co", "common absent", "comm common", "only", "only question", "only common", "question answer"} {
		for _, f := range []session.Filter{{}, {Account: new("ann")}, {Archived: new(false)}, {Account: new("bob"), Archived: new(true)}} {
			f.Words = words(query)
			for _, limit := range []int{3, sessions} {
				var after session.Cursor
				for range 4 {
					page, err := s.List(s.ctx, f, after, limit)
					s.must(err)
					if diff := cmp.Diff(m.List(f, after, limit), page); diff != "" && len(page)+len(m.List(f, after, limit)) > 0 {
						s.Fatalf("search %q, limit %d: %s", query, limit, diff)
					}
					if len(page) < limit {
						break
					}
					after = session.Cursor{UsedAt: page[limit-1].UsedAt, Key: page[limit-1].Key}
				}
			}
		}
	}
}

func (s *suite) languages() {
	s.ask(s.add("", "zh"), 1, "", "北京的天气怎么样？", "晴天")
	s.ask(s.add("", "de"), 2, "", "Wie groß ist die Donaudampfschifffahrtsgesellschaft?", "Übermäßig groß: 3.5 ha.")
	s.ask(s.add("", "hi"), 3, "", "हिन्दी में पूछो", "don’t stop")
	for query, want := range map[string][]string{
		"天气": {"zh"}, "晴": {"zh"}, "天 京 北": {"zh"}, "北京 晴": nil, "GROSS": nil, "GROẞ": {"de"}, "donaudampf": {"de"}, "übermä": {"de"}, "uber": nil,
		"3.5": {"de"}, "3": {"de"}, "5": nil, "हिन्दी": {"hi"}, "हि": {"hi"}, "don't stop": {"hi"}, "don't": {"hi"}, "t": nil, "stop don": {"hi"}, "sto don't": nil,
	} {
		if got := s.ids(session.Filter{Words: words(query)}); !slices.Equal(got, want) {
			s.Errorf("search %q: %v, want %v", query, got, want)
		}
	}
}

// hostile searches for what could be the syntax of a query.
func (s *suite) hostile() {
	key := s.add("", "a")
	s.ask(key, 1, "", `NEAR("a b", 3) AND * ^ : + words - { } x' " " NOT`+"\x00 \xff end", strings.Repeat("long", 20_000))
	for range 120 { // more than a store would compare without its index
		_, err := s.Create(s.ctx, session.Session{ID: fmt.Sprint("later", s.Name(), time.Now().UnixNano()), CreatedAt: start.Add(time.Hour)})
		s.must(err)
	}
	many := make([]string, 10_000)
	for i := range many {
		many[i] = "end"
	}
	for _, query := range [][]string{many, {"near"}, {"NEAR("}, {`"`, "end"}, {`x" OR "end`}, {"*", "end"}, {"words", ":", "end"}, {"end*"}, {"^end"}, {"-", "end"},
		{"{words}", ":", "end"}, {"end", `\`}, {"a b", "end"}, {"x'", "'"}, {"\x00", "end"}, {"end", "\xff"}, {"'; DROP TABLE words; --", "absent"}, {strings.Repeat("long", 10_000)}} {
		list, err := s.List(s.ctx, session.Filter{Words: query}, session.Cursor{}, 1)
		if err != nil {
			s.Errorf("search %.80q: %v", query, err)
		}
		want := "a"
		if slices.Contains(query, "absent") || query[0] == `x" OR "end` {
			want = ""
		}
		if got := fmt.Sprint(list); want == "" && len(list) > 0 || want != "" && (len(list) != 1 || list[0].ID != want) {
			s.Errorf("search %.80q: %v, want %q", query, got, want)
		}
	}
	s.is(nil, func() error { _, err := s.Session(s.ctx, "", "a"); return err }())
}

func (s *suite) titles() {
	key := s.add("", "a")
	title := func(want, by string) {
		s.Helper()
		found, err := s.Session(s.ctx, "", "a")
		s.must(err)
		s.equal([]string{want, by}, []string{found.Title, found.TitleBy})
	}
	update := func(to, by string) {
		s.Helper()
		_, err := s.Update(s.ctx, key, session.Change{Title: &to, TitleBy: by})
		s.must(err)
	}
	begin := func(n int, to string) {
		s.Helper()
		b := turn(n, "", "q")
		b.Title = to
		_, err := s.Begin(s.ctx, key, b)
		s.must(err)
		s.must(s.End(s.ctx, session.End{Run: b.Run, Answer: session.Answer{Status: session.Completed}}))
	}
	begin(1, "")
	title("", "")
	begin(2, "First words")
	title("First words", "rules")
	begin(3, "Other words")
	title("First words", "rules")
	update("By a model", "gpt")
	title("By a model", "gpt")
	s.equal([]string(nil), s.ids(session.Filter{Words: []string{"first"}}))
	s.equal([]string{"a"}, s.ids(session.Filter{Words: []string{"model"}}))
	update("Mine", session.TitleByUser)
	update("By a model", "gpt")
	begin(4, "Other words")
	title("Mine", session.TitleByUser)
	update("", session.TitleByUser)
	title("", "")
	update("By a model", "gpt")
	title("By a model", "gpt")
	_, err := s.Update(s.ctx, key+1, session.Change{})
	s.is(session.ErrNotFound, err)
}
