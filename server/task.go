package server

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Task writes a short text that a front end needs beside answers, such as the title of a conversation, without a search. It returns the events
// between the start and the end of a run that would have the text. Errors have codes.
type Task func(ctx context.Context, q event.Question, c engine.Caller) ([]event.Body, error)

// taskOf returns the task of a question, or nil if it is to be answered from the documents.
func (h handler) taskOf(q wire.Request) Task {
	if h.TaskModel == "" || q.Model != h.TaskModel {
		return nil
	}
	return h.o.Task
}

// serveTask replies to a question with the text of a task, in the form of the protocol. It is no run: nothing is stored.
func (h handler) serveTask(w http.ResponseWriter, r *http.Request, q wire.Request, task Task) {
	bodies, err := task(r.Context(), q.Question, RunCaller(r, h.Name()))
	if err != nil {
		if r.Context().Err() == nil {
			h.replyError(w, err)
		}
		return
	}
	start := event.RunStarted{Run: event.RunID("task_" + rand.Text()), Protocol: h.Name(), Question: q.Question}
	start.SetDefaults()
	var log []event.Event
	now := time.Now()
	for _, b := range append(append([]event.Body{start}, bodies...), event.RunFinished{}) {
		log = append(log, event.Event{Seq: event.Seq(len(log) + 1), At: now, Body: b})
	}
	h.limitWrite(w)
	if q.NoStream {
		reply := h.Reply
		if p, ok := h.Protocol.(wire.Replier); ok {
			reply = p.Reply
		}
		ReplyJSON(w, http.StatusOK, reply(log))
		return
	}
	w.Header().Set("Content-Type", h.ContentType())
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	var stream []byte
	for _, f := range h.New().Project(nil, log) {
		stream = h.AppendFrame(stream, f)
	}
	_, _ = w.Write(stream) // fails if the client has disconnected
}
