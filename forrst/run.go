package forrst

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
)

// newCall returns the call of a request. Its function is set later.
func newCall(req request, in Incoming) *Call {
	return &Call{ID: req.id, Function: req.function, Version: req.version, Arguments: req.arguments, Context: req.context,
		Received: in.Received, headers: in.Headers, asked: req.extensions}
}

// run validates a call and runs it.
func (s *Server) run(ctx context.Context, call *Call, req request) Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return s.guard(call, func() Outcome {
		if s.options.Caller != nil {
			call.Caller = s.options.Caller(ctx)
		}
		if errs := s.validate(ctx, call, req); len(errs) > 0 {
			call.refused = true
			return s.around(call, true, func(context.Context) Outcome { return Outcome{Errors: errs} })(ctx)
		}
		return s.around(call, false, func(ctx context.Context) Outcome {
			if e, ok := interruption(ctx); ok {
				return Failed(e)
			}
			if ctx.Err() != nil {
				return Outcome{Abandoned: true}
			}
			return s.start(ctx, call)
		})(ctx)
	})
}

// guard runs a part of a call. A panic of an extension or a hook becomes an error; functions have a recover of their own.
func (s *Server) guard(call *Call, part func() Outcome) (out Outcome) {
	defer func() {
		if recover() != nil {
			s.logPanic(call)
			out = Outcome{Errors: Errors{internal()}, Streamed: call.reply.begun}
		}
	}()
	return part()
}

// start prepares the function and runs it.
func (s *Server) start(ctx context.Context, call *Call) Outcome {
	ctx, stop := context.WithCancel(ctx) // of what Prepare has started
	defer stop()
	if prepare := call.function.Prepare; prepare != nil {
		prepared, err := prepare(ctx, call)
		switch {
		case err != nil && ctx.Err() != nil:
			return interrupted(ctx)
		case err != nil:
			return Outcome{Errors: s.public(ctx, call, err)}
		}
		ctx = prepared
	}
	if call.streaming != "" {
		return s.stream(ctx, call)
	}
	return s.call(ctx, call)
}

// validate resolves the function and collects all violations of a request.
func (s *Server) validate(ctx context.Context, call *Call, req request) Errors {
	errs := req.errs
	var f *registered
	if req.function != "" {
		var e *CallError
		if f, e = s.functions.resolve(req.function, req.version, call.Received); e != nil {
			errs = append(errs, e)
		}
	}
	if f != nil {
		call.function, call.Function, call.Version = &f.Function, f.Name, f.Version
		if refused := s.refusal(ctx, call, f); len(refused) > 0 {
			return refused
		}
	}
	errs = append(errs, s.checkExtensions(call)...)
	if f != nil && req.arguments != nil {
		errs = append(errs, violations(f.arguments, req.arguments, "/call/arguments")...)
	}
	return errs
}

// refusal returns why the function must not be called now, whatever the arguments are.
func (s *Server) refusal(ctx context.Context, call *Call, f *registered) Errors {
	if s.options.Authorize != nil {
		if err := s.options.Authorize(ctx, call); err != nil {
			errs, coded := public(err)
			if !coded {
				s.log().Error("authorization failed", "function", call.Function, "error", err)
			}
			return errs
		}
	}
	if s.options.Unavailable != nil && !f.system {
		if e := s.options.Unavailable(ctx); e != nil {
			return Errors{e}
		}
	}
	if f.Unavailable != nil {
		if e := f.Unavailable(ctx); e != nil {
			return Errors{e}
		}
	}
	return nil
}

// call runs the function once and returns its outcome, or that of an interruption if that comes first.
func (s *Server) call(ctx context.Context, call *Call) Outcome {
	done := make(chan Outcome, 1)
	ended := make(chan struct{})
	call.ended = ended
	s.running.Go(func() {
		out := Failed(internal()) // if the function panics or ends its goroutine
		defer func() {
			if recover() != nil {
				s.logPanic(call)
			}
			close(ended)
			done <- out
		}()
		out = s.invoke(ctx, call)
	})
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
		return interrupted(ctx)
	}
}

// interrupted returns the outcome of a call whose context has ended.
func interrupted(ctx context.Context) Outcome {
	if e, ok := interruption(ctx); ok {
		return Failed(e)
	}
	return Outcome{Abandoned: true}
}

func (s *Server) invoke(ctx context.Context, call *Call) Outcome {
	var result any
	var err error
	if f := call.function; f.Call != nil && (call.progress == nil || f.Stream == nil) {
		result, err = f.Call(ctx, call)
	} else {
		result, err = collect(ctx, call)
	}
	if err != nil {
		return Outcome{Errors: s.public(ctx, call, err)}
	}
	raw, err := encodeJSON(result)
	if err != nil {
		return Outcome{Errors: s.public(ctx, call, err)}
	}
	return Outcome{Result: raw}
}

// collect runs a streamable function without a stream.
func collect(ctx context.Context, call *Call) (any, error) {
	for chunk, err := range call.function.Stream(ctx, call) {
		switch {
		case err != nil:
			return nil, err
		case chunk.kind == kindError:
			return nil, chunk.err
		case chunk.kind == kindDone:
			return chunk.value, nil
		case chunk.kind == kindProgress && call.progress != nil:
			call.progress(chunk.current, chunk.total)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
	return json.RawMessage("null"), nil
}

// public returns what the client sees of an error of a function. An error that only reports the end of the context becomes
// the reason why it ended.
func (s *Server) public(ctx context.Context, call *Call, err error) Errors {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		if e, ok := interruption(ctx); ok {
			return Errors{e}
		}
	}
	errs, coded := public(err)
	if !coded {
		s.log().Error("function failed", "function", call.Function, "version", call.Version, "error", err)
	}
	return errs
}

// logPanic logs the stack of a panic without its value, which may hold anything.
func (s *Server) logPanic(call *Call) {
	s.log().Error("panic", "function", call.Function, "version", call.Version, "stack", string(debug.Stack()))
}
