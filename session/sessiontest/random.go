package sessiontest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
)

// random compares random operations with the model. Two stores are open on the same data, and each operation uses one of them.
type random struct {
	*suite
	*rand.Rand
	model  model
	stores []session.Store
	now    time.Time
	runs   int
}

// operations is the number of random operations, fewer with the race detector, which is slow. After fullEvery of them, everything is compared.
const (
	operations = 2000
	raced      = 300
	fullEvery  = 100
)

func (s *suite) random() {
	const seed = 7
	r := &random{suite: s, Rand: rand.New(rand.NewPCG(seed, 1)), now: start, stores: []session.Store{s.Store, s.reopen()}} //nolint:gosec // reproducible
	n := operations
	if race.Enabled {
		n = raced
	}
	for i := range n {
		what := r.operation()
		if r.read(); i%fullEvery == 0 {
			r.readAll()
		}
		if r.Failed() {
			r.Fatalf("after operation %d: %s", i, what)
		}
	}
	r.readAll()
}

var vocabulary = strings.Fields("der die Straße straßen Öl cat cats concatenate don't 3.5 2024-01-02 U.S 東京 是 NEAR AND _x")

func (r *random) text() string {
	words := make([]string, r.IntN(6))
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

func pick[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

func (r *random) store() session.Store { return pick(r, r.stores...) }

func (r *random) key() session.Key { return session.Key(r.IntN(int(r.model.keys) + 2)) }

func (r *random) run() event.RunID { return runID(r.IntN(r.runs + 2)) }

// message returns the id of a message of any session, or one that does not exist.
func (r *random) message() string {
	if r.IntN(8) == 0 {
		return ""
	}
	if in := r.model.visible(r.key()); in != nil && len(in.messages) > 0 && r.IntN(3) > 0 {
		return pick(r, in.messages...).ID
	}
	return pick(r, r.run().QuestionID(), r.run().AnswerID())
}

// messageOf returns the id of a message, mostly of a session.
func (r *random) messageOf(key session.Key) string {
	if in := r.model.visible(key); in != nil && len(in.messages) > 0 && r.IntN(10) > 0 {
		return pick(r, in.messages...).ID
	}
	return r.message()
}

// openRun returns a run, mostly one in progress.
func (r *random) openRun() event.RunID {
	if open := r.model.Open(); len(open) > 0 && r.IntN(10) > 0 {
		return pick(r, open...).Run
	}
	return r.run()
}

// same compares results and errors.
func (r *random) same(what string, got any, gotErr error, want any, wantErr error) {
	r.Helper()
	if !sameError(gotErr, wantErr) {
		r.Errorf("%s: error %v, want %v", what, gotErr, wantErr)
	} else if gotErr == nil {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			r.Errorf("%s: %s", what, diff)
		}
	}
}

func sameError(got, want error) bool {
	if busy, ok := errors.AsType[*session.BusyError](want); ok {
		gotBusy, ok := errors.AsType[*session.BusyError](got)
		return ok && *busy == *gotBusy
	}
	return errors.Is(got, want)
}

// operation writes to the store and the model.
func (r *random) operation() (what string) {
	r.now = r.now.Add(time.Duration(r.IntN(3)) * time.Second)
	s := r.store()
	switch k := r.IntN(40); {
	case k < 2:
		n := session.Session{Account: pick(r, "", "ann", "bob"), ID: pick(r, "a", "b", "c"), Title: pick(r, "", r.text()), TitleBy: session.TitleByUser,
			Archived: r.IntN(4) == 0, CreatedAt: r.now, UsedAt: pick(r, time.Time{}, r.now.Add(time.Hour))}
		what = fmt.Sprintf("create %+v", n)
		got, err := s.Create(r.ctx, n)
		if err == nil {
			r.model.keys = got.Key - 1 // any larger key will do
		}
		want, wantErr := r.model.Create(n)
		r.same(what, got, err, want, wantErr)
	case k < 6:
		key, c := r.key(), session.Change{TitleBy: pick(r, session.TitleByUser, "model", "rules")}
		if r.IntN(2) == 0 {
			c.Title = new(r.text())
		}
		if r.IntN(3) == 0 {
			c.Archived = new(r.IntN(2) == 0)
		}
		if r.IntN(2) == 0 {
			c.Head = new(r.messageOf(key))
		}
		what = fmt.Sprintf("update %d %+v", key, c)
		got, err := s.Update(r.ctx, key, c)
		want, wantErr := r.model.Update(key, c)
		r.same(what, got, err, want, wantErr)
	case k < 7 && r.IntN(3) == 0:
		key := r.key()
		keep := r.IntN(2) == 0
		what = fmt.Sprint("hide ", key, keep)
		r.same(what, nil, s.Hide(r.ctx, key, keep), nil, r.model.Hide(key, keep))
	case k < 8 && r.IntN(3) == 0:
		key := r.key()
		if hidden := r.model.Hidden(); len(hidden) > 0 {
			key = pick(r, hidden...).Key
		}
		what = fmt.Sprint("erase ", key)
		r.same(what, nil, s.Erase(r.ctx, key), nil, nil)
		r.model.Erase(key)
	case k < 9:
		run := r.run()
		what = fmt.Sprint("erase run ", run)
		r.same(what, nil, s.EraseRun(r.ctx, run), nil, nil)
		r.model.EraseRun(run)
	case k < 12:
		key := r.key()
		id := r.messageOf(key)
		f := pick(r, nil, &session.Feedback{Good: r.IntN(2) == 0, Reason: r.text(), At: r.now})
		what = fmt.Sprint("rate ", key, " ", id)
		r.same(what, nil, s.Rate(r.ctx, key, id, f), nil, r.model.Rate(key, id, f))
	case k < 24:
		what = r.begin(s)
	case k < 29:
		run, until := r.openRun(), r.now.Add(time.Duration(r.IntN(40))*time.Second)
		what = fmt.Sprint("start ", run)
		r.same(what, nil, s.Start(r.ctx, run, r.now, until), nil, r.model.Start(run, r.now, until))
	default:
		what = r.end(s)
	}
	return what
}

func (r *random) begin(s session.Store) string {
	r.runs++
	key, run := r.key(), runID(r.runs)
	b := session.Begin{Run: run, New: r.IntN(4) > 0, At: r.now, Until: r.now.Add(time.Duration(r.IntN(60)) * time.Second), Server: pick(r, "s1", "s2"),
		Wait: r.IntN(2) == 0, Title: pick(r, "", r.text()), Protocol: pick(r, "forge", "turns"),
		Asked:    event.Question{Query: r.text(), TopK: r.IntN(9), History: []event.Message{{Role: event.RoleUser, Text: "before"}}, Summary: "s", Request: []byte("{}")},
		Question: session.Message{ID: run.QuestionID(), Text: r.text(), Parent: r.messageOf(key)}}
	if r.IntN(2) == 0 {
		b.Question.Parent = session.AtHead
	}
	if !b.New {
		b.Question.ID = r.messageOf(key)
	}
	got, err := s.Begin(r.ctx, key, b)
	want, wantErr := r.model.Begin(key, b)
	what := fmt.Sprintf("begin in %d: %+v", key, b)
	r.same(what, got, err, want, wantErr)
	return what
}

func (r *random) end(s session.Store) string {
	e := session.End{Run: r.openRun(), Text: r.text(), Answer: session.Answer{
		Status: pick(r, session.Completed, session.Failed, session.Cancelled), Standalone: r.text(), Confidence: r.Float64(), Abstained: r.IntN(2) == 0, EndedAt: r.now,
		Protocol: "not used", Asked: event.Question{Query: "not used"}, Feedback: &session.Feedback{Reason: "not used"}}, Summary: pick(r, "", r.text())}
	if e.Status == session.Failed {
		e.Failure = &event.RunFailed{Code: fault.Model, Message: "the model failed"}
	}
	for i := range r.IntN(3) {
		e.Citations = append(e.Citations, session.Citation{At: i, N: i + 1, Source: event.Source{N: i + 1, Document: "d", Text: r.text(), Pages: []int{1}}})
	}
	if r.IntN(2) == 0 {
		e.Tokens = event.ModelUsed{Model: "m", Input: r.IntN(99), Output: 2}
	}
	if e.SummaryOf = r.message(); r.IntN(2) == 0 {
		if in, _ := r.model.answer(e.Run); in != nil {
			e.SummaryOf = r.messageOf(in.Key)
		}
	}
	what := fmt.Sprintf("end %+v", e)
	r.same(what, nil, s.End(r.ctx, e), nil, r.model.End(e))
	return what
}

// read compares a few random results.
func (r *random) read() {
	r.Helper()
	s, key, limit, run := r.store(), r.key(), r.IntN(5), r.run()
	last := r.messageOf(key)
	branch, err := s.Branch(r.ctx, key, last, limit)
	want, wantErr := r.model.Branch(key, last, limit)
	r.same("branch", branch, err, want, wantErr)

	offset := r.IntN(10)
	all, err := s.All(r.ctx, key, offset, limit)
	r.same("all", all, err, r.model.All(key, offset, limit), nil)

	in, answer, err := s.ByRun(r.ctx, run)
	wantIn, wantAnswer, wantErr := r.model.ByRun(run)
	r.same("session of run", in, err, wantIn, wantErr)
	r.same("answer of run", answer, err, wantAnswer, wantErr)

	words := lang.Words(strings.Join(vocabulary, " "))
	f := session.Filter{Account: pick(r, nil, new("ann"), new("")), Archived: pick(r, nil, new(true), new(false))}
	for range r.IntN(3) {
		f.Words = append(f.Words, pick(r, words...).Text)
	}
	if n := len(f.Words); n > 0 && r.IntN(3) == 0 {
		_, size := utf8.DecodeRuneInString(f.Words[n-1])
		f.Words[n-1] = f.Words[n-1][:size]
	}
	var after session.Cursor
	if len(r.model.sessions) > 0 && r.IntN(2) == 0 {
		c := pick(r, r.model.sessions...)
		after = session.Cursor{UsedAt: c.UsedAt, Key: c.Key}
	}
	list, err := s.List(r.ctx, f, after, limit)
	r.same(fmt.Sprintf("list %q", f.Words), list, err, r.model.List(f, after, limit), nil)

	rated, err := s.Rated(r.ctx, f.Account, run, limit)
	r.same("rated", rated, err, r.model.Rated(f.Account, run, limit), nil)
	runs, err := s.Runs(r.ctx, key, run, limit)
	r.same("runs", runs, err, r.model.Runs(key, run, limit), nil)
}

// readAll compares everything.
func (r *random) readAll() {
	r.Helper()
	const limit = 1 << 20
	for _, s := range r.stores {
		for key := range r.model.keys + 2 {
			all, err := s.All(r.ctx, key, 0, limit)
			r.same("all", all, err, r.model.All(key, 0, limit), nil)
		}
		list, err := s.List(r.ctx, session.Filter{}, session.Cursor{}, limit)
		r.same("list", list, err, r.model.List(session.Filter{}, session.Cursor{}, limit), nil)
		hidden, err := s.Hidden(r.ctx)
		r.same("hidden", hidden, err, r.model.Hidden(), nil)
		open, err := s.Open(r.ctx)
		r.same("open", open, err, r.model.Open(), nil)
	}
}

// runID returns the id of the n-th run.
func runID(n int) event.RunID { return event.RunID(fmt.Sprintf("run%06d", n)) }
