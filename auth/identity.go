// Package auth defines who sends a request: the tenant and the account of a key, and what the key permits.
package auth

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// Scope is a permission of a key.
type Scope string

// The scopes. Each permits only its own requests, except that Admin includes Ask, Read and Write.
const (
	Ask   Scope = "ask"   // ask questions; read, resume and cancel the runs of one's account
	Read  Scope = "read"  // read all runs, documents, files and stored responses of the tenant
	Write Scope = "write" // add, change and delete documents, files, vector stores, runs
	Admin Scope = "admin" // everything in the tenant: what the other scopes permit, metrics, and the accounts of others
	// Tenants permits to list, create and delete all tenants of the server. No other scope includes it, so an administrator of a tenant lacks it.
	Tenants Scope = "tenants"
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Ask, Read, Write, Admin, Tenants} }

// DefaultTenant is the tenant of a server without keys. Its data is in the data folder itself.
const DefaultTenant = "default"

// Owner is the account of the server's operator: of requests to a server without keys, and of documents from indexed folders.
const Owner = "owner"

// Identity is who sends a request.
type Identity struct {
	Tenant  string
	Account string
	Key     string // public id of the key; empty without keys
	Scopes  []Scope
	// Collections are those that questions may search; empty: all. An identity with collections can only ask: see [Identity.Limited].
	Collections []string
}

// Local returns the identity of requests to a server without keys.
func Local() Identity {
	return Identity{Tenant: DefaultTenant, Account: Owner, Scopes: Scopes()}
}

// Permits reports whether the identity has the scope.
func (i Identity) Permits(s Scope) bool {
	return slices.Contains(i.Scopes, s) || s != Tenants && slices.Contains(i.Scopes, Admin)
}

// CheckGrant returns an error unless the identity has all of the scopes: only then may it add, rotate or revoke a key that has them.
func (i Identity) CheckGrant(scopes []Scope) error {
	for _, s := range scopes {
		if !i.Permits(s) {
			return &fault.Error{Code: fault.Forbidden, Field: "scopes", Message: "scopes: only a sender with the scope " + string(s) + " may add or change a key that has it"}
		}
	}
	return nil
}

// Limited reports whether the identity may only ask questions about some collections, as the key of a public web page does.
func (i Identity) Limited() bool { return len(i.Collections) > 0 }

// CheckCollection returns an error unless the identity may search all collections and documents of a scope in its text form: see [corpus.ParseScope].
func (i Identity) CheckCollection(scope string) error {
	if !i.Limited() {
		return nil
	}
	s, err := corpus.ParseScope(scope)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(s.String(), ",") {
		if !slices.Contains(i.Collections, name) {
			return &fault.Error{Code: fault.Forbidden, Field: "collection", Message: "this key does not permit questions about this collection"}
		}
	}
	return nil
}

type contextKey struct{}

// With returns a context that carries the identity.
func With(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, contextKey{}, i)
}

// From returns the identity of a context.
func From(ctx context.Context) (i Identity, ok bool) {
	i, ok = ctx.Value(contextKey{}).(Identity)
	return i, ok
}

// checkKey is the key of the function of [WithCheck] in a context.
type checkKey struct{}

// WithCheck returns a context for [Check].
func WithCheck(ctx context.Context, check func(context.Context) error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Check authenticates the request of a context again, for replies that last. It returns an error with the code [fault.Unauthenticated] if the key of the
// request has ended, or the login. Without a key, it returns nil.
func Check(ctx context.Context) error {
	if check, ok := ctx.Value(checkKey{}).(func(context.Context) error); ok {
		return check(ctx)
	}
	return nil
}
