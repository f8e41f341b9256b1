// Package accounts provides the routes that show accounts of the ledger: balances, statements and usage.
package accounts

import (
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ledger"
	"github.com/sluice-rag/sluice/server"
)

// Account is an account in a reply. Amounts are decimal texts, since a JSON number is a binary fraction in many programs.
type Account struct {
	ID        string `json:"account"`
	Balance   string `json:"balance" description:"Credits, as a decimal with at most 6 decimals."`
	Held      string `json:"held" description:"Part of the balance that runs in progress may cost."`
	Available string `json:"available" description:"The balance without what is held."`
}

// Statement is a page of entries of an account, the newest first.
type Statement struct {
	Account string  `json:"account"`
	Entries []Entry `json:"entries"`
	Next    string  `json:"next,omitempty" description:"Value of the parameter before for the next page."`
}

// Entry is an entry of an account.
type Entry struct {
	Transfer string      `json:"transfer" description:"Id of the transfer."`
	Time     time.Time   `json:"time"`
	Kind     ledger.Kind `json:"kind" enum:"credit,transfer,hold,charge,void,refund"`
	RunID    event.RunID `json:"run_id,omitempty"`
	Amount   string      `json:"amount" description:"Credits added to the balance; below zero if the account paid."`
	Held     string      `json:"held" description:"Credits added to what is held."`
	Balance  string      `json:"balance" description:"After the entry."`
	Note     string      `json:"note,omitempty"`
}

// UsageList is a usage report.
type UsageList struct {
	Usage []Usage `json:"usage"`
}

// Usage is a row of a usage report. Day, model and collection are set if the report is grouped by them.
type Usage struct {
	Day          string `json:"day,omitempty" description:"In UTC."`
	Model        string `json:"model,omitempty"`
	Collection   string `json:"collection,omitempty"`
	Runs         int64  `json:"runs"`
	Cached       int64  `json:"cached_runs" description:"Part of runs that was answered from the cache."`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	DurationMS   int64  `json:"duration_ms"`
	Fee          string `json:"fee" description:"Credits that the account paid."`
	Distributed  string `json:"distributed" description:"Part of the fee that contributors earned."`
}

type (
	accountParams struct {
		ID string `path:"id" description:"Name of the account."`
	}
	statementParams struct {
		accountParams
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Before string `query:"before" description:"Cursor. The list continues after it."`
		Format string `query:"format" enum:"json,csv" description:"The default is what Accept prefers, or else json."`
	}
	usageParams struct {
		From    string `query:"from" description:"First day, such as 2026-01-31 in UTC, or a time of RFC 3339."`
		To      string `query:"to" description:"First day or time after the report."`
		By      string `query:"by" description:"What to group by: day, model and collection, separated by commas."`
		Account string `query:"account" description:"Account that paid. The default is that of the key; for a key with the scope admin, all accounts."`
	}
)

// maxPage is the greatest number of entries of a page.
const maxPage = 1000

// Routes returns the routes over the ledger of a tenant. The context of a request must have an [auth.Identity].
func Routes(b ledger.Book) []server.Route {
	s := routes{b}
	return []server.Route{
		{Method: "GET", Path: "/api/accounts/{id}", Scope: server.AnyKey, Serve: s.account, Request: []any{accountParams{}}, Reply: Account{}, Faults: []int{404},
			Summary: "Show the balance of an account"},
		{Method: "GET", Path: "/api/accounts/{id}/statement", Scope: server.AnyKey, Serve: s.statement, Request: []any{statementParams{}}, Reply: Statement{},
			Faults: []int{400, 404}, Summary: "List the entries of an account, newest first, as JSON or CSV"},
		{Method: "GET", Path: "/api/usage", Scope: server.AnyKey, Serve: s.usage, Request: []any{usageParams{}}, Reply: UsageList{}, Faults: []int{400, 404},
			Summary: "Sum runs, tokens and fees by day, model and collection"},
	}
}

type routes struct{ book ledger.Book }

// errUnknown is the error for an account that does not exist and for one of somebody else, so that a caller cannot tell them apart.
var errUnknown = fault.New(fault.NotFound, "no such account")

// permitted returns errUnknown unless the caller may see the account. It does not look the account up, so it takes the same time for any name.
func permitted(r *http.Request, account string) (auth.Identity, error) {
	id, ok := auth.From(r.Context())
	if !ok || account != id.Account && !id.Permits(auth.Admin) {
		return id, errUnknown
	}
	return id, nil
}

// load returns an account that the caller may see. Its own account exists before its first entry.
func (s routes) load(r *http.Request) (ledger.Account, error) {
	id := r.PathValue("id")
	caller, err := permitted(r, id)
	if err != nil {
		return ledger.Account{}, err
	}
	a, err := s.book.Account(r.Context(), id)
	if errors.Is(err, ledger.ErrNotFound) {
		if id == caller.Account {
			return ledger.Account{ID: id}, nil
		}
		return a, errUnknown
	}
	return a, err
}

func (s routes) account(w http.ResponseWriter, r *http.Request) error {
	a, err := s.load(r)
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, Account{a.ID, ledger.FormatCredits(a.Balance), ledger.FormatCredits(a.Held), ledger.FormatCredits(a.Available())})
	return nil
}

func (s routes) statement(w http.ResponseWriter, r *http.Request) error {
	a, err := s.load(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	limit, err := server.IntParam(query, "limit", 100, 1, maxPage)
	if err != nil {
		return err
	}
	before, err := server.IntParam[int64](query, "before", 0, 1, 1<<62)
	if err != nil {
		return err
	}
	asCSV, err := wantsCSV(r)
	if err != nil {
		return err
	}
	entries, err := s.book.Statement(r.Context(), a.ID, ledger.Cursor{Transfer: before}, limit+1)
	if err != nil {
		return err
	}
	page := Statement{Account: a.ID, Entries: []Entry{}}
	for _, e := range entries[:min(len(entries), limit)] {
		page.Entries = append(page.Entries, Entry{e.ID, e.At, e.Kind, e.Run, ledger.FormatCredits(e.Amount), ledger.FormatCredits(e.Held),
			ledger.FormatCredits(e.Balance), e.Note})
	}
	if len(entries) > limit {
		page.Next = strconv.FormatInt(entries[limit-1].Transfer, 10)
	}
	if asCSV {
		return replyCSV(w, r, page)
	}
	server.ReplyJSON(w, http.StatusOK, page)
	return nil
}

// replyCSV writes a page as CSV. A header links the next page (RFC 8288).
func replyCSV(w http.ResponseWriter, r *http.Request, page Statement) error {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="statement.csv"`)
	h.Set("Cache-Control", "no-store")
	if page.Next != "" {
		q := r.URL.Query()
		q.Set("before", page.Next)
		h.Set("Link", "<"+(&url.URL{Path: r.URL.Path, RawQuery: q.Encode()}).String()+`>; rel="next"`)
	}
	rows := [][]string{{"transfer", "time", "kind", "run_id", "amount", "held", "balance", "note"}}
	for _, e := range page.Entries {
		rows = append(rows, []string{e.Transfer, e.Time.Format(time.RFC3339Nano), string(e.Kind), ledger.CSVText(string(e.RunID)), e.Amount, e.Held, e.Balance, ledger.CSVText(e.Note)})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// wantsCSV reports whether the reply is to be CSV.
func wantsCSV(r *http.Request) (bool, error) {
	switch format := r.URL.Query().Get("format"); format {
	case "csv", "json":
		return format == "csv", nil
	case "":
		return strings.Contains(r.Header.Get("Accept"), "text/csv"), nil
	}
	return false, fault.Invalid("format", "want json or csv")
}

func (s routes) usage(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q := ledger.UsageQuery{Account: query.Get("account")}
	if id, _ := auth.From(r.Context()); q.Account == "" && !id.Permits(auth.Admin) {
		q.Account = id.Account
	}
	id, err := permitted(r, q.Account)
	if err != nil {
		return err
	}
	if q.From, err = moment(query, "from"); err != nil {
		return err
	}
	if q.To, err = moment(query, "to"); err != nil {
		return err
	}
	if query.Get("by") != "" {
		for name := range strings.SplitSeq(query.Get("by"), ",") {
			q.By = append(q.By, ledger.Group(strings.TrimSpace(name)))
		}
	}
	if slices.ContainsFunc(q.By, func(g ledger.Group) bool { return g != ledger.ByDay && g != ledger.ByModel && g != ledger.ByCollection }) {
		return fault.Invalid("by", "want day, model and collection, separated by commas")
	}
	if q.Account != "" && q.Account != id.Account {
		if _, err := s.book.Account(r.Context(), q.Account); errors.Is(err, ledger.ErrNotFound) {
			return errUnknown
		}
	}
	rows, err := s.book.Usage(r.Context(), q)
	if err != nil {
		return err
	}
	list := UsageList{Usage: []Usage{}}
	for _, u := range rows {
		list.Usage = append(list.Usage, Usage{u.Day, u.Model, u.Collection, u.Runs, u.Cached, u.Input, u.Output, u.Duration.Milliseconds(),
			ledger.FormatCredits(u.Fee), ledger.FormatCredits(u.Distributed)})
	}
	server.ReplyJSON(w, http.StatusOK, list)
	return nil
}

// moment returns a parameter that is a day or a time, or the zero time if it is not set.
func moment(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1970 && t.Year() < 9999 {
			return t, nil
		}
	}
	return time.Time{}, fault.Invalid(name, "want a day such as 2026-01-31 or a time of RFC 3339")
}
