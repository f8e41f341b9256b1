package auth

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Limit is a number per unit of time. The zero value is no limit. Its text form is such as 60/m.
type Limit struct {
	N    int
	Unit string // of a rate: s, m, h; of a quota: day, month
}

// maxLimit is the largest number of a limit.
const maxLimit = 1_000_000_000

// ParseRate parses a number of requests per second, minute or hour, such as 60/m.
func ParseRate(text string) (Limit, error) { return parseLimit("rate", text, "s", "m", "h") }

// ParseQuota parses a number of questions per day or month, such as 1000/day.
func ParseQuota(text string) (Limit, error) { return parseLimit("quota", text, "day", "month") }

func parseLimit(field, text string, units ...string) (Limit, error) {
	count, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	for _, u := range units {
		if err == nil && n > 0 && n <= maxLimit && unit == u {
			return Limit{n, u}, nil
		}
	}
	return Limit{}, fault.Invalid(field, "want a number and one of /%s, such as 60/%s", strings.Join(units, ", /"), units[0])
}

// String returns the text form, which is empty without a limit.
func (l Limit) String() string {
	if l.N == 0 {
		return ""
	}
	return strconv.Itoa(l.N) + "/" + l.Unit
}

// MarshalText implements [encoding.TextMarshaler].
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Interval returns the time between two requests at the rate l.
func (l Limit) Interval() time.Duration {
	units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	return units[l.Unit] / time.Duration(max(l.N, 1))
}

// Left returns how many requests can be taken at once from the bucket of a rate that will be full after a time.
func (l Limit) Left(full time.Duration) int {
	interval := max(l.Interval(), 1)
	return max(l.N-int((full+interval-1)/interval), 0)
}

// Window returns the name of the day or month of a quota, in UTC, and when the next one begins.
func (l Limit) Window(at time.Time) (name string, next time.Time) {
	at = at.UTC()
	if l.Unit == "month" {
		return at.Format("2006-01"), time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	}
	return at.Format(time.DateOnly), time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, time.UTC)
}

// LimitError is a refusal that ends by itself.
type LimitError struct {
	Fault *fault.Error
	After time.Duration // until the request may be repeated
}

// Error implements error.
func (e *LimitError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *LimitError) Unwrap() error { return e.Fault }

type quotaKey struct{}

// WithQuota returns a context in which [CountQuestion] and [ReturnQuestion] call count, with 1 and with -1.
func WithQuota(ctx context.Context, count func(context.Context, int) error) context.Context {
	return context.WithValue(ctx, quotaKey{}, count)
}

// CountQuestion counts a question against the quota of the request's key. If the quota is used up, the error is a [LimitError].
func CountQuestion(ctx context.Context) error { return count(ctx, 1) }

// ReturnQuestion gives back a question that was counted, but did not begin.
func ReturnQuestion(ctx context.Context) error { return count(ctx, -1) }

func count(ctx context.Context, questions int) error {
	if count, ok := ctx.Value(quotaKey{}).(func(context.Context, int) error); ok {
		return count(ctx, questions)
	}
	return nil
}
