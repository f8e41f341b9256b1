package forrst

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Errors of a [TokenStore].
var (
	ErrTokenInUse    = errors.New("forrst: the token is in use")
	ErrTokenUnknown  = errors.New("forrst: the token is unknown")
	ErrTokenFinished = errors.New("forrst: the call of the token has finished")
)

// TokenKey is a cancellation token of a caller. Tokens of different callers are different.
type TokenKey struct{ Caller, Token string }

// TokenStore holds the tokens of calls. After a call, a token is kept for some minutes, so that a late cancellation can be
// told from an unknown one. It is safe for concurrent use.
type TokenStore interface {
	// Register makes a token active. The channel is closed when it is cancelled. An active token is ErrTokenInUse.
	Register(ctx context.Context, key TokenKey) (cancelled <-chan struct{}, err error)
	// Cancel cancels a token. To cancel it again has no effect. It returns ErrTokenUnknown for a token that was never
	// registered or has expired, and ErrTokenFinished for one whose call ended without being cancelled.
	Cancel(ctx context.Context, key TokenKey) error
	// Finish ends the use of a token by its call. The token can be registered again.
	Finish(ctx context.Context, key TokenKey) error
}

const (
	keepToken = 5 * time.Minute // after its call
	maxTokens = 100_000         // finished ones; the oldest are deleted first
)

// memoryTokens is a TokenStore in memory.
type memoryTokens struct {
	mu       sync.Mutex
	tokens   map[TokenKey]*token
	finished []*token // in the order of their ends
}

type token struct {
	key                TokenKey
	cancelled          chan struct{}
	isCancelled, ended bool
	expires            time.Time // once ended
}

// NewMemoryTokens returns a store in memory. Tokens are kept for five minutes after their calls.
func NewMemoryTokens() TokenStore { return &memoryTokens{tokens: map[TokenKey]*token{}} }

func (m *memoryTokens) Register(_ context.Context, key TokenKey) (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if t := m.tokens[key]; t != nil && !t.ended {
		return nil, ErrTokenInUse
	}
	t := &token{key: key, cancelled: make(chan struct{})}
	m.tokens[key] = t
	return t.cancelled, nil
}

func (m *memoryTokens) Cancel(_ context.Context, key TokenKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	switch t := m.tokens[key]; {
	case t == nil:
		return ErrTokenUnknown
	case t.isCancelled:
		return nil
	case t.ended:
		return ErrTokenFinished
	default:
		t.isCancelled = true
		close(t.cancelled)
		return nil
	}
}

func (m *memoryTokens) Finish(_ context.Context, key TokenKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tokens[key]; t != nil && !t.ended {
		t.ended, t.expires = true, time.Now().Add(keepToken)
		m.finished = append(m.finished, t)
	}
	m.expire()
	return nil
}

// expire deletes the finished tokens whose time has passed.
func (m *memoryTokens) expire() {
	now := time.Now()
	for len(m.finished) > 0 && (len(m.finished) > maxTokens || !now.Before(m.finished[0].expires)) {
		t := m.finished[0]
		m.finished[0] = nil
		m.finished = m.finished[1:]
		if m.tokens[t.key] == t { // not registered again
			delete(m.tokens, t.key)
		}
	}
}
