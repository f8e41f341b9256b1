package forrst

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// Function is one version of a function that a server offers. [Func] and [StreamFunc] make one from Go functions; its
// other fields can be set afterwards. A server copies it.
type Function struct {
	// Name is case-sensitive, such as users.get. Names that begin with "forrst.", "urn:cline:" and "urn:forrst:" belong to
	// the protocol.
	Name string
	// Version is a complete semantic version. A version with a prerelease is only called by its exact version.
	Version     string
	Description string
	// SideEffects lists create, update and delete; none means that the function only reads.
	SideEffects []string
	Deprecated  *Deprecation
	// Arguments and Returns are JSON Schemas (2020-12). Arguments are validated; the result is not. Nil accepts any object.
	Arguments, Returns json.RawMessage
	// Supported lists the URNs of the only extensions that calls may use, Excluded those that they may not. Set at most one.
	Supported, Excluded []string
	// Unavailable is called before each call, if set. A non-nil result is the reply: see [Disabled] and [Maintenance]. It also makes the
	// health of the service degraded. If that is wrong, because a function is optional, return the error in Prepare.
	Unavailable func(ctx context.Context) *CallError
	// Prepare is called before Call or Stream, if set, and before a stream begins. Its error is the reply, and it may change the headers of the
	// reply. It must return soon after the end of the context. The context that it returns is derived from the one that it is given, and is
	// that of Call or Stream. It ends after the call, also if the function is not run because the client has disconnected.
	Prepare func(ctx context.Context, call *Call) (context.Context, error)
	// Call runs the function and returns a value that encodes as JSON. It may run several times at once. The context ends
	// when the client has disconnected, the deadline has passed or the call is cancelled; the client then has its reply, whatever
	// Call returns. Nil runs Stream and returns the result of its done chunk.
	Call func(ctx context.Context, call *Call) (any, error)
	// Stream makes the function streamable. The server stops to iterate after the first done or error chunk, after an
	// error, and when the context ends.
	Stream func(ctx context.Context, call *Call) iter.Seq2[Chunk, error]

	err error // of Func
}

// Deprecation announces the end of a version.
type Deprecation struct {
	Reason string `json:"reason,omitempty"`
	// Sunset is the time from which on the version is not found. Zero: none is planned.
	Sunset time.Time `json:"sunset,omitzero"`
}

// Call is a validated call of a function. It must not be changed.
type Call struct {
	ID        string
	Function  string // the name as registered
	Version   string // the version that was selected
	Arguments json.RawMessage
	// Context holds the metadata that the client propagates. It is not authenticated.
	Context map[string]json.RawMessage
	// Caller is the authenticated caller, as Options.Caller returned it.
	Caller string
	// Received is when the request arrived.
	Received time.Time

	function  *Function
	asked     []Asked
	headers   Headers
	streaming string // the URN in the request of the extension that requests a stream; empty: none does
	refused   bool   // before the function could run
	reply     *replyState
	server    *Server
	ended     chan struct{}              // closed when the function has returned; nil before it is called
	key       *heldKey                   // of the idempotency extension
	progress  func(current, total int64) // of the async extension
}

// Func returns a function from a Go function. Its schemas are made from the types: In is a struct or a map, and Out is any
// type that encodes as JSON. Struct tags add constraints: `required:"true"`, `minimum:"1"`, `enum:"a,b"`, `pattern`, `format`,
// `description` and others of github.com/swaggest/jsonschema-go. [New] reports types that have no schema.
func Func[In, Out any](name, version string, call func(ctx context.Context, in In) (Out, error)) Function {
	f := describe[In, Out](name, version)
	f.Call = func(ctx context.Context, c *Call) (any, error) {
		in, err := arguments[In](c)
		if err != nil {
			return nil, err
		}
		return call(ctx, in)
	}
	return f
}

// StreamFunc returns a streamable function from a Go iterator. Out is the type of the result in the done chunk. A call that
// does not ask for a stream gets that result alone.
func StreamFunc[In, Out any](name, version string, stream func(ctx context.Context, in In) iter.Seq2[Chunk, error]) Function {
	f := describe[In, Out](name, version)
	f.Stream = func(ctx context.Context, c *Call) iter.Seq2[Chunk, error] {
		in, err := arguments[In](c)
		if err != nil {
			return func(yield func(Chunk, error) bool) { yield(Chunk{}, err) }
		}
		return stream(ctx, in)
	}
	return f
}

func describe[In, Out any](name, version string) Function {
	f := Function{Name: name, Version: version}
	var err1, err2 error
	f.Arguments, err1 = schemaOf(reflect.TypeFor[In]())
	f.Returns, err2 = schemaOf(reflect.TypeFor[Out]())
	if k := reflect.TypeFor[In]().Kind(); k != reflect.Struct && k != reflect.Map && k != reflect.Interface {
		err1 = fmt.Errorf("arguments are an object, and %v is neither a struct nor a map", reflect.TypeFor[In]())
	}
	f.err = errors.Join(err1, err2)
	return f
}

// arguments decodes the arguments of a call. The schema has accepted them, so an error is one that the schema cannot
// express, such as a number out of range or one that UnmarshalJSON found.
func arguments[In any](c *Call) (In, error) {
	var in In
	dec := json.NewDecoder(bytes.NewReader(c.Arguments))
	err := dec.Decode(&in)
	if err == nil {
		return in, nil
	}
	if coded, ok := errors.AsType[*CallError](err); ok {
		return in, coded
	}
	at := "/call/arguments"
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			at = pointer(at, strings.Split(wrong.Field, ".")...)
		}
		return in, Errorf(InvalidArguments, "the value does not fit").At(at).With(map[string]any{"expected": wrong.Type.Kind().String(), "received": wrong.Value})
	}
	return in, Errorf(InvalidArguments, "the arguments cannot be decoded").At(at)
}

// Disabled returns the reply of a function that is switched off. Use it in Function.Unavailable or Function.Prepare.
func Disabled(function, reason string) *CallError {
	return Errorf(FunctionDisabled, "the function is disabled").With(map[string]any{"function": function, "reason": reason})
}

// Maintenance returns the reply of a function in maintenance until a time. Use it in Function.Unavailable.
func Maintenance(function, reason string, until time.Time) *CallError {
	left := max(time.Until(until), time.Second).Round(time.Second)
	e := Errorf(FunctionMaintenance, "the function is in maintenance").With(map[string]any{
		"function": function, "reason": reason, "until": until.UTC().Format(time.RFC3339), "retry_after": seconds(left),
	})
	e.RetryAfter = left
	return e
}

// MaintenanceOfServer returns the reply of a server in maintenance until a time. Use it in Options.Unavailable.
func MaintenanceOfServer(reason string, until time.Time) *CallError {
	left := max(time.Until(until), time.Second).Round(time.Second)
	e := Errorf(ServerMaintenance, "the server is in maintenance").With(map[string]any{
		"reason": reason, "until": until.UTC().Format(time.RFC3339), "retry_after": seconds(left),
	})
	e.RetryAfter = left
	return e
}

// Duration is a length of time on the wire.
type Duration struct {
	Value int64  `json:"value" required:"true"`
	Unit  string `json:"unit" required:"true" enum:"millisecond,second,minute,hour,day"`
}

func millis(d time.Duration) Duration { return Duration{d.Milliseconds(), "millisecond"} }
func seconds(d time.Duration) Duration {
	return Duration{int64((d + time.Second - 1) / time.Second), "second"}
}

// allows reports whether calls of the function may use an extension.
func (f *Function) allows(urn string) bool {
	urn = canonicalURN(urn)
	for _, u := range f.Excluded {
		if canonicalURN(u) == urn {
			return false
		}
	}
	for _, u := range f.Supported {
		if canonicalURN(u) == urn {
			return true
		}
	}
	return len(f.Supported) == 0
}

// retired reports whether the version has passed its sunset.
func (f *Function) retired(now time.Time) bool {
	return f.Deprecated != nil && !f.Deprecated.Sunset.IsZero() && !now.Before(f.Deprecated.Sunset)
}

// check reports what is wrong with the declaration of a function, other than its schemas.
func (f *Function) check(system bool) error {
	switch {
	case f.err != nil:
		return f.err
	case f.Name == "" || !validText(f.Name):
		return errors.New("the name is empty or not UTF-8")
	case reserved(f.Name) && !system:
		return errors.New("the name is reserved for the protocol")
	case !validVersion(f.Version):
		return fmt.Errorf("version %q is not a complete semantic version", f.Version)
	case f.Call == nil && f.Stream == nil:
		return errors.New("neither Call nor Stream is set")
	case len(f.Supported) > 0 && len(f.Excluded) > 0:
		return errors.New("both Supported and Excluded are set")
	}
	for _, u := range append(append([]string{}, f.Supported...), f.Excluded...) {
		if !validURN(u) {
			return fmt.Errorf("%q is not the URN of an extension", u)
		}
	}
	for _, effect := range f.SideEffects {
		if effect != "create" && effect != "update" && effect != "delete" {
			return fmt.Errorf("side effect %q is none of create, update and delete", effect)
		}
	}
	return nil
}
