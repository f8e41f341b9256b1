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
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// conversation holds the last turn of a conversation and the parameters of the next question. Its methods are safe for concurrent use.
type conversation struct {
	c    *client.Client
	ui   ui
	now  func() time.Time
	conn connState
	// waiting is called before the conversation waits for the server. It may be nil.
	waiting func()

	mu       sync.Mutex
	flags    []string     // see Options
	session  string       // id of the session; empty if the conversation is not stored
	begun    bool         // the session exists on the server
	previous string       // run that the next question follows, without a session
	newest   turn         // zero before the first one
	stores   []collection // selected; empty is the default of the server
	effort   string
	model    string
	known    []collection // collections of the last list
	names    []string     // file names of the last list
	sessions []string     // ids of the last list
}

// turn is a question and its answer.
type turn struct {
	question string
	answer   client.Snapshot
}

// collection is the id and name of a vector store.
type collection struct{ id, name string }

// newConversation starts a conversation. retries is the number of reconnection attempts; 0 is the default of the client.
func newConversation(o Options, f ui, retries int) (*conversation, error) {
	s := &conversation{ui: f, now: o.Now, effort: o.Effort, model: o.Model, session: o.Session, flags: o.Flags}
	if s.session == "" && !o.NoSession {
		s.session = newID()
	}
	if s.effort == "" {
		s.effort = knowledge.EffortMedium
	}
	for _, id := range o.Collections {
		s.stores = append(s.stores, collection{id, id})
	}
	c, err := client.New(o.Server, client.Options{Key: o.Key, Retries: retries, OnRetry: func(err error, wait time.Duration) {
		s.conn.set(reason(err), s.now().Add(wait))
		if s.waiting != nil {
			s.waiting()
		}
	}})
	s.c = c
	return s, err
}

// settings are the parameters of the next question.
type settings struct {
	stores        []collection
	effort, model string
}

func (s *conversation) settings() settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return settings{slices.Clone(s.stores), s.effort, s.model}
}

// last returns the last turn.
func (s *conversation) last() (turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest, s.newest.question != ""
}

// request returns the request of a question.
func (s *conversation) request(question string) knowledge.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := client.Question(question)
	if s.session != "" {
		q.Conversation = s.session
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

// respond asks a question, passes its stream to watch, and keeps the answer as the last turn. It returns the error of the stream.
func (s *conversation) respond(ctx context.Context, question string, watch func(*client.Stream) (client.Snapshot, error)) (client.Snapshot, error) {
	q := s.request(question)
	answer, err := watch(s.c.Respond(ctx, q))
	if q.Model != "" && answer.Status == client.Completed && !answer.Cached && answer.Model != q.Model {
		s.ui.print(fmt.Sprintf("answered by %s, not by %s", display.Line(answer.Model), display.Line(q.Model)))
	}
	if answer.Run != "" || answer.Text != "" {
		s.add(turn{question, answer})
	}
	return answer, err
}

// add sets the last turn.
func (s *conversation) add(t turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.answer.Text != "" && t.answer.Status.Final() {
		s.previous = t.answer.Run
	}
	t.answer.Reasoning = "" // not shown again
	s.newest, s.begun = t, true
}

// follow reads a stream to its end, reports each event, and updates the state of the connection.
func (s *conversation) follow(stream *client.Stream) (client.Snapshot, error) {
	for _, err := range stream.Events() {
		if err != nil {
			return stream.Snapshot(), err
		}
		_ = s.recordReply(nil)
	}
	return stream.Snapshot(), nil
}

// recordReply records that the server answered, unless err is a connection error, and returns err.
func (s *conversation) recordReply(err error) error {
	if err == nil {
		s.conn.set("", time.Time{})
	}
	return err
}

// reason returns an error as one line for the user.
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
	if e, ok := errors.AsType[*url.Error](err); ok { // omit the URL, which the user did not type
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
		return "unknown host"
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke"
	}
	return display.Line(text)
}

// label returns the names of collections for display.
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

// maxPages is the maximum number of pages of a list that are read.
const maxPages = 20

// list returns the vector stores of the server.
func (s *conversation) list(ctx context.Context) (all []client.VectorStore, more bool, err error) {
	after := ""
	for range maxPages {
		l, err := s.c.Stores(ctx, 100, after)
		if s.recordReply(err) != nil {
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

func (s *conversation) remember(all []client.VectorStore) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = s.known[:0:0]
	for _, v := range all {
		s.known = append(s.known, collection{v.ID, v.Name})
	}
}

// resolve finds a collection by name or id.
func (s *conversation) resolve(ctx context.Context, name string) (c collection, found bool, err error) {
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
			return c, false, fmt.Errorf("%d collections are named %q; select one by id: %s", len(of), name, strings.Join(of[:min(len(of), 5)], " "))
		}
	}
	return c, false, nil
}
