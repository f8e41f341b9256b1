package forrst

import (
	"context"
	"encoding/json"
	"math"
	"time"
)

// Deadline is the deadline extension: a call ends with DEADLINE_EXCEEDED when the time of the client has passed, even while
// its function works. The context of the function has the deadline, so that it can pass it on.
type Deadline struct{}

// URN returns urn:forrst:ext:deadline.
func (Deadline) URN() string { return "urn:forrst:ext:deadline" }

// Capability returns nothing.
func (Deadline) Capability() map[string]any { return nil }

var units = map[string]time.Duration{
	"millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute, "hour": time.Hour,
}

// specified is the deadline as the client wrote it.
type specified struct {
	Value any    `json:"value"`
	Unit  string `json:"unit"`
}

// parse returns the time of the deadline.
func (Deadline) parse(call *Call, asked *Asked) (at time.Time, spec specified, errs Errors) {
	if json.Unmarshal(asked.Option("unit"), &spec.Unit) != nil || spec.Unit != "iso8601" && units[spec.Unit] == 0 {
		errs = append(errs, asked.Invalid("unit", "unit must be millisecond, second, minute, hour or iso8601"))
	}
	raw := asked.Option("value")
	if raw == nil {
		return at, spec, append(errs, asked.Invalid("value", "value is missing"))
	}
	if len(errs) > 0 {
		return at, spec, errs
	}
	if spec.Unit == "iso8601" {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			var err error
			if at, err = time.Parse(time.RFC3339, text); err == nil {
				spec.Value = text
				return at, spec, nil
			}
		}
		return at, spec, append(errs, asked.Invalid("value", "value must be a time as in RFC 3339"))
	}
	var n int64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > math.MaxInt64/int64(units[spec.Unit]) {
		return at, spec, append(errs, asked.Invalid("value", "value must be a non-negative integer that is not too large"))
	}
	spec.Value = n
	return call.Received.Add(time.Duration(n) * units[spec.Unit]), spec, nil
}

// Check validates the options.
func (d Deadline) Check(call *Call, asked *Asked) error {
	if _, _, errs := d.parse(call, asked); len(errs) > 0 {
		return errs
	}
	return nil
}

// deadlineData is the data of the extension in a response.
type deadlineData struct {
	Specified   specified `json:"specified"`
	Elapsed     Duration  `json:"elapsed"`
	Remaining   Duration  `json:"remaining"`
	Utilization float64   `json:"utilization"` // 0 to 1, with four decimals
}

// Run ends the call at its deadline. A result that comes later is not sent.
func (d Deadline) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	if asked == nil {
		return next(ctx)
	}
	at, spec, _ := d.parse(call, asked) // Check has accepted it
	total := at.Sub(call.Received)
	exceeded := Errorf(DeadlineExceeded, "the deadline has passed").With(map[string]any{
		"deadline": spec, "elapsed": millis(max(total, 0)),
	})
	ctx, cancel := context.WithDeadlineCause(ctx, at, exceeded)
	defer cancel()
	out := next(ctx) // does not call the function if the deadline has passed already
	if !out.Streamed && !out.Abandoned && len(out.Errors) == 0 && !time.Now().Before(at) {
		out.Result, out.Errors = nil, Errors{exceeded}
	}
	elapsed := time.Since(call.Received)
	data := deadlineData{Specified: spec, Elapsed: millis(elapsed), Remaining: millis(max(total-elapsed, 0)), Utilization: 1}
	if total > 0 {
		data.Utilization = min(1, math.Round(1e4*float64(elapsed)/float64(total))/1e4)
	}
	out.Add(asked.URN, data)
	return out
}
