package admin

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
)

// Tenants manages all tenants of a server. It is safe for concurrent use.
type Tenants interface {
	// List describes at most limit tenants after a name, the default one first and the others by name. It reports whether there are more.
	List(ctx context.Context, after string, limit int) (tenants []Tenant, more bool, err error)
	// Get describes a tenant. Errors: [fault.NotFound].
	Get(ctx context.Context, name string) (Tenant, error)
	// Create adds the first key of a tenant that does not exist. The text of the key cannot be found out later. Errors: [fault.Conflict].
	Create(ctx context.Context, first auth.Key, at time.Time) (text string, added auth.Key, err error)
	// Delete revokes the keys of a tenant and deletes all its data. Errors: [fault.NotFound], [fault.Conflict] for the default tenant, and if ctx ends
	// before the requests of the tenant do.
	Delete(ctx context.Context, name string) error
}

type (
	// Tenant is a tenant of the server.
	Tenant struct {
		Name    string    `json:"tenant"`
		Created time.Time `json:"created,omitzero" description:"When its folder or its first key was made, if that is known."`
		Used    time.Time `json:"used,omitzero" description:"When one of its keys was used last, to the minute."`
		Keys    int       `json:"keys" description:"Valid keys."`
		Bytes   int64     `json:"bytes" description:"Size of its files."`
		Open    bool      `json:"open" description:"The server has its data open."`
		Live    int       `json:"live_runs" description:"Questions that are being answered."`
		Own     bool      `json:"own,omitempty" description:"The sender belongs to it, so it cannot be deleted."`
	}
	// TenantList is a page of tenants.
	TenantList struct {
		Tenants []Tenant `json:"tenants"`
		Next    string   `json:"next,omitempty" description:"Value of the parameter after for the next page."`
	}
	// TenantRequest is a tenant to be created, with its first key.
	TenantRequest struct {
		Name    string       `json:"tenant" required:"true" description:"1 to 64 lower-case letters, digits and dashes that begin with a letter or digit."`
		Account string       `json:"account,omitempty" description:"Account of the first key. The default is owner."`
		Scopes  []auth.Scope `json:"scopes,omitempty" enum:"ask,read,write,admin" description:"What the first key permits. The default is admin."`
		Expires string       `json:"expires,omitempty" format:"date-time" description:"When the first key ends. The default is never."`
	}
	tenantsParams struct {
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		After string `query:"after" description:"Name of a tenant. The list continues after it."`
	}
	tenantParams struct {
		Name string `path:"name" description:"Name of the tenant."`
	}
	deleteTenantParams struct {
		tenantParams
		Confirm string `query:"confirm" required:"true" description:"The name again, because all data of the tenant is deleted."`
	}
)

// requestsWait is how long a deletion waits for the requests of a tenant.
const requestsWait = 15 * time.Second

func (s routes) tenantRoutes() []server.Route {
	return []server.Route{
		{Method: "GET", Path: server.TenantsPath, Serve: s.tenants, Request: []any{tenantsParams{}}, Reply: TenantList{}, Faults: []int{400}, Summary: "List all tenants"},
		{Method: "POST", Path: server.TenantsPath, Serve: s.createTenant, MaxBody: maxBody, Request: []any{TenantRequest{}}, Reply: Secret{}, Status: http.StatusCreated, Faults: []int{400, 409, 413, 415, 507}, Summary: "Create a tenant with its first key"},
		{Method: "GET", Path: server.TenantsPath + "/{name}", Serve: s.tenant, Request: []any{tenantParams{}}, Reply: Tenant{}, Faults: []int{400, 404}, Summary: "Show a tenant"},
		{Method: "DELETE", Path: server.TenantsPath + "/{name}", Serve: s.deleteTenant, Request: []any{deleteTenantParams{}}, Status: http.StatusNoContent, Faults: []int{400, 404, 409, 503, 507}, Summary: "Revoke the keys of a tenant and delete all its data"},
	}
}

func (s routes) tenants(w http.ResponseWriter, r *http.Request) error {
	limit, err := server.IntParam(r.URL.Query(), "limit", 100, 1, maxRows)
	if err != nil {
		return err
	}
	list, more, err := s.Tenants.List(r.Context(), r.URL.Query().Get("after"), limit)
	if err != nil {
		return err
	}
	out := TenantList{Tenants: append([]Tenant{}, list...)}
	for i := range list {
		out.Tenants[i].Own = list[i].Name == sender(r).Tenant
	}
	if more {
		out.Next = list[len(list)-1].Name
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (s routes) tenant(w http.ResponseWriter, r *http.Request) error {
	one, err := s.Tenants.Get(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	one.Own = one.Name == sender(r).Tenant
	server.ReplyJSON(w, http.StatusOK, one)
	return nil
}

func (s routes) createTenant(w http.ResponseWriter, r *http.Request) error {
	body := TenantRequest{Account: auth.Owner, Scopes: []auth.Scope{auth.Admin}}
	if err := server.DecodeJSON(r, &body); err != nil {
		return err
	}
	if sender(r).Key == "" { // the first key of another tenant would close the server for the sender
		return fault.New(fault.Conflict, "this server needs no key yet: add a key with the scopes admin and tenants first")
	}
	k := auth.Key{Tenant: body.Name, Account: body.Account, Name: "first key", Scopes: body.Scopes}
	if slices.Contains(body.Scopes, auth.Tenants) {
		return fault.Invalid("scopes", "want ask, read, write or admin; the first key of a tenant cannot manage all tenants")
	}
	var err error
	if k.Expires, err = parseExpires(body.Expires); err != nil {
		return err
	}
	text, added, err := s.Tenants.Create(r.Context(), k, s.Now())
	if err != nil {
		return renamed(err)
	}
	replySecret(w, http.StatusCreated, Secret{added, text})
	return nil
}

func (s routes) deleteTenant(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if r.URL.Query().Get("confirm") != name {
		return fault.Invalid("confirm", "want the name of the tenant, because all its data is deleted")
	}
	if name == sender(r).Tenant {
		return &fault.Error{Code: fault.Conflict, Field: "tenant", Message: "tenant: you are logged in to this tenant, so you cannot delete it"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestsWait)
	defer cancel()
	if err := s.Tenants.Delete(ctx, name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
