// Package a2a provides the routes of the Agent2Agent protocol: the methods of its binding to JSON-RPC, at one path, and the agent card.
package a2a

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/a2a"
)

// Path is the path of the methods.
const Path = "/a2a"

const (
	replyTime     = time.Hour       // how long a method may wait for an answer, whose run has its own deadline
	cancelTimeout = 2 * time.Second // how long CancelTask waits for the end of the run, to include it in the reply
)

// Options configures the routes. All fields except Version and KeyRequired are required.
type Options struct {
	Engine   *engine.Engine
	Asker    *server.Asker
	MaxQuery int // limit of a question in bytes
	Version  string
	// Page returns the origin of the pages of documents for a request, as in [server.Options].
	Page func(r *http.Request) string
	// PublicURL is the origin at which clients reach the server; empty: that of the request for the agent card.
	PublicURL string
	// KeyRequired reports whether requests need a key. nil: they need none.
	KeyRequired func(ctx context.Context) (bool, error)
}

type routes struct{ Options }

// headers are the headers of a request, for the OpenAPI document.
type headers struct {
	Version     string `header:"A2A-Version" description:"Version of the protocol, 1.0."`
	LastEventID string `header:"Last-Event-ID" description:"With SubscribeToTask: continue after this event."`
}

// Routes returns the routes.
func Routes(o Options) []server.Route {
	s := &routes{o}
	types := a2a.API().Types
	return []server.Route{
		{Method: http.MethodPost, Path: Path, Stream: s.call, Fault: a2a.API().Fault, Scope: server.AnyKey, Limited: true, Needs: "Needs the scope ask to send a message, read to show or stream a task, or write to cancel one. With ask alone, a key can use the tasks of its account.",
			Timeout: replyTime, Summary: "Call a method of the Agent2Agent protocol", Request: []any{types.Request, headers{}}, Reply: types.Reply, Events: types.Events,
			Faults: []int{400, 401, 403, 413, 415, 429, 503}},
		{Method: http.MethodGet, Path: server.AgentCardPath, Serve: s.card, Scope: server.Open, Summary: "Describe the server to agents", Reply: Card{}},
	}
}

// call calls a method. Errors of the method are replies with the status 200, as usual for JSON-RPC; limits and missing permissions have their own status.
func (s *routes) call(w http.ResponseWriter, r *http.Request) (*server.Replay, error) {
	body, err := server.ReadJSON(r)
	if err != nil {
		return nil, err
	}
	c, failed := a2a.DecodeCall(body)
	var result any
	if failed == nil {
		failed = checkVersion(r, c.Method)
	}
	if failed == nil {
		var replay *server.Replay
		if result, replay, err = s.method(r, c); replay != nil {
			replay.Protocol = a2a.Protocol{ID: string(c.ID), Origin: s.Page(r)}
			return replay, nil
		}
		if failed, err = refused(err); err != nil {
			return nil, err
		}
	}
	server.ReplyJSON(w, http.StatusOK, a2a.Reply(string(c.ID), result, failed))
	return nil, nil //nolint:nilnil // the reply was written
}

// refused splits the error of a method into one of the protocol and one of the server.
func refused(err error) (*a2a.ErrorObject, error) {
	if e, ok := errors.AsType[*a2a.ErrorObject](err); ok {
		return e, nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && (f.Code == fault.InvalidRequest || f.Code == fault.NotFound || f.Code == fault.TooLarge) {
		return a2a.ErrorOf(a2a.CodeParams, f), nil
	}
	return nil, err
}

// checkVersion refuses methods of other versions of the protocol. A request without a version that uses the methods of this one is accepted.
func checkVersion(r *http.Request, method string) *a2a.ErrorObject {
	v := r.Header.Get(a2a.VersionHeader)
	if v != "" && v != a2a.Version && !strings.HasPrefix(v, a2a.Version+".") || v == "" && strings.Contains(method, "/") {
		return a2a.Errorf(a2a.CodeVersion, "this server supports the version "+a2a.Version+" of the protocol")
	}
	return nil
}

// method calls a method, which returns a result or a stream.
func (s *routes) method(r *http.Request, c a2a.Call) (any, *server.Replay, error) {
	switch c.Method {
	case "SendMessage", "SendStreamingMessage":
		return s.send(r, c, c.Method == "SendStreamingMessage")
	case "GetTask", "SubscribeToTask", "CancelTask":
		id, failed := a2a.DecodeTask(c.Params)
		if failed != nil {
			return nil, nil, failed
		}
		switch c.Method {
		case "GetTask":
			return s.get(r, id)
		case "CancelTask":
			return s.cancel(r, id)
		}
		return s.subscribe(r, id)
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return nil, nil, a2a.Errorf(a2a.CodePushNotSupported, "push notifications are not supported")
	case "ListTasks":
		return nil, nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "tasks are not listed")
	case "GetExtendedAgentCard":
		return nil, nil, a2a.Errorf(a2a.CodeNoExtendedCard, "there is no extended agent card")
	}
	return nil, nil, a2a.Errorf(a2a.CodeMethod, "no such method")
}

// send starts the task of a message.
func (s *routes) send(r *http.Request, c a2a.Call, stream bool) (any, *server.Replay, error) {
	ctx := r.Context()
	if i, ok := auth.From(ctx); ok && !i.Permits(auth.Ask) {
		return nil, nil, &fault.Error{Code: fault.Forbidden, Field: "scope", Message: "this key lacks the scope ask"}
	}
	q, failed := a2a.DecodeSend(c.Params, s.MaxQuery)
	if failed != nil {
		return nil, nil, failed
	}
	if q.Task != "" {
		if _, err := s.log(ctx, event.RunID(q.Task), auth.Read); err != nil {
			return nil, nil, err
		}
		return nil, nil, a2a.Errorf(a2a.CodeUnsupportedOperation, "message.taskId: a task takes one message; send the next one with its contextId")
	}
	if q.Session == "" {
		q.Session = "ctx-" + strings.ToLower(rand.Text())
	}
	id, detach, err := s.Asker.Ask(ctx, q.Request, server.RunCaller(r, a2a.Name))
	if err != nil {
		return nil, nil, err
	}
	if stream {
		context.AfterFunc(ctx, detach) // the context ends with the request
		return nil, &server.Replay{Run: id}, nil
	}
	defer detach()
	var log []event.Event
	if q.Immediately {
		log, err = s.log(ctx, id, auth.Read)
	} else {
		log, err = s.wait(ctx, id)
	}
	if err != nil {
		return nil, nil, err
	}
	return a2a.SendResponse{Task: a2a.TaskOf(log, s.Page(r))}, nil, nil
}

// wait returns the log of a run when it has ended.
func (s *routes) wait(ctx context.Context, id event.RunID) (log []event.Event, err error) {
	for batch, err := range s.Engine.Events(ctx, id, 0) {
		if err != nil {
			return log, err
		}
		log = append(log, batch...)
	}
	return log, nil
}

// errNoTask is the error for a task that does not exist, or is not the caller's.
var errNoTask = a2a.Errorf(a2a.CodeTaskNotFound, "no such task")

// check returns an error if the caller may not use a task.
func (s *routes) check(ctx context.Context, id event.RunID, scope auth.Scope) error {
	if !id.Valid() {
		return errNoTask
	}
	return taskError(s.Asker.CheckRun(ctx, id, scope))
}

// taskError converts the error for a run that does not exist.
func taskError(err error) error {
	if errors.Is(err, eventlog.ErrNotFound) || fault.CodeOf(err) == fault.NotFound {
		return errNoTask
	}
	return err
}

// log returns the log of a task so far. The caller needs the scope.
func (s *routes) log(ctx context.Context, id event.RunID, scope auth.Scope) ([]event.Event, error) {
	if err := s.check(ctx, id, scope); err != nil {
		return nil, err
	}
	var log []event.Event
	for after := event.Seq(0); ; after = log[len(log)-1].Seq {
		batch, err := s.Engine.Store().Load(ctx, id, after)
		if errors.Is(err, eventlog.ErrEnd) || err == nil && len(batch) == 0 && after > 0 {
			return log, nil
		}
		if err == nil && len(batch) == 0 {
			return nil, errNoTask
		}
		if err != nil {
			return nil, taskError(err)
		}
		log = append(log, batch...)
	}
}

// get returns a task. A caller that asks for it again and again counts as a reader.
func (s *routes) get(r *http.Request, id event.RunID) (any, *server.Replay, error) {
	log, err := s.log(r.Context(), id, auth.Read)
	if err != nil {
		return nil, nil, err
	}
	s.Engine.Attach(id)()
	return a2a.TaskOf(log, s.Page(r)), nil, nil
}

// cancel cancels a task and waits for its end.
func (s *routes) cancel(r *http.Request, id event.RunID) (any, *server.Replay, error) {
	ctx := r.Context()
	log, err := s.log(ctx, id, auth.Write)
	if err != nil {
		return nil, nil, err
	}
	if state := event.Fold(log); state.Status != event.Running {
		return nil, nil, a2a.Errorf(a2a.CodeTaskNotCancelable, "the task has ended")
	}
	if err := s.Engine.Cancel(ctx, id, server.CallerOf(r)); err != nil {
		return nil, nil, taskError(err)
	}
	waiting, stop := context.WithTimeout(ctx, cancelTimeout)
	defer stop()
	if log, err = s.wait(waiting, id); err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
		return nil, nil, taskError(err)
	}
	if len(log) == 0 {
		return nil, nil, errNoTask
	}
	return a2a.TaskOf(log, s.Page(r)), nil, nil
}

// subscribe streams a task from its beginning, or from after the event in Last-Event-ID. The task may have ended.
func (s *routes) subscribe(r *http.Request, id event.RunID) (any, *server.Replay, error) {
	if _, err := s.log(r.Context(), id, auth.Read); err != nil {
		return nil, nil, err
	}
	after, err := wire.ParseCursor(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return nil, nil, fault.Invalid("Last-Event-ID", "want a number, or two with a dot between")
	}
	return nil, &server.Replay{Run: id, After: after}, nil
}
