package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

const (
	asyncURN = "urn:forrst:ext:async"
	// pollEvery is the time between two questions for the status of an operation, if the server names none.
	pollEvery = time.Second
	// minPoll and maxPoll keep a server from making its clients ask without a pause, or wait for hours.
	minPoll = 100 * time.Millisecond
	maxPoll = time.Minute
)

// Operation is a call that a server runs in the background. It is safe for concurrent use.
type Operation struct {
	// ID identifies the operation. It is empty if the server has answered at once.
	ID string

	client   *Client
	every    time.Duration
	response *Response // of a call that was answered at once
}

// OperationState is how far an operation is.
type OperationState struct {
	// Status is pending, processing, completed or cancelled. A failed operation is an error.
	Status   string          `json:"status"`
	Progress float64         `json:"progress"` // 0 to 1
	Result   json.RawMessage `json:"result"`   // of a completed operation
}

// Start calls a function and asks the server to run it in the background. A server without the async extension refuses the
// call; one that has it may still answer at once.
func (c *Client) Start(ctx context.Context, function string, in any, options ...CallOptions) (*Operation, error) {
	if len(options) == 0 {
		options = []CallOptions{{}}
	}
	options = append([]CallOptions(nil), options...)
	options[0].Extensions = append([]Extension{extension(asyncURN, map[string]bool{"preferred": true})}, options[0].Extensions...)
	r, err := c.Do(ctx, function, in, options...)
	if err != nil {
		return nil, err
	}
	var accepted struct {
		ID         string          `json:"operation_id"`
		RetryAfter json.RawMessage `json:"retry_after"`
	}
	found, err := r.Extension(asyncURN, &accepted)
	switch {
	case err != nil:
		return nil, fmt.Errorf("call %s: %w: the data of the async extension", function, ErrResponse)
	case !found || accepted.ID == "":
		return &Operation{client: c, response: r}, nil
	}
	return &Operation{ID: accepted.ID, client: c, every: pollInterval(accepted.RetryAfter)}, nil
}

// Operation returns the operation that has an id, such as one that another process has started.
func (c *Client) Operation(id string) *Operation {
	return &Operation{ID: id, client: c, every: pollEvery}
}

// Status asks for the state. The error of a failed operation is an [*Error] with the code ASYNC_OPERATION_FAILED.
func (o *Operation) Status(ctx context.Context) (OperationState, error) {
	if o.response != nil {
		return OperationState{Status: "completed", Progress: 1, Result: o.response.Result}, nil
	}
	return Call[OperationState](ctx, o.client, asyncURN+":fn:status", map[string]string{"operation_id": o.ID}, repeatable)
}

// Wait waits until the operation has ended and decodes its result, unless out is nil. The end of the context ends the wait and
// not the operation. A cancelled operation is an [*Error] with the code CANCELLED.
func (o *Operation) Wait(ctx context.Context, out any) error {
	for {
		s, err := o.Status(ctx)
		if err != nil {
			return err
		}
		switch s.Status {
		case "completed":
			if out == nil {
				return nil
			}
			return (&Response{Result: s.Result}).Decode(out)
		case "cancelled":
			return &Error{Code: forrst.Cancelled, Status: forrst.Cancelled.Status(), Message: "the operation was cancelled"}
		case "pending", "processing":
		default:
			return fmt.Errorf("%w: an operation with the status %.20q", ErrResponse, s.Status)
		}
		timer := time.NewTimer(o.every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Cancel cancels the operation. One that has ended is an [*Error] with the code ASYNC_CANNOT_CANCEL.
func (o *Operation) Cancel(ctx context.Context) error {
	if o.response != nil {
		return &Error{Code: forrst.AsyncCannotCancel, Status: forrst.AsyncCannotCancel.Status(), Message: "the call was answered at once"}
	}
	_, err := o.client.Do(ctx, asyncURN+":fn:cancel", map[string]string{"operation_id": o.ID})
	return err
}

// pollInterval returns the time between two questions that a server asks for.
func pollInterval(raw json.RawMessage) time.Duration {
	d, ok := decodeLength(raw)
	if !ok {
		return pollEvery
	}
	return min(max(d, minPoll), maxPoll)
}
