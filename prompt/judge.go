package prompt

import (
	"errors"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/model"
)

const (
	failuresInARow = 3               // answers of no form, after which a model is not asked for more
	rest           = 5 * time.Minute // for which it is not
)

// errForms is why a model is not asked.
var errForms = errors.New("it could not fill in the last forms")

// Judge is a model that [Ask] asks for forms. Small models cannot fill them in, and each try costs two requests: one that
// failed at some in a row is left alone for a while, with [model.Skipped] as the failure. Its methods may be called at once.
type Judge struct {
	model.Chat

	mu     sync.Mutex
	failed int // in a row
	until  time.Time
}

// NewJudge returns a Judge that asks chat.
func NewJudge(chat model.Chat) *Judge { return &Judge{Chat: chat} }

// Skipped gives the error that stands for asking; nil where the model is to be asked.
func (j *Judge) Skipped() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Now().Before(j.until) {
		return &model.Error{Model: j.Name(), Failure: model.Skipped, Cause: errForms}
	}
	return nil
}

// Saw learns from how the model answered. [Ask] tells it by itself.
func (j *Judge) Saw(err error) {
	e, _ := errors.AsType[*model.Error](err)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil:
		j.failed = 0
	case e != nil && e.Failure == model.Malformed:
		if j.failed++; j.failed >= failuresInARow {
			j.failed, j.until = 0, time.Now().Add(rest)
		}
	}
}

// Rest leaves the model alone for a while, as one that cannot do at all what is asked of it.
func (j *Judge) Rest() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed, j.until = 0, time.Now().Add(rest)
}
