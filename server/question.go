package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server/delivery"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/wire"
)

// Headers that resume a stream.
const (
	headerRun  = "Sluice-Run-Id"
	headerLast = "Last-Event-ID"
)

// paramOffset is the parameter that resumes a [wire.ByteStream]: the number of bytes that were received, of the uncompressed body.
const paramOffset = "offset"

// serveQuestion replies to a question with a stream, or with one object if the request says so. A request with the header of
// a run resumes its stream.
func (h handler) serveQuestion(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(headerRun) != "" {
		h.resumeQuestion(w, r)
		return
	}
	if r.Header.Get(headerLast) != "" {
		h.replyError(w, fault.Invalid(headerRun, "required with %s", headerLast))
		return
	}
	if _, ok := h.Protocol.(wire.ByteStream); ok && r.URL.Query().Get(paramOffset) != "" {
		h.replyError(w, fault.Invalid(headerRun, "required with %s", paramOffset))
		return
	}
	q, body, ok := h.decodeQuestion(w, r)
	if !ok {
		return
	}
	h, err := h.variant(q.Variant, r)
	if err != nil {
		h.replyError(w, err)
		return
	}
	if task := h.taskOf(q); task != nil {
		h.serveTask(w, r, q, task)
		return
	}
	id, detach, ok := h.ask(w, r, q, body)
	if !ok {
		return
	}
	defer delivery.AtEnd(r.Context(), detach)
	if q.NoStream {
		h.reply(w, r, id)
		return
	}
	h.stream(w, r, id, wire.Cursor{})
}

// variant returns the handler with the variant of the protocol that the request selects. body is the variant in the body of the request, or nil. The
// parameters of the URL replace its settings.
func (h handler) variant(body wire.Protocol, r *http.Request) (handler, error) {
	if body != nil {
		h.Protocol = body
	}
	if h.Variant != nil {
		p, err := h.Variant(h.Protocol, r.URL.Query().Get)
		if err != nil {
			return h, err
		}
		h.Protocol = p
	}
	h.Protocol = h.linked(h.Protocol, r)
	return h, nil
}

// stream streams a run from after a cursor.
func (h handler) stream(w http.ResponseWriter, r *http.Request, id event.RunID, after wire.Cursor) {
	p, err := atOffset(h.Protocol, r)
	if err != nil {
		h.replyError(w, err)
		return
	}
	// A client that resumes has already received the status.
	if h.FailureStatus != 0 && after == (wire.Cursor{}) && p == h.Protocol && r.Method != http.MethodHead {
		failed, err := h.failsFirst(r.Context(), id)
		switch {
		case r.Context().Err() != nil:
			return
		case err != nil:
			h.replyError(w, err)
			return
		case failed:
			h.reply(w, r, id)
			return
		}
	}
	h.streams.Serve(w, r, id, p, after)
}

// failsFirst waits for the first frame of a run and reports whether it is the frame of a failure.
func (h handler) failsFirst(ctx context.Context, id event.RunID) (bool, error) {
	projection := h.Protocol.New()
	for batch, err := range h.engine.Events(ctx, id, 0) {
		if err != nil {
			return false, err
		}
		for i := range batch {
			if len(projection.Project(nil, batch[i:i+1])) > 0 {
				_, failed := batch[i].Body.(event.RunFailed)
				return failed, nil
			}
		}
	}
	return false, nil
}

// resumeQuestion resumes a run. The body is the question again; only its streaming options are used. If it is missing or invalid,
// the default ones are.
func (h handler) resumeQuestion(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err != nil {
		h.replyError(w, bodyFault(err, h.o.MaxBody))
		return
	}
	var q wire.Request
	if len(body) > 0 {
		if decoded, err := h.decode(r.Context(), body); err == nil {
			q = decoded
		}
	}
	if h, err = h.variant(q.Variant, r); err != nil {
		h.replyError(w, err)
		return
	}
	id := event.RunID(r.Header.Get(headerRun))
	if err := h.checkRun(r.Context(), id, auth.Read); err != nil {
		h.replyError(w, err)
		return
	}
	h.resumeRun(w, r, id)
}

// serveReply replies to a question with one JSON object.
func (h handler) serveReply(w http.ResponseWriter, r *http.Request) {
	q, body, ok := h.decodeQuestion(w, r)
	if !ok {
		return
	}
	id, detach, ok := h.ask(w, r, q, body)
	if !ok {
		return
	}
	defer detach()
	h.reply(w, r, id)
}

// reply waits for the end of a run and writes the reply.
func (h handler) reply(w http.ResponseWriter, r *http.Request, id event.RunID) {
	log, err := readLog(r.Context(), h.engine, id)
	if err != nil {
		if r.Context().Err() == nil {
			h.replyError(w, err)
		}
		return
	}
	status := http.StatusOK
	if failure, failed := log[len(log)-1].Body.(event.RunFailed); failed && !h.AlwaysOK {
		status = cmp.Or(h.FailureStatus, statusOf(failure.Code))
		if failure.Code == fault.Cancelled {
			w.Header().Set("X-Should-Retry", "false") // SDKs repeat requests with the status 409
		}
	}
	askLater(w, status)
	w.Header().Set(headerRun, string(id))
	h.limitWrite(w)
	reply := h.Reply
	if p, ok := h.Protocol.(wire.Replier); ok {
		reply = p.Reply
	}
	ReplyJSON(w, status, reply(log))
}

func readLog(ctx context.Context, e *engine.Engine, id event.RunID) ([]event.Event, error) {
	var log []event.Event
	for batch, err := range e.Events(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		log = append(log, batch...)
	}
	return log, nil
}

// decodeQuestion reads a request's question, and returns it with the body. Errors are written to w.
func (h handler) decodeQuestion(w http.ResponseWriter, r *http.Request) (q wire.Request, body []byte, ok bool) {
	if body, ok = h.readJSON(w, r); !ok {
		return q, nil, false
	}
	q, err := h.decode(r.Context(), body)
	if h.Misdirected != nil {
		if refusal := h.Misdirected(r, err != nil || !q.NoStream); refusal != nil {
			ReplyJSON(w, http.StatusNotFound, refusal)
			return q, nil, false
		}
	}
	if err == nil && h.Session {
		q.Session = r.PathValue("id")
	}
	if err == nil && q.Previous != "" {
		err = h.follow(r.Context(), &q)
	}
	if err != nil {
		h.replyError(w, err)
		return q, nil, false
	}
	return q, body, true
}

// Hostile JSON may need a hundred times its size when it is decoded, so only maxDecoding bodies of more than largeBody bytes are decoded at once.
const (
	largeBody   = 64 << 10
	maxDecoding = 4
)

// decode decodes a question. Clients of chats send the whole conversation with it.
func (h handler) decode(ctx context.Context, body []byte) (wire.Request, error) {
	if len(body) > largeBody {
		select {
		case h.decoding <- struct{}{}:
			defer func() { <-h.decoding }()
		case <-ctx.Done():
			return wire.Request{}, errLeft
		}
	}
	return h.Decode(body, h.o.MaxQuery)
}

// ask starts the run of a question, or joins that of an earlier request with its Idempotency-Key. Errors are written to w.
func (h handler) ask(w http.ResponseWriter, r *http.Request, q wire.Request, body []byte) (event.RunID, func(), bool) {
	ctx, err := h.ownModel(r, &q)
	if err != nil {
		h.replyError(w, err)
		return "", nil, false
	}
	id, detach, replayed, err := h.once(r, body, func() (event.RunID, func(), error) {
		return h.admit(ctx, q, RunCaller(r, h.Name()))
	})
	if err != nil {
		h.replyError(w, err)
		return "", nil, false
	}
	if replayed {
		w.Header().Set(headerReplayed, "true")
	}
	if h.RunHeader != "" {
		w.Header().Set(h.RunHeader, string(id))
	}
	return id, detach, true
}

// admit starts the run of a question, or joins one, with a reader attached. It counts the question against the quota of the key.
func (h handler) admit(ctx context.Context, q wire.Request, c engine.Caller) (event.RunID, func(), error) {
	if _, err := corpus.ParseScope(q.Collection); err != nil { // the run would fail, and count against the quota
		return "", nil, err
	}
	if h.o.Accept != nil {
		if err := h.o.Accept(ctx, q.Collection); err != nil {
			return "", nil, err
		}
	}
	if err := auth.CountQuestion(ctx); err != nil {
		return "", nil, err
	}
	id, detach, err := h.askAttached(ctx, q, c)
	if err != nil {
		h.returnQuestion(ctx)
		return "", nil, err
	}
	return id, detach, nil
}

// returnQuestion takes back that a question was counted. The context may have ended.
func (h handler) returnQuestion(ctx context.Context) {
	if err := auth.ReturnQuestion(context.WithoutCancel(ctx)); err != nil {
		h.o.Logger.Warn("a question that was refused still counts against the quota of its key", "error", err)
	}
}

func (h handler) askAttached(ctx context.Context, q wire.Request, c engine.Caller) (event.RunID, func(), error) {
	if q.Session == "" || h.o.Sessions == nil {
		return h.engine.AskAttached(ctx, q.Question, c)
	}
	return h.o.Sessions.Ask(ctx, q.Question, session.Turn{Turn: q.Turn, Existing: h.Session}, c)
}

// follow sets the conversation of a question that follows the run q.Previous: the session of the run if it has one, and otherwise a history.
func (h handler) follow(ctx context.Context, q *wire.Request) error {
	if !q.Previous.Valid() {
		return eventlog.ErrNotFound
	}
	if i, _ := auth.From(ctx); i.Limited() { // the run may be one about other collections
		if err := h.checkRun(ctx, q.Previous, auth.Read); err != nil {
			return err
		}
	}
	if h.o.Sessions != nil && !q.Ephemeral { // the session has the answer also when the run has expired
		found, answer, err := h.o.Sessions.ByRun(ctx, q.Previous)
		if err == nil && found.Account == accountOf(ctx) {
			q.Session, q.Turn.Parent = found.ID, answer.ID
			return nil
		}
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	if err := h.checkRun(ctx, q.Previous, auth.Read); err != nil {
		return err
	}
	history, err := h.withPrevious(ctx, q.Previous, q.History)
	q.History = history
	return err
}

// withPrevious prepends the history, the question and the answer of an earlier run to a history. It drops the oldest messages
// that exceed the limits.
func (h handler) withPrevious(ctx context.Context, previous event.RunID, history []event.Message) ([]event.Message, error) {
	state, err := h.runState(ctx, previous)
	if err != nil {
		return nil, err
	}
	if state.Status == event.Running {
		return nil, fault.New(fault.Conflict, "the run %q is still being answered", previous)
	}
	messages := append(slices.Clone(state.History), event.Message{Role: event.RoleUser, Text: state.Query})
	if len(state.Text) > 0 {
		messages = append(messages, event.Message{Role: event.RoleAssistant, Text: string(state.Text)})
	}
	free, size := event.MaxMessages-len(history), event.MaxHistory
	for _, t := range history {
		size -= len(t.Text)
	}
	from := len(messages)
	for ; from > 0 && len(messages)-from < free; from-- {
		if size -= len(messages[from-1].Text); size < 0 {
			break
		}
	}
	return append(messages[from:], history...), nil
}

// runState returns the current state of a run.
func (h handler) runState(ctx context.Context, id event.RunID) (event.State, error) {
	var s event.State
	for {
		batch, err := h.engine.Store().Load(ctx, id, s.Seq)
		if errors.Is(err, eventlog.ErrEnd) {
			return s, nil
		}
		if err != nil || len(batch) == 0 {
			return s, err
		}
		for _, e := range batch {
			s.Apply(e)
		}
	}
}

// resumeRun streams a run from after the cursor in Last-Event-ID.
func (h handler) resumeRun(w http.ResponseWriter, r *http.Request, id event.RunID) {
	after, err := wire.ParseCursor(r.Header.Get(headerLast))
	if err != nil {
		h.replyError(w, fault.Invalid(headerLast, "want a number, or two with a dot between"))
		return
	}
	h.streamFrom(w, r, id, after, headerLast)
}

// resumeSession streams the answer that is in progress in a session of the caller's account from its beginning. If there is none, also because there
// is no such session, the reply is 204.
func (h handler) resumeSession(w http.ResponseWriter, r *http.Request) {
	run, err := h.inProgress(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		h.replyError(w, err)
	case run == "":
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Protocol = h.linked(h.Protocol, r)
		h.streamFrom(w, r, run, wire.Cursor{}, headerLast)
	}
}

// stopSession cancels the answer that is in progress in a session of the caller's account. The body may be empty. It may name the run, so that a request
// which arrives late does not cancel the next one; its other fields are ignored.
func (h handler) stopSession(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody))
	if err != nil {
		h.replyError(w, bodyFault(err, h.o.MaxBody))
		return
	}
	var named struct {
		Run *string `json:"activeStreamId"`
	}
	if len(body) > 0 && json.Unmarshal(body, &named) != nil {
		h.replyError(w, fault.Invalid("body", "want a JSON object, in which activeStreamId is a string"))
		return
	}
	run, err := h.inProgress(r.Context(), r.PathValue("id"))
	if err == nil && run != "" && (named.Run == nil || *named.Run == string(run)) {
		err = h.engine.Cancel(r.Context(), run, CallerOf(r))
	}
	if err != nil {
		h.replyError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxOpen limits how many messages before the newest one are searched for the answer in progress. The newest questions of a session wait while it is.
const maxOpen = 64

// inProgress returns the run of the answer that is in progress in a session of the caller's account; empty: there is none. Newer questions may wait for
// its end.
func (h handler) inProgress(ctx context.Context, chat string) (event.RunID, error) {
	if h.o.Sessions == nil {
		return "", nil
	}
	newest, err := h.o.Sessions.Branch(ctx, accountOf(ctx), chat, "", maxOpen)
	if fault.CodeOf(err) == fault.NotFound {
		return "", nil
	}
	i := slices.IndexFunc(newest, func(m session.Message) bool { return m.Status == session.Running })
	if err != nil || i < 0 {
		return "", err
	}
	run := newest[i].Run
	state, err := h.runState(ctx, run)
	if errors.Is(err, eventlog.ErrNotFound) { // it waits for its start
		return "", nil
	}
	if err != nil || state.Status != event.Running {
		return "", err
	}
	return run, h.checkRun(ctx, run, auth.Read)
}

// streamFrom streams a run from after a cursor. Errors name the parameter that the cursor comes from.
func (h handler) streamFrom(w http.ResponseWriter, r *http.Request, id event.RunID, after wire.Cursor, cursorParam string) {
	if !id.Valid() {
		h.replyError(w, eventlog.ErrNotFound)
		return
	}
	if err := h.clearDeadlines(w, r); err != nil {
		h.replyError(w, err)
		return
	}
	defer delivery.AtEnd(r.Context(), h.engine.Attach(id))
	_, err := h.engine.Store().Load(r.Context(), id, after.Seq)
	if errors.Is(err, eventlog.ErrEnd) && after.Frame == 0 && r.Method == http.MethodGet && cursorParam == headerLast {
		w.WriteHeader(http.StatusNoContent) // tells an EventSource to stop reconnecting
		return
	}
	if errors.Is(err, eventlog.ErrBeyond) {
		err = fault.Invalid(cursorParam, "beyond the end of the run")
	}
	if err != nil && !errors.Is(err, eventlog.ErrEnd) {
		h.replyError(w, err)
		return
	}
	h.stream(w, r, id, after)
}
