package prompt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/model"
)

var errLate = errors.New("the reply took longer than its share of the time")

// WithShare returns the context of a model call that may take at most the given time, and at most the given fraction (1/parts)
// of the time until the deadline of ctx.
func WithShare(ctx context.Context, most time.Duration, parts int) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/time.Duration(parts))
	}
	return context.WithTimeout(ctx, most)
}

// ShareError returns the error of a model that was called with a share of ctx: the error of ctx if it has ended, a
// [*model.Error] with [model.TimedOut] if the share has ended, and otherwise err, which may be nil.
func ShareError(ctx, share context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*model.Error](err); share.Err() != nil && !ok {
		return &model.Error{Model: name, Failure: model.TimedOut, Cause: errLate}
	}
	return err
}

// ForEach calls do for 0 to n-1 with the given parallelism and returns the error of each call when all have returned.
func ForEach(n, parallel int, do func(i int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(1, parallel))
	for i := range n {
		group.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = group.Wait() // the errors are in the slice
	return errs
}

// ReportFailures reports to the trace of ctx why requests to a model failed, each reason once.
func ReportFailures(ctx context.Context, errs []error, name, next string) {
	reported := map[string]bool{}
	for _, err := range errs {
		if err == nil {
			continue
		}
		reason := err.Error()
		if known, ok := errors.AsType[*model.Error](err); ok {
			reason = string(known.Failure)
		}
		if !reported[reason] {
			reported[reason] = true
			model.Failed(ctx, err, name, next)
		}
	}
}

// JoinNames joins the distinct names of the models whose calls did not fail, in order.
func JoinNames(by []string, errs []error) string {
	var names []string
	for i, name := range by {
		if errs[i] == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " + ")
}
