// Package rpc serves the functions of Sluice over the Forrst protocol, at POST /forrst. Package forrst implements the protocol; this one has the
// functions, what a key needs for each of them, and the route.
package rpc

import (
	"cmp"
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/files/search"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/server"
	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
)

// Path is the path of the route.
const Path = "/forrst"

// Options configure the functions. A function whose part is nil is left out.
type Options struct {
	Engine *engine.Engine // answers questions
	Asker  *server.Asker  // required with Engine and with Chat
	// Chat returns a chat model by its name, and nil if there is none. The empty name is the default model.
	Chat       func(name string) model.Chat
	NoGenerate string          // why ai.generate is switched off; empty: it is not
	Limiter    *engine.Limiter // of runs, whose slots ai.generate takes too; required with Chat
	MaxTokens  int             // limit of the text of ai.generate; 0: that of the model
	Deadline   time.Duration   // of ai.generate; default 30 s. Runs have that of the engine
	Version    string          // of the program; default "devel"
	// Heartbeat, WriteTimeout and Logger are those of [forrst.Options].
	Heartbeat, WriteTimeout time.Duration
	Logger                  *slog.Logger

	// Keys, Operations and Attempts hold idempotency keys, asynchronous operations, and the runs of keys. Nil: memory, which a restart clears.
	Keys       forrst.IdempotencyStore
	Operations forrst.OperationStore
	Attempts   Attempts

	// Files and Index hold the documents. Index, Search and Rerank are needed if Files is set.
	Files *files.Service
	Index search.Index
	Scope string // what calls search and list that name no collection; default "default,files"
	// Search finds passages in a mode: [Hybrid], [Lexical] or [Semantic].
	Search func(ctx context.Context, mode string, q index.Query) ([]index.Hit, error)
	// Rerank returns scores by which the hits of a query are ordered, 0..1, the best highest. Nil: searches are not reranked.
	Rerank       func(ctx context.Context, collection, query string, hits []index.Hit) ([]float64, error)
	MaxFileBytes int64 // limit of a document; default 64 MiB. A call can have no more than 8 MiB
	MaxQuery     int   // limit of a question and of the query of a search in bytes; default 32 KiB

	// Parts returns the health of the parts of the server, whose names are PartNames; Models that of the models. Both may be nil.
	Parts     func(ctx context.Context) map[string]server.Part
	PartNames []string
	Models    func(ctx context.Context) server.Part
}

// Limits of a call.
const (
	maxFields = 1 << 20          // bytes of a request document without the bytes of a document
	bodyIdle  = 30 * time.Second // time in which more of it must arrive
	callTime  = time.Hour        // of one call; its work has limits of its own
)

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "devel")
	o.MaxFileBytes = cmp.Or(max(o.MaxFileBytes, 0), 64<<20)
	o.Scope = cmp.Or(o.Scope, corpus.Scope{Collections: []string{corpus.DefaultCollection, files.Collection}}.String())
	o.MaxQuery = cmp.Or(max(o.MaxQuery, 0), 32<<10)
	o.Deadline = cmp.Or(max(o.Deadline, 0), 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Attempts == nil {
		o.Attempts = newMemoryAttempts()
	}
	return o
}

// maxRequest returns the limit of a request document in bytes. A document in it is encoded in base64.
func (o Options) maxRequest() int64 {
	if o.Files == nil {
		return maxFields
	}
	return maxFields + int64(base64.StdEncoding.EncodedLen(int(min(o.MaxFileBytes, maxContent))))
}

// Server serves the functions. It is safe for concurrent use. Close it when done.
type Server struct {
	o      Options
	calls  *forrst.Server
	scopes map[string]auth.Scope // of the functions, by name
	byName map[string]forrst.Function
	active atomic.Int64 // calls whose functions may be running

	closing context.Context // ends when the server is closed
	stop    context.CancelFunc
}

// function is a function with the scope that a key needs for it.
type function struct {
	forrst.Function
	scope auth.Scope
}

// New returns a server of the functions.
func New(o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{o: o, scopes: map[string]auth.Scope{}, byName: map[string]forrst.Function{}}
	s.closing, s.stop = context.WithCancel(context.Background())
	var functions []forrst.Function
	for _, f := range slices.Concat(s.askFunctions(), s.generateFunctions(), (&documents{&o}).functions()) {
		s.scopes[f.Name] = f.scope
		f.Prepare = s.tracked(f.Prepare)
		s.byName[f.Name] = f.Function
		functions = append(functions, f.Function)
	}
	var err error
	extensions := []forrst.Extension{forrst.Tracing{}, forrst.Retry{}, forrst.Deadline{}, forrst.NewCancellation(nil), forrst.Stream{},
		forrst.NewIdempotency(o.Keys), forrst.NewAsync(forrst.AsyncOptions{Store: o.Operations})}
	s.calls, err = forrst.New(functions, forrst.Options{Extensions: extensions, Service: "sluice", Version: o.Version, Caller: account, Authorize: s.authorize,
		MaxRequest: o.maxRequest(), Checks: checks(o), Heartbeat: o.Heartbeat, WriteTimeout: o.WriteTimeout, Logger: o.Logger})
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// Routes returns the route of all functions.
func (s *Server) Routes() []server.Route {
	return []server.Route{{Method: http.MethodPost, Path: Path, Serve: s.serve, Stream: s.resume, Fault: func(f *fault.Error) any { return wireforrst.FaultOf(f) },
		Scope: server.AnyKey, Limited: true, Needs: "Needs the scope ask, read or write, depending on the function. The system functions need none.",
		MaxBody: s.o.maxRequest() + 1, BodyIdle: bodyIdle, Timeout: callTime, // a document that is too large has an error of package forrst
		Summary: "Call a function, with a stream if the call asks for one", Request: []any{wireforrst.Call{}, resumeParams{}}, Reply: wireforrst.Document{}, Events: wireforrst.API().Types.Events,
		Faults: []int{400, 404, 408, 409, 413, 415, 422, 429, 499, 500, 502, 503}}}
}

// Close ends the calls that are still running and waits for their functions until the context ends. Call it after the last request.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	return s.calls.Wait(ctx)
}

// Idle reports whether no function is running. A function may run without a request.
func (s *Server) Idle() bool { return s.active.Load() == 0 }

// resumeParams are the headers that resume the stream of a question, for the OpenAPI document.
type resumeParams struct {
	LastEventID string `header:"Last-Event-ID" description:"With Sluice-Run-Id: continue after this event."`
	RunID       string `header:"Sluice-Run-Id" description:"Run to resume, instead of a call. Only the id of the body is used."`
}

type callerKey struct{}

// callerOf returns the caller of a run. The context of a call has it also after the request has ended.
func callerOf(ctx context.Context) engine.Caller {
	c, _ := ctx.Value(callerKey{}).(engine.Caller)
	return c
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	caller := server.RunCaller(r, wireforrst.Name)
	s.calls.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	return nil
}

// Function returns the description of a function, or false if there is none with the name.
func (s *Server) Function(name string) (f forrst.Function, ok bool) {
	f, ok = s.byName[name]
	return f, ok
}

// Call answers a call that came in another protocol, with the checks of a call over HTTP. The context has the [auth.Identity] of the caller, if
// there is one. A call ends with the context; its run is cancelled if the cause is a [forrst.CallError] with the code [forrst.Cancelled].
func (s *Server) Call(ctx context.Context, caller engine.Caller, document []byte, w forrst.Writer) {
	s.calls.Serve(context.WithValue(ctx, callerKey{}, caller), forrst.Incoming{Body: document}, w)
}

// account returns who makes a call: callers can only cancel calls and read outcomes of their own account. A limited key must not read those of other
// keys of its account, which may be about other collections.
func account(ctx context.Context) string {
	switch i, _ := auth.From(ctx); {
	case i.Key == "":
		return ""
	case i.Limited():
		return i.Account + "\n" + i.Key // no name of an account has a new line
	default:
		return i.Account
	}
}

// system is the prefix of the functions that every key may call.
const system = "urn:forrst:fn:"

// ofOperations are the functions that need the id of an operation, which cannot be guessed: a public page may call them, but not
// list the operations of all its visitors.
var ofOperations = []string{"urn:forrst:ext:async:fn:status", "urn:forrst:ext:async:fn:cancel"}

// authorize refuses a call whose key lacks the scope of the function. Functions of extensions only reach calls of the same account.
func (s *Server) authorize(ctx context.Context, call *forrst.Call) error {
	i, ok := auth.From(ctx)
	if !ok || strings.HasPrefix(call.Function, system) { // without an identity, the program has no authentication, or its own
		return nil
	}
	if i.Limited() && call.Function != askFunction && !slices.Contains(ofOperations, call.Function) {
		return forrst.Errorf(forrst.Forbidden, "this key only permits questions about its collections")
	}
	allowed := []auth.Scope{auth.Admin}
	if scope, listed := s.scopes[call.Function]; listed {
		allowed = []auth.Scope{scope}
	} else if strings.HasPrefix(call.Function, "urn:forrst:ext:") {
		allowed = []auth.Scope{auth.Ask, auth.Read, auth.Write}
	}
	if slices.ContainsFunc(allowed, i.Permits) {
		return nil
	}
	return forrst.Errorf(forrst.Forbidden, "this key lacks the scope %s", allowed[0])
}

// prepare is the type of [forrst.Function.Prepare].
type prepare func(ctx context.Context, call *forrst.Call) (context.Context, error)

// tracked returns a preparation that also counts the call as active until it has ended, which it does when the server is closed.
func (s *Server) tracked(next prepare) prepare {
	return func(ctx context.Context, call *forrst.Call) (context.Context, error) {
		s.active.Add(1)
		ctx, cancel := context.WithCancelCause(ctx)
		stopping := forrst.Errorf(forrst.Unavailable, "the server is stopping")
		forget := context.AfterFunc(s.closing, func() { cancel(stopping) })
		context.AfterFunc(ctx, func() {
			forget()
			s.active.Add(-1)
		})
		if next == nil {
			return ctx, nil
		}
		prepared, err := next(ctx, call)
		if err != nil && s.closing.Err() != nil {
			err = stopping
		}
		return prepared, err
	}
}
