package forrst

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"time"
)

// Tracing is the tracing extension. It gives each call a span, in [TraceOf] of the context of its function. The trace comes
// from the options, else from the X-Forrst headers, else from the W3C traceparent header, else it is new. A response has
// the data if the request lists the extension.
type Tracing struct{}

// Trace is the place of a call in a trace.
type Trace struct {
	TraceID string
	// SpanID is the span of this call. Downstream calls have it as their parent_span_id.
	SpanID string
	// ParentSpanID is the span of the client, and empty if the client has none.
	ParentSpanID string
	// Baggage is what the client propagates to downstream calls. It is not changed.
	Baggage map[string]json.RawMessage
}

type traceKey struct{}

// TraceOf returns the trace of a call, and false without the tracing extension.
func TraceOf(ctx context.Context) (Trace, bool) {
	t, ok := ctx.Value(traceKey{}).(Trace)
	return t, ok
}

var (
	hexTrace    = regexp.MustCompile(`^[0-9a-f]{32}$`)
	hexSpan     = regexp.MustCompile(`^[0-9a-f]{16}$`)
	traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)
)

const (
	noTrace = "00000000000000000000000000000000"
	noSpan  = "0000000000000000"
)

// Traceparent returns the W3C header for downstream calls, and an empty string if the ids of the client do not have its
// format.
func (t Trace) Traceparent() string {
	if !hexTrace.MatchString(t.TraceID) || !hexSpan.MatchString(t.SpanID) || t.TraceID == noTrace {
		return ""
	}
	return "00-" + t.TraceID + "-" + t.SpanID + "-01"
}

// parseTraceparent reads a W3C header. A malformed one is ignored, as its specification says.
func parseTraceparent(h string) (trace, span string) {
	m := traceparent.FindStringSubmatch(h)
	if m == nil || m[1] == "ff" || m[1] == "00" && m[4] != "" || m[2] == noTrace || m[3] == noSpan {
		return "", ""
	}
	return m[2], m[3]
}

// URN returns urn:forrst:ext:tracing.
func (Tracing) URN() string { return "urn:forrst:ext:tracing" }

// Capability returns nothing.
func (Tracing) Capability() map[string]any { return nil }

// ObservesRefusals makes the extension an [Observer].
func (Tracing) ObservesRefusals() {}

// maxTraceID is the maximum length of an id of a client in bytes.
const maxTraceID = 256

// Check validates the types of the options. All of them may be absent.
func (Tracing) Check(_ *Call, asked *Asked) error {
	var errs Errors
	for _, name := range []string{"trace_id", "span_id", "parent_span_id"} {
		if raw := asked.Option(name); raw != nil && optionText(asked, name) == "" {
			errs = append(errs, asked.Invalid(name, "%s must be a string of 1 to %d bytes", name, maxTraceID))
		}
	}
	if raw := asked.Option("baggage"); raw != nil && kindOf(raw) != '{' {
		errs = append(errs, asked.Invalid("baggage", "baggage must be an object"))
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// optionText returns an option that is a string of an acceptable length, or nothing.
func optionText(asked *Asked, name string) (s string) {
	if json.Unmarshal(asked.Option(name), &s) != nil || len(s) > maxTraceID {
		return ""
	}
	return s
}

// Run gives the call its span.
func (Tracing) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	t := traceFrom(call.headers)
	if asked != nil {
		if id := optionText(asked, "trace_id"); id != "" {
			t.TraceID = id
			t.ParentSpanID = "" // of another trace
		}
		if id := optionText(asked, "span_id"); id != "" {
			t.ParentSpanID = id
		}
		_ = json.Unmarshal(asked.Option("baggage"), &t.Baggage) // Check reports what is not an object
	}
	if t.TraceID == "" {
		t.TraceID = randomHex(16)
	}
	t.SpanID = randomHex(8)
	out := next(context.WithValue(ctx, traceKey{}, t))
	if asked != nil {
		out.Add(asked.URN, traceData{t.TraceID, t.SpanID, millis(time.Since(call.Received))})
	}
	return out
}

type traceData struct {
	TraceID  string   `json:"trace_id"`
	SpanID   string   `json:"span_id"`
	Duration Duration `json:"duration"`
}

func traceFrom(h Headers) (t Trace) {
	if h.TraceID != "" && len(h.TraceID) <= maxTraceID && len(h.SpanID) <= maxTraceID {
		return Trace{TraceID: h.TraceID, ParentSpanID: h.SpanID}
	}
	t.TraceID, t.ParentSpanID = parseTraceparent(h.Traceparent)
	return t
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
