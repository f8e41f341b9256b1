package sessiontest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/session"
)

// model is a store in memory that a reader can check at a glance. It is slow, and not safe for concurrent use.
type model struct {
	sessions []*record
	keys     session.Key
}

type record struct {
	session.Session
	hidden   bool
	messages []*message
}

type message struct {
	session.Message
	server string
	until  time.Time
}

// visible returns the session of a key, or nil.
func (m *model) visible(key session.Key) *record {
	for _, r := range m.sessions {
		if r.Key == key && !r.hidden {
			return r
		}
	}
	return nil
}

func (r *record) find(id string) *message {
	for _, m := range r.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (r *record) findRole(id, role string) *message {
	if m := r.find(id); m != nil && m.Role == role {
		return m
	}
	return nil
}

// answer returns the answer of a run with its session, or nil.
func (m *model) answer(run event.RunID) (*record, *message) {
	for _, r := range m.sessions {
		if a := r.find(run.AnswerID()); a != nil {
			return r, a
		}
	}
	return nil, nil
}

// view returns a message as a store returns it.
func (r *record) view(m *message) session.Message {
	out := m.Message
	for _, other := range r.messages {
		if other.Parent == m.Parent && other.Role == m.Role {
			out.Siblings = append(out.Siblings, other.ID)
		}
	}
	if len(out.Siblings) == 1 {
		out.Siblings = nil
	}
	return out
}

func (m *model) Create(s session.Session) (session.Session, error) {
	if _, err := m.Session(s.Account, s.ID); err == nil {
		return session.Session{}, session.ErrExists
	}
	m.keys++
	s.Key, s.Head, s.Turns = m.keys, "", 0
	if s.UsedAt.IsZero() {
		s.UsedAt = s.CreatedAt
	}
	if s.Title == "" {
		s.TitleBy = ""
	}
	m.sessions = append(m.sessions, &record{Session: s})
	return s, nil
}

func (m *model) Session(account, id string) (session.Session, error) {
	for _, r := range m.sessions {
		if r.Account == account && r.ID == id && !r.hidden {
			return r.Session, nil
		}
	}
	return session.Session{}, session.ErrNotFound
}

func (m *model) List(f session.Filter, after session.Cursor, limit int) (page []session.Session) {
	order := func(a, b session.Session) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(b.Key, a.Key))
	}
	for _, r := range m.sessions {
		if r.hidden || f.Account != nil && r.Account != *f.Account || f.Archived != nil && r.Archived != *f.Archived || !r.has(f.Words) {
			continue
		}
		if after == (session.Cursor{}) || order(session.Session{UsedAt: after.UsedAt, Key: after.Key}, r.Session) < 0 {
			page = append(page, r.Session)
		}
	}
	slices.SortFunc(page, order)
	return page[:min(limit, len(page))]
}

// has reports whether the title or a message has all words; the last one may be the beginning of a word.
func (r *record) has(words []string) bool {
	has := func(text string) bool {
		tokens := lang.Words(text)
		for i, w := range words {
			if !slices.ContainsFunc(tokens, func(t lang.Token) bool {
				return t.Text == w || i == len(words)-1 && strings.HasPrefix(t.Text, w)
			}) {
				return false
			}
		}
		return true
	}
	return has(r.Title) || slices.ContainsFunc(r.messages, func(m *message) bool { return has(m.Text) })
}

func (m *model) Update(key session.Key, c session.Change) (session.Session, error) {
	r := m.visible(key)
	if r == nil {
		return session.Session{}, session.ErrNotFound
	}
	if c.Head != nil {
		if r.find(*c.Head) == nil {
			return session.Session{}, session.ErrNoMessage
		}
		r.Head = *c.Head
	}
	if c.Archived != nil {
		r.Archived = *c.Archived
	}
	if c.Title != nil && (c.TitleBy == session.TitleByUser || r.TitleBy != session.TitleByUser) {
		if r.Title, r.TitleBy = *c.Title, c.TitleBy; r.Title == "" {
			r.TitleBy = ""
		}
	}
	return r.Session, nil
}

func (m *model) Hide(key session.Key, keepRuns bool) error {
	r := m.visible(key)
	if r == nil {
		return session.ErrNotFound
	}
	r.hidden, r.KeepRuns = true, keepRuns
	return nil
}

func (m *model) Hidden() (hidden []session.Session) {
	for _, r := range m.sessions {
		if r.hidden {
			hidden = append(hidden, r.Session)
		}
	}
	return hidden
}

func (m *model) Runs(key session.Key, after event.RunID, limit int) (runs []event.RunID) {
	for _, r := range m.sessions {
		for _, a := range r.messages {
			if r.Key == key && a.Run > after {
				runs = append(runs, a.Run)
			}
		}
	}
	slices.Sort(runs)
	return runs[:min(limit, len(runs))]
}

func (m *model) Erase(key session.Key) {
	m.sessions = slices.DeleteFunc(m.sessions, func(r *record) bool { return r.Key == key })
}

func (m *model) EraseRun(run event.RunID) {
	r, a := m.answer(run)
	if a == nil {
		return
	}
	a.Text, a.Standalone, a.Citations, a.Status = "", "", nil, session.Deleted
	after := []*message{a}
	for len(after) > 0 {
		after[0].Summary = ""
		for _, other := range r.messages {
			if other.Parent == after[0].ID {
				after = append(after, other)
			}
		}
		after = after[1:]
	}
}

// open returns the turns of a session in progress, in their order.
func (r *record) open() (open []*message) {
	for _, a := range r.messages {
		if a.Status.Open() {
			open = append(open, a)
		}
	}
	return open
}

func busy(a *message, now time.Time) error {
	return &session.BusyError{Run: a.Run, Expired: !a.until.After(now)}
}

func (m *model) Begin(key session.Key, b session.Begin) (session.Message, error) {
	r := m.visible(key)
	if r == nil {
		return session.Message{}, session.ErrNotFound
	}
	open := r.open()
	for _, a := range open {
		if !a.until.After(b.At) {
			return session.Message{}, busy(a, b.At)
		}
	}
	if len(open) > 0 && !b.Wait {
		return session.Message{}, busy(open[0], b.At)
	}
	question := r.findRole(b.Question.ID, event.RoleUser)
	if b.New {
		if b.Question.Parent == session.AtHead {
			b.Question.Parent = r.Head
		}
		parent := r.findRole(b.Question.Parent, event.RoleAssistant)
		question = &message{Message: session.Message{ID: b.Question.ID, Parent: b.Question.Parent, Role: event.RoleUser, Text: b.Question.Text, At: b.At,
			Answer: session.Answer{Status: session.Completed}}}
		switch {
		case parent != nil:
			question.Depth = parent.Depth + 1
		case b.Question.Parent != "":
			return session.Message{}, session.ErrNoMessage
		}
	}
	if question == nil {
		return session.Message{}, session.ErrNoMessage
	}
	first := question.ID
	if b.New {
		first = question.Parent
	}
	children := 0
	for _, other := range r.messages {
		if other.Parent == first {
			children++
		}
	}
	if children >= session.MaxSiblings {
		return session.Message{}, session.ErrSiblings
	}
	if b.New {
		r.messages = append(r.messages, question)
	}
	a := &message{server: b.Server, until: b.Until, Message: session.Message{ID: b.Run.AnswerID(), Parent: question.ID, Depth: question.Depth + 1,
		Role: event.RoleAssistant, At: b.At, Answer: session.Answer{Run: b.Run, Status: session.Running, Asked: b.Asked, Protocol: b.Protocol}}}
	a.Asked.History, a.Asked.Summary, a.Asked.Request = nil, "", nil
	if len(open) > 0 {
		a.Status = session.Queued
	}
	r.messages = append(r.messages, a)
	r.Head, r.UsedAt, r.Turns = a.ID, b.At, r.Turns+1
	if r.TitleBy == "" && b.Title != "" {
		r.Title, r.TitleBy = b.Title, "rules"
	}
	return r.view(a), nil
}

func (m *model) Start(run event.RunID, now, until time.Time) error {
	r, a := m.answer(run)
	if a == nil || r.hidden || !a.Status.Open() {
		return session.ErrNoMessage
	}
	a.until = until
	if first := r.open()[0]; first != a {
		return busy(first, now)
	}
	a.Status = session.Running
	return nil
}

func (m *model) End(e session.End) error {
	r, a := m.answer(e.Run)
	if a == nil || r.hidden || !a.Status.Open() && !a.Interrupted() {
		return session.ErrNoMessage
	}
	e.Answer.Run, e.Asked, e.Protocol, e.Feedback = a.Run, a.Asked, a.Protocol, a.Feedback
	a.Text, a.Answer = e.Text, e.Answer
	if of := r.find(e.SummaryOf); of != nil && e.Summary != "" && of.Status != session.Deleted {
		of.Summary = e.Summary
	}
	return nil
}

func (m *model) Open() (open []session.OpenTurn) {
	for _, r := range m.sessions {
		for _, a := range r.open() {
			if !r.hidden {
				open = append(open, session.OpenTurn{Key: r.Key, Run: a.Run, Server: a.server, Until: a.until})
			}
		}
	}
	return open
}

func (m *model) Branch(key session.Key, last string, limit int) (branch []session.Message, err error) {
	r := m.visible(key)
	if r == nil || r.find(last) == nil {
		return nil, session.ErrNoMessage
	}
	for len(branch) < limit && last != "" {
		branch = append(branch, r.view(r.find(last)))
		last = r.find(last).Parent
	}
	return branch, nil
}

func (m *model) All(key session.Key, offset, limit int) (all []session.Message) {
	if r := m.visible(key); r != nil {
		for i, message := range r.messages {
			if i >= offset && len(all) < limit {
				all = append(all, r.view(message))
			}
		}
	}
	return all
}

func (m *model) ByRun(run event.RunID) (session.Session, session.Message, error) {
	r, a := m.answer(run)
	if a == nil || r.hidden {
		return session.Session{}, session.Message{}, session.ErrNoMessage
	}
	return r.Session, r.view(a), nil
}

func (m *model) Rate(key session.Key, id string, f *session.Feedback) error {
	r := m.visible(key)
	if r == nil || r.findRole(id, event.RoleAssistant) == nil {
		return session.ErrNoMessage
	}
	r.find(id).Feedback = f
	return nil
}

func (m *model) Rated(account *string, after event.RunID, limit int) (rated []session.Rated) {
	for _, r := range m.sessions {
		for _, a := range r.messages {
			if a.Feedback != nil && !r.hidden && (account == nil || r.Account == *account) && a.Run > after {
				rated = append(rated, session.Rated{Session: r.Session, Question: r.view(r.find(a.Parent)), Answer: r.view(a)})
			}
		}
	}
	slices.SortFunc(rated, func(a, b session.Rated) int { return cmp.Compare(a.Answer.Run, b.Answer.Run) })
	return rated[:min(limit, len(rated))]
}
