package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/session"
)

// texts returns the texts of a branch, the first one first.
func (s *suite) texts(key session.Key, last string) (texts []string) {
	s.Helper()
	branch, err := s.Branch(s.ctx, key, last, 100)
	s.must(err)
	for _, m := range branch {
		texts = append(texts, m.Text)
	}
	slices.Reverse(texts)
	return texts
}

// siblings checks that the number of answers to a question, and of questions after an answer, is bounded.
func (s *suite) siblings() {
	key := s.add("", "a")
	first := s.ask(key, 0, "", "q", "a")
	again, next := turn(1, "", ""), turn(2, first, "q")
	again.New, again.Question.ID = false, runID(0).QuestionID()
	for n, b := range map[int]session.Begin{1: again, 1000: next} {
		added := 0
		for ; added <= session.MaxSiblings; added++ {
			b.Run = runID(n + added)
			if b.New {
				b.Question.ID = b.Run.QuestionID()
			}
			_, err := s.Begin(s.ctx, key, b)
			if errors.Is(err, session.ErrSiblings) {
				break
			}
			s.must(err)
			s.must(s.End(s.ctx, session.End{Run: b.Run, Answer: session.Answer{Status: session.Failed}}))
		}
		if want := map[bool]int{false: session.MaxSiblings - 1, true: session.MaxSiblings}[b.New]; added != want {
			s.Errorf("%d messages were added, want %d", added, want)
		}
	}
}

func (s *suite) tree() {
	key, other := s.add("", "a"), s.add("", "b")
	first := s.ask(key, 1, "", "q1", "a1")
	second := s.ask(key, 2, first, "q2", "a2")
	edited := s.ask(key, 3, first, "q2'", "a2'")
	b := turn(4, "", "not used")
	b.New, b.Question.ID = false, runID(2).QuestionID()
	regenerated, err := s.Begin(s.ctx, key, b)
	s.must(err)
	s.equal([]string{"q1", "a1", "q2", "a2"}, s.texts(key, second))
	s.equal([]string{"q1", "a1", "q2'", "a2'"}, s.texts(key, edited))
	s.equal([]string{"q1", "a1", "q2", ""}, s.texts(key, regenerated.ID))
	s.equal([]string{"q1", "a1", "q2"}, s.texts(key, runID(2).QuestionID()))
	s.equal(session.Message{ID: runID(4).AnswerID(), Parent: runID(2).QuestionID(), Depth: 3, Role: event.RoleAssistant, At: b.At,
		Siblings: []string{second, regenerated.ID}, Answer: session.Answer{Run: b.Run, Status: session.Running}}, regenerated)
	branch, err := s.Branch(s.ctx, key, edited, 2)
	s.must(err)
	s.equal([]session.Message{
		{ID: edited, Parent: runID(3).QuestionID(), Depth: 3, Role: event.RoleAssistant, Text: "a2'", At: start.Add(3 * time.Second),
			Answer: session.Answer{Run: runID(3), Status: session.Completed}},
		{ID: runID(3).QuestionID(), Parent: first, Depth: 2, Role: event.RoleUser, Text: "q2'", At: start.Add(3 * time.Second),
			Siblings: []string{runID(2).QuestionID(), runID(3).QuestionID()}, Answer: session.Answer{Status: session.Completed}},
	}, branch)

	found, err := s.Session(s.ctx, "", "a")
	s.must(err)
	s.equal(session.Session{Key: key, ID: "a", Head: regenerated.ID, Turns: 4, CreatedAt: start, UsedAt: b.At}, found)
	s.must(s.End(s.ctx, session.End{Run: b.Run, Answer: session.Answer{Status: session.Completed}}))
	for _, head := range []string{second, runID(3).QuestionID()} {
		found, err = s.Update(s.ctx, key, session.Change{Head: &head})
		s.must(err)
		s.equal(head, found.Head)
	}
	for _, missing := range []string{"", "x", s.ask(other, 5, "", "q", "a")} {
		_, err = s.Update(s.ctx, key, session.Change{Head: &missing})
		s.is(session.ErrNoMessage, err)
		_, err = s.Branch(s.ctx, key, missing, 5)
		s.is(session.ErrNoMessage, err)
		if missing != "" {
			_, err = s.Begin(s.ctx, key, turn(6, missing, "q"))
			s.is(session.ErrNoMessage, err)
		}
		again := turn(6, "", "q")
		again.New, again.Question.ID = false, missing
		_, err = s.Begin(s.ctx, key, again)
		s.is(session.ErrNoMessage, err)
	}
	_, err = s.Begin(s.ctx, key, turn(6, runID(1).QuestionID(), "a question after a question"))
	s.is(session.ErrNoMessage, err)
	_, err = s.Begin(s.ctx, other+1, turn(6, "", "q"))
	s.is(session.ErrNotFound, err)
	all, err := s.All(s.ctx, key, 0, 100)
	s.must(err)
	if len(all) != 7 {
		s.Errorf("%d messages after turns that could not begin, want 7", len(all))
	}
}

func (s *suite) answer() {
	key := s.add("ann", "a")
	temperature := 0.5
	b := turn(1, "", "q")
	b.Protocol = "turns"
	b.Asked = event.Question{Query: "q", Mode: event.Direct, TopK: 3, Temperature: &temperature, Tools: []string{event.ToolReadPages}, Session: "a"}
	want := session.Answer{Run: b.Run, Status: session.Running, Asked: b.Asked, Protocol: "turns"}
	b.Asked.History, b.Asked.Summary, b.Asked.Request = []event.Message{{Role: event.RoleUser, Text: "x"}}, "summary", []byte(`{"x":1}`)
	m, err := s.Begin(s.ctx, key, b)
	s.must(err)
	s.equal(want, m.Answer)
	s.must(s.Rate(s.ctx, key, m.ID, &session.Feedback{Good: true, At: start}))
	want.Standalone, want.Failure, want.Confidence, want.Abstained = "What is q?", &event.RunFailed{Code: fault.Model, Message: "m"}, 0.25, true
	want.Status, want.EndedAt, want.Tokens = session.Failed, start.Add(time.Minute), event.ModelUsed{Model: "m", Calls: 2, Input: 3, Output: 4, Estimated: true}
	want.Citations = []session.Citation{{At: 2, N: 1, Source: event.Source{N: 1, Document: "d", Title: "T", Pages: []int{3}, Text: "passage", Score: 0.5}}}
	end := session.End{Run: b.Run, Text: "an answer", Answer: want, Summary: "what was said", SummaryOf: m.ID}
	end.Asked, end.Protocol, end.Feedback = event.Question{Query: "other"}, "other", nil
	s.is(nil, s.End(s.ctx, end))
	want.Feedback = &session.Feedback{Good: true, At: start}
	check := func() {
		s.Helper()
		in, got, err := s.reopen().ByRun(s.ctx, b.Run)
		s.must(err)
		s.equal("ann", in.Account)
		s.equal(session.Message{ID: m.ID, Parent: b.Question.ID, Depth: 1, Role: event.RoleAssistant, Text: "an answer", At: b.At, Summary: "what was said", Answer: want}, got)
	}
	check()
	end.Text, end.Summary, end.Status = "another", "another", session.Completed
	s.is(session.ErrNoMessage, s.End(s.ctx, end))
	end.Run = "unknown"
	s.is(session.ErrNoMessage, s.End(s.ctx, end))
	check()
	s.is(session.ErrNoMessage, s.Start(s.ctx, b.Run, start, start.Add(time.Hour)))
	s.is(session.ErrNoMessage, s.Start(s.ctx, "unknown", start, start.Add(time.Hour)))
	for _, run := range []event.RunID{"unknown", "", "%"} {
		_, _, err = s.ByRun(s.ctx, run)
		s.is(session.ErrNoMessage, err)
	}

	_, err = s.Begin(s.ctx, key, turn(2, m.ID, "q"))
	s.must(err)
	if err := s.End(s.ctx, session.End{Run: runID(2), Answer: session.Answer{Status: session.Running}}); err == nil {
		s.Error("an end with a status that is open")
	}
	s.must(s.End(s.ctx, session.End{Run: runID(2), Answer: session.Answer{Status: session.Cancelled}, Summary: "x", SummaryOf: "unknown"}))
}

func (s *suite) order() {
	other := s.reopen()
	key, free := s.add("", "a"), s.add("", "b")
	running := func(run int) error { return &session.BusyError{Run: runID(run)} }
	begin := func(store session.Store, n int, status session.Status) {
		s.Helper()
		b := turn(n, "", "q")
		b.Wait, b.Server = true, fmt.Sprint("s", n)
		m, err := store.Begin(s.ctx, key, b)
		s.must(err)
		s.equal(status, m.Status)
	}
	begin(s.Store, 1, session.Running)
	begin(other, 2, session.Queued)
	begin(s.Store, 3, session.Queued)
	_, err := other.Begin(s.ctx, key, turn(4, "", "q"))
	s.is(running(1), err)
	s.ask(free, 5, "", "q", "a")

	until := start.Add(2 * time.Hour)
	s.is(running(1), s.Start(s.ctx, runID(3), start, until))
	s.is(running(1), other.Start(s.ctx, runID(2), start, until))
	s.must(s.Start(s.ctx, runID(1), start, until))
	open, err := other.Open(s.ctx)
	s.must(err)
	s.equal([]session.OpenTurn{{Key: key, Run: runID(1), Server: "s1", Until: until}, {Key: key, Run: runID(2), Server: "s2", Until: until}, {Key: key, Run: runID(3), Server: "s3", Until: until}}, open)

	end := func(n int, status session.Status) {
		s.Helper()
		s.must(s.End(s.ctx, session.End{Run: runID(n), Answer: session.Answer{Status: status}}))
	}
	end(2, session.Cancelled) // while it waits
	s.is(running(1), s.Start(s.ctx, runID(3), start, until))
	s.is(session.ErrNoMessage, s.Start(s.ctx, runID(2), start, until))
	end(1, session.Completed)
	_, err = s.Begin(s.ctx, key, turn(6, "", "q"))
	s.is(running(3), err)
	s.must(s.Start(s.ctx, runID(3), start, until))
	_, m, err := s.ByRun(s.ctx, runID(3))
	s.must(err)
	s.equal(session.Running, m.Status)
	s.must(s.EraseRun(s.ctx, runID(3)))
	begin(s.Store, 7, session.Running)
	end(7, session.Completed)
	open, err = s.Open(s.ctx)
	s.must(err)
	s.equal(0, len(open))
}

func (s *suite) expired() {
	key := s.add("", "a")
	begin := func(n int, at, until time.Duration) error {
		b := turn(n, "", "q")
		b.Wait, b.At, b.Until = true, start.Add(at), start.Add(until)
		_, err := s.Begin(s.ctx, key, b)
		return err
	}
	expired := func(n int) error { return &session.BusyError{Run: runID(n), Expired: true} }
	s.must(begin(1, 0, 10*time.Microsecond))
	s.must(begin(2, 1*time.Microsecond, 5*time.Microsecond))
	s.is(expired(2), begin(3, 5*time.Microsecond, time.Hour))
	s.is(&session.BusyError{Run: runID(1)}, s.Start(s.ctx, runID(2), start.Add(-time.Microsecond), start.Add(time.Minute)))
	s.is(expired(1), begin(3, 10*time.Microsecond, time.Hour))
	s.is(expired(1), s.Start(s.ctx, runID(2), start.Add(10*time.Microsecond), start.Add(time.Minute)))
	s.must(s.Start(s.ctx, runID(1), start, start.Add(time.Minute)))
	s.must(begin(3, 10*time.Microsecond, time.Hour))
	all, err := s.All(s.ctx, key, 0, 100)
	s.must(err)
	if len(all) != 6 {
		s.Errorf("%d messages, want those of 3 turns", len(all))
	}
}

// race begins turns at the same time in two stores that are open on the same data.
func (s *suite) race() {
	const callers = 10
	stores := []session.Store{s.Store, s.reopen()}
	key := s.add("", "a")
	for round := range 5 {
		var began atomic.Int32
		var group sync.WaitGroup
		begin := make(chan struct{})
		for i := range callers {
			group.Go(func() {
				<-begin
				_, err := stores[i%2].Begin(s.ctx, key, turn(round*callers+i, "", "q"))
				if _, busy := errors.AsType[*session.BusyError](err); err == nil {
					began.Add(1)
				} else if !busy {
					s.Error(err)
				}
			})
		}
		close(begin)
		if group.Wait(); began.Load() != 1 {
			s.Fatalf("%d turns began at the same time", began.Load())
		}
		open, err := s.Open(s.ctx)
		s.must(err)
		s.must(stores[round%2].End(s.ctx, session.End{Run: open[0].Run, Answer: session.Answer{Status: session.Completed}}))
	}
}

// waiting begins turns that wait at the same time, in two stores that are open on the same data. They start in the order of their Begin.
func (s *suite) waiting() {
	const callers = 12
	stores := []session.Store{s.Store, s.reopen()}
	key := s.add("", "a")
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			b := turn(i, "", "q")
			b.Wait = true
			if _, err := stores[i%2].Begin(s.ctx, key, b); err != nil {
				s.Error(err)
			}
		})
	}
	group.Wait()
	messages, err := s.All(s.ctx, key, 0, 100)
	s.must(err)
	var began []event.RunID
	for _, m := range messages {
		if m.Run != "" {
			began = append(began, m.Run)
		}
	}
	var started []event.RunID
	for attempt := 0; len(started) < len(began) && attempt < callers*callers; attempt++ {
		run := runID(attempt * 5 % callers) // in another order than that of began
		err := stores[attempt%2].Start(s.ctx, run, start, start.Add(time.Hour))
		if _, busy := errors.AsType[*session.BusyError](err); busy || errors.Is(err, session.ErrNoMessage) {
			continue
		}
		s.must(err)
		started = append(started, run)
		s.must(stores[(attempt/2)%2].End(s.ctx, session.End{Run: run, Answer: session.Answer{Status: session.Completed}}))
	}
	if diff := cmp.Diff(began, started); diff != "" || len(began) != callers {
		s.Error("the turns began and started in different orders: ", diff)
	}
}

func (s *suite) hide() {
	key, later := s.add("ann", "a"), s.add("ann", "b")
	answered := s.ask(key, 1, "", "question", "text")
	s.must(s.Rate(s.ctx, key, answered, &session.Feedback{At: start}))
	_, err := s.Begin(s.ctx, key, turn(2, answered, "question"))
	s.must(err)
	before, err := s.Session(s.ctx, "ann", "a")
	s.must(err)
	s.must(s.Hide(s.ctx, key, true))
	s.is(session.ErrNotFound, s.Hide(s.ctx, key, true))
	s.is(session.ErrNotFound, s.Hide(s.ctx, later+1, false))
	other := s.reopen()
	_, err = other.Session(s.ctx, "ann", "a")
	s.is(session.ErrNotFound, err)
	_, err = other.Update(s.ctx, key, session.Change{Title: new("x")})
	s.is(session.ErrNotFound, err)
	_, err = other.Begin(s.ctx, key, turn(3, answered, "q"))
	s.is(session.ErrNotFound, err)
	_, err = other.Branch(s.ctx, key, answered, 5)
	s.is(session.ErrNoMessage, err)
	_, _, err = other.ByRun(s.ctx, runID(1))
	s.is(session.ErrNoMessage, err)
	s.is(session.ErrNoMessage, other.Start(s.ctx, runID(2), start, start.Add(time.Hour)))
	s.is(session.ErrNoMessage, other.Rate(s.ctx, key, answered, nil))
	s.is(session.ErrNoMessage, other.End(s.ctx, session.End{Run: runID(2), Answer: session.Answer{Status: session.Completed}}))
	all, err := other.All(s.ctx, key, 0, 10)
	s.must(err)
	rated, err := other.Rated(s.ctx, nil, "", 10)
	s.must(err)
	open, err := other.Open(s.ctx)
	s.must(err)
	s.equal(0, len(all)+len(rated)+len(open))
	s.equal([]string{"b"}, s.ids(session.Filter{}))
	s.equal([]string(nil), s.ids(session.Filter{Words: []string{"question"}}))
	hidden, err := other.Hidden(s.ctx)
	s.must(err)
	before.KeepRuns = true
	s.equal([]session.Session{before}, hidden)
	again := s.add("ann", "a")
	found, err := s.Session(s.ctx, "ann", "a")
	s.must(err)
	s.equal(again, found.Key)
	s.must(s.Hide(s.ctx, again, false))
}

func (s *suite) erase() {
	key, other := s.add("", "a"), s.add("", "b")
	const turns = 70 // more than one transaction should erase
	var want []event.RunID
	for i, last := 0, ""; i < turns; i++ {
		last = s.ask(key, i, last, "word", "text")
		want = append(want, runID(i))
	}
	kept := s.ask(other, turns, "", "word", "text")
	for _, limit := range []int{7, 1000} {
		var got []event.RunID
		after := event.RunID("")
		for {
			runs, err := s.Runs(s.ctx, key, after, limit)
			s.must(err)
			if got = append(got, runs...); len(runs) < limit {
				break
			}
			after = runs[limit-1]
		}
		s.equal(want, got)
		if limit == 7 {
			s.must(s.Hide(s.ctx, key, true))
		}
	}
	s.must(s.Erase(s.ctx, key))
	s.must(s.Erase(s.ctx, key))
	s.must(s.Erase(s.ctx, 0))
	hidden, err := s.Hidden(s.ctx)
	s.must(err)
	runs, err := s.Runs(s.ctx, key, "", 10)
	s.must(err)
	s.equal(0, len(hidden)+len(runs))
	if again := s.add("", "a"); again == key || again == other {
		s.Errorf("the key %d is used again", again)
	}
	s.equal([]string{"word", "text"}, s.texts(other, kept))
	s.equal([]string{"b"}, s.ids(session.Filter{Words: []string{"word"}}))
	s.must(s.Erase(s.ctx, other)) // without Hide
	s.equal([]string{"a"}, s.ids(session.Filter{}))
}

func (s *suite) eraseRun() {
	key := s.add("", "a")
	last, question := "", "q"
	for i := range 4 {
		_, err := s.Begin(s.ctx, key, turn(i, last, question))
		s.must(err)
		last = runID(i).AnswerID()
		s.must(s.End(s.ctx, session.End{Run: runID(i), Text: fmt.Sprint("text of answer", i), Summary: fmt.Sprint("summary", i), SummaryOf: last,
			Answer: session.Answer{Status: session.Completed, Standalone: "standalone", Confidence: 0.5, Citations: []session.Citation{{N: 1}}}}))
	}
	s.must(s.EraseRun(s.ctx, runID(2)))
	s.must(s.EraseRun(s.ctx, runID(2)))
	s.must(s.EraseRun(s.ctx, "unknown"))
	all, err := s.All(s.ctx, key, 0, 100)
	s.must(err)
	for i, m := range all {
		n := i / 2
		if i%2 == 0 {
			s.equal("q", m.Text)
			continue
		}
		want := session.Message{ID: runID(n).AnswerID(), Parent: runID(n).QuestionID(), Depth: i, Role: event.RoleAssistant, At: m.At, Text: fmt.Sprint("text of answer", n),
			Answer: session.Answer{Run: runID(n), Status: session.Completed, Standalone: "standalone", Confidence: 0.5, Citations: []session.Citation{{N: 1}}}}
		if n < 2 {
			want.Summary = fmt.Sprint("summary", n)
		}
		if n == 2 {
			want.Text, want.Status, want.Standalone, want.Citations = "", session.Deleted, "", nil
		}
		s.equal(want, m)
	}
	s.equal([]string(nil), s.ids(session.Filter{Words: []string{"answer2"}}))
	s.equal([]string{"a"}, s.ids(session.Filter{Words: []string{"answer3"}}))
	_, err = s.Begin(s.ctx, key, turn(5, last, question))
	s.must(err)
	s.must(s.End(s.ctx, session.End{Run: runID(5), Summary: "late", SummaryOf: runID(2).AnswerID(), Answer: session.Answer{Status: session.Completed}}))
	_, m, err := s.ByRun(s.ctx, runID(2))
	s.must(err)
	s.equal("", m.Summary)
}

func (s *suite) feedback() {
	ann, bob := s.add("ann", "a"), s.add("bob", "b")
	for n, key := range []session.Key{ann, bob, ann} {
		s.ask(key, n, "", fmt.Sprint("q", n), fmt.Sprint("a", n))
		s.must(s.Rate(s.ctx, key, runID(n).AnswerID(), &session.Feedback{Good: n == 1, Reason: fmt.Sprint("r", n), At: start.Add(time.Duration(n))}))
	}
	s.is(session.ErrNoMessage, s.Rate(s.ctx, ann, runID(0).QuestionID(), nil))
	s.is(session.ErrNoMessage, s.Rate(s.ctx, ann, runID(1).AnswerID(), nil))
	s.is(session.ErrNoMessage, s.Rate(s.ctx, bob+1, runID(1).AnswerID(), nil))
	rated := func(account *string, after event.RunID, limit int, want ...int) {
		s.Helper()
		got, err := s.Rated(s.ctx, account, after, limit)
		s.must(err)
		var ns []int
		for _, r := range got {
			n := slices.IndexFunc([]event.RunID{runID(0), runID(1), runID(2)}, func(run event.RunID) bool { return run == r.Answer.Run })
			ns = append(ns, n)
			s.equal([]string{fmt.Sprint("q", n), fmt.Sprint("a", n), []string{"ann", "bob", "ann"}[n]}, []string{r.Question.Text, r.Answer.Text, r.Session.Account})
			s.equal(&session.Feedback{Good: n == 1, Reason: fmt.Sprint("r", n), At: start.Add(time.Duration(n)).Truncate(time.Microsecond)}, r.Answer.Feedback)
		}
		s.equal(want, ns)
	}
	rated(nil, "", 10, 0, 1, 2)
	rated(nil, "", 2, 0, 1)
	rated(nil, runID(0), 10, 1, 2)
	rated(new("ann"), "", 10, 0, 2)
	rated(new("ann"), runID(0), 10, 2)
	rated(new("bob"), "", 10, 1)
	rated(new("nobody"), "", 10)
	s.must(s.Rate(s.ctx, ann, runID(0).AnswerID(), nil))
	rated(nil, "", 10, 1, 2)
}

// limits passes limits and keys that select nothing.
func (s *suite) limits() {
	key := s.add("", "a")
	last := s.ask(key, 1, "", "q", "a")
	s.must(s.Rate(s.ctx, key, last, &session.Feedback{At: start}))
	for _, limit := range []int{0, -1} {
		list, err := s.List(s.ctx, session.Filter{}, session.Cursor{}, limit)
		s.must(err)
		branch, err := s.Branch(s.ctx, key, last, limit)
		s.must(err)
		all, err := s.All(s.ctx, key, 0, limit)
		s.must(err)
		rated, err := s.Rated(s.ctx, nil, "", limit)
		s.must(err)
		runs, err := s.Runs(s.ctx, key, "", limit)
		s.must(err)
		s.equal(0, len(list)+len(branch)+len(all)+len(rated)+len(runs))
	}
	const most = 1<<63 - 1
	for _, offset := range []int{2, most} {
		all, err := s.All(s.ctx, key, offset, most)
		s.must(err)
		s.equal(0, len(all))
	}
	for _, key := range []session.Key{0, -1, most, -most - 1} {
		_, err := s.Branch(s.ctx, key, last, 1)
		s.is(session.ErrNoMessage, err)
		all, err := s.All(s.ctx, key, 0, 10)
		s.must(err)
		s.equal(0, len(all))
		_, err = s.Begin(s.ctx, key, turn(2, "", "q"))
		s.is(session.ErrNotFound, err)
		s.must(s.Erase(s.ctx, key))
	}
	s.equal([]string{"q", "a"}, s.texts(key, last))
}

// cancelled calls with a context that has ended: nothing is written.
func (s *suite) cancelled() {
	key := s.add("", "a")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.Begin(ctx, key, turn(1, "", "q")); !errors.Is(err, context.Canceled) {
		s.Error(err)
	}
	if _, err := s.Create(ctx, session.Session{ID: "b"}); !errors.Is(err, context.Canceled) {
		s.Error(err)
	}
	s.equal([]string{"a"}, s.ids(session.Filter{}))
	all, err := s.All(s.ctx, key, 0, 10)
	s.must(err)
	s.equal(0, len(all))
}
