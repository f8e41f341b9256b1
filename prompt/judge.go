package prompt

import (
	"errors"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

const (
	failuresInARow = 3               // invalid replies after which a model is suspended
	suspension     = 5 * time.Minute // duration of a suspension
)

// errForms is the reason of a suspension.
var errForms = errors.New("it could not fill in the last forms")

// Judge is a model that [Ask] asks for JSON. Small models cannot write it, and each try costs two requests, so a model is
// suspended for a while after some failures in a row, with [model.Skipped] as the failure. It is safe for concurrent use.
type Judge struct {
	model.Chat

	mu     sync.Mutex
	failed int // in a row
	until  time.Time
}

// NewJudge returns a Judge that asks chat.
func NewJudge(chat model.Chat) *Judge { return &Judge{Chat: chat} }

// Skipped returns the error to use instead of a request, or nil if the model may be asked.
func (j *Judge) Skipped() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Now().Before(j.until) {
		return &model.Error{Model: j.Name(), Failure: model.Skipped, Cause: errForms}
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
		if j.failed++; j.failed >= failuresInARow {
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
