package forrst

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"
)

// Idempotency is the idempotency extension: calls with the same key run once. The outcome of the first is stored, and repeated
// to the others. A key belongs to the caller, the function and its version. Without Options.Caller, all clients are one caller.
//
// Outcomes that may be different next time are not stored: errors that are retryable or came before the function ran, cancelled
// calls, and calls whose client has disconnected before the function was done. The key is free again as soon as the function has returned.
type Idempotency struct{ store IdempotencyStore }

// NewIdempotency returns the extension with a store of keys. Servers that share calls need a shared store. Nil: memory.
func NewIdempotency(store IdempotencyStore) *Idempotency {
	if store == nil {
		store = NewMemoryIdempotency()
	}
	return &Idempotency{store}
}

const (
	idempotencyURN = "urn:forrst:ext:idempotency"
	defaultTTL     = 24 * time.Hour
	maxTTL         = 30 * 24 * time.Hour

	// leaseTime is how long keys and operations of a server that has crashed stay locked. A server renews its leases three
	// times as often.
	leaseTime = 30 * time.Second
	// storeTimeout limits changes of a store, which are also made after the client has disconnected.
	storeTimeout = 10 * time.Second
)

// URN returns urn:forrst:ext:idempotency.
func (*Idempotency) URN() string { return idempotencyURN }

// Capability returns the default and the maximum time for which outcomes are stored.
func (*Idempotency) Capability() map[string]any {
	return map[string]any{"default_ttl": Duration{24, "hour"}, "max_ttl": Duration{30, "day"}}
}

var validKey = regexp.MustCompile(`^[A-Za-z0-9_:.-]{1,255}$`)

// options returns the key and the time for which its outcome is stored.
func (*Idempotency) options(asked *Asked) (key string, ttl time.Duration, errs Errors) {
	raw := asked.Option("key")
	if kindOf(raw) != '"' || json.Unmarshal(raw, &key) != nil || !validKey.MatchString(key) {
		errs = append(errs, asked.Invalid("key", "key must be 1 to 255 letters, digits, _, :, . and -"))
	}
	raw, ttl = asked.Option("ttl"), defaultTTL
	if raw == nil {
		return key, ttl, errs
	}
	var d struct {
		Value int64  `json:"value"`
		Unit  string `json:"unit"`
	}
	unit := time.Duration(0)
	if kindOf(raw) == '{' && json.Unmarshal(raw, &d) == nil && d.Unit != "millisecond" {
		unit = units[d.Unit]
		if d.Unit == "day" {
			unit = 24 * time.Hour
		}
	}
	if unit == 0 || d.Value <= 0 || d.Value > int64(maxTTL/unit) {
		return key, 0, append(errs, asked.Invalid("ttl", "ttl must be an object with a positive integer value and the unit second, minute, hour or day, and at most 30 days"))
	}
	return key, time.Duration(d.Value) * unit, errs
}

// Check validates the options.
func (i *Idempotency) Check(_ *Call, asked *Asked) error {
	if _, _, errs := i.options(asked); len(errs) > 0 {
		return errs
	}
	return nil
}

// idempotencyData is the data of the extension in a response.
type idempotencyData struct {
	Key               string `json:"key"`
	Status            string `json:"status"` // processed, cached, conflict, or processing for an accepted operation
	OriginalRequestID string `json:"original_request_id"`
	CachedAt          string `json:"cached_at,omitempty"`
	ExpiresAt         string `json:"expires_at,omitempty"` // absent if nothing was stored
}

// Run runs the first call of a key, and answers the others.
func (i *Idempotency) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	if asked == nil {
		return next(ctx)
	}
	key, ttl, _ := i.options(asked) // Check has accepted them
	hash, err := fingerprint(call.Arguments)
	if err != nil {
		return Failed(Errorf(InvalidArguments, "the arguments have no canonical form").At("/call/arguments"))
	}
	h := &heldKey{store: i.store, call: call, key: IdempotencyKey{call.Caller, call.Function, call.Version, key},
		holder: randomHex(16), ttl: ttl}
	found, err := i.store.Lock(ctx, h.key, IdempotencyRecord{Holder: h.holder, RequestID: call.ID, Fingerprint: hash}, leaseTime)
	if err != nil {
		// The connection may have failed after the store had locked the key.
		_ = h.update(ctx, func(ctx context.Context) error { return i.store.Unlock(ctx, h.key, h.holder) })
		return Failed(Errorf(Unavailable, "the key cannot be stored"))
	}
	if found != nil {
		return i.repeat(call, asked, found, key, hash)
	}
	return h.run(ctx, asked, next)
}

// repeat answers a call whose key is in use.
func (*Idempotency) repeat(call *Call, asked *Asked, found *IdempotencyRecord, key, hash string) (out Outcome) {
	data := idempotencyData{Key: key, OriginalRequestID: found.RequestID}
	switch {
	case found.Fingerprint != hash:
		out = Failed(Errorf(IdempotencyConflict, "the key was used with other arguments").
			With(map[string]any{"key": key, "original_arguments_hash": found.Fingerprint}))
		data.Status = "conflict"
	case found.Outcome != nil:
		var err error
		if out, err = decodeOutcome(found.Outcome); err != nil {
			return Failed(internal())
		}
		data.Status, data.CachedAt, data.ExpiresAt = "cached", timestamp(found.Stored), timestamp(found.Expires)
	case found.Operation != "" && call.streaming == "":
		out = acceptedOutcome(call, Operation{ID: found.Operation, Status: OperationProcessing})
		data.Status = "processing"
	default:
		e := Errorf(IdempotencyProcessing, "the first call with the key is still running").
			With(map[string]any{"key": key, "retry_after": seconds(time.Second)})
		e.RetryAfter = time.Second
		return Failed(e)
	}
	out.Add(asked.URN, data)
	return out
}

// heldKey is a key that a call has locked.
type heldKey struct {
	store     IdempotencyStore
	call      *Call
	key       IdempotencyKey
	holder    string
	ttl       time.Duration
	operation string // id of the operation that the call has become, which settles the key at its end; empty if it has not
	stop      chan struct{}
	lost      context.Context // ends with the lock, if that is lost
}

// run runs the call and settles the key, even if an extension panics.
func (h *heldKey) run(ctx context.Context, asked *Asked, next Next) Outcome {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.stop = make(chan struct{})
	var lose context.CancelCauseFunc
	h.lost, lose = context.WithCancelCause(context.WithoutCancel(ctx))
	h.endWith(cancel)
	h.call.Go(func() { h.renew(lose) })
	h.call.key = h
	settled := false
	defer func() {
		if !settled {
			h.release(ctx)
		}
	}()
	out := next(ctx)
	settled = true
	data := idempotencyData{Key: h.key.Key, Status: "processed", OriginalRequestID: h.call.ID}
	if h.operation != "" {
		data.Status = "processing"
	} else if expires := h.settle(ctx, out); !expires.IsZero() {
		data.ExpiresAt = timestamp(expires)
	}
	out.Add(asked.URN, data)
	return out
}

// endWith ends a call if the lock is lost, because another call may run then.
func (h *heldKey) endWith(end context.CancelCauseFunc) {
	context.AfterFunc(h.lost, func() { end(context.Cause(h.lost)) })
}

// renew extends the lock until it is stopped or lost. A store that cannot be reached for the time of a lease has lost it.
func (h *heldKey) renew(lose context.CancelCauseFunc) {
	defer lose(nil) // the call has ended, or has its cause already
	ticker := time.NewTicker(leaseTime / 3)
	defer ticker.Stop()
	renewed := time.Now()
	for {
		select {
		case <-h.stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		err := h.update(h.lost, func(ctx context.Context) error { return h.store.Renew(ctx, h.key, h.holder, leaseTime) })
		switch {
		case err == nil:
			renewed = now
		case errors.Is(err, ErrLeaseLost) || time.Since(renewed) >= leaseTime:
			lose(Errorf(Unavailable, "the lock on the key was lost"))
			return
		}
	}
}

// update changes the store. It does not end with the context, and a panic of the store is an error.
func (h *heldKey) update(ctx context.Context, change func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return h.call.safely(func() error { return change(ctx) })
}

// settle stores the outcome of the call, or frees the key if the outcome is not to be stored. It returns when the outcome expires.
func (h *heldKey) settle(ctx context.Context, out Outcome) time.Time {
	text, ok := encodeOutcome(out)
	if refused := h.call.ended == nil && len(out.Errors) > 0; !ok || refused {
		h.release(ctx)
		return time.Time{}
	}
	now := time.Now()
	expires := now.Add(h.ttl)
	save := func(ctx context.Context) error { return h.store.Store(ctx, h.key, h.holder, text, now, expires) }
	err := h.update(ctx, save)
	if err == nil || errors.Is(err, ErrLeaseLost) {
		close(h.stop)
	} else { // the lock is renewed until the store works again, or for half a minute
		h.call.Go(func() {
			defer close(h.stop)
			_ = retry(context.WithoutCancel(ctx), 5, func() error { return h.update(ctx, save) })
		})
	}
	if err != nil {
		return time.Time{}
	}
	return expires
}

// release frees the key as soon as the function has returned.
func (h *heldKey) release(ctx context.Context) {
	free := func() {
		close(h.stop)
		_ = h.update(ctx, func(ctx context.Context) error { return h.store.Unlock(ctx, h.key, h.holder) }) // the lock expires
	}
	ended := h.call.ended
	select {
	case <-ended:
		free()
	default:
		if ended == nil { // it was not called
			free()
			return
		}
		h.call.Go(func() {
			<-ended
			free()
		})
	}
}

// storedOutcome is an outcome in a store.
type storedOutcome struct {
	Result json.RawMessage `json:"result,omitempty"`
	Errors []storedError   `json:"errors,omitempty"`
}

// storedError keeps the details as they are.
type storedError struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Source  *Source         `json:"source,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// encodeOutcome returns an outcome for a store, and false for one that may be different next time.
func encodeOutcome(out Outcome) (json.RawMessage, bool) {
	if out.Abandoned && out.Result == nil && len(out.Errors) == 0 {
		return nil, false
	}
	for _, e := range out.Errors {
		if e.Code.Retryable() || e.Code == Cancelled {
			return nil, false
		}
	}
	text, err := outcomeJSON(out)
	return text, err == nil
}

func outcomeJSON(out Outcome) (json.RawMessage, error) {
	var o struct {
		Result json.RawMessage `json:"result,omitempty"`
		Errors Errors          `json:"errors,omitempty"`
	}
	if o.Errors = out.Errors; len(o.Errors) == 0 {
		o.Result = out.Result
	}
	return encodeJSON(o)
}

func decodeOutcome(text json.RawMessage) (out Outcome, err error) {
	var o storedOutcome
	if err := json.Unmarshal(text, &o); err != nil {
		return out, err
	}
	out.Result = o.Result
	for _, e := range o.Errors {
		one := &CallError{Code: e.Code, Message: e.Message, Source: e.Source}
		if e.Details != nil {
			one.Details = e.Details
		}
		out.Errors = append(out.Errors, one)
	}
	return out, nil
}

// retry tries something until it succeeds: some times at most, with a pause of one second that doubles each time.
func retry(ctx context.Context, attempts int, try func() error) error {
	pause := time.Second
	for {
		err := try()
		if attempts--; err == nil || attempts <= 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}
