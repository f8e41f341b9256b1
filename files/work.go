package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/store"
)

// maxTries is how often a file is begun that each time was not ended, as the process did: it may be what ends it.
const maxTries = 3

var errDeleted = errors.New("the file is being deleted")

// attempt is a file being read.
type attempt struct {
	task     store.Task
	fetches  bool            // its bytes are to be fetched first
	ctx      context.Context // of it alone
	cancel   context.CancelCauseFunc
	done     chan struct{} // closed when nothing of it is under way
	progress atomic.Uint64 // bits of the share of it that is done, 0..100
}

// share is how much of it is done, 0..100.
func (a *attempt) share() float64 { return math.Float64frombits(a.progress.Load()) }

// reach notes a share; it never falls.
func (a *attempt) reach(share float64) {
	if share > a.share() {
		a.progress.Store(math.Float64bits(share))
	}
}

// stages are where, of 100, each stage begins and ends.
var stages = map[ingest.Stage][2]float64{
	ingest.Reading: {10, 15}, ingest.Parsing: {15, 30}, ingest.Embedding: {30, 90}, ingest.Indexing: {90, 99},
}

// rouse tells a worker of each kind that a task is in the queue.
func (s *Service) rouse() {
	for _, wake := range s.wake {
		select {
		case wake <- struct{}{}:
		default: // all are told
		}
	}
}

// worker works tasks off: those of files that are here, or those of files that it fetches first. The queues are the store's:
// nothing of them is in memory.
func (s *Service) worker(fetches bool) {
	wake := s.wake[0]
	if fetches {
		wake = s.wake[1]
	}
	for s.ctx.Err() == nil {
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
		if !errors.Is(err, store.ErrNotFound) && s.ctx.Err() == nil {
			if !fault.DiskFull(err) { // which health checks report
				s.opts.Logger.Error("begin task", "error", err)
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

// take takes the next task from a queue, and of one that is read at once, a place at the desk.
func (s *Service) take(fetches bool) (*attempt, error) {
	if fetches {
		return s.begin(true)
	}
	if err := s.sit(s.ctx); err != nil {
		return nil, err
	}
	a, err := s.begin(false)
	if a == nil {
		s.rise()
	}
	return a, err
}

// sit waits for a place at the desk. Those who wait longest come first.
func (s *Service) sit(ctx context.Context) error {
	select {
	case s.desk <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) rise() { <-s.desk }

// begin takes the next task from a queue; nil: it is of a file that is being deleted.
func (s *Service) begin(unfetched bool) (*attempt, error) {
	s.begun.Lock()
	defer s.begun.Unlock()
	t, err := s.opts.Store.Begin(s.ctx, s.opts.Now(), unfetched)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, going := s.removing[t.Resource]; going {
		s.removing[t.Resource] = true // the deletion ends the task, or begins it anew
		return nil, nil
	}
	a := &attempt{task: t, fetches: unfetched, done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(s.ctx)
	s.running[t.Resource] = a
	return a, nil
}

// requeue has tasks begun anew that are running in the store and that nobody works on: a crash left them, or a disk that failed when their end
// was to be recorded.
func (s *Service) requeue(ctx context.Context) error {
	s.begun.Lock()
	defer s.begun.Unlock()
	var but []string
	s.mu.Lock()
	for _, a := range s.running {
		but = append(but, a.task.ID)
	}
	s.mu.Unlock()
	n, err := s.opts.Store.Requeue(ctx, s.opts.Now(), but)
	for range n {
		s.rouse()
	}
	return err
}

// attempt reads a task's file, holding a worker slot, which it releases, and records in the store how that ended. If the disk is full, the
// task is pending again, and the error says so.
func (s *Service) attempt(a *attempt) (full error) {
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
		s.tellNews()
	}()
	var taken ingest.FileResult
	err := error(fault.New(fault.Internal, "the server stopped each of the %d times that it read the file", maxTries))
	sits := !a.fetches
	if a.task.Tries <= maxTries {
		if err = nil; a.fetches {
			_, err = s.guarded(ctx, a, s.fetch)
			if err == nil {
				err = s.sit(ctx)
				sits = err == nil
			}
		}
		if err == nil {
			taken, err = s.guarded(ctx, a, s.read)
		}
	}
	if sits {
		s.rise()
	}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errDeleted):
	case err != nil && (s.ctx.Err() != nil || fault.DiskFull(err)):
		s.record(a, func(t *store.Task, _ *store.File) { t.Status, t.Tries = store.Pending, t.Tries-1 })
		if s.ctx.Err() == nil {
			s.opts.Logger.Warn("the disk is full: the file is indexed when there is room", "file", a.task.Resource)
			return err
		}
	default:
		s.end(a, taken, err)
	}
	return nil
}

// end records how an attempt ended.
func (s *Service) end(a *attempt, taken ingest.FileResult, err error) {
	status, reason := store.Completed, ""
	if err != nil {
		status, reason = store.Failed, reasonOf(err)
		s.opts.Logger.Warn("a file could not be indexed", "file", a.task.Resource, "reason", reason)
	} else if taken.Unembedded > 0 {
		s.opts.Logger.Warn("a file is indexed without some of its vectors", "file", a.task.Resource, "chunks", taken.Unembedded, "reason", taken.EmbedFailure)
	}
	s.record(a, func(t *store.Task, f *store.File) {
		t.Status, t.Failure, t.Progress = status, reason, a.share()
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

// record changes a task and its file, and tries for a while: what cannot be recorded would run for ever.
func (s *Service) record(a *attempt, change func(*store.Task, *store.File)) {
	ctx := context.WithoutCancel(s.ctx)
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		_, err := s.opts.Store.UpdateTask(ctx, a.task.ID, func(t *store.Task, f *store.File) error {
			t.UpdatedAt = s.opts.Now().UTC()
			change(t, f)
			return nil
		})
		if err == nil || errors.Is(err, store.ErrNotFound) {
			return
		}
		s.opts.Logger.Error("record task", "task", a.task.ID, "error", err)
		if wait > 5*time.Second {
			return // the next sweep takes it up
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return
		}
	}
}

// reasonOf says why a file failed, in words fit to be shown.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "reading it took longer than is allowed"
	}
	return "it could not be indexed"
}

// guarded fetches or reads a file within its deadline. Where that panics, that is its failure; where it does not end, it is left to itself
// after a while: it holds no lock, and puts nothing into the index any more.
func (s *Service) guarded(ctx context.Context, a *attempt, do func(context.Context, *attempt) (ingest.FileResult, error)) (ingest.FileResult, error) {
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
				err = fault.New(fault.Internal, "reading it failed in an unforeseen way")
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
		s.opts.Logger.Error("reading a file does not end; it is left to itself", "file", a.task.Resource)
		return ingest.FileResult{}, ctx.Err()
	}
}

// read puts a file into the index.
func (s *Service) read(ctx context.Context, a *attempt) (ingest.FileResult, error) {
	f, err := s.opts.Store.File(ctx, a.task.Resource)
	if err != nil {
		return ingest.FileResult{}, err
	}
	a.reach(10)
	// A worker may be quicker than the upload that it found: its bytes are in their place once the lock was free.
	s.blobs.Lock()
	s.blobs.Unlock() //nolint:staticcheck // only to wait
	if err := verifyBlob(s.blobPath(f.SHA256), f.SHA256); errors.Is(err, errDamaged) {
		return ingest.FileResult{}, s.damagedFile(f)
	}
	in := ingest.File{Collection: Collection, ID: corpus.DocumentID(f.ID), Path: s.blobPath(f.SHA256), Name: readable(f), URI: f.Name}
	if f.URL != "" {
		in.URI = bare(f.URL)
	}
	return s.opts.Ingest.IngestFile(ctx, in, func(stage ingest.Stage, share float64) {
		at := stages[stage]
		a.reach(at[0] + share*(at[1]-at[0]))
	})
}

// readable is a file's name, with the extension of its media type where its own tells no format.
func readable(f store.File) string {
	if parse.Supported(f.Name) {
		return f.Name
	}
	if i := slices.Index(mediaTypes, f.MediaType); i >= 0 {
		return f.Name + mediaTypes[i+1]
	}
	return f.Name
}

// mediaTypes are those of formats that bytes alone do not tell, each before its extension.
var mediaTypes = []string{"text/markdown", ".md", "text/x-markdown", ".md", "text/html", ".html", "application/xhtml+xml", ".html", "text/csv", ".csv",
	"text/tab-separated-values", ".tsv", "application/pdf", ".pdf"}

// fetch gets the bytes of a file that came as a URL.
func (s *Service) fetch(ctx context.Context, a *attempt) (none ingest.FileResult, err error) {
	f, err := s.opts.Store.File(ctx, a.task.Resource)
	if err != nil {
		return none, err
	}
	if s.opts.Fetch == nil {
		return none, fault.New(fault.InvalidRequest, "this server fetches no URLs")
	}
	var media string
	st, err := s.stage(func(w io.Writer) (err error) { media, err = s.opts.Fetch.Fetch(ctx, f.URL, w); return err })
	if err != nil {
		return none, err
	}
	defer st.discard()
	switch {
	case st.bytes == 0:
		return none, fault.New(fault.InvalidRequest, "the URL gives an empty file")
	case f.MD5 != "" && f.MD5 != st.md5:
		return none, fault.New(fault.InvalidRequest, "md5: the bytes that came have another: %s", st.md5)
	}
	if media, _, err = mime.ParseMediaType(media); err != nil || media == "application/octet-stream" {
		media = f.MediaType
	}
	err = s.place(st, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := s.opts.Store.UpdateFile(ctx, f.ID, func(f *store.File) error {
			f.SHA256, f.MD5, f.Bytes, f.MediaType, f.URL = st.sha256, st.md5, st.bytes, media, bare(f.URL)
			return nil
		})
		return err
	})
	if err != nil {
		return none, fmt.Errorf("keep what was fetched: %w", err)
	}
	s.recordFile(ctx, f.ID)
	return none, nil
}
