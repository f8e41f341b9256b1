package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// maxTries is how often a task is started if the process ends before the task: the file may be the cause.
const maxTries = 3

// How long a task is delayed if the disk is full, or the bytes or the index cannot be reached. Each delay is twice the last one.
const (
	minDelay = time.Second
	maxDelay = 15 * time.Second
)

var (
	errDeleted = errors.New("the file is being deleted")
	errNotMine = errors.New("another server has taken the task over or cancelled it")
)

// attempt is the work on a task.
type attempt struct {
	task     store.Task
	fetches  bool            // the bytes must be fetched first
	ctx      context.Context // of this attempt
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when the work has ended
	progress atomic.Uint64 // float64 bits of the percentage done
	stage    Stage         // guarded by Service.mu
}

// percent returns the percentage done.
func (a *attempt) percent() float64 { return math.Float64frombits(a.progress.Load()) }

// setProgress sets the percentage done, which never decreases.
func (a *attempt) setProgress(share float64) {
	if share > a.percent() {
		a.progress.Store(math.Float64bits(share))
	}
}

// stages are the percentages at which each stage begins and ends.
var stages = map[ingest.Stage][2]float64{
	ingest.Reading: {10, 15}, ingest.Parsing: {15, 30}, ingest.Embedding: {30, 90}, ingest.Indexing: {90, 99},
}

// notifyWorkers wakes a worker of each kind to look for a task.
func (s *Service) notifyWorkers() {
	s.posted.Add(1)
	for kind := range s.wake {
		s.wakeWorker(kind)
	}
}

// wakeWorker wakes a worker of a kind to look for a task: 0, or 1 for one that fetches.
func (s *Service) wakeWorker(kind int) {
	select {
	case s.wake[kind] <- struct{}{}:
	default: // all are notified
	}
}

// worker runs tasks: those of files whose bytes are stored, or those of files that must be fetched first. The queues are in the store, not in
// memory.
func (s *Service) worker(fetches bool) {
	kind := 0
	if fetches {
		kind = 1
	}
	wake := s.wake[kind]
	for s.ctx.Err() == nil {
		posted := s.posted.Load()
		var a *attempt
		err := s.opts.Reserve.Check()
		if err == nil {
			if a, err = s.take(fetches); err == nil {
				if err = s.attempt(a); err == nil {
					continue
				}
			}
		}
		var again <-chan time.Time
		if errors.Is(err, store.ErrNotFound) {
			s.mu.Lock()
			s.looked[kind] = max(s.looked[kind], posted)
			s.mu.Unlock()
		} else if later, ok := errors.AsType[*store.NotDueError](err); ok {
			again = time.After(min(later.Left, maxDelay))
		} else if s.ctx.Err() == nil {
			if !fault.DiskFull(err) && !away(err) { // health checks report these
				s.opts.Logger.Error("start task", "error", err)
			}
			again = time.After(time.Second)
		}
		select {
		case <-wake:
		case <-again:
		case <-s.ctx.Done():
		}
	}
}

// Idle reports whether no task is running or pending, except for those of calls that have not returned.
func (s *Service) Idle() bool {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	posted := s.posted.Load()
	return len(s.running) == 0 && s.looked[0] == posted && s.looked[1] == posted
}

// take starts the next task of a queue. Without fetches it acquires a worker slot first.
func (s *Service) take(fetches bool) (*attempt, error) {
	if fetches {
		return s.begin(true)
	}
	if err := s.acquireSlot(s.ctx); err != nil {
		return nil, err
	}
	a, err := s.begin(false)
	if a == nil {
		s.releaseSlot()
	}
	return a, err
}

// acquireSlot waits for a worker slot, in the order of the calls.
func (s *Service) acquireSlot(ctx context.Context) error {
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) releaseSlot() { <-s.slots }

// begin starts the next task of a queue. It returns nil if its file is being deleted.
func (s *Service) begin(unfetched bool) (*attempt, error) {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	t, err := s.opts.Store.StartNext(s.ctx, s.opts.Now(), unfetched, s.opts.Server)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, going := s.removing[t.Resource]; going {
		s.removing[t.Resource] = true // the deletion ends the task or starts it again
		return nil, nil
	}
	a := &attempt{task: t, fetches: unfetched, done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(s.ctx)
	s.running[t.Resource] = a
	return a, nil
}

// requeue makes tasks pending that are running in the store although no worker runs them: after a crash, after the end of the task could not
// be recorded because the disk failed, or after the death of another server.
func (s *Service) requeue(ctx context.Context) error {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	running := map[string]bool{}
	s.mu.Lock()
	for _, a := range s.running {
		running[a.task.ID] = true
	}
	s.mu.Unlock()
	n, err := s.opts.Store.Requeue(ctx, s.opts.Now(), func(t store.Task) bool {
		if t.Server != s.opts.Server && s.opts.Gone != nil {
			return s.opts.Gone(t.Server)
		}
		return !running[t.ID]
	})
	for range n {
		s.notifyWorkers()
	}
	if s.opts.Gone != nil {
		s.notifyWorkers() // for tasks that others have not started
	}
	return err
}

// TakeOver continues the tasks of servers that have died: see Options.Gone.
func (s *Service) TakeOver(ctx context.Context) error {
	return s.requeue(ctx)
}

// attempt indexes the file of a task, releases the worker slot and records the result in the store. If the disk is full, or the
// bytes or the index cannot be reached, the task becomes pending again, with a delay, and attempt returns the error.
func (s *Service) attempt(a *attempt) (later error) {
	if a == nil {
		return nil
	}
	ctx := a.ctx
	defer a.cancel(nil)
	defer func() {
		s.mu.Lock()
		delete(s.running, a.task.Resource)
		s.mu.Unlock()
		close(a.done)
		s.notifyWaiters()
	}()
	var taken ingest.FileResult
	reading := false
	err := error(fault.New(fault.Internal, "the server crashed or was killed each of the %d times that it processed the file, which may be damaged or need too much memory: the log of the server may say more; save the file again, or in another format, and upload it", maxTries))
	hasSlot := !a.fetches
	if a.task.Tries <= maxTries {
		if err = nil; a.fetches {
			_, err = s.runGuarded(ctx, a, s.fetch)
			if err == nil {
				err = s.acquireSlot(ctx)
				hasSlot = err == nil
			}
		}
		if reading = err == nil; reading {
			taken, err = s.runGuarded(ctx, a, s.read)
		}
	}
	if hasSlot {
		s.releaseSlot()
	}
	switch {
	case errors.Is(err, errDeleted), err != nil && errors.Is(context.Cause(ctx), errDeleted):
	case err != nil && s.ctx.Err() != nil:
		s.record(a, func(t *store.Task, _ *store.File) { t.Status, t.Tries, t.Delay = store.Pending, t.Tries-1, 0 })
	case err != nil && (fault.DiskFull(err) || errors.Is(err, blobs.ErrUnavailable) || reading && away(err)):
		s.delay(a, fault.Public(err).Message)
		return err
	default:
		s.end(a, taken, err)
	}
	return nil
}

// delay makes a task pending again, with a delay, because it cannot be completed now.
func (s *Service) delay(a *attempt, reason string) {
	s.record(a, func(t *store.Task, f *store.File) {
		t.Status, t.Tries, t.Delay = store.Pending, t.Tries-1, min(max(2*t.Delay, minDelay), maxDelay)
		t.Failure = "it is tried again, because " + reason
		if f != nil {
			f.Failure = t.Failure
		}
	})
	s.posted.Add(1)
	if a.fetches { // its bytes may be here now: then the task is in the queue of other workers
		s.wakeWorker(0)
	}
	s.opts.Logger.Warn("a file cannot be indexed now; it is tried again", "file", a.task.Resource, "reason", reason)
}

// away reports whether the index or the store of the bytes cannot be reached.
func away(err error) bool {
	return errors.Is(err, blobs.ErrUnavailable) || fault.Public(err).Code == fault.Unavailable
}

// end records the result of an attempt.
func (s *Service) end(a *attempt, taken ingest.FileResult, err error) {
	s.report(a, Indexing, taken)
	status, reason := store.Completed, ""
	if err != nil {
		status, reason = store.Failed, reasonOf(err)
		s.opts.Logger.Warn("a file could not be indexed", "file", a.task.Resource, "reason", reason)
	} else if taken.Unembedded > 0 {
		s.opts.Logger.Warn("a file is indexed without some of its vectors", "file", a.task.Resource, "chunks", taken.Unembedded, "reason", taken.EmbedFailure)
	}
	s.record(a, func(t *store.Task, f *store.File) {
		t.Status, t.Failure, t.Progress = status, reason, a.percent()
		if err == nil {
			t.Progress = 100
		}
		if f == nil {
			return
		}
		f.Status, f.Failure, f.UpdatedAt = status, reason, t.UpdatedAt
		if taken.Document.MediaType != "" {
			f.MediaType = taken.Document.MediaType
		}
	})
}

// record changes a task and its file. It retries for some seconds, since a task whose end is not recorded would run for ever.
func (s *Service) record(a *attempt, change func(*store.Task, *store.File)) {
	ctx := context.WithoutCancel(s.ctx)
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		_, err := s.opts.Store.UpdateTask(ctx, a.task.ID, func(t *store.Task, f *store.File) error {
			if s.opts.Gone != nil && (t.Server != s.opts.Server || t.Status != store.Running) {
				return errNotMine
			}
			t.UpdatedAt = s.opts.Now().UTC()
			change(t, f)
			return nil
		})
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, errNotMine) {
			return
		}
		s.opts.Logger.Error("record task", "task", a.task.ID, "error", err)
		if wait > 5*time.Second {
			return // the next sweep makes it pending
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return
		}
	}
}

// reasonOf returns the reason of a failure for users.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "reading it took longer than is allowed"
	}
	return "it could not be indexed"
}

// runGuarded fetches or indexes a file within its deadline. A panic is an error. If the work does not stop at its deadline, its goroutine is
// abandoned after Options.Grace: it holds no lock and cannot change the index any more.
func (s *Service) runGuarded(ctx context.Context, a *attempt, do func(context.Context, *attempt) (ingest.FileResult, error)) (ingest.FileResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Deadline)
	defer cancel()
	var taken ingest.FileResult
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				s.opts.Logger.Error("reading a file panicked", "file", a.task.Resource, "stack", string(debug.Stack()))
				err = fault.New(fault.Internal, "reading it failed unexpectedly")
			}
		}()
		taken, err = do(ctx, a)
	}()
	select {
	case <-done:
		return taken, err
	case <-ctx.Done():
	}
	grace := time.NewTimer(s.opts.Grace)
	defer grace.Stop()
	select {
	case <-done:
		return taken, err
	case <-grace.C:
		s.opts.Logger.Error("a file could not be stopped at its deadline; its goroutine is abandoned", "file", a.task.Resource)
		return ingest.FileResult{}, ctx.Err()
	}
}

// read indexes a file.
func (s *Service) read(ctx context.Context, a *attempt) (ingest.FileResult, error) {
	f, err := s.opts.Store.File(ctx, a.task.Resource)
	if err != nil {
		return ingest.FileResult{}, err
	}
	a.setProgress(10)
	path, release, err := s.localBytes(ctx, f)
	if err != nil {
		return ingest.FileResult{}, err
	}
	defer release()
	in := ingest.File{Collection: Collection, ID: corpus.DocumentID(f.ID), Path: path, Name: readable(f), URI: f.Name}
	stated := givenOf(f)
	in.Given, in.Contributor = stated.Meta, stated.Contributor
	if f.URL != "" {
		in.URI = WithoutQuery(f.URL)
	}
	taken, err := s.opts.Ingest.IngestFile(ctx, in, func(stage ingest.Stage, share float64) {
		at := stages[stage]
		a.setProgress(at[0] + share*(at[1]-at[0]))
		s.report(a, stageNames[stage], ingest.FileResult{})
	})
	if err == nil {
		err = s.annotate(ctx, f.ID) // users may have edited the file meanwhile
	}
	if err == nil && s.opts.Gone != nil {
		err = s.removeDeleted(ctx, f.ID)
	}
	return taken, err
}

// removeDeleted removes a file from the index that another server has deleted while this one read it.
func (s *Service) removeDeleted(ctx context.Context, id string) error {
	_, err := s.opts.Store.File(ctx, id)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return errors.Join(errDeleted, s.opts.Index.Delete(context.WithoutCancel(ctx), Collection, []corpus.DocumentID{corpus.DocumentID(id)}))
}

// readable returns the name of a file. If its extension is unknown, the extension of its media type is added.
func readable(f store.File) string {
	if parse.Supported(f.Name) {
		return f.Name
	}
	return f.Name + parse.ExtensionOf(f.MediaType)
}

// fetch fetches the bytes of a file that was uploaded by URL.
func (s *Service) fetch(ctx context.Context, a *attempt) (none ingest.FileResult, err error) {
	f, err := s.opts.Store.File(ctx, a.task.Resource)
	if err != nil {
		return none, err
	}
	if s.opts.Fetch == nil {
		return none, fault.New(fault.InvalidRequest, "this server does not fetch URLs")
	}
	s.report(a, Fetching, ingest.FileResult{})
	var media string
	st, err := s.stage(func(w io.Writer) (err error) { media, err = s.opts.Fetch.Fetch(ctx, f.URL, w); return err })
	if err != nil {
		return none, err
	}
	defer st.discard()
	switch {
	case st.bytes == 0:
		return none, fault.New(fault.InvalidRequest, "the fetched file is empty")
	case f.MD5 != "" && f.MD5 != st.md5:
		return none, fault.New(fault.InvalidRequest, "md5: does not match the fetched bytes, whose MD5 is %s", st.md5)
	}
	if media, _, err = mime.ParseMediaType(media); err != nil || media == "application/octet-stream" {
		media = f.MediaType
	}
	err = s.placeBytes(ctx, st, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := s.opts.Store.UpdateFile(ctx, f.ID, func(f *store.File) error {
			f.SHA256, f.MD5, f.Bytes, f.MediaType, f.URL = st.sha256, st.md5, st.bytes, media, WithoutQuery(f.URL)
			return nil
		})
		return err
	})
	if err != nil {
		return none, fmt.Errorf("store fetched file: %w", err)
	}
	s.saveRecord(ctx, f.ID)
	return none, nil
}
