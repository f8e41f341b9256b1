package prompt

import (
	"errors"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

const (
	maxFailures = 3               // consecutive invalid replies after which a model is suspended
	suspension  = 5 * time.Minute // duration of a suspension
)

// errSuspended is the cause of [model.Skipped].
var errSuspended = errors.New("its last replies were invalid")

// Judge is a model that [Ask] asks for JSON. Many small models cannot write it, and each failure costs two requests. So a model is
// suspended for a while after some consecutive failures. Meanwhile Ask fails with [model.Skipped]. It is safe for concurrent use.
type Judge struct {
	model.Chat

	mu     sync.Mutex
	failed int // consecutive failures
	until  time.Time
}

// NewJudge returns a Judge that asks chat.
func NewJudge(chat model.Chat) *Judge { return &Judge{Chat: chat} }

// Skipped returns an error while the model is suspended, and nil otherwise.
func (j *Judge) Skipped() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Now().Before(j.until) {
		return &model.Error{Model: j.Name(), Failure: model.Skipped, Cause: errSuspended}
	}
	return nil
}

// Record records the outcome of a request. [Ask] calls it.
func (j *Judge) Record(err error) {
	e, _ := errors.AsType[*model.Error](err)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil:
		j.failed = 0
	case e != nil && e.Failure == model.Malformed:
		if j.failed++; j.failed >= maxFailures {
			j.failed, j.until = 0, time.Now().Add(suspension)
		}
	}
}

// Suspend suspends the model for a while.
func (j *Judge) Suspend() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed, j.until = 0, time.Now().Add(suspension)
}
