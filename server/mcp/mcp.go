// Package mcp serves the functions of package rpc as tools of the Model Context Protocol, and documents as its resources, over streamable HTTP at
// /mcp. The official Go SDK implements the protocol; a tool is a call of a Forrst function, so keys, quotas and runs are the same.
package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/rpc"
)

// Path is the path of the routes.
const Path = "/mcp"

// Name is the name of the protocol in the logs of runs.
const Name = "mcp"

// Limits.
const (
	maxBody     = 1 << 20 // bytes of a message
	maxSessions = 1000
	maxOfSender = maxSessions / 4 // of one account, or without keys of one address
	bodyIdle    = 30 * time.Second
	streamTime  = time.Hour // of one request; clients open a stream again
	idleTime    = 30 * time.Minute
	resumeTime  = time.Minute     // default of Options.Grace
	checkTime   = 2 * time.Second // between two checks of the key of a request that is open
)

// Options configure the tools.
type Options struct {
	Version string
	// Grace is how long a call goes on while its session has no open request; default 1 min, negative: to its end.
	Grace time.Duration
}

// Server serves the tools. It is safe for concurrent use.
type Server struct {
	calls    *rpc.Server
	sdk      *mcp.Server
	http     http.Handler
	presence presence

	mu      sync.Mutex
	openers map[string]string // who opened a session, by its id; sessions that have ended are dropped later
}

// New returns a server of the functions.
func New(calls *rpc.Server, o Options) *Server {
	if o.Grace == 0 {
		o.Grace = resumeTime
	}
	s := &Server{calls: calls, presence: presence{grace: o.Grace, sessions: map[string]*present{}}, openers: map[string]string{}}
	s.sdk = mcp.NewServer(&mcp.Implementation{Name: "sluice", Title: "Sluice", Version: o.Version}, &mcp.ServerOptions{
		Instructions: "Answers questions from the documents of this server, with citations. ask answers a question; search finds passages; list_documents and read_document show the documents.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }}) // what a key may read
	s.addTools()
	s.addResources()
	s.sdk.AddReceivingMiddleware(s.noteOpener)
	// The server in front checks the names of hosts and the origins.
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{EventStore: newReplay(maxReplay, maxSessionReplay), SessionTimeout: idleTime,
		DisableLocalhostProtection: true, MaxRequestBodyBytes: maxBody})
	s.http = sdkauth.RequireBearerToken(identify, &sdkauth.RequireBearerTokenOptions{AllowMissingExpiration: true})(handler)
	return s
}

// Routes returns the routes of the protocol.
func (s *Server) Routes() []server.Route {
	route := server.Route{Path: Path, Serve: s.serve, Scope: server.AnyKey, Limited: true, MaxBody: maxBody + 1, BodyIdle: bodyIdle, Timeout: streamTime,
		Needs: "Needs the scope ask or read, depending on the tool.", Faults: []int{400, 401, 403, 404, 413, 415, 429, 503}, Fault: FaultOf}
	post, get, end := route, route, route
	post.Method, post.Summary, post.Events = http.MethodPost, "Send a message of the Model Context Protocol", events
	post.Request = []any{message{}}
	get.Method, get.Summary, get.Events = http.MethodGet, "Open or resume a stream of a session of the Model Context Protocol", events
	end.Method, end.Summary, end.Status = http.MethodDelete, "End a session of the Model Context Protocol", http.StatusNoContent
	return []server.Route{post, get, end}
}

// message is a JSON-RPC message, for the OpenAPI document.
type message struct {
	JSONRPC string         `json:"jsonrpc" required:"true" enum:"2.0"`
	ID      any            `json:"id,omitempty" description:"A string or a number. Notifications have none."`
	Method  string         `json:"method,omitempty" description:"Responses have none."`
	Params  map[string]any `json:"params,omitempty"`
}

// sender is who sends a request. The context has the identity of the sender; it outlives the request.
type sender struct {
	context context.Context
	caller  engine.Caller
}

// senderKey is the key of the sender in [sdkauth.TokenInfo].
const senderKey = "sender"

const headerSession = "Mcp-Session-Id"

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	id := r.Header.Get(headerSession)
	if id == "" && r.Method == http.MethodPost {
		if err := s.room(server.RunCaller(r, Name).Client); err != nil {
			return err
		}
	}
	if id != "" {
		defer s.presence.enter(id)()
	}
	ctx, leave := context.WithCancel(r.Context())
	defer leave()
	defer watch(ctx, leave)()
	// The SDK passes who sends a request to tools only as the result of a check of a bearer token. The real check was done before.
	r = r.Clone(ctx)
	r.Header.Set("Authorization", "Bearer checked")
	sent := &bytes.Buffer{}
	r.Body = readCloser{io.TeeReader(r.Body, sent), r.Body}
	reply := &refusing{ResponseWriter: w}
	s.http.ServeHTTP(reply, r)
	reply.finish(sent.Bytes())
	return nil
}

// watch calls leave when the key of a request has ended. The caller calls stop at the end of the request.
func watch(ctx context.Context, leave func()) (stop func()) {
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	work.Go(func() {
		ticker := time.NewTicker(checkTime)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// A failure of the store of keys ends no stream.
			if fault.CodeOf(auth.Check(ctx)) == fault.Unauthenticated {
				leave()
				return
			}
		}
	})
	return func() { cancel(); work.Wait() }
}

// room returns an error if a sender may not open one more session. One sender cannot take all sessions of the server.
func (s *Server) room(client string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, own := 0, 0
	openers := map[string]string{}
	for open := range s.sdk.Sessions() {
		all++
		if by, ok := s.openers[open.ID()]; ok {
			openers[open.ID()] = by
			if by == client {
				own++
			}
		}
	}
	s.openers = openers
	switch {
	case own >= maxOfSender:
		return fault.New(fault.Overloaded, "you have too many sessions of this protocol: end some, or try again later")
	case all >= maxSessions:
		return fault.New(fault.Overloaded, "the server has too many sessions of this protocol; try again later")
	}
	return nil
}

// noteOpener notes who opens a session.
func (s *Server) noteOpener(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "initialize" {
			if by, err := senderOf(req.GetExtra()); err == nil {
				s.mu.Lock()
				s.openers[req.GetSession().ID()] = by.caller.Client
				s.mu.Unlock()
			}
		}
		return next(ctx, method, req)
	}
}

// identify returns who sends a request. The SDK refuses requests for a session whose UserID is another one.
func identify(ctx context.Context, _ string, r *http.Request) (*sdkauth.TokenInfo, error) {
	info := &sdkauth.TokenInfo{Extra: map[string]any{senderKey: sender{context.WithoutCancel(ctx), server.RunCaller(r, Name)}}}
	if i, ok := auth.From(ctx); ok {
		info.UserID = fmt.Sprintf("%s/%q", i.Tenant, i.Account) // quoted, because names of accounts may have slashes
		if i.Limited() {
			info.UserID += "/" + i.Key
		}
	}
	return info, nil
}

// errSender is the error of a request that did not come through the routes.
var errSender = errors.New("the sender of the request is not known")

// senderOf returns who sent a request.
func senderOf(extra *mcp.RequestExtra) (sender, error) {
	if extra != nil && extra.TokenInfo != nil {
		if by, ok := extra.TokenInfo.Extra[senderKey].(sender); ok {
			return by, nil
		}
	}
	return sender{}, errSender
}
