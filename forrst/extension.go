package forrst

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"
)

// Extension changes how calls are run. A server has one value for all calls, so state of a call belongs in Run. Write one to
// add behaviour of your own; [Extensions] returns those of this package. It is safe for concurrent use.
type Extension interface {
	// URN identifies the extension, such as urn:example:forrst:ext:audit. Clients may write urn:cline:forrst:ext:NAME for
	// urn:forrst:ext:NAME.
	URN() string
	// Capability returns what the capabilities function lists beside the URN. It may be nil.
	Capability() map[string]any
	// Check validates the options of a call, before anything is run. All violations of a call are reported together; use
	// Asked.Invalid for each, and Errors for several. It must not have side effects. The function may be unknown: then
	// Call.Version may be short or empty.
	Check(call *Call, asked *Asked) error
	// Run runs the rest of the call with next, at most once, and returns its outcome, to which it may add data. It may
	// return without next, and may end the call early by cancelling the context with a *CallError as the cause. asked is
	// nil if the request does not list the extension.
	Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome
}

// Next runs the rest of a call: the extensions further in, and the function. It returns soon after the end of the
// context, even if the function goes on.
type Next func(ctx context.Context) Outcome

// Provider is an Extension with system functions of its own. Their names begin with the URN of the extension and ":fn:".
type Provider interface {
	Extension
	Functions() []Function
}

// Observer is an Extension that also runs around calls that are refused before their function runs. Its next returns the
// errors.
type Observer interface {
	Extension
	ObservesRefusals()
}

// Outcome is how a call ended.
type Outcome struct {
	Result     json.RawMessage // the result, if there are no errors; nil is null
	Errors     Errors
	Extensions []ExtensionData
	// Abandoned reports that the client has disconnected, so the outcome is not sent.
	Abandoned bool
	// Streamed reports that the client has had the greeting of a stream.
	Streamed bool
}

// ExtensionData is the entry of an extension in a response.
type ExtensionData struct {
	URN  string `json:"urn"`
	Data any    `json:"data,omitempty"`
}

// Add adds the data of an extension to a response. Use the spelling of the URN in the request.
func (o *Outcome) Add(urn string, data any) {
	o.Extensions = append(o.Extensions, ExtensionData{urn, data})
}

// Failed returns an outcome with errors.
func Failed(errs ...*CallError) Outcome { return Outcome{Errors: errs} }

// Headers returns what the request had beside its document.
func (c *Call) Headers() Headers { return c.headers }

// ReplyHeader returns the headers of the reply. An extension changes them before it calls next, because a stream may begin there.
func (c *Call) ReplyHeader() http.Header { return c.reply.w.Header() }

// IdempotencyKey returns the idempotency key of the call and for how long it is kept, or an empty text. A function whose work outlives its client
// uses it to find the work of an earlier attempt: the outcome of a call whose client has left is not stored, so the next call with the key runs
// the function again.
func (c *Call) IdempotencyKey() (key string, ttl time.Duration) {
	if c.key == nil {
		return "", 0
	}
	return c.key.key.Key, c.key.ttl
}

// Go runs a function in a goroutine of its own that [Server.Wait] waits for. A panic is logged.
func (c *Call) Go(f func()) {
	c.server.running.Go(func() {
		_ = c.safely(func() error {
			f()
			return nil
		})
	})
}

var errPanic = errors.New("panic")

// safely makes a panic of a store an error: in a goroutine of its own it would end the program.
func (c *Call) safely(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			c.server.logPanic(c)
			err = errPanic
		}
	}()
	return f()
}

// inOrder returns the extensions with those innermost that store what the others have let pass: a call that is refused by a
// rate limit must not become an operation.
func inOrder(extensions []Extension) []Extension {
	rank := func(e Extension) int {
		switch e.(type) {
		case *Idempotency:
			return 1
		case *Async:
			return 2
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(extensions), func(a, b Extension) int { return rank(a) - rank(b) })
}

// Extensions returns the extensions of this package with their defaults, the outermost first. Append your own.
func Extensions() []Extension {
	return []Extension{Tracing{}, Retry{}, Deadline{}, NewCancellation(nil), Stream{}, NewIdempotency(nil), NewAsync(AsyncOptions{})}
}

// standard are the extensions that the protocol defines. A server refuses those that it does not have, because ignoring one
// such as idempotency would change what a call does.
var standard = []string{
	"async", "atomic-lock", "caching", "cancellation", "deadline", "deprecation", "dry-run", "idempotency", "locale", "maintenance",
	"priority", "query", "quota", "rate-limit", "redact", "replay", "retry", "simulation", "stream", "tracing",
}

// isStandard reports whether the protocol defines an extension with this URN in its canonical form.
func isStandard(urn string) bool {
	return slices.ContainsFunc(standard, func(name string) bool { return urn == "urn:forrst:ext:"+name })
}

// extension returns the extension with this URN, or nil.
func (s *Server) extension(urn string) Extension {
	urn = canonicalURN(urn)
	if i := slices.IndexFunc(s.extensions, func(e Extension) bool { return canonicalURN(e.URN()) == urn }); i >= 0 {
		return s.extensions[i]
	}
	return nil
}

// checkExtensions validates what a call asks of its extensions.
func (s *Server) checkExtensions(call *Call) (errs Errors) {
	for i := range call.asked {
		a := &call.asked[i]
		e := s.extension(a.URN)
		switch {
		case e == nil:
			if s.options.StrictExtensions || isStandard(canonicalURN(a.URN)) {
				errs = append(errs, Errorf(ExtensionNotSupported, "the server does not have this extension").At(a.pointer()).
					With(map[string]any{"unsupported": []string{a.URN}, "supported": s.urns()}))
			}
		case call.function != nil && !call.function.allows(a.URN):
			errs = append(errs, Errorf(ExtensionNotApplicable, "the function does not support this extension").At(a.pointer()).
				With(map[string]any{"extension": a.URN, "function": call.Function}))
		default:
			if err := e.Check(call, a); err != nil {
				some, coded := public(err)
				if !coded {
					s.log().Error("check of an extension failed", "extension", e.URN(), "function", call.Function)
				}
				errs = append(errs, some...)
			}
		}
	}
	return errs
}

func (s *Server) urns() []string {
	out := make([]string, len(s.extensions))
	for i, e := range s.extensions {
		out[i] = e.URN()
	}
	return out
}

// around wraps inner in the extensions. A refused call only has observers.
func (s *Server) around(call *Call, refused bool, inner Next) Next {
	for _, e := range slices.Backward(s.extensions) {
		if _, observes := e.(Observer); refused && !observes {
			continue
		}
		var asked *Asked
		for i := range call.asked {
			if canonicalURN(call.asked[i].URN) == canonicalURN(e.URN()) {
				asked = &call.asked[i]
			}
		}
		next := inner
		inner = func(ctx context.Context) Outcome { return e.Run(ctx, call, asked, next) }
	}
	return inner
}
