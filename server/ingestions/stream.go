package ingestions

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// interval is the least time between two events of progress.
const interval = 100 * time.Millisecond

// follower returns the states of an ingestion.
type follower interface {
	// about returns the first event.
	about() Started
	// next waits until the state has changed since the last call. The first call does not wait. If tick fires first, the state is nil.
	next(ctx context.Context, seen int, tick <-chan time.Time) (*state, error)
	close()
}

// The types of the events.
const (
	typeStarted  = "ingestion_started"
	typeProgress = "ingestion_progress"
	typeFailed   = "file_failed"
	typeFinished = "ingestion_finished"
)

type state struct {
	source.State
	stage string
	lags  bool // it may be older than what a client has already received
}

// stream is the stream of an ingestion to one client.
//
// The id of an event has the number of the attempt and the number of failures up to this event. In the last event, the second number is one higher. After a restart of the server, the id of a client has the number
// of an earlier attempt, so the client receives the new attempt from its start.
type stream struct {
	w       http.ResponseWriter
	attempt int
	seen    int // failures
	frames  []byte
}

func (rt routes) stream(w http.ResponseWriter, r *http.Request) error {
	after, err := wire.ParseCursor(r.Header.Get("Last-Event-ID"))
	if err != nil {
		return fault.Invalid("Last-Event-ID", "want the id of an event of the stream")
	}
	f, err := rt.follow(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer f.close()
	s := &stream{w: w, attempt: f.about().Attempt}
	begun := int(after.Seq) == s.attempt
	if begun {
		s.seen = after.Frame
	}
	st, err := f.next(r.Context(), s.seen, nil)
	if err != nil {
		return err
	}
	switch past := s.seen - st.Failed; {
	case begun && past == 1 && st.Result != nil: // it has had the last event
		w.WriteHeader(http.StatusNoContent)
		return nil
	case (begun && past > 0 || after.Seq > event.Seq(s.attempt)) && !st.lags:
		return fault.Invalid("Last-Event-ID", "is after the last event of the stream")
	}
	w.Header().Set("Content-Type", sse.ContentType)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if !begun {
		s.add(typeStarted, f.about())
	}
	return rt.send(r.Context(), s, f, st)
}

// send sends events until the ingestion has ended.
func (rt routes) send(ctx context.Context, s *stream, f follower, st *state) error {
	heartbeat := time.NewTicker(rt.o.Heartbeat)
	defer heartbeat.Stop()
	for {
		if st == nil {
			s.frames = sse.AppendComment(s.frames, "keep-alive")
		} else {
			s.project(st)
		}
		if err := s.flush(); err != nil || st != nil && st.Result != nil {
			return err
		}
		if st != nil {
			heartbeat.Reset(rt.o.Heartbeat)
			select {
			case <-time.After(interval):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var err error
		if st, err = f.next(ctx, s.seen, heartbeat.C); err != nil {
			return err
		}
	}
}

// project adds the events of a state.
func (s *stream) project(st *state) {
	for _, failure := range st.Failures {
		s.seen++
		s.add(typeFailed, FileFailed{Type: typeFailed, Path: failure.Path, Reason: failure.Reason})
	}
	if p := st.Progress; p != nil && st.Result == nil {
		s.add(typeProgress, Progress{Type: typeProgress, Done: p.Done, Total: p.Total, Bytes: p.Bytes, Current: p.Current, Stage: st.stage})
	}
	if st.Result != nil {
		s.seen = st.Failed + 1
		s.add(typeFinished, Finished{Type: typeFinished, Result: *st.Result})
	}
}

// add adds an event.
func (s *stream) add(name string, data any) {
	s.frames = sse.AppendFrame(s.frames, wire.Frame{ID: wire.Cursor{Seq: event.Seq(s.attempt), Frame: s.seen}, Event: name, Data: sse.AppendJSON(nil, data)})
}

func (s *stream) flush() error {
	_, err := s.w.Write(s.frames)
	s.frames = s.frames[:0]
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	return err
}

// follow returns the follower of an ingestion.
func (rt routes) follow(ctx context.Context, id string) (follower, error) {
	if file, ok := strings.CutPrefix(id, "upload-"); ok {
		if _, err := rt.o.Files.Task(ctx, id); err != nil {
			return nil, err
		}
		f, err := rt.o.Files.File(ctx, file)
		if err != nil {
			return nil, err
		}
		return &upload{id: id, file: f, watcher: rt.o.Files.Watch(file)}, nil
	}
	i, err := rt.o.Sources.Ingestion(ctx, id)
	if err != nil {
		return nil, err
	}
	return &ingestion{Ingestion: i, sources: rt.o.Sources}, nil
}

// ingestion follows a sync or an ingestion of paths.
type ingestion struct {
	*source.Ingestion
	sources *source.Service
	changed <-chan struct{}
	again   <-chan time.Time // when the stored state is read again; nil: this server runs the ingestion
}

func (i *ingestion) about() Started {
	return Started{Type: typeStarted, Ingestion: i.ID, Source: i.Source, Collection: i.Collection, Attempt: i.Attempt, Started: i.Started}
}

func (i *ingestion) next(ctx context.Context, seen int, tick <-chan time.Time) (*state, error) {
	for i.changed != nil {
		select {
		case <-i.changed:
		case <-i.again:
			changed, err := i.reload(ctx)
			if err != nil {
				return nil, err
			}
			if !changed {
				continue
			}
		case <-tick:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-i.sources.Done():
			return nil, fault.New(fault.Unavailable, "the server is stopping")
		}
		break
	}
	st := state{lags: i.Elsewhere}
	st.State, i.changed = i.After(seen)
	if i.Elsewhere && i.again == nil {
		i.again = time.After(source.ShareEvery)
	}
	return &st, nil
}

// reload reads a sync of another server again, and reports whether it has changed.
func (i *ingestion) reload(ctx context.Context) (changed bool, err error) {
	i.again = nil
	now, err := i.sources.Ingestion(ctx, i.ID)
	if err != nil {
		return false, err
	}
	if now.Attempt != i.Attempt {
		return false, fault.New(fault.Unavailable, "another server continues the ingestion; resume the stream")
	}
	if now.Elsewhere {
		i.again = time.After(source.ShareEvery)
	}
	before, _ := i.After(0)
	after, _ := now.After(0)
	i.Ingestion = now
	same := after.Progress == before.Progress || after.Progress != nil && before.Progress != nil && *after.Progress == *before.Progress
	return !now.Elsewhere || after.Failed != before.Failed || !same, nil
}

func (i *ingestion) close() {}

// upload follows the task of an uploaded file.
type upload struct {
	id      string
	file    store.File
	watcher *files.Watcher
}

func (u *upload) about() Started {
	return Started{Type: typeStarted, Ingestion: u.id, Collection: files.Collection, Attempt: 1, Started: u.file.CreatedAt}
}

func (u *upload) next(ctx context.Context, seen int, tick <-chan time.Time) (*state, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ticked := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-tick:
			close(ticked)
			cancel()
		case <-waiting.Done():
		}
	}()
	p, err := u.watcher.Next(waiting)
	cancel()
	<-done
	if err != nil {
		select {
		case <-ticked:
			if ctx.Err() == nil {
				return nil, nil
			}
		default:
		}
		return nil, err
	}
	return u.state(p, seen), nil
}

// state returns the progress of a task as that of an ingestion of one document.
func (u *upload) state(p files.Progress, seen int) *state {
	st := &state{stage: string(p.Stage)}
	if !p.Task.Status.Final() {
		st.Progress = &ingest.Progress{Done: int(p.Task.Progress), Total: 100}
		return st
	}
	r := source.Result{Started: u.file.CreatedAt, Ended: p.Task.UpdatedAt, Ingestion: u.id, Attempt: 1}
	switch p.Task.Status {
	case store.Completed:
		r.Added = 1
	case store.Cancelled:
		r.Error = "the file was deleted or its task was cancelled"
	default:
		st.Failures = []ingest.Failure{{Path: u.file.Name, Reason: p.Task.Failure}}
		r.Failed, r.Failures, st.Failed = 1, st.Failures, 1
		st.Failures = st.Failures[min(seen, 1):]
	}
	st.Result = &r
	return st
}

func (u *upload) close() { u.watcher.Close() }
