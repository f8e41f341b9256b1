package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Task is work in the background.
type Task struct {
	ID            string          `json:"id"`
	Object        string          `json:"object"`
	Type          string          `json:"type"`
	Status        string          `json:"status"`
	Progress      float64         `json:"progress"`
	ResourceID    string          `json:"resource_id"`
	CreatedAt     int64           `json:"created_at"` // Unix seconds.
	UpdatedAt     int64           `json:"updated_at"`
	FailureReason string          `json:"failure_reason,omitempty"`
	ErrorMessage  string          `json:"error_message,omitempty"` // The same.
	Data          json.RawMessage `json:"data"`
}

// TaskError is a task that ended and is not completed.
type TaskError struct{ Task Task }

// Error says why.
func (e *TaskError) Error() string {
	reason := clip(e.Task.FailureReason, maxLine)
	if reason == "" {
		reason = clip(e.Task.ErrorMessage, maxLine)
	}
	if reason == "" {
		reason = "no reason was told"
	}
	return fmt.Sprintf("%s %s: %s", clip(e.Task.ID, 200), clip(e.Task.Status, 60), reason)
}

// Task tells how far work in the background is.
func (c *Client) Task(ctx context.Context, id string) (t Task, err error) {
	err = c.call(ctx, "get task", get("/v1/tasks/"+url.PathEscape(id)), &t)
	return t, err
}

// Wait asks for a task until it has ended: soon at first, then every 2 s. Progress, which may be nil, is called with each answer. A task that
// failed or was cancelled is a [TaskError]. The context bounds the wait.
func (c *Client) Wait(ctx context.Context, id string, progress func(Task)) (Task, error) {
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
