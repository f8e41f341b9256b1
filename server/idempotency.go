package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
)

// Headers of idempotency keys: https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07. The second one marks the reply to a
// request whose run an earlier request has started.
const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotent-Replayed"
)

// Limits of idempotency keys.
const (
	maxKeyText  = 255 // bytes
	keyTime     = 24 * time.Hour
	keyLease    = 30 * time.Second      // of a request that is starting a run; it renews the lease. A server that has crashed holds the key until it starts again; with shared stores, for this time
	keyWait     = 5 * time.Second       // for the start of the run by another request
	keyPoll     = 20 * time.Millisecond // between two looks at the key during keyWait
	keyTimeout  = 10 * time.Second      // of a change of the store after the client may have left
	maxAttempts = 10                    // runs of one key; each but the last failed, was cancelled or was deleted
	keyFunction = "POST"                // separates these keys from those of Forrst calls, in the same store
	keyHint     = "this value was used with another body or path in the last 24 hours; send another one"
)

// keyed is a request with an idempotency key.
type keyed struct {
	handler
	key         forrst.IdempotencyKey
	holder      string
	fingerprint string
}

// once starts the run of a request by start, or joins the run that an earlier request of the same caller with the same Idempotency-Key, path and body has
// started: replayed is set then. A run that failed, was cancelled or was deleted is not joined, and the request starts another one. body is that of the
// request. Errors have codes: 422 for a key of another body or path, and 409 with Retry-After while another request is still starting the run.
func (h handler) once(r *http.Request, body []byte, start func() (event.RunID, func(), error)) (id event.RunID, detach func(), replayed bool, err error) {
	values := r.Header.Values(headerKey)
	if len(values) == 0 {
		id, detach, err = start()
		return id, detach, false, err
	}
	if len(values) > 1 || !validKey(values[0]) {
		return "", nil, false, fault.Invalid(headerKey, "want one value with 1 to %d printable characters of ASCII", maxKeyText)
	}
	sum := sha256.Sum256(append([]byte(r.URL.Path+"\x00"), body...))
	k := keyed{h, forrst.IdempotencyKey{Caller: keyOwner(r), Function: keyFunction, Key: values[0]}, rand.Text(), hex.EncodeToString(sum[:])}
	ctx := r.Context()
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		k.key.Version = strconv.Itoa(attempt)
		earlier, err := k.lock(ctx)
		if err != nil {
			return "", nil, false, err
		}
		if earlier == "" {
			id, detach, err = k.start(ctx, start)
			return id, detach, false, err
		}
		if detach, ok := (&Asker{h}).Rejoin(ctx, earlier); ok {
			if err := h.checkRun(ctx, earlier, auth.Read); err != nil {
				detach()
				return "", nil, false, err
			}
			return earlier, detach, true, nil
		}
	}
	return "", nil, false, fault.New(fault.Conflict, "%s: %d runs of this value have failed or were cancelled; send another value", headerKey, maxAttempts)
}

// validKey reports whether a text is an idempotency key.
func validKey(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= maxKeyText
}

// keyOwner returns whose idempotency key a request has: with a key of the server that of its account, and otherwise that of the sender.
func keyOwner(r *http.Request) string {
	if i, ok := auth.From(r.Context()); ok && i.Key != "" {
		return "account " + i.Account
	}
	return CallerOf(r)
}

// lock locks the key and returns an empty id, or returns the run that an earlier request has started.
func (k keyed) lock(ctx context.Context) (event.RunID, error) {
	for until := time.Now().Add(keyWait); ; {
		found, err := k.o.Keys.Lock(ctx, k.key, forrst.IdempotencyRecord{Holder: k.holder, Fingerprint: k.fingerprint}, keyLease)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			k.o.Logger.Error("the store of idempotency keys failed", "error", err)
			return "", fault.Wrap(fault.Unavailable, err, "%s: the store of these keys failed; try again later, or without the header", headerKey)
		case found == nil:
			return "", nil
		case found.Fingerprint != k.fingerprint:
			return "", &statusError{http.StatusUnprocessableEntity, fault.Invalid(headerKey, keyHint)}
		case found.Outcome != nil:
			var run event.RunID
			if err := json.Unmarshal(found.Outcome, &run); err != nil {
				return "", err
			}
			return run, nil
		case time.Now().After(until):
			return "", &auth.LimitError{After: time.Second, Fault: fault.New(fault.Conflict, "%s: another request with this value is still starting", headerKey)}
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(keyPoll):
		}
	}
}

// start starts the run and stores its id. The key is free again if the run does not start.
func (k keyed) start(ctx context.Context, start func() (event.RunID, func(), error)) (id event.RunID, detach func(), err error) {
	changes := context.WithoutCancel(ctx)
	stop := make(chan struct{})
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		k.renew(changes, stop)
	}()
	id, detach, err = start()
	close(stop)
	<-renewed
	changes, cancel := context.WithTimeout(changes, keyTimeout)
	defer cancel()
	if err != nil {
		if err := k.o.Keys.Unlock(changes, k.key, k.holder); err != nil {
			k.o.Logger.Warn("an idempotency key is locked for a while, though its request was refused", "error", err)
		}
		return "", nil, err
	}
	outcome, err := json.Marshal(id)
	if err == nil {
		now := time.Now()
		err = k.o.Keys.Store(changes, k.key, k.holder, outcome, now, now.Add(keyTime))
	}
	if err != nil {
		k.o.Logger.Warn("a repeated request will start another run", "run", id, "error", err)
	}
	return id, detach, nil
}

// renew renews the lease while a question waits for its start.
func (k keyed) renew(ctx context.Context, stop <-chan struct{}) {
	ticker := time.NewTicker(keyLease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if err := k.o.Keys.Renew(ctx, k.key, k.holder, keyLease); err != nil {
				k.o.Logger.Warn("the lease of an idempotency key was not renewed", "error", err)
			}
		}
	}
}
