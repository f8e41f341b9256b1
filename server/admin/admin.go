// Package admin provides the routes for the administrators of a tenant: its keys, its accounts and its prices. They need the scope admin, and show
// nothing of another tenant. The routes of all tenants need the scope tenants.
package admin

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/server"
)

// Options are what the routes show.
type Options struct {
	Keys    auth.Manager // nil: there are no routes of keys
	Tenants Tenants      // nil: there are no routes of tenants
	Book    ledger.Book
	Prices  ledger.PriceList
	Percent int // of a fee that contributors earn
	// Evaluations returns the newest evaluations, the newest first.
	Evaluations func() ([]summary.Evaluation, error)
	Now         func() time.Time // default: time.Now
}

const (
	maxBody    = 16 << 10
	maxRows    = 1000                // of a list
	maxOverlap = 30 * 24 * time.Hour // in which the old secret of a rotated key is valid
)

type (
	keyParams struct {
		ID string `path:"id" description:"Public id of the key."`
	}
	rotateRequest struct {
		keyParams
		Overlap int64 `json:"overlap_seconds,omitempty" minimum:"0" maximum:"2592000" description:"How long the old secret stays valid. The default is 0."`
	}
	accountsParams struct {
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		After string `query:"after" description:"Name of an account. The list continues after it."`
	}
	// KeyRequest is a key to be added.
	KeyRequest struct {
		Account     string       `json:"account,omitempty" description:"Account that asks and pays. The default is that of the sender. A key with collections needs another one."`
		Name        string       `json:"name,omitempty" description:"What the key is for."`
		Scopes      []auth.Scope `json:"scopes" required:"true" enum:"ask,read,write,admin,tenants" description:"What the key permits. The sender needs these scopes."`
		Expires     string       `json:"expires,omitempty" format:"date-time" description:"When the key ends. The default is never."`
		Rate        string       `json:"rate,omitempty" description:"Limit of requests, such as 60/m."`
		Quota       string       `json:"quota,omitempty" description:"Limit of questions, such as 1000/day."`
		Origins     []string     `json:"origins,omitempty" description:"Origins of web pages on other hosts that may use the key."`
		Collections []string     `json:"collections,omitempty" description:"Collections that questions with the key may search, for a key that can be public. The default is all."`
	}
)

type (
	// KeyList is the keys of the tenant, the oldest first, without their secrets.
	KeyList struct {
		Keys []auth.Key `json:"keys"`
	}
	// Secret is the reply to a new or rotated key. The text cannot be shown again.
	Secret struct {
		auth.Key
		Text string `json:"key" description:"The key as it is sent by clients. It is shown only once."`
	}
	// Account is an account in the list. Amounts are decimal texts, in credits.
	Account struct {
		ID        string `json:"account"`
		Balance   string `json:"balance"`
		Held      string `json:"held" description:"Part of the balance that runs in progress may cost."`
		Available string `json:"available"`
	}
	// AccountList is a page of accounts.
	AccountList struct {
		Accounts []Account `json:"accounts"`
		Next     string    `json:"next,omitempty" description:"Value of the parameter after for the next page."`
	}
	// EvaluationList is the newest evaluations, the newest first.
	EvaluationList struct {
		Evaluations []summary.Evaluation `json:"evaluations"`
	}
	// PriceList is what answers cost.
	PriceList struct {
		Prices  []Price `json:"prices" description:"Empty: answers are free."`
		Percent int     `json:"distributed_percent" description:"Share of a fee that the contributors of the documents earn."`
	}
	// Price is the price of a model. Amounts are decimal texts, in credits.
	Price struct {
		Name   string `json:"name" description:"Name of the model, in which * stands for any text; or default, cached or byok."`
		Base   string `json:"base" description:"For an answer."`
		Second string `json:"second" description:"For a second."`
		Input  string `json:"input" description:"For a million input tokens."`
		Output string `json:"output" description:"For a million output tokens."`
	}
)

// Routes returns the routes.
func Routes(o Options) []server.Route {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := routes{o}
	list := []server.Route{
		{Method: "GET", Path: "/api/admin/accounts", Serve: s.accounts, Request: []any{accountsParams{}}, Reply: AccountList{}, Faults: []int{400}, Summary: "List the accounts with their balances"},
		{Method: "GET", Path: "/api/admin/prices", Serve: s.prices, Reply: PriceList{}, Summary: "Show what answers cost"},
		{Method: "GET", Path: "/api/admin/evaluations", Serve: s.evaluations, Reply: EvaluationList{}, Summary: "List the results of evaluations"},
	}
	if o.Keys != nil {
		const base = "/api/admin/keys"
		list = append(list,
			server.Route{Method: "GET", Path: base, Serve: s.keys, Reply: KeyList{}, Summary: "List the keys of the tenant"},
			server.Route{Method: "POST", Path: base, Serve: s.add, MaxBody: maxBody, Request: []any{KeyRequest{}}, Reply: Secret{}, Status: http.StatusCreated, Faults: []int{400, 413, 415, 507}, Summary: "Add a key"},
			server.Route{Method: "POST", Path: base + "/{id}/rotate", Serve: s.rotate, MaxBody: maxBody, Request: []any{rotateRequest{}}, Reply: Secret{}, Faults: []int{400, 404, 413, 415, 507}, Summary: "Give a key a new secret"},
			server.Route{Method: "DELETE", Path: base + "/{id}", Serve: s.revoke, Request: []any{keyParams{}}, Status: http.StatusNoContent, Faults: []int{404, 507}, Summary: "End a key and its logins for ever"},
		)
	}
	for i := range list {
		list[i].Scope = auth.Admin
	}
	if o.Tenants != nil {
		for _, rt := range s.tenantRoutes() {
			rt.Scope = auth.Tenants
			list = append(list, rt)
		}
	}
	return list
}

type routes struct{ Options }

// sender returns who sends a request.
func sender(r *http.Request) auth.Identity {
	who, ok := auth.From(r.Context())
	if !ok {
		who = auth.Local()
	}
	return who
}

func (s routes) keys(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Keys.List(r.Context())
	if err != nil {
		return err
	}
	out := KeyList{Keys: []auth.Key{}}
	for _, k := range all {
		if k.Tenant == sender(r).Tenant {
			out.Keys = append(out.Keys, k)
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

func (s routes) add(w http.ResponseWriter, r *http.Request) error {
	var body KeyRequest
	if err := server.DecodeJSON(r, &body); err != nil {
		return err
	}
	who := sender(r)
	if err := who.CheckGrant(body.Scopes); err != nil {
		return err
	}
	k := auth.Key{Tenant: who.Tenant, Account: body.Account, Name: body.Name, Scopes: body.Scopes, Origins: body.Origins, Collections: body.Collections}
	if len(k.Collections) > 0 && (k.Account == "" || k.Account == who.Account) { // everybody may have the key, and continue the sessions of its account
		return fault.Invalid("account", "want an account of its own for a key with collections")
	}
	if k.Account == "" {
		k.Account = who.Account
	}
	var err error
	if k.Expires, err = parseExpires(body.Expires); err != nil {
		return err
	}
	if body.Rate != "" {
		if k.Rate, err = auth.ParseRate(body.Rate); err != nil {
			return err
		}
	}
	if body.Quota != "" {
		if k.Quota, err = auth.ParseQuota(body.Quota); err != nil {
			return err
		}
	}
	text, added, err := auth.Create(r.Context(), s.Keys, k, s.Now())
	if err != nil {
		return renamed(err)
	}
	replySecret(w, http.StatusCreated, Secret{added, text})
	return nil
}

// parseExpires parses the time at which a key ends. An empty text is the zero time: never.
func parseExpires(text string) (at time.Time, err error) {
	if text != "" {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			err = fault.Invalid("expires", "want a time such as 2030-01-31T12:00:00Z")
		}
	}
	return at, err
}

// renamed returns an error of a key with the name of its field in the request. Package auth names them as the flags of the command.
func renamed(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && (f.Field == "scope" || f.Field == "origin") {
		return fault.Invalid(f.Field+"s", "%s", strings.TrimPrefix(f.Message, f.Field+": "))
	}
	return err
}

func (s routes) rotate(w http.ResponseWriter, r *http.Request) error {
	var body rotateRequest
	if r.ContentLength != 0 {
		if err := server.DecodeJSON(r, &body); err != nil {
			return err
		}
	}
	overlap := time.Duration(body.Overlap) * time.Second
	if body.Overlap < 0 || body.Overlap > int64(maxOverlap/time.Second) {
		return fault.Invalid("overlap_seconds", "want 0 to %d", int64(maxOverlap/time.Second))
	}
	k, err := s.find(r)
	if err != nil {
		return err
	}
	text, err := auth.Rotate(r.Context(), s.Keys, k.ID, s.Now(), overlap)
	if err != nil {
		return unknown(err)
	}
	replySecret(w, http.StatusOK, Secret{k, text})
	return nil
}

func (s routes) revoke(w http.ResponseWriter, r *http.Request) error {
	k, err := s.find(r)
	if err != nil {
		return err
	}
	if err := s.Keys.Revoke(r.Context(), k.ID, s.Now()); err != nil {
		return unknown(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// errUnknown is the error for a key that does not exist and for one of another tenant, so that a caller cannot tell them apart.
var errUnknown = fault.New(fault.NotFound, "no such key")

func unknown(err error) error {
	if errors.Is(err, auth.ErrNotFound) {
		return errUnknown
	}
	return err
}

// find returns a key of the tenant by the id in the path. A key that permits more than the sender may is refused: the new secret of a rotation would
// give the sender its scopes.
func (s routes) find(r *http.Request) (auth.Key, error) {
	all, err := s.Keys.List(r.Context())
	if err != nil {
		return auth.Key{}, err
	}
	for _, k := range all {
		if k.ID == r.PathValue("id") && k.Tenant == sender(r).Tenant {
			return k, sender(r).CheckGrant(k.Scopes)
		}
	}
	return auth.Key{}, errUnknown
}

// replySecret replies with the text of a key, which no cache may keep.
func replySecret(w http.ResponseWriter, status int, secret Secret) {
	w.Header().Set("Cache-Control", "no-store")
	server.ReplyJSON(w, status, secret)
}

func (s routes) accounts(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit, err := server.IntParam(query, "limit", 100, 1, maxRows)
	if err != nil {
		return err
	}
	all, err := s.Book.Accounts(r.Context(), query.Get("after"), limit+1)
	if err != nil {
		return err
	}
	page := AccountList{Accounts: []Account{}}
	for _, a := range all[:min(limit, len(all))] {
		page.Accounts = append(page.Accounts, Account{a.ID, ledger.FormatCredits(a.Balance), ledger.FormatCredits(a.Held), ledger.FormatCredits(a.Available())})
	}
	if len(all) > limit {
		page.Next = all[limit-1].ID
	}
	server.ReplyJSON(w, http.StatusOK, page)
	return nil
}

func (s routes) evaluations(w http.ResponseWriter, _ *http.Request) error {
	list, err := s.Evaluations()
	if err != nil {
		return err
	}
	if list == nil {
		list = []summary.Evaluation{}
	}
	server.ReplyJSON(w, http.StatusOK, EvaluationList{list})
	return nil
}

func (s routes) prices(w http.ResponseWriter, _ *http.Request) error {
	out := PriceList{Prices: []Price{}, Percent: s.Percent}
	for _, p := range s.Prices {
		out.Prices = append(out.Prices, Price{p.Name, ledger.FormatCredits(p.Base), ledger.FormatCredits(p.Second), ledger.FormatCredits(p.Input), ledger.FormatCredits(p.Output)})
	}
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}
