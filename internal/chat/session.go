package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Bounds of what is kept in memory of a conversation: turns, and bytes of their texts.
const (
	maxTurns = 1000
	maxKept  = 32 << 20
)

// session is a conversation with a server: what was said, and what the next question is asked with. Its methods may be called at once.
type session struct {
	c    *client.Client
	face face
	now  func() time.Time
	link link
	// waiting is called when the server is waited for; nil: nobody wants to know.
	waiting func()

	mu       sync.Mutex
	turns    []turn
	dropped  int // turns that are no longer kept
	kept     int // bytes of those that are
	previous string
	stores   []collection // in use; none: the server's default
	effort   string
	model    string
	known    []collection // that the server told of last
	names    []string     // of files it told of last
}

// turn is a question and what became of it.
type turn struct {
	question string
	answer   client.Snapshot
	at       time.Time
}

// collection is a vector store as far as talking of it goes.
type collection struct{ id, name string }

// newSession begins a conversation. A server that does not answer is tried again so many times; 0 is the client's default.
func newSession(o Options, f face, retries int) (*session, error) {
	s := &session{face: f, now: o.Now, effort: o.Effort, model: o.Model}
	if s.effort == "" {
		s.effort = knowledge.EffortMedium
	}
	for _, id := range o.Collections {
		s.stores = append(s.stores, collection{id, id})
	}
	c, err := client.New(o.Server, client.Options{Retries: retries, OnRetry: func(err error, wait time.Duration) {
		s.link.set(reason(err), s.now().Add(wait))
		if s.waiting != nil {
			s.waiting()
		}
	}})
	s.c = c
	return s, err
}

// settings are what the next question is asked with.
type settings struct {
	stores        []collection
	effort, model string
}

func (s *session) settings() settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return settings{slices.Clone(s.stores), s.effort, s.model}
}

// last gives the last turn.
func (s *session) last() (turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.turns) == 0 {
		return turn{}, false
	}
	return s.turns[len(s.turns)-1], true
}

// clear begins a new conversation.
func (s *session) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns, s.previous, s.dropped, s.kept = nil, "", 0, 0
}

// request makes the request of a question. Whole sends what was said before along, for a server that does not know it.
func (s *session) request(question string, whole bool) knowledge.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := client.Question(question)
	if whole {
		q = client.Question(question, s.said()...)
	} else {
		q.PreviousResponseID = s.previous
	}
	q.Effort, q.Model = s.effort, s.model
	q.StreamOptions = &knowledge.StreamOptions{Mode: "delta"}
	if len(s.stores) > 0 {
		ids := make([]string, len(s.stores))
		for i, c := range s.stores {
			ids[i] = c.id
		}
		q.Tools = []knowledge.Tool{client.FileSearch(ids...)}
	}
	return q
}

// maxSaid bounds what is sent of earlier turns, in bytes; servers take more.
const maxSaid = 64 << 10

// said gives the turns that were answered, the newest as far as they fit.
func (s *session) said() (turns []event.Turn) {
	size := 0
	for _, t := range slices.Backward(s.turns) {
		if size += len(t.question) + len(t.answer.Text); size > maxSaid || len(turns) >= 100 {
			break
		}
		if t.answer.Text != "" {
			turns = append(turns, event.Turn{Role: event.RoleAssistant, Text: t.answer.Text}, event.Turn{Role: event.RoleUser, Text: t.question})
		}
	}
	slices.Reverse(turns)
	return turns
}

// respond asks a question and has watch follow the stream of its answer, which becomes a turn. The error is why the stream broke off.
func (s *session) respond(ctx context.Context, question string, watch func(*client.Stream) (client.Snapshot, error)) (client.Snapshot, error) {
	at := s.now()
	q := s.request(question, false)
	stream := s.c.Respond(ctx, q)
	answer, err := watch(stream)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.NotFound && q.PreviousResponseID != "" && stream.Run() == "" {
		// The server no longer has what was said before, or is another one; it can be told.
		answer, err = watch(s.c.Respond(ctx, s.request(question, true)))
	}
	if q.Model != "" && answer.Status == client.Completed && !answer.Cached && answer.Model != q.Model {
		s.face.print(fmt.Sprintf("answered by %s, not by %s", display.Line(answer.Model), display.Line(q.Model)))
	}
	if answer.Run != "" || answer.Text != "" {
		s.add(turn{question, answer, at})
	}
	return answer, err
}

// add keeps a turn. Questions follow the last one that has an answer.
func (s *session) add(t turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.answer.Text != "" && t.answer.Status.Final() {
		s.previous = t.answer.Run
	}
	t.answer.Reasoning = "" // nobody asks for it again
	s.turns = append(s.turns, t)
	s.kept += weight(t)
	for len(s.turns) > 1 && (len(s.turns) > maxTurns || s.kept > maxKept) {
		s.kept -= weight(s.turns[0])
		s.turns = s.turns[1:]
		s.dropped++
	}
}

func weight(t turn) int {
	n := len(t.question) + len(t.answer.Text)
	for _, c := range t.answer.Citations {
		n += len(c.Snippet) + 200
	}
	return n
}

// follow reads a stream to its end, telling of each event, and keeps the link's state.
func (s *session) follow(stream *client.Stream) (client.Snapshot, error) {
	for _, err := range stream.Events() {
		if err != nil {
			return stream.Snapshot(), err
		}
		_ = s.heard(nil)
	}
	return stream.Snapshot(), nil
}

// heard takes up that the server answered, unless that was an error, and hands it on.
func (s *session) heard(err error) error {
	if err == nil {
		s.link.set("", time.Time{})
	}
	return err
}

// reason says in a line why the server does not do what it is asked.
func reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		if f.Field != "" {
			return display.Line(f.Field + ": " + f.Message)
		}
		return display.Line(f.Message)
	}
	if t, ok := errors.AsType[*client.TaskError](err); ok {
		return display.Line(t.Error())
	}
	text := err.Error()
	if e, ok := errors.AsType[*url.Error](err); ok { // whose address says nothing to whoever typed none
		text = e.Err.Error()
	}
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return "stopped"
	case errors.Is(err, context.DeadlineExceeded):
		return "took too long"
	case strings.Contains(text, "connection refused"):
		return "the server does not answer"
	case strings.Contains(text, "no such host"):
		return "there is no such host"
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke"
	}
	return display.Line(text)
}

// label gives how collections are shown.
func label(stores []collection) string {
	if len(stores) == 0 {
		return "default"
	}
	names := make([]string, len(stores))
	for i, c := range stores {
		names[i] = display.Line(c.name)
	}
	return strings.Join(names, ", ")
}

// pages is how many pages of a list are read at most.
const pages = 20

// list gives the server's vector stores.
func (s *session) list(ctx context.Context) (all []client.VectorStore, more bool, err error) {
	after := ""
	for range pages {
		l, err := s.c.Stores(ctx, 100, after)
		if s.heard(err) != nil {
			return nil, false, err
		}
		if all = append(all, l.Data...); !l.HasMore || l.LastID == after {
			s.remember(all)
			return all, false, nil
		}
		after = l.LastID
	}
	s.remember(all)
	return all, true, nil
}

func (s *session) remember(all []client.VectorStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = s.known[:0:0]
	for _, v := range all {
		s.known = append(s.known, collection{v.ID, v.Name})
	}
}

// resolve finds the collection of a name or an id.
func (s *session) resolve(ctx context.Context, name string) (c collection, found bool, err error) {
	all, _, err := s.list(ctx)
	if err != nil {
		return c, false, err
	}
	for _, v := range all {
		if v.ID == name {
			return collection{v.ID, v.Name}, true, nil
		}
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		var of []string
		for _, v := range all {
			if same(v.Name, name) {
				c, of = collection{v.ID, v.Name}, append(of, v.ID)
			}
		}
		if len(of) == 1 {
			return c, true, nil
		}
		if len(of) > 1 {
			return c, false, fmt.Errorf("there are %d of the name %q; say which by its id: %s", len(of), name, strings.Join(of[:min(len(of), 5)], " "))
		}
	}
	return c, false, nil
}
