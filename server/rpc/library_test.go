package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// library is the real program with documents, served over HTTP.
type library struct {
	testing.TB
	app *app.App
	url string
	as  func(r *http.Request) *http.Request // sets the identity of requests
}

func newLibrary(t testing.TB, change func(*config.Config)) *library {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	if change != nil {
		change(&cfg)
	}
	a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, a.OpenFiles(t.Context()))
	s, err := a.Server("test")
	require.NoError(t, err)
	l := &library{TB: t, app: a, as: func(r *http.Request) *http.Request { return r }}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Handler().ServeHTTP(w, l.as(r)) }))
	l.url = web.URL + "/forrst"
	t.Cleanup(func() {
		web.Close()
		require.NoError(t, a.Close())
	})
	return l
}

// folder ingests a document of a folder into a collection.
func (l *library) folder(collection, uri, text string) {
	l.Helper()
	_, err := l.app.Ingester.IngestDocuments(l.Context(), collection, []ingest.Source{{URI: uri, Name: uri, Data: []byte(text)}}, nil)
	require.NoError(l, err)
}

type object = map[string]any

// post sends a call. Extensions are pairs of a name and options.
func (l *library) post(ctx context.Context, function string, arguments any, extensions ...any) *http.Response {
	l.Helper()
	doc := object{"protocol": object{"name": "forrst", "version": "0.1.0"}, "id": "r1", "call": object{"function": function, "arguments": arguments}}
	var asked []object
	for i := 0; i < len(extensions); i += 2 {
		asked = append(asked, object{"urn": "urn:forrst:ext:" + extensions[i].(string), "options": extensions[i+1]})
	}
	if asked != nil {
		doc["extensions"] = asked
	}
	body, err := json.Marshal(doc)
	require.NoError(l, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	require.NoError(l, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(l, err)
	return res
}

// call returns the result of a call, which must succeed.
func (l *library) call(function string, arguments any, extensions ...any) object {
	l.Helper()
	status, doc := l.document(function, arguments, extensions...)
	result, _ := doc["result"].(object)
	if status != http.StatusOK || result == nil {
		l.Fatalf("%s: status %d: %v", function, status, doc)
	}
	return result
}

// document returns the response document of a call.
func (l *library) document(function string, arguments any, extensions ...any) (status int, doc object) {
	l.Helper()
	res := l.post(l.Context(), function, arguments, extensions...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(l, err)
	if err := json.Unmarshal(raw, &doc); err != nil {
		l.Fatalf("%v: %.300s", err, raw)
	}
	return res.StatusCode, doc
}

// refused checks the code of the first error of a call and the place in the request, and returns the error.
func (l *library) refused(code, pointer, function string, arguments any, extensions ...any) object {
	l.Helper()
	_, doc := l.document(function, arguments, extensions...)
	errs, _ := doc["errors"].([]any)
	if len(errs) == 0 {
		l.Errorf("%s: no error: %.300v", function, doc)
		return nil
	}
	e := errs[0].(object)
	at := ""
	if source, ok := e["source"].(object); ok {
		at, _ = source["pointer"].(string)
	}
	if e["code"] != code || at != pointer {
		l.Errorf("%s: %v at %q, want %s at %q: %v", function, e["code"], at, code, pointer, e["message"])
	}
	return e
}

// event is a server-sent event.
type event struct {
	name string
	data object
}

var streaming = []any{"stream", object{"accept": true}}

// stream calls a function and reads its events until the end, or until keep returns false.
func (l *library) stream(ctx context.Context, function string, arguments any, keep func(event) bool, extensions ...any) (events []event) {
	l.Helper()
	res := l.post(ctx, function, arguments, append(append([]any{}, streaming...), extensions...)...)
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		l.Fatalf("%s: %s: %s", function, kind, text)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	var e event
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			e = event{name: name}
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.NoError(l, json.Unmarshal([]byte(data), &e.data))
			events = append(events, e)
			if keep != nil && !keep(e) {
				return events
			}
		}
	}
	return events
}

// last returns the last event of a kind.
func last(t testing.TB, events []event, name string) object {
	t.Helper()
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].name == name {
			return events[i].data
		}
	}
	t.Fatalf("no event %s in %v", name, events)
	return nil
}

// add ingests a text and returns the id of its document.
func (l *library) add(name, text string, more object) string {
	l.Helper()
	arguments := object{"name": name, "content": text}
	maps.Copy(arguments, more)
	return l.call("documents.ingest", arguments)["document"].(object)["id"].(string)
}

// ids returns the ids in a list of documents.
func ids(list any) []string {
	out := []string{}
	for _, d := range list.([]any) {
		out = append(out, d.(object)["id"].(string))
	}
	return out
}

// texts returns the texts of passages.
func texts(list any) []string {
	out := []string{}
	for _, p := range list.([]any) {
		out = append(out, p.(object)["text"].(string))
	}
	return out
}

// with lets requests have a key with some scopes.
func (l *library) with(scopes ...auth.Scope) {
	l.as = func(r *http.Request) *http.Request {
		return r.WithContext(auth.With(r.Context(), auth.Identity{Tenant: auth.DefaultTenant, Account: "ada", Key: "k1", Scopes: scopes}))
	}
}

// book returns a PDF with two pages.
func book(t testing.TB) []byte {
	t.Helper()
	f := fpdf.New("P", "mm", "A4", "")
	f.SetTitle("The book of salt", true)
	f.SetFont("Helvetica", "", 12)
	for _, text := range []string{"Salt is won from the sea in shallow ponds.", "The harvest of salt begins in August, when the ponds are dry."} {
		f.AddPage()
		f.MultiCell(0, 6, text, "", "L", false)
	}
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	return b.Bytes()
}

const (
	gold = "# Gold\n\nGold settles behind the riffles of a sluice box because it is heavier than gravel.\n"
	tide = "# Tides\n\nThe tide rises twice a day, as the moon draws the sea.\n"
	moss = "# Moss\n\nMosses have spores and no seeds.\n"
)

// addBytes ingests a file and returns the id of its document.
func (l *library) addBytes(name string, data []byte) string {
	l.Helper()
	return l.call("documents.ingest", object{"name": name, "content_base64": data})["document"].(object)["id"].(string)
}
