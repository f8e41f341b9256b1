package forrst

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Async is the async extension: a call that prefers it is accepted at once and becomes an operation, which runs without its
// client. Operations belong to their callers, which can read their state, cancel and list them. Without Options.Caller, all clients
// are one caller: every client that knows an id, which cannot be guessed, may use the operation, and lists are empty.
//
// A call that asks for a stream gets the stream, and calls of the protocol's own functions are answered at once. The deadline
// and the cancellation token of the request end with the response: an operation is ended by the cancel function.
// [Server.Wait] waits for operations. Those of a server that has crashed fail when their lease of 30 seconds has passed.
type Async struct {
	store     OperationStore
	callbacks *callbacks // nil: refused
	mu        sync.Mutex
	running   map[string]context.CancelCauseFunc // operations of this server
	pending   map[string]int                     // callbacks that are not sent yet, by caller
}

// AsyncOptions are the settings of the async extension. The zero value works, without callbacks.
type AsyncOptions struct {
	// Store holds the operations. Servers that share callers need a shared store. Nil: memory.
	Store OperationStore
	// CallbackSecret is the key with which callbacks are signed. Calls with a callback_url are refused without it.
	CallbackSecret []byte
	// CallbackHosts are the only hosts that get callbacks, as in the URL and without port. Empty: all.
	CallbackHosts []string
	// CallbacksAnywhere permits http and addresses that are not public, for development. Every client that may call functions can then
	// send requests into the network of the server.
	CallbacksAnywhere bool
}

const (
	asyncURN = "urn:forrst:ext:async"
	// maxActive is how many active operations a caller may have, and how many callbacks that are not sent.
	maxActive = 10
	// keepOperation is how long an operation is kept after its end.
	keepOperation = 24 * time.Hour
	// pollAfter is the advised time before a client reads the state.
	pollAfter = time.Second
	// progressEvery is the time between updates of the progress in the store.
	progressEvery = time.Second
)

// NewAsync returns the extension.
func NewAsync(o AsyncOptions) *Async {
	a := &Async{store: o.Store, running: map[string]context.CancelCauseFunc{}, pending: map[string]int{}}
	if a.store == nil {
		a.store = NewMemoryOperations()
	}
	if len(o.CallbackSecret) > 0 {
		a.callbacks = newCallbacks(o)
	}
	return a
}

// URN returns urn:forrst:ext:async.
func (*Async) URN() string { return asyncURN }

// Capability returns the functions, and whether callbacks are sent.
func (a *Async) Capability() map[string]any {
	names := []string{asyncURN + ":fn:status", asyncURN + ":fn:cancel", asyncURN + ":fn:list"}
	return map[string]any{"functions": names, "callbacks": a.callbacks != nil, "max_active_operations": maxActive, "retention": Duration{24, "hour"}}
}

// Check validates the options.
func (a *Async) Check(_ *Call, asked *Asked) error {
	var errs Errors
	if raw := asked.Option("preferred"); raw != nil && kindOf(raw) != 't' && kindOf(raw) != 'f' {
		errs = append(errs, asked.Invalid("preferred", "preferred must be a boolean"))
	}
	if raw := asked.Option("callback_url"); raw != nil {
		if err := a.callbacks.check(raw); err != nil {
			errs = append(errs, asked.Invalid("callback_url", "callback_url %v", err))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// Run makes the call an operation.
func (a *Async) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	if asked == nil || kindOf(asked.Option("preferred")) != 't' || call.streaming != "" || reserved(call.Function) || ctx.Err() != nil {
		return next(ctx)
	}
	var url string
	_ = json.Unmarshal(asked.Option("callback_url"), &url) // Check has accepted it
	if url != "" && !a.reserveCallback(call.Caller) {
		return tooManyOperations()
	}
	accepted := false
	defer func() { // also if the store panics
		if !accepted && url != "" {
			a.releaseCallback(call.Caller)
		}
	}()
	out, accepted := a.accept(ctx, call, url, next)
	return out
}

// reserveCallback counts a callback of a caller, and returns false if there are too many that are not sent: receivers may be slow.
func (a *Async) reserveCallback(caller string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[caller] >= maxActive {
		return false
	}
	a.pending[caller]++
	return true
}

// releaseCallback ends the count of a callback.
func (a *Async) releaseCallback(caller string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pending[caller]--; a.pending[caller] == 0 {
		delete(a.pending, caller)
	}
}

func tooManyOperations() Outcome {
	e := Errorf(RateLimited, "the caller has %d active operations", maxActive).
		With(map[string]any{"limit": maxActive, "used": maxActive, "retry_after": seconds(pollAfter), "scope": "user"})
	e.RetryAfter = pollAfter
	return Failed(e)
}

// accept starts an operation and returns the response that accepts it, or an error and false.
func (a *Async) accept(ctx context.Context, call *Call, url string, next Next) (Outcome, bool) {
	op := Operation{ID: newOperationID(), Caller: call.Caller, Function: call.Function, Version: call.Version, RequestID: call.ID,
		Status: OperationProcessing, Started: time.Now()}
	err := a.store.Create(ctx, op, maxActive, leaseTime, keepOperation)
	if errors.Is(err, ErrTooManyOperations) {
		return tooManyOperations(), false
	}
	if err != nil {
		return Failed(Errorf(Unavailable, "the operation cannot be stored")), false
	}
	if h := call.key; h != nil {
		if err := h.update(ctx, func(ctx context.Context) error { return h.store.SetOperation(ctx, h.key, h.holder, op.ID) }); err != nil {
			_ = a.store.Finish(context.WithoutCancel(ctx), op.Caller, op.ID, OperationCancelled, nil, time.Now(), keepOperation) // else its lease ends
			return Failed(Errorf(Unavailable, "the operation cannot be stored")), false
		}
		h.operation = op.ID
	}
	out := acceptedOutcome(call, op)
	call.reply = &replyState{w: noReply{}} // the reply is sent before the function has finished
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if call.key != nil {
		call.key.endWith(cancel)
	}
	a.mu.Lock()
	a.running[op.ID] = cancel
	a.mu.Unlock()
	call.Go(func() {
		defer cancel(nil)
		a.operate(ctx, cancel, call, op, url, next)
		if url != "" {
			a.releaseCallback(call.Caller)
		}
	})
	return out, true
}

// newOperationID returns an id that is greater than those of earlier milliseconds, and cannot be guessed.
func newOperationID() string {
	now := uint64(time.Now().UnixMilli())
	var b [6]byte
	for i := range b {
		b[i] = byte(now >> (8 * (5 - i)))
	}
	return "op_" + hex.EncodeToString(b[:]) + randomHex(10)
}

// acceptedData is the data of the extension in a response that accepts an operation.
type acceptedData struct {
	OperationID string          `json:"operation_id"`
	Status      OperationStatus `json:"status"`
	Poll        pollData        `json:"poll"`
	RetryAfter  Duration        `json:"retry_after"`
	StartedAt   string          `json:"started_at,omitempty"`
}

type pollData struct {
	Function  string            `json:"function"`
	Version   string            `json:"version"`
	Arguments map[string]string `json:"arguments"`
}

// acceptedOutcome returns the response of a call that is an operation.
func acceptedOutcome(call *Call, op Operation) (out Outcome) {
	urn := asyncURN
	for _, asked := range call.asked {
		if canonicalURN(asked.URN) == asyncURN {
			urn = asked.URN
		}
	}
	data := acceptedData{OperationID: op.ID, Status: op.Status, RetryAfter: seconds(pollAfter),
		Poll: pollData{asyncURN + ":fn:status", "1.0.0", map[string]string{"operation_id": op.ID}}}
	if !op.Started.IsZero() {
		data.StartedAt = timestamp(op.Started)
	}
	out.Add(urn, data)
	return out
}

// operate runs an operation to its end.
func (a *Async) operate(ctx context.Context, cancel context.CancelCauseFunc, call *Call, op Operation, url string, next Next) {
	var progress progress
	call.progress = progress.set
	stop := make(chan struct{})
	var renewal sync.WaitGroup
	renewal.Go(func() { a.renew(ctx, cancel, call, op.ID, &progress, stop) })
	out := call.server.guard(call, func() Outcome { return next(ctx) })
	text, err := outcomeJSON(out)
	if limit := call.server.options.MaxResponse/2 - 4096; err == nil && int64(len(text)) > limit { // the state has the result twice
		out, err = Failed(Errorf(InternalError, "the result is larger than %d bytes", limit)), nil
		text, _ = outcomeJSON(out) // of our own types
	}
	if err != nil {
		out = Failed(internal())
		text, _ = outcomeJSON(out)
	}
	op.Status, op.Completed, op.Outcome = OperationCompleted, time.Now(), text
	if len(out.Errors) > 0 {
		op.Status = OperationFailed
	}
	err = retry(context.WithoutCancel(ctx), 5, func() error { // if the store fails for longer, the lease ends
		return call.safely(func() error { return a.finish(ctx, &op, &out) })
	})
	close(stop)
	renewal.Wait()
	a.mu.Lock()
	delete(a.running, op.ID)
	a.mu.Unlock()
	if call.key != nil {
		call.key.settle(ctx, out)
	}
	if url != "" && err == nil {
		a.callbacks.send(context.WithoutCancel(ctx), url, op, out)
	}
}

// finish stores the end of an operation. If it had ended before, it becomes what it was then.
func (a *Async) finish(ctx context.Context, op *Operation, out *Outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := a.store.Finish(ctx, op.Caller, op.ID, op.Status, op.Outcome, op.Completed, keepOperation)
	if !errors.Is(err, ErrOperationFinal) && !errors.Is(err, ErrOperationNotFound) {
		return err
	}
	now, err := a.store.Get(ctx, op.Caller, op.ID)
	switch {
	case err == nil && now.Outcome != nil: // stored by an attempt whose reply was lost
		return nil
	case err == nil:
		op.Status, op.Completed = now.Status, now.Completed // cancelled, or the lease has ended
	case errors.Is(err, ErrOperationNotFound):
		op.Status = OperationCancelled
	default:
		return err
	}
	*out = Failed(cancelledOperation(op.ID))
	return nil
}

// renew extends the lease of an operation and stores its progress until it is stopped. It ends an operation that was cancelled
// on another server.
func (a *Async) renew(ctx context.Context, cancel context.CancelCauseFunc, call *Call, id string, p *progress, stop <-chan struct{}) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	stored, renewed := 0.0, time.Now()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		now := p.get()
		if now == stored && time.Since(renewed) < leaseTime/3 {
			continue
		}
		renewCtx, done := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		err := call.safely(func() error { return a.store.Renew(renewCtx, id, now, leaseTime) })
		done()
		switch {
		case err == nil:
			stored, renewed = now, time.Now()
		case errors.Is(err, ErrOperationFinal) || errors.Is(err, ErrOperationNotFound):
			cancel(cancelledOperation(id))
			return
		}
	}
}

func cancelledOperation(id string) *CallError {
	return Errorf(Cancelled, "the operation was cancelled").With(map[string]any{"operation_id": id})
}

// progress is how much of an operation is done.
type progress struct {
	mu   sync.Mutex
	done float64
}

func (p *progress) set(current, total int64) {
	if total <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = min(max(float64(current)/float64(total), 0), 1)
}

func (p *progress) get() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

type operationArguments struct {
	OperationID string `json:"operation_id" required:"true" minLength:"1" maxLength:"100" description:"The id of an operation of the caller."`
}

// operationResult is the state of an operation.
type operationResult struct {
	OperationID string          `json:"operation_id"`
	Function    string          `json:"function"`
	Version     string          `json:"version"`
	Status      OperationStatus `json:"status"`
	Progress    float64         `json:"progress"`
	Result      json.RawMessage `json:"result,omitempty"`
	Output      json.RawMessage `json:"output,omitempty" description:"The same as result."`
	StartedAt   string          `json:"started_at"`
	CompletedAt string          `json:"completed_at,omitempty"`
}

// Functions returns the functions status, cancel and list.
func (a *Async) Functions() []Function {
	status := callerFunc("status", a.status)
	status.Description = "Returns the state of an operation, and its result if it has completed. A failed one is the error ASYNC_OPERATION_FAILED."
	cancel := callerFunc("cancel", a.cancel)
	cancel.Description = "Cancels an active operation."
	cancel.SideEffects = []string{"update"}
	list := callerFunc("list", a.list)
	list.Description = "Lists the operations of the caller, the newest first. A caller that is not authenticated has none."
	return []Function{status, cancel, list}
}

// callerFunc returns a function of the extension that needs to know its caller.
func callerFunc[In, Out any](name string, run func(ctx context.Context, caller string, in In) (Out, error)) Function {
	f := describe[In, Out](asyncURN+":fn:"+name, "1.0.0")
	f.Call = func(ctx context.Context, call *Call) (any, error) {
		in, err := arguments[In](call)
		if err != nil {
			return nil, err
		}
		return run(ctx, call.Caller, in)
	}
	return f
}

func notFound(id string) *CallError {
	return Errorf(AsyncOperationNotFound, "the operation does not exist").With(map[string]any{"operation_id": id})
}

// get returns an operation of a caller.
func (a *Async) get(ctx context.Context, caller, id string) (Operation, error) {
	op, err := a.store.Get(ctx, caller, id)
	if errors.Is(err, ErrOperationNotFound) {
		return op, notFound(id)
	}
	if err != nil {
		return op, fmt.Errorf("get operation: %w", err)
	}
	return op, nil
}

func (a *Async) status(ctx context.Context, caller string, in operationArguments) (out operationResult, err error) {
	op, err := a.get(ctx, caller, in.OperationID)
	if err != nil {
		return out, err
	}
	ended := Outcome{}
	if op.Outcome != nil {
		if ended, err = decodeOutcome(op.Outcome); err != nil {
			return out, fmt.Errorf("read operation: %w", err)
		}
	}
	if op.Status == OperationFailed {
		details := map[string]any{"operation_id": op.ID, "failed_at": timestamp(op.Completed), "reason": "the server stopped before the operation had ended"}
		if len(ended.Errors) > 0 {
			details["reason"], details["errors"] = ended.Errors[0].Message, ended.Errors
		}
		return out, Errorf(AsyncOperationFailed, "the operation has failed").With(details)
	}
	out = operationResult{OperationID: op.ID, Function: op.Function, Version: op.Version, Status: op.Status, Progress: op.Progress,
		StartedAt: timestamp(op.Started)}
	if op.Status.Final() {
		out.CompletedAt = timestamp(op.Completed)
	}
	if op.Status == OperationCompleted {
		if out.Result = ended.Result; out.Result == nil {
			out.Result = json.RawMessage("null")
		}
		out.Output = out.Result
	}
	return out, nil
}

type cancelledResult struct {
	OperationID string          `json:"operation_id"`
	Status      OperationStatus `json:"status"`
	CancelledAt string          `json:"cancelled_at"`
}

func (a *Async) cancel(ctx context.Context, caller string, in operationArguments) (out cancelledResult, err error) {
	now := time.Now()
	switch err := a.store.Finish(ctx, caller, in.OperationID, OperationCancelled, nil, now, keepOperation); {
	case errors.Is(err, ErrOperationNotFound):
		return out, notFound(in.OperationID)
	case errors.Is(err, ErrOperationFinal):
		op, err := a.get(ctx, caller, in.OperationID)
		if err != nil {
			return out, err
		}
		return out, Errorf(AsyncCannotCancel, "the operation has ended").With(map[string]any{"operation_id": op.ID, "status": op.Status})
	case err != nil:
		return out, fmt.Errorf("cancel operation: %w", err)
	}
	a.mu.Lock()
	end := a.running[in.OperationID]
	a.mu.Unlock()
	if end != nil { // otherwise its server notices it when it renews the lease
		end(cancelledOperation(in.OperationID))
	}
	return cancelledResult{in.OperationID, OperationCancelled, timestamp(now)}, nil
}

type listArguments struct {
	Status   string `json:"status,omitempty" enum:"pending,processing,completed,failed,cancelled" description:"Only operations in this state."`
	Function string `json:"function,omitempty" description:"Only operations of this function."`
	Limit    int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"50" description:"How many operations a page has."`
	Cursor   string `json:"cursor,omitempty" pattern:"^op_[0-9a-f]{32}$" description:"next_cursor of the page before."`
}

type listResult struct {
	Operations []listedOperation `json:"operations"`
	NextCursor *string           `json:"next_cursor"` // null after the last page
}

type listedOperation struct {
	ID        string          `json:"id"`
	Function  string          `json:"function"`
	Version   string          `json:"version"`
	Status    OperationStatus `json:"status"`
	Progress  float64         `json:"progress"`
	StartedAt string          `json:"started_at"`
}

func (a *Async) list(ctx context.Context, caller string, in listArguments) (listResult, error) {
	limit := in.Limit
	if limit == 0 {
		limit = 50
	}
	out := listResult{Operations: []listedOperation{}}
	if caller == "" { // unauthenticated clients must not see each other's operations
		return out, nil
	}
	found, err := a.store.List(ctx, OperationQuery{Caller: caller, Status: OperationStatus(in.Status), Function: in.Function, Before: in.Cursor, Limit: limit + 1})
	if err != nil {
		return out, fmt.Errorf("list operations: %w", err)
	}
	if len(found) > limit {
		found = found[:limit]
		out.NextCursor = &found[limit-1].ID
	}
	for _, op := range found {
		out.Operations = append(out.Operations, listedOperation{op.ID, op.Function, op.Version, op.Status, op.Progress, timestamp(op.Started)})
	}
	return out, nil
}
