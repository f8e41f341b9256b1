// Package sessions provides the routes of conversations: it creates, lists, changes, deletes and exports sessions, and reads and rates their
// messages. The routes that ask a question in a session are those of the protocols.
package sessions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sessions"
)

// Limits of requests.
const (
	maxPage   = 200      // sessions or messages of a page
	maxSearch = 1000     // bytes of a search
	maxBody   = 16 << 10 // bytes of a body
)

// Timeouts of requests that can take longer than others: an export, and the deletion of a session with its runs.
const (
	exportTime = 10 * time.Minute
	deleteTime = 2 * time.Minute
)

type (
	createRequest struct {
		ID    string `json:"session_id,omitempty" description:"At most 128 bytes without control characters. The default is made by the server."`
		Title string `json:"title,omitempty" description:"At most 300 bytes. The default is made from the first question."`
	}
	idParam struct {
		ID string `path:"id" description:"Id of the session."`
	}
	accountParam struct {
		Account string `query:"account" description:"Account of the session. The default is the account of the key."`
	}
	listParams struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
		After    string `query:"after" description:"Value of next of the previous page."`
		Query    string `query:"q" description:"Words. The list has the sessions with all of them in the title or in one message. The last one may be the beginning of a word."`
		Archived string `query:"archived" enum:"false,true,all" default:"false"`
		Account  string `query:"account" description:"Account of the sessions; * lists those of all accounts. The default is the account of the key."`
	}
	changeRequest struct {
		idParam
		Title    *string `json:"title,omitempty" description:"1 to 300 bytes."`
		Archived *bool   `json:"archived,omitempty"`
		Head     *string `json:"head,omitempty" description:"Id of an answer. Its branch becomes the active one."`
	}
	deleteParams struct {
		idParam
		accountParam
		Runs string `query:"runs" enum:"delete,keep" default:"delete" description:"What happens to the runs of the session."`
	}
	messagesParams struct {
		idParam
		accountParam
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
		Last   string `query:"last" description:"Id of the last message of a branch. The default is the head of the session."`
		Before string `query:"before" description:"Id of a message. The page ends before it."`
	}
	exportParams struct {
		idParam
		accountParam
		Format string `query:"format" enum:"markdown,json" default:"markdown" description:"markdown: the active branch. json: all branches."`
	}
	messageParams struct {
		idParam
		Message string `path:"message" description:"Id of an answer."`
	}
	rateRequest struct {
		messageParams
		Rating string `json:"rating" enum:"good,bad"`
		Reason string `json:"reason,omitempty" description:"At most 4,096 bytes."`
	}
)

// What a key needs.
const (
	needsAsk   = "Needs the scope ask. Sessions of other accounts are unknown."
	needsRead  = "Needs the scope ask for sessions of the key's account, or read for sessions of any account."
	needsWrite = "Needs the scope ask for sessions of the key's account, or write for sessions of any account."
)

// Routes returns the routes over the sessions of a tenant.
func Routes(service *session.Service) []server.Route {
	s := routes{service}
	const base = "/v1/rag/sessions"
	list := []server.Route{
		{Method: "POST", Path: base, Limited: true, Serve: s.create, Needs: needsAsk, Request: []any{createRequest{}}, Reply: sessions.Session{}, Status: http.StatusCreated,
			Faults: []int{400, 409, 413, 415, 507}, Summary: "Create a session"},
		{Method: "GET", Path: base, Serve: s.list, Needs: needsRead, Request: []any{listParams{}}, Reply: sessions.List{}, Faults: []int{400, 404},
			Summary: "List sessions, the last used one first"},
		{Method: "GET", Path: base + "/{id}", Serve: s.show, Needs: needsRead, Request: []any{idParam{}, accountParam{}}, Reply: sessions.Session{}, Faults: []int{404},
			Summary: "Show a session"},
		{Method: "PATCH", Path: base + "/{id}", Serve: s.change, Needs: needsAsk, Request: []any{changeRequest{}}, Reply: sessions.Session{}, Faults: []int{400, 404, 413, 415, 507},
			Summary: "Rename or archive a session, or select its active branch"},
		{Method: "DELETE", Path: base + "/{id}", Serve: s.remove, Needs: needsWrite, Timeout: deleteTime, Request: []any{deleteParams{}}, Status: http.StatusNoContent,
			Faults: []int{400, 404, 409, 507}, Summary: "Delete a session, and its runs"},
		{Method: "GET", Path: base + "/{id}/messages", Serve: s.messages, Needs: needsRead, Request: []any{messagesParams{}}, Reply: sessions.Messages{}, Faults: []int{400, 404},
			Summary: "List the newest messages of a branch, the oldest of them first"},
		{Method: "GET", Path: base + "/{id}/export", Serve: s.export, Needs: needsRead, Timeout: exportTime, Request: []any{exportParams{}}, Reply: Export{}, Text: "text/markdown", Faults: []int{400, 404},
			Summary: "Export a session as Markdown or JSON"},
		{Method: "PUT", Path: base + "/{id}/messages/{message}/feedback", Serve: s.rate, Needs: needsAsk, Request: []any{rateRequest{}}, Reply: sessions.Feedback{}, Faults: []int{400, 404, 413, 415, 507},
			Summary: "Rate an answer"},
		{Method: "DELETE", Path: base + "/{id}/messages/{message}/feedback", Serve: s.unrate, Needs: needsAsk, Request: []any{messageParams{}}, Status: http.StatusNoContent, Faults: []int{404, 507},
			Summary: "Remove the rating of an answer"},
	}
	for i := range list {
		list[i].Scope, list[i].Fault, list[i].MaxBody = server.AnyKey, failing, maxBody
	}
	return list
}

type routes struct{ sessions *session.Service }

// errUnknown is the error for a session that does not exist and for one of another account, so that a caller cannot tell them apart.
var errUnknown = fault.New(fault.NotFound, "no such session")

// account returns the account whose sessions a request uses. The account of the key needs [auth.Ask] or the scope others. Another one, in the
// parameter account, needs the scope others; if that is empty, no key has it. A request without an identity comes from a server without
// authentication: see [server.Route].
func account(r *http.Request, others auth.Scope) (string, error) {
	who, checked := auth.From(r.Context())
	name := who.Account
	if q := r.URL.Query(); q.Has("account") {
		name = q.Get("account")
	}
	switch {
	case name == who.Account && (!checked || who.Permits(auth.Ask) || others != "" && who.Permits(others)),
		name != who.Account && others != "" && (!checked || who.Permits(others)):
		return name, nil
	case name != who.Account && who.Permits(auth.Ask):
		return "", errUnknown
	}
	needs := []auth.Scope{auth.Ask}
	if others != "" {
		needs = append(needs, others)
	}
	return "", lacks(needs...)
}

func lacks(scopes ...auth.Scope) error {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return &fault.Error{Code: fault.Forbidden, Field: "scope", Message: "this key lacks the scope " + strings.Join(names, " or ")}
}

func (s routes) create(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, "")
	if err != nil {
		return err
	}
	var body createRequest
	if r.ContentLength != 0 {
		if err := server.DecodeJSON(r, &body); err != nil {
			return err
		}
	}
	made, err := s.sessions.Create(r.Context(), who, body.ID, body.Title)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/rag/sessions/"+url.PathEscape(made.ID))
	server.ReplyJSON(w, http.StatusCreated, sessionOf(made))
	return nil
}

func (s routes) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	var f session.Filter
	if q.Get("account") != "*" {
		who, err := account(r, auth.Read)
		if err != nil {
			return err
		}
		f.Account = &who
	} else if who, checked := auth.From(r.Context()); checked && !who.Permits(auth.Read) {
		return lacks(auth.Read)
	}
	limit, err := server.IntParam(q, "limit", 50, 1, maxPage)
	if err != nil {
		return err
	}
	after, err := parseCursor(q.Get("after"))
	if err != nil {
		return err
	}
	if f.Words, err = search(q.Get("q")); err != nil {
		return err
	}
	archived, err := choice(q, "archived", "false", "true", "all")
	if err != nil {
		return err
	}
	if archived != "all" {
		f.Archived = new(archived == "true")
	}
	found, err := s.sessions.List(r.Context(), f, after, limit+1)
	if err != nil {
		return err
	}
	page := sessions.List{Sessions: []sessions.Session{}}
	for _, of := range found[:min(len(found), limit)] {
		page.Sessions = append(page.Sessions, sessionOf(of))
	}
	if len(found) > limit {
		page.Next = formatCursor(session.Cursor{UsedAt: found[limit-1].UsedAt, Key: found[limit-1].Key})
	}
	server.ReplyJSON(w, http.StatusOK, page)
	return nil
}

// search returns the words of a search; nil if it is empty.
func search(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if err := wire.CheckText("q", text, maxSearch); err != nil {
		return nil, err
	}
	var words []string
	for _, token := range lang.Words(text) {
		words = append(words, token.Text)
	}
	if len(words) == 0 {
		return nil, fault.Invalid("q", "want at least one word")
	}
	return words, nil
}

// formatCursor returns the opaque text of a place in a list.
func formatCursor(c session.Cursor) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", c.UsedAt.UnixMicro(), c.Key))
}

func parseCursor(text string) (session.Cursor, error) {
	if text == "" {
		return session.Cursor{}, nil
	}
	raw, _ := base64.RawURLEncoding.Strict().DecodeString(text[:min(len(text), 64)])
	at, key, _ := strings.Cut(string(raw), ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	if err == nil {
		var n int64
		if n, err = strconv.ParseInt(key, 10, 64); err == nil {
			c := session.Cursor{UsedAt: time.UnixMicro(micros).UTC(), Key: session.Key(n)}
			if formatCursor(c) == text {
				return c, nil
			}
		}
	}
	return session.Cursor{}, fault.Invalid("after", "want the value of next from the previous page")
}

// choice returns a parameter that has one of some values, or the first one if it is not set.
func choice(q url.Values, name string, values ...string) (string, error) {
	switch text := q.Get(name); {
	case text == "":
		return values[0], nil
	case slices.Contains(values, text):
		return text, nil
	}
	return "", fault.Invalid(name, "want %s", strings.Join(values, ", "))
}

func (s routes) show(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, auth.Read)
	if err != nil {
		return err
	}
	found, err := s.sessions.Session(r.Context(), who, r.PathValue("id"))
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, sessionOf(found))
	return nil
}

func (s routes) change(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, "")
	if err != nil {
		return err
	}
	var body changeRequest
	if err := server.DecodeJSON(r, &body); err != nil {
		return err
	}
	changed, err := s.sessions.Update(r.Context(), who, r.PathValue("id"), session.Change{Title: body.Title, Archived: body.Archived, Head: body.Head})
	if err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, sessionOf(changed))
	return nil
}

func (s routes) remove(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, auth.Write)
	if err != nil {
		return err
	}
	runs, err := choice(r.URL.Query(), "runs", "delete", "keep")
	if err != nil {
		return err
	}
	if err := s.sessions.Delete(r.Context(), who, r.PathValue("id"), runs == "keep"); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s routes) messages(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, auth.Read)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	limit, err := server.IntParam(q, "limit", 50, 1, maxPage)
	if err != nil {
		return err
	}
	last, before := q.Get("last"), q.Get("before")
	if last != "" && before != "" {
		return fault.Invalid("before", "not together with last")
	}
	skip := 0
	if before != "" {
		last, skip = before, 1
	}
	found, err := s.sessions.Branch(r.Context(), who, r.PathValue("id"), last, skip+limit+1)
	if errors.Is(err, session.ErrNoMessage) && last != "" {
		return &fault.Error{Code: fault.NotFound, Field: []string{"last", "before"}[skip], Message: "no such message in the session"}
	}
	if err != nil {
		return err
	}
	found = found[min(skip, len(found)):]
	page := sessions.Messages{Messages: []sessions.Message{}}
	if len(found) > limit {
		found = found[:limit]
		page.Next = found[limit-1].ID
	}
	for _, m := range slices.Backward(found) {
		page.Messages = append(page.Messages, messageOf(m))
	}
	server.ReplyJSON(w, http.StatusOK, page)
	return nil
}

func (s routes) rate(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, "")
	if err != nil {
		return err
	}
	var body rateRequest
	if err := server.DecodeJSON(r, &body); err != nil {
		return err
	}
	if body.Rating != sessions.Good && body.Rating != sessions.Bad {
		return fault.Invalid("rating", "want good or bad")
	}
	if err := wire.CheckText("reason", body.Reason, session.MaxReason); err != nil {
		return err
	}
	f := session.Feedback{Good: body.Rating == sessions.Good, Reason: body.Reason, At: time.Now()}
	if err := s.sessions.Rate(r.Context(), who, r.PathValue("id"), r.PathValue("message"), &f); err != nil {
		return err
	}
	server.ReplyJSON(w, http.StatusOK, feedbackOf(&f))
	return nil
}

func (s routes) unrate(w http.ResponseWriter, r *http.Request) error {
	who, err := account(r, "")
	if err != nil {
		return err
	}
	if err := s.sessions.Rate(r.Context(), who, r.PathValue("id"), r.PathValue("message"), nil); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
