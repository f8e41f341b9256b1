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

var errLate = errors.New("it did not answer in its share of the time")

// Share gives the context of a judgement that may take so long, and no more than one part in so many of what is left until
// the deadline of ctx.
func Share(ctx context.Context, most time.Duration, parts int) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/time.Duration(parts))
	}
	return context.WithTimeout(ctx, most)
}

// Late gives the error of a model that was asked with a share of ctx: that of ctx where it has ended, a [*model.Error]
// that is [model.TimedOut] where the share has, and otherwise the model's own, which may be nil.
func Late(ctx, share context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *model.Error
	if share.Err() != nil && !errors.As(err, &known) {
		return &model.Error{Model: name, Failure: model.TimedOut, Cause: errLate}
	}
	return err
}

// Each calls do for 0 to n-1, so many at once, and gives each call's error. It returns when all have.
func Each(n, parallel int, do func(i int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(1, parallel))
	for i := range n {
		group.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = group.Wait() // each call's error is kept
	return errs
}

// Failed tells the trace of ctx why requests to a model failed: each reason once, however many failed for it.
func Failed(ctx context.Context, errs []error, name, next string) {
	told := map[string]bool{}
	for _, err := range errs {
		if err == nil {
			continue
		}
		reason := err.Error()
		var known *model.Error
		if errors.As(err, &known) {
			reason = string(known.Failure)
		}
		if !told[reason] {
			told[reason] = true
			model.Failed(ctx, err, name, next)
		}
	}
}

// Names joins the names of the models that judged: of each call that did not fail, once each and in their order.
func Names(by []string, errs []error) string {
	var names []string
	for i, name := range by {
		if errs[i] == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " + ")
}
