package files

import (
	"context"
	"math"
	"sync"

	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/store"
)

// Progress is how far the task of a file is.
type Progress struct {
	Task  store.Task
	Stage Stage // of the work in progress; empty: none
	// Unembedded is how many chunks were indexed without a vector because the embedder failed. It is known if the work ended while it was
	// watched.
	Unembedded int
}

// Stage is a step of the work on a file.
type Stage string

// The stages in their order.
const (
	Fetching  Stage = "fetching"
	Reading   Stage = "reading"
	Parsing   Stage = "parsing"
	Embedding Stage = "embedding"
	Indexing  Stage = "indexing"
)

// stageNames are the names of the stages of package ingest.
var stageNames = map[ingest.Stage]Stage{ingest.Reading: Reading, ingest.Parsing: Parsing, ingest.Embedding: Embedding, ingest.Indexing: Indexing}

// Watcher follows the task of a file. Only one goroutine may use it at a time.
type Watcher struct {
	service *Service
	file    string
	wake    chan struct{} // capacity 1: changes since the last call of Next are one
	last    Progress
	started bool

	mu    sync.Mutex // guards the following
	stage Stage
	taken ingest.FileResult
}

// Watch follows the task of the file with an id, which need not exist yet. Close the watcher when done.
func (s *Service) Watch(file string) *Watcher {
	w := &Watcher{service: s, file: file, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.running[file]; a != nil {
		w.stage = a.stage
	}
	if s.watchers[file] == nil {
		s.watchers[file] = map[*Watcher]bool{}
	}
	s.watchers[file][w] = true
	return w
}

// Close stops the watcher.
func (w *Watcher) Close() {
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	delete(w.service.watchers[w.file], w)
	if len(w.service.watchers[w.file]) == 0 {
		delete(w.service.watchers, w.file)
	}
}

// Next returns the progress: at once in the first call, and otherwise when the status, the stage or the percentage in whole numbers has changed. Changes
// in quick succession may be returned as one. If the status is final, there are no more. Errors are those of [Service.Task], of the context, and
// [fault.Unavailable] when the service stops.
func (w *Watcher) Next(ctx context.Context) (Progress, error) {
	s := w.service
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		t, err := s.Task(ctx, "upload-"+w.file)
		if err != nil {
			return Progress{}, err
		}
		w.mu.Lock()
		p := Progress{Task: t, Stage: w.stage, Unembedded: w.taken.Unembedded}
		w.mu.Unlock()
		if p.Task.Status != store.Running {
			p.Stage = ""
		}
		if !w.started || t.Status != w.last.Task.Status || p.Stage != w.last.Stage || math.Floor(t.Progress) != math.Floor(w.last.Task.Progress) {
			w.last, w.started = p, true
			return p, nil
		}
		select {
		case <-w.wake:
		case <-ended:
		case <-s.poll():
		case <-ctx.Done():
			return p, ctx.Err()
		case <-s.ctx.Done():
			return p, errClosed()
		}
	}
}

// report tells the watchers of an attempt's file what has changed. The result is that of the work at its end.
func (s *Service) report(a *attempt, stage Stage, taken ingest.FileResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.stage = stage
	for w := range s.watchers[a.task.Resource] {
		w.mu.Lock()
		w.stage, w.taken = stage, taken
		w.mu.Unlock()
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
