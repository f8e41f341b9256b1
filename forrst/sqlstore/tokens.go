package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

const (
	tokenLease = time.Minute     // of an active token; its process renews it
	keepToken  = 5 * time.Minute // after its call
)

// tokens is a TokenStore. A row is active until it has ended or expired. A goroutine looks for cancellations by other
// processes while calls with tokens run in this one.
type tokens struct {
	stores *Stores
	holder string // of the rows of this process
	poll   time.Duration
	log    *slog.Logger

	mu      sync.Mutex
	running map[string]chan struct{} // by key; nil once cancelled
	stop    chan struct{}            // ends the search; nil while no call runs
}

// Register implements [forrst.TokenStore].
func (t *tokens) Register(ctx context.Context, key forrst.TokenKey) (<-chan struct{}, error) {
	t.stores.sweep(ctx)
	k := hash(key.Caller, key.Token)
	cancelled := make(chan struct{})
	if !t.add(string(k), cancelled) {
		return nil, forrst.ErrTokenInUse
	}
	now := time.Now()
	ok, err := changed(ctx, t.stores.db, `INSERT INTO forrst_tokens (key, holder, cancelled, ended, expires) VALUES ($1, $2, 0, 0, $3)
		ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, cancelled = 0, ended = 0, expires = excluded.expires
		WHERE forrst_tokens.ended = 1 OR forrst_tokens.expires <= $4 OR forrst_tokens.holder = excluded.holder`, k, // its end was not stored
		t.holder, micros(now.Add(tokenLease)), micros(now))
	if err == nil && !ok {
		err = forrst.ErrTokenInUse
	}
	if err != nil {
		t.remove(string(k))
		return nil, err
	}
	return cancelled, nil
}

// add notes a call of this process, and reports false if another one of it has the token.
func (t *tokens) add(key string, cancelled chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, used := t.running[key]; used {
		return false
	}
	t.running[key] = cancelled
	if t.stop == nil {
		t.stop = make(chan struct{})
		go t.watch(t.stop)
	}
	return true
}

func (t *tokens) has(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, found := t.running[key]
	return found
}

func (t *tokens) remove(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, key)
	if len(t.running) == 0 && t.stop != nil {
		close(t.stop)
		t.stop = nil
	}
}

// notify ends the call of this process that has a key, if there is one.
func (t *tokens) notify(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancelled := t.running[key]; cancelled != nil {
		close(cancelled)
		t.running[key] = nil
	}
}

// Cancel implements [forrst.TokenStore].
func (t *tokens) Cancel(ctx context.Context, key forrst.TokenKey) error {
	k := hash(key.Caller, key.Token)
	var cancelled int
	err := t.stores.db.QueryRowContext(ctx, `UPDATE forrst_tokens SET cancelled = CASE WHEN ended = 0 THEN 1 ELSE cancelled END
		WHERE key = $1 AND expires > $2 RETURNING cancelled`, k, micros(time.Now())).Scan(&cancelled)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return forrst.ErrTokenUnknown
	case err != nil:
		return err
	case cancelled == 0:
		return forrst.ErrTokenFinished
	}
	t.notify(string(k))
	return nil
}

// Finish implements [forrst.TokenStore].
func (t *tokens) Finish(ctx context.Context, key forrst.TokenKey) error {
	k := hash(key.Caller, key.Token)
	if !t.has(string(k)) {
		return nil
	}
	defer t.remove(string(k)) // afterwards, or the end would be that of the next call
	_, err := t.stores.db.ExecContext(ctx, `UPDATE forrst_tokens SET ended = 1, expires = $1 WHERE key = $2 AND holder = $3 AND ended = 0`,
		micros(time.Now().Add(keepToken)), k, t.holder)
	return err
}

// watch looks for cancellations and renews leases until no call with a token runs in this process.
func (t *tokens) watch(stop <-chan struct{}) {
	ticker := time.NewTicker(t.poll)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), tokenLease/3) // of no call: it serves all
		err := t.look(ctx)
		if err == nil && time.Since(renewed) >= tokenLease/3 {
			now := time.Now()
			_, err = t.stores.db.ExecContext(ctx, `UPDATE forrst_tokens SET expires = $1 WHERE holder = $2 AND ended = 0 AND expires > $3`,
				micros(now.Add(tokenLease)), t.holder, micros(now))
			if err == nil {
				renewed = now
			}
		}
		cancel()
		if err != nil {
			t.log.Error("search for cancelled calls failed", "error", err)
		}
	}
}

// look notifies the calls of this process that another one has cancelled.
func (t *tokens) look(ctx context.Context) error {
	rows, err := t.stores.db.QueryContext(ctx, `SELECT key FROM forrst_tokens WHERE holder = $1 AND ended = 0 AND cancelled = 1`, t.holder)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return err
		}
		t.notify(string(key))
	}
	return rows.Err()
}
