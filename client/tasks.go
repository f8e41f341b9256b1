package client

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// TaskError is the error of a task that failed or was cancelled.
type TaskError struct{ Task Task }

// Error implements error.
func (e *TaskError) Error() string {
	reason := clip(e.Task.FailureReason, maxLine)
	if reason == "" {
		reason = clip(e.Task.ErrorMessage, maxLine)
	}
	if reason == "" {
		reason = "the server gave no reason"
	}
	return fmt.Sprintf("%s %s: %s", clip(e.Task.ID, 200), clip(e.Task.Status, 60), reason)
}

// Task returns a background task.
func (c *Client) Task(ctx context.Context, id string) (t Task, err error) {
	err = c.call(ctx, "get task", get("/v1/tasks/"+url.PathEscape(id)), &t)
	return t, err
}

// WaitForTask waits until a task has ended. It polls often at first, and every 2 s later. If progress is not nil, it is
// called with each reply. A task that failed or was cancelled is a [TaskError].
func (c *Client) WaitForTask(ctx context.Context, id string, progress func(Task)) (Task, error) {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.Multiplier, waits.RandomizationFactor, waits.MaxInterval = 50*time.Millisecond, 1.5, 0.2, 2*time.Second
	for {
		t, err := c.Task(ctx, id)
		if err != nil {
			return t, err
		}
		if progress != nil {
			progress(t)
		}
		switch t.Status {
		case "completed":
			return t, nil
		case "failed", "cancelled":
			return t, &TaskError{Task: t}
		}
		if err := sleep(ctx, waits.NextBackOff()); err != nil {
			return t, fmt.Errorf("wait for task: %w", err)
		}
	}
}
