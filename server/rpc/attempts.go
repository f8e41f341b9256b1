package rpc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/forrst"
)

// Attempts remembers the runs of questions that were asked with an idempotency key. If a client leaves before the end, no outcome is stored for its
// key, but the run goes on: the next attempt continues it. It is safe for concurrent use.
type Attempts interface {
	// Run returns the run of an attempt, or an empty id if there is none.
	Run(ctx context.Context, attempt string) (event.RunID, error)
	// Add remembers the run of an attempt until the key expires.
	Add(ctx context.Context, attempt string, run event.RunID, expires time.Time) error
	Remove(ctx context.Context, attempt string) error
}

// attemptOf returns a text that calls have in common if they are the same to their client: they have one caller, idempotency key and arguments. It is
// empty for a call without a key.
func attemptOf(call *forrst.Call) string {
	key, _ := call.IdempotencyKey()
	if key == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %x", call.Caller, key, sha256.Sum256(call.Arguments))
}

// maxAttempts is how many attempts are kept in memory.
const maxAttempts = 10_000

// memoryAttempts is [Attempts] in memory.
type memoryAttempts struct {
	*lru.Cache[string, attempted]
}

type attempted struct {
	run     event.RunID
	expires time.Time
}

func newMemoryAttempts() memoryAttempts {
	c, _ := lru.New[string, attempted](maxAttempts) // fails only for a size that is not positive
	return memoryAttempts{c}
}

func (m memoryAttempts) Run(_ context.Context, attempt string) (event.RunID, error) {
	if a, ok := m.Get(attempt); ok && time.Now().Before(a.expires) {
		return a.run, nil
	}
	return "", nil
}

func (m memoryAttempts) Add(_ context.Context, attempt string, run event.RunID, expires time.Time) error {
	m.Cache.Add(attempt, attempted{run, expires})
	return nil
}

func (m memoryAttempts) Remove(_ context.Context, attempt string) error {
	m.Cache.Remove(attempt)
	return nil
}
