package client

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-rag/sluice/wire/knowledge"
)

// TaskError is a task that ended and is not completed.
type TaskError struct{ Task knowledge.Task }

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
func (c *Client) Task(ctx context.Context, id string) (t knowledge.Task, err error) {
	err = c.call(ctx, "get task", get("/v1/tasks/"+url.PathEscape(id)), &t)
	return t, err
}

// Wait asks for a task until it has ended: soon at first, then every 2 s. Progress, which may be nil, is called with each answer. A task that
// failed or was cancelled is a [TaskError]. The context bounds the wait.
func (c *Client) Wait(ctx context.Context, id string, progress func(knowledge.Task)) (knowledge.Task, error) {
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
