package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
)

// Headers of a run.
const (
	headerRun  = "Sluice-Run-Id"
	headerLast = "Last-Event-ID"
)

// askFunction is the only function, besides those of the system, that a key which is limited to collections may call.
const askFunction = "rag.ask"

// askFunctions returns the function that asks a question.
func (s *Server) askFunctions() []function {
	if s.o.Engine == nil {
		return nil
	}
	f := forrst.StreamFunc[wireforrst.Question, wireforrst.Answer](askFunction, "1.0.0", nil)
	f.Description = "Answers a question over the documents, with citations. The run goes on for a while if the client disconnects, and can be resumed."
	f.SideEffects = []string{"create"}
	f.Prepare, f.Stream = s.startRun, s.streamRun
	return []function{{f, auth.Ask}}
}

type runKey struct{}

// startRun starts the run of a question, so that a question which is refused has a status of HTTP. When the call ends, it no longer counts as a reader of the run.
// The run is cancelled if the call was cancelled or has passed its deadline.
func (s *Server) startRun(ctx context.Context, call *forrst.Call) (context.Context, error) {
	q, err := wireforrst.Decode(call.Arguments, s.o.MaxQuery)
	if err != nil {
		return nil, callError(err)
	}
	if _, err := corpus.ParseScope(q.Collection); err != nil { // the run would fail, and count against the quota
		return nil, callError(err)
	}
	by := callerOf(ctx)
	attempt := attemptOf(call)
	id, detach, ok, err := s.rejoin(ctx, attempt)
	if err != nil {
		return nil, fmt.Errorf("read the run of an idempotency key: %w", err)
	}
	if !ok {
		if id, detach, err = s.o.Asker.Ask(ctx, q, by); err != nil {
			return nil, callError(err)
		}
		if attempt != "" {
			_, ttl := call.IdempotencyKey()
			if err := s.o.Attempts.Add(context.WithoutCancel(ctx), attempt, id, time.Now().Add(ttl)); err != nil {
				s.o.Logger.Warn("another attempt of this call will ask the question again", "run", id, "error", err)
			}
		}
	}
	context.AfterFunc(ctx, func() {
		if withdrawn(ctx) {
			_ = s.o.Engine.Cancel(context.WithoutCancel(ctx), id, by.ID) // fails only for a run that was deleted
		}
		detach()
	})
	call.ReplyHeader().Set(headerRun, string(id))
	return context.WithValue(ctx, runKey{}, id), nil
}

// rejoin returns the run of an earlier attempt of the call, if it can be continued.
func (s *Server) rejoin(ctx context.Context, attempt string) (id event.RunID, detach func(), ok bool, err error) {
	if attempt == "" {
		return "", nil, false, nil
	}
	if id, err = s.o.Attempts.Run(ctx, attempt); err != nil || id == "" {
		return "", nil, false, err
	}
	detach, ok = s.o.Asker.Rejoin(ctx, id)
	return id, detach, ok, nil
}

// withdrawn reports whether a call was cancelled or has passed its deadline. Otherwise its client has disconnected, and may call again.
func withdrawn(ctx context.Context) bool {
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*forrst.CallError](cause); ok {
		return e.Code == forrst.Cancelled || e.Code == forrst.DeadlineExceeded
	}
	return errors.Is(cause, context.DeadlineExceeded)
}

// streamRun yields the frames of the run that startRun has started, without the greeting and the last document: those of the server are sent.
func (s *Server) streamRun(ctx context.Context, call *forrst.Call) iter.Seq2[forrst.Chunk, error] {
	return func(yield func(forrst.Chunk, error) bool) {
		id, _ := ctx.Value(runKey{}).(event.RunID)
		defer func() {
			if attempt := attemptOf(call); attempt != "" && withdrawn(ctx) { // the run is being cancelled
				_ = s.o.Attempts.Remove(context.WithoutCancel(ctx), attempt) // without it, the next attempt may get the cancelled run
			}
		}()
		projection := wireforrst.Protocol{}.New()
		var frames []wire.Frame
		for batch, err := range s.o.Engine.Events(ctx, id, 0) {
			if err != nil {
				yield(forrst.Chunk{}, callError(err))
				return
			}
			frames = projection.Project(frames[:0], batch)
			for _, f := range frames {
				if f.Event == wireforrst.EventComplete {
					return
				}
				if f.ID.Seq == 1 {
					continue // the greeting
				}
				chunk, err := chunkOf(f)
				if !yield(chunk, err) {
					return
				}
			}
		}
	}
}

// chunkOf returns the chunk of a frame. It shares the data of the frame.
func chunkOf(f wire.Frame) (c forrst.Chunk, err error) {
	switch f.Event {
	case wireforrst.EventProgress:
		var p wireforrst.Progress
		err = json.Unmarshal(f.Data, &p)
		c = forrst.Progress(int64(p.Current), int64(p.Total), p.Message)
	case wireforrst.EventError:
		var e wireforrst.Failure
		err = json.Unmarshal(f.Data, &e)
		c = forrst.Error(forrst.Code(e.Code), e.Message, e.Details)
	case wireforrst.EventDone:
		c = forrst.Done(json.RawMessage(f.Data))
	default:
		c = forrst.Data(json.RawMessage(f.Data))
	}
	return c.WithID(f.ID.String()), err
}

// maxID limits the id of a request in the last document of a stream that is resumed, in bytes.
const maxID = 1024

// resume returns the run whose stream a request resumes, or nil for a new call. Of the body, only the id is read, for the last document.
func (s *Server) resume(_ http.ResponseWriter, r *http.Request) (*server.Replay, error) {
	run := event.RunID(r.Header.Get(headerRun))
	switch {
	case run == "" && r.Header.Get(headerLast) != "":
		return nil, fault.Invalid(headerRun, "required with %s", headerLast)
	case run == "":
		return nil, nil //nolint:nilnil // as documented in server.Route
	}
	if err := s.o.Asker.CheckRun(r.Context(), run, auth.Read); err != nil {
		return nil, err
	}
	after, err := wire.ParseCursor(r.Header.Get(headerLast))
	if err != nil {
		return nil, fault.Invalid(headerLast, "want a number, or two with a dot between")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var call struct{ ID string }
	if json.Unmarshal(body, &call) != nil || len(call.ID) > maxID {
		call.ID = ""
	}
	return &server.Replay{Run: run, Protocol: wireforrst.Protocol{ID: call.ID}, After: after}, nil
}
