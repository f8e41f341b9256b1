package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/store"
)

func TestIngest(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	l.with(auth.Read, auth.Write)
	pdf := book(t)
	events := l.stream(t.Context(), "documents.ingest", object{"name": "salt.pdf", "content_base64": pdf, "metadata": object{"year": 1849, "tags": []any{"<a>"}},
		"dublin_core": object{"dc_rights": "public domain"}}, nil)
	var names, messages []string
	percent := 0.0
	for _, e := range events {
		if e.name == "progress" {
			if now := e.data["current"].(float64); now < percent || e.data["total"] != 100.0 {
				t.Errorf("%v after %v", e.data, percent)
			} else {
				percent = now
			}
			messages = append(messages, e.data["message"].(string))
			continue
		}
		names = append(names, e.name)
	}
	if diff := cmp.Diff([]string{"data", "data", "done", "complete"}, names); diff != "" || percent != 100 || len(messages) == 0 || messages[len(messages)-1] != "the document can be found" {
		t.Errorf("%s, %v%%: %q", diff, percent, messages)
	}
	accepted, done := events[1].data, last(t, events, "done")
	d := done["document"].(object)
	if accepted["document_id"] != d["id"] || accepted["existed"] != false || done["existed"] != false {
		t.Errorf("%v and %v", accepted, done)
	}
	if d["status"] != "completed" || d["title"] != "The book of salt" || d["pages"] != 2.0 || d["media_type"] != "application/pdf" || d["bytes"] != float64(len(pdf)) || d["contributor"] != "ada" ||
		cmp.Diff(object{"year": 1849.0, "tags": []any{"<a>"}}, d["metadata"]) != "" || d["dublin_core"].(object)["dc_rights"] != "public domain" ||
		done["passage_count"].(float64) < 1 || len(done["warnings"].([]any)) != 0 || cmp.Diff([]any{"default"}, done["collections"]) != "" {
		t.Errorf("%v", done)
	}
	if got := l.call("documents.get", object{"id": d["id"]}); got["passage_count"] != done["passage_count"] {
		t.Errorf("%v", got)
	}
}

// TestIngestKinds ingests documents in several forms, and finds them.
func TestIngestKinds(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>Fetched</title><p>The meteor fell on Tuesday.</p>"))
	}))
	t.Cleanup(web.Close)
	l := newLibrary(t, func(c *config.Config) { c.Files.FetchAllow = []string{"127.0.0.0/8"} })
	for what, c := range map[string]struct {
		arguments object
		query     string
		name      string
		media     string
	}{
		"text":             {object{"name": "a.txt", "content": "The comet has a tail of ice."}, "comet", "a.txt", "text/plain"},
		"no extension":     {object{"name": "notes", "content": "The nebula is a cloud."}, "nebula", "notes", "text/plain"},
		"a media type":     {object{"name": "page", "content": "<html><title>P</title><p>The quasar is bright.</p>", "media_type": "text/html"}, "quasar", "page", "text/html"},
		"bytes":            {object{"name": "b.md", "content_base64": []byte("# B\n\nThe pulsar turns.\n")}, "pulsar", "b.md", "text/markdown"},
		"a URL":            {object{"url": web.URL + "/a/page.html?secret=1"}, "meteor", "page.html", "text/html"},
		"a path":           {object{"name": "../../etc/galaxy.md", "content": "The galaxy is a disk."}, "galaxy", "galaxy.md", "text/markdown"},
		"a Windows path":   {object{"name": `C:\x\planet.md`, "content": "The planet is round."}, "planet", "planet.md", "text/markdown"},
		"half a surrogate": {object{"name": "s.md", "content": "The asteroid \xed\xa0\x80 is a rock."}, "asteroid", "s.md", "text/markdown"},
	} {
		got := l.call("documents.ingest", c.arguments)["document"].(object)
		if got["name"] != c.name || !strings.HasPrefix(got["media_type"].(string), c.media) {
			t.Errorf("%s: %v", what, got)
		}
		found := l.call("rag.search", object{"query": c.query, "mode": "lexical"})["passages"].([]any)
		if len(found) == 0 || found[0].(object)["document_id"] != got["id"] {
			t.Errorf("%s: found %v", what, found)
		}
		if url, _ := got["url"].(string); strings.Contains(url, "secret") || (got["origin"] == "url") != (what == "a URL") {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// TestIngestRetry: a call with the key of one whose client has left adds no second document.
func TestIngestRetry(t *testing.T) {
	t.Parallel()
	fetched, send := make(chan struct{}, 2), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched <- struct{}{}
		<-send
		_, _ = w.Write([]byte("The meteor fell on Tuesday."))
	}))
	t.Cleanup(web.Close)
	l := newLibrary(t, func(c *config.Config) { c.Files.FetchAllow = []string{"127.0.0.0/8"} })
	l.with(auth.Read, auth.Write)
	arguments, key := object{"url": web.URL + "/meteor.txt", "skip_exists": false}, object{"key": "k-1"}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	body, err := json.Marshal(object{"protocol": object{"name": "forrst", "version": "0.1.0"}, "id": "r1", "call": object{"function": "documents.ingest", "arguments": arguments},
		"extensions": []object{{"urn": "urn:forrst:ext:idempotency", "options": key}}})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	go func() {
		_, err := http.DefaultClient.Do(req)
		left <- err
	}()
	<-fetched
	leave()
	if err := <-left; err == nil {
		t.Error("the client did not leave")
	}
	close(send)
	var first object
	for deadline := time.Now().Add(time.Minute); first == nil; {
		_, doc := l.document("documents.ingest", arguments, "idempotency", key)
		if first, _ = doc["result"].(object); first == nil && time.Now().After(deadline) {
			t.Fatal(doc)
		}
	}
	again := l.call("documents.ingest", arguments, "idempotency", key)
	if list := ids(l.call("documents.list", object{"collection": "files"})["documents"]); len(list) != 1 || list[0] != first["document"].(object)["id"] || again["document"].(object)["id"] != list[0] {
		t.Errorf("%v: %v, %v", list, first, again)
	}
	arguments["skip_exists"], key["key"] = true, "k-2"
	if l.call("documents.ingest", arguments, "idempotency", key)["existed"] != false {
		t.Error("a URL with another key is another document")
	}
}

func TestIngestRefuses(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, func(c *config.Config) { c.Parsing.MaxFileBytes = 100_000 })
	l.add("a.md", "first", object{"id": "taken"})
	l.folder("default", "tide.md", tide)
	inFolder := ids(l.call("documents.list", object{"filter": object{"type": "eq", "key": "filename", "value": "tide.md"}})["documents"])[0]
	text := func(more object) object {
		out := object{"name": "a.md", "content": "text"}
		maps.Copy(out, more)
		return out
	}
	for what, c := range map[string]struct {
		arguments     object
		code, pointer string
	}{
		"nothing":              {object{}, "INVALID_ARGUMENTS", "/content"},
		"no content":           {object{"name": "a.md"}, "INVALID_ARGUMENTS", "/content"},
		"two contents":         {text(object{"content_base64": "YQ=="}), "INVALID_ARGUMENTS", "/content"},
		"content and url":      {text(object{"url": "http://example.com"}), "INVALID_ARGUMENTS", "/content"},
		"empty":                {object{"name": "a.md", "content": ""}, "INVALID_ARGUMENTS", "/content"},
		"no name":              {object{"content": "text"}, "INVALID_ARGUMENTS", "/name"},
		"only folders":         {text(object{"name": "a/"}), "INVALID_ARGUMENTS", "/name"},
		"dots":                 {text(object{"name": ".."}), "INVALID_ARGUMENTS", "/name"},
		"NUL in the name":      {text(object{"name": "a\x00.md"}), "INVALID_ARGUMENTS", "/name"},
		"not base64":           {object{"name": "a.md", "content_base64": "a*b="}, "INVALID_ARGUMENTS", "/content_base64"},
		"cut base64":           {object{"name": "a.md", "content_base64": "YWJj\nYQ"}, "INVALID_ARGUMENTS", "/content_base64"},
		"too large":            {object{"name": "a.md", "content": strings.Repeat("a", 100_001)}, "INVALID_ARGUMENTS", "/content"},
		"too many bytes":       {object{"name": "a.md", "content_base64": make([]byte, 100_003)}, "INVALID_ARGUMENTS", "/content_base64"},
		"empty bytes":          {object{"name": "a.md", "content_base64": ""}, "INVALID_ARGUMENTS", "/content_base64"},
		"a bad id":             {text(object{"id": "../a"}), "INVALID_ARGUMENTS", "/id"},
		"another's id":         {text(object{"id": "taken"}), "CONFLICT", ""},
		"the id of a folder's": {text(object{"id": inFolder}), "CONFLICT", ""},
		"a bad collection":     {text(object{"collection": "a b"}), "INVALID_ARGUMENTS", "/collection"},
		"several collections":  {text(object{"collection": "a,b"}), "INVALID_ARGUMENTS", "/collection"},
		"a set":                {text(object{"collection": "files\x1fsa"}), "INVALID_ARGUMENTS", "/collection"},
		"large metadata":       {text(object{"metadata": object{"a": strings.Repeat("x", 70_000)}}), "INVALID_ARGUMENTS", "/metadata"},
		"a list as metadata":   {text(object{"metadata": []any{}}), "SCHEMA_VALIDATION_FAILED", "/metadata"},
		"a long title":         {text(object{"dublin_core": object{"dc_title": strings.Repeat("ö", 2000)}}), "INVALID_ARGUMENTS", "/dublin_core/dc_title"},
		"NUL in the title":     {text(object{"dublin_core": object{"dc_title": "a\x00"}}), "INVALID_ARGUMENTS", "/dublin_core/dc_title"},
		"a private URL":        {object{"url": "http://user@example.com/"}, "INVALID_ARGUMENTS", "/url"},
		"a file URL":           {object{"url": "file:///etc/passwd"}, "INVALID_ARGUMENTS", "/url"},
		"another name":         {text(object{"contents": "a"}), "SCHEMA_VALIDATION_FAILED", "/contents"},
	} {
		t.Log(what)
		pointer := ""
		if c.pointer != "" {
			pointer = "/call/arguments" + c.pointer
		}
		l.refused(c.code, pointer, "documents.ingest", c.arguments)
		l.refused(c.code, pointer, "documents.ingest", c.arguments, streaming...) // before the first byte of the stream
	}
	if got := ids(l.call("documents.list", object{"collection": "files"})["documents"]); cmp.Diff([]string{"taken"}, got) != "" {
		t.Errorf("refused documents are left: %v", got)
	}
	e := l.refused("INVALID_REQUEST", "", "documents.ingest", object{"name": "a.md", "content": strings.Repeat("a", 2<<20)})
	if message := e["message"].(string); !strings.Contains(message, "the body is larger than") {
		t.Error(message)
	}
}

// TestIngestFails ingests documents that cannot be read.
func TestIngestFails(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	for name, data := range map[string]string{"broken.pdf": "%PDF-1.4\nbroken", "program.exe": "MZ\x00\x01\x02\x00\x00", "blank.txt": " \n"} {
		e := l.refused("DOCUMENT_INGESTION_FAILED", "", "documents.ingest", object{"name": name, "content_base64": []byte(data)})
		id := e["details"].(object)["document_id"].(string)
		got := l.call("documents.get", object{"id": id})
		if got["status"] != "failed" || got["error"] != e["message"] || got["error"] == "" || len(got["passages"].([]any)) != 0 {
			t.Errorf("%s: %v, but %v", name, got, e)
		}
		events := l.stream(t.Context(), "documents.ingest", object{"name": name, "content_base64": []byte(data), "id": id}, nil)
		if got := last(t, events, "error"); got["code"] != "DOCUMENT_INGESTION_FAILED" || got["message"] != e["message"] {
			t.Errorf("%s again: %v", name, got)
		}
		l.call("documents.delete", object{"id": id})
	}
}

// TestIngestEqual ingests the same bytes several times, also at the same time.
func TestIngestEqual(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	found := make([]string, 6)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() { found[i] = l.add(fmt.Sprintf("%d.md", i), gold, object{"collection": fmt.Sprintf("c%d", i)}) })
	}
	all.Wait()
	for i, id := range found {
		if id != found[0] {
			t.Errorf("%v", found)
		}
		if got := ids(l.call("documents.list", object{"collection": fmt.Sprintf("c%d", i)})["documents"]); cmp.Diff([]string{id}, got) != "" {
			t.Errorf("collection %d: %v", i, got)
		}
	}
	again := l.call("documents.ingest", object{"name": "z.md", "content": gold, "metadata": object{"a": 1}})
	if d := again["document"].(object); again["existed"] != true || d["id"] != found[0] || len(d["metadata"].(object)) != 0 {
		t.Errorf("%v", again)
	}
	other := l.call("documents.ingest", object{"name": "z.md", "content": gold, "skip_exists": false})
	named := l.call("documents.ingest", object{"name": "z.md", "content": gold, "id": "mine"})
	if other["existed"] != false || other["document"].(object)["id"] == found[0] || named["existed"] != false || named["document"].(object)["id"] != "mine" {
		t.Errorf("%v and %v", other, named)
	}
	if again := l.call("documents.ingest", object{"name": "z.md", "content": gold, "id": "mine"}); again["existed"] != true {
		t.Errorf("%v", again)
	}
}

// embedder is a server of an embedding model that waits before it embeds a text with the word HOLD.
type embedder struct {
	*httptest.Server
	held  chan struct{} // receives a value for each request that waits
	letGo chan struct{} // closed: they go on
	fails bool          // then they fail
}

func newEmbedder(t *testing.T) *embedder {
	e := &embedder{held: make(chan struct{}, 100), letGo: make(chan struct{})}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if json.NewDecoder(r.Body).Decode(&in) != nil {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(strings.Join(in.Input, " "), "HOLD") {
			e.held <- struct{}{}
			select {
			case <-e.letGo:
			case <-r.Context().Done():
				return
			}
			if e.fails {
				http.Error(w, "no", http.StatusInternalServerError)
				return
			}
		}
		var out bytes.Buffer
		for i := range in.Input {
			fmt.Fprintf(&out, `%s{"index":%d,"embedding":[0.6,0.8]}`, map[bool]string{true: ","}[i > 0], i)
		}
		fmt.Fprintf(w, `{"data":[%s],"model":"m"}`, &out)
	}))
	t.Cleanup(e.Close)
	return e
}

// use lets a program use the server.
func (e *embedder) use(c *config.Config) { c.Models.EmbedURL, c.Models.EmbedName = e.URL, "m" }

const held = "# Held\n\nHOLD this text until the test goes on.\n"

// state returns the status of a document, which may not exist.
func (l *library) state(id string) store.Status {
	l.Helper()
	f, err := l.app.Files().File(l.Context(), id)
	if err != nil {
		return "none"
	}
	return f.Status
}

// cancel cancels the call that has a token.
func (l *library) cancel(token string) {
	l.Helper()
	l.call("urn:forrst:ext:cancellation:fn:cancel", object{"token": token})
}

func TestIngestCancelled(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	l := newLibrary(t, e.use)
	arguments := object{"name": "held.md", "content": held, "id": "held"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.refused("CANCELLED", "", "documents.ingest", arguments, "cancellation", object{"token": "t1"})
	}()
	<-e.held
	l.cancel("t1")
	<-done
	l.gone("held")

	arguments["id"] = "streamed" // the id may still be in use by the deletion
	cancelled := sync.OnceFunc(func() { l.cancel("t2") })
	events := l.stream(t.Context(), "documents.ingest", arguments, func(ev event) bool {
		if ev.data["message"] == "embedding the passages" {
			cancelled()
		}
		return true
	}, "cancellation", object{"token": "t2"})
	if got := last(t, events, "error"); got["code"] != "CANCELLED" {
		t.Errorf("%v", got)
	}
	l.gone("streamed")
	close(e.letGo)
}

// TestIngestOfExistingCancelled cancels a call that waits for a document of another call: it stays.
func TestIngestOfExistingCancelled(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	l := newLibrary(t, e.use)
	first := l.stream(t.Context(), "documents.ingest", object{"name": "a.md", "content": held}, func(ev event) bool { return ev.data["document_id"] == nil })
	id := last(t, first, "data")["document_id"].(string)
	<-e.held
	second := l.stream(t.Context(), "documents.ingest", object{"name": "b.md", "content": held}, func(ev event) bool {
		if ev.data["document_id"] != nil {
			l.cancel("t")
		}
		return true
	}, "cancellation", object{"token": "t"})
	if got := second[1].data; got["document_id"] != id || got["existed"] != true {
		t.Errorf("%v", got)
	}
	if got := last(t, second, "error"); got["code"] != "CANCELLED" {
		t.Errorf("%v", got)
	}
	close(e.letGo)
	if task, err := l.app.Files().WaitTask(t.Context(), "upload-"+id); err != nil || task.Status != store.Completed {
		t.Errorf("%v, %v", task, err)
	}
}

// gone waits until a document is deleted, which may be after the reply.
func (l *library) gone(id string) {
	l.Helper()
	ctx, stop := context.WithTimeout(l.Context(), 20*time.Second)
	defer stop()
	if task, err := l.app.Files().WaitTask(ctx, "upload-"+id); err != nil || task.Status != store.Cancelled || l.state(id) != "none" {
		l.Fatalf("%s: %v, %v", id, task, err)
	}
}

// TestIngestGoesOn ends calls without a cancellation: the ingestion goes on.
func TestIngestGoesOn(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	l := newLibrary(t, e.use)
	ctx, leave := context.WithCancel(t.Context())
	l.stream(ctx, "documents.ingest", object{"name": "a.md", "content": held + "a", "id": "left"}, func(ev event) bool {
		return ev.data["message"] != "embedding the passages"
	})
	leave()
	l.refused("DEADLINE_EXCEEDED", "", "documents.ingest", object{"name": "b.md", "content": held + "b", "id": "late"}, "deadline", object{"value": 300, "unit": "millisecond"})
	close(e.letGo)
	for _, id := range []string{"left", "late"} {
		if task, err := l.app.Files().WaitTask(t.Context(), "upload-"+id); err != nil || task.Status != store.Completed {
			t.Errorf("%s: %v, %v", id, task, err)
		}
	}
}

// TestIngestDeleted deletes a document while it is ingested.
func TestIngestDeleted(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	l := newLibrary(t, e.use)
	deleted := false
	events := l.stream(t.Context(), "documents.ingest", object{"name": "a.md", "content": held, "id": "a"}, func(ev event) bool {
		if ev.data["message"] == "embedding the passages" && !deleted {
			deleted = true
			if got := l.call("documents.get", object{"id": "a"}); got["status"] != "processing" || got["progress"].(float64) < 0.3 {
				t.Errorf("%v", got)
			}
			l.call("documents.delete", object{"id": "a"})
		}
		return true
	})
	if got := last(t, events, "error"); got["code"] != "GONE" {
		t.Errorf("%v", got)
	}
}

// TestIngestWithoutVectors ingests a document while the embedding model fails.
func TestIngestWithoutVectors(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	e.fails = true
	close(e.letGo)
	l := newLibrary(t, e.use)
	got := l.call("documents.ingest", object{"name": "a.md", "content": held})
	if warnings := got["warnings"].([]any); len(warnings) != 1 || !strings.Contains(warnings[0].(string), "embedding model failed") {
		t.Errorf("%v", got)
	}
}
