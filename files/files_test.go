package files_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/store"
)

const ferns = "# Ferns\n\nFerns grow from spores, and have no seeds at all. The royal fern likes wet ground.\n"

func TestUpload(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	sum := md5.Sum([]byte(ferns))
	id := p.indexed(files.Upload{Name: `C:\docs\..\notes/ferns.md`, MD5: strings.ToUpper(hex.EncodeToString(sum[:])), MediaType: "text/markdown; charset=utf-8",
		Options: json.RawMessage(`{"graph":"enable"}`)}, ferns)
	f, err := p.File(t.Context(), id)
	p.must(err)
	if len(id) != 36 || f.Name != "ferns.md" || f.Purpose != "general" || f.Bytes != int64(len(ferns)) || f.MD5 != hex.EncodeToString(sum[:]) || f.MediaType != "text/markdown" ||
		f.Status != store.Completed || f.Failure != "" || f.CreatedAt.IsZero() || string(f.Options) != `{"graph":"enable"}` {
		t.Errorf("file %+v", f)
	}
	task, err := p.Task(t.Context(), "upload-"+id)
	p.must(err)
	if task.Progress != 100 || task.Tries != 1 || task.Type != "upload" {
		t.Errorf("task %+v", task)
	}
	p.finds("", "spores", id)
	body, _, err := p.Service.Open(t.Context(), id)
	p.must(err)
	raw, err := io.ReadAll(body)
	p.must(errors.Join(err, body.Close()))
	if string(raw) != ferns {
		t.Errorf("bytes %q", raw)
	}
	p.checkConsistent()

	p.must(p.DeleteFile(t.Context(), id))
	p.finds("", "spores")
	_, err = p.File(t.Context(), id)
	wantFault(t, "deleted", err, fault.NotFound, "")
	_, _, err = p.Service.Open(t.Context(), id)
	wantFault(t, "deleted", err, fault.NotFound, "")
	wantFault(t, "deleted twice", p.DeleteFile(t.Context(), id), fault.NotFound, "")
	p.checkConsistent()
}

func TestUploadRejects(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(_ *place, o *options) { o.MaxFileBytes = 1000 })
	boom := errors.New("boom")
	for what, c := range map[string]struct {
		u     files.Upload
		body  string
		code  fault.Code
		field string
	}{
		"nothing":        {files.Upload{}, "", fault.InvalidRequest, "file"},
		"empty":          {files.Upload{Body: strings.NewReader("")}, "", fault.InvalidRequest, "file"},
		"both":           {files.Upload{URL: "https://example.org/a"}, "text", fault.InvalidRequest, "file"},
		"no fetcher":     {files.Upload{URL: "https://example.org/a"}, "", fault.InvalidRequest, "url"},
		"large":          {files.Upload{}, strings.Repeat("a", 1001), fault.TooLarge, ""},
		"other bytes":    {files.Upload{MD5: strings.Repeat("0", 32)}, "text", fault.InvalidRequest, "md5"},
		"no md5":         {files.Upload{MD5: "xyz"}, "text", fault.InvalidRequest, "md5"},
		"id with dots":   {files.Upload{ID: "../x"}, "text", fault.InvalidRequest, "id"},
		"long id":        {files.Upload{ID: strings.Repeat("a", 65)}, "text", fault.InvalidRequest, "id"},
		"odd id":         {files.Upload{ID: "ä"}, "text", fault.InvalidRequest, "id"},
		"purpose":        {files.Upload{Purpose: "a\x00b"}, "text", fault.InvalidRequest, "purpose"},
		"options":        {files.Upload{Options: json.RawMessage(`["x"]`)}, "text", fault.InvalidRequest, "parse_options"},
		"null options":   {files.Upload{Options: json.RawMessage(`null`)}, "text", fault.InvalidRequest, "parse_options"},
		"large options":  {files.Upload{Options: json.RawMessage(`{"a":"` + strings.Repeat("a", 20_000) + `"}`)}, "text", fault.InvalidRequest, "parse_options"},
		"unknown stores": {files.Upload{Stores: []string{"no"}}, "text", fault.InvalidRequest, "vector_store_ids[0]"},
	} {
		if c.body != "" {
			c.u.Body = strings.NewReader(c.body)
		}
		_, _, err := p.Upload(t.Context(), c.u)
		wantFault(t, what, err, c.code, c.field)
	}
	if _, _, err := p.Upload(t.Context(), files.Upload{Body: io.MultiReader(strings.NewReader("a"), broken{boom})}); !errors.Is(err, boom) {
		t.Errorf("a body that breaks off: %v", err)
	}
	refusing := func(*files.Upload) error { return boom }
	if _, _, err := p.Upload(t.Context(), files.Upload{Body: strings.NewReader("a"), AfterBody: refusing}); !errors.Is(err, boom) {
		t.Errorf("a rejected rest: %v", err)
	}
	fs, err := p.Files(t.Context(), "", 10)
	p.must(err)
	if len(fs) != 0 {
		t.Errorf("files %v", fs)
	}
	p.checkConsistent()
}

type broken struct{ error }

func (b broken) Read([]byte) (int, error) { return 0, b.error }

func TestUploadAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.newStore("vs")
	first := p.indexed(files.Upload{ID: "file_abc"}, ferns)
	second := p.indexed(files.Upload{}, ferns)
	if first == second || len(p.blobs()) != 1 {
		t.Errorf("ids %s and %s, %d blobs", first, second, len(p.blobs()))
	}
	// A second upload returns the existing file with its task, and adds it to the given vector store.
	if again := p.send(files.Upload{ID: "file_abc", Stores: []string{"vs"}}, ferns); again != first {
		t.Errorf("again %s", again)
	}
	p.finds("vs", "spores", first)
	if skipped := p.send(files.Upload{ID: "other", SkipExists: true, AfterBody: func(u *files.Upload) error { u.Purpose = "qa"; return nil }}, ferns); skipped != first {
		t.Errorf("skipped returns %s", skipped)
	}
	if p.await(first, store.Completed).Progress != 100 {
		t.Error("the task of the existing file is not completed")
	}
	_, _, err := p.Upload(t.Context(), files.Upload{ID: "file_abc", Body: strings.NewReader("other")})
	wantFault(t, "other bytes", err, fault.Conflict, "")

	p.must(p.DeleteFile(t.Context(), first))
	p.finds("", "spores", second)
	if len(p.blobs()) != 1 {
		t.Error("the bytes of the second file are missing")
	}
	p.checkConsistent()
	p.must(p.DeleteFile(t.Context(), second))
	if len(p.blobs()) != 0 {
		t.Error("bytes of no file")
	}
	p.indexed(files.Upload{ID: "file_abc"}, "Mosses are no ferns.")
	p.finds("", "spores")
	p.checkConsistent()
}

// TestConcurrentUploadsOfTheSameBytes checks that several uploads whose bytes are complete at the same time create one file.
func TestConcurrentUploadsOfTheSameBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	const n = 12
	var come, all sync.WaitGroup
	come.Add(n)
	ids := make([]string, n)
	for i := range n {
		all.Go(func() {
			f, _, err := p.Upload(p.ctx(), files.Upload{Name: "a.md", Body: strings.NewReader(ferns), SkipExists: true, AfterBody: func(*files.Upload) error {
				come.Done()
				come.Wait()
				return nil
			}})
			if err != nil {
				t.Error(err)
			}
			ids[i] = f.ID
		})
	}
	all.Wait()
	if ids = slices.Compact(ids); len(ids) != 1 {
		t.Fatalf("files %v, want one", ids)
	}
	p.await(ids[0], store.Completed)
	p.checkConsistent()
}

func TestUploadFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.newStore("vs")
	id := p.send(files.Upload{Name: "a.pdf", ID: "bad", Stores: []string{"vs"}}, "\x00\x01 no document")
	task := p.await(id, store.Failed)
	f, err := p.File(t.Context(), id)
	p.must(err)
	if task.Failure == "" || f.Failure != task.Failure || strings.Contains(task.Failure, p.dir) {
		t.Errorf("failed with %q and %q", task.Failure, f.Failure)
	}
	p.counts("vs", 0, 0, 1)
	p.checkConsistent()
	if skipped := p.send(files.Upload{SkipExists: true}, "\x00\x01 no document"); skipped == id {
		t.Error("a failed file counts as existing")
	}
	p.must(p.DeleteFile(t.Context(), id))
	p.counts("vs", 0, 0, 0)
}

// TestUploadOfAFailedFile uploads a failed file again under its id. It is indexed again.
func TestUploadOfAFailedFile(t *testing.T) {
	t.Parallel()
	n := new(atomic.Int32)
	n.Store(2)
	p := newPlace(t, func(_ *place, o *options) { o.Ingest = flaky{o.Ingest, n} })
	p.newStore("vs")
	id := p.send(files.Upload{ID: "again", Stores: []string{"vs"}}, ferns)
	p.await(id, store.Failed)
	if again := p.indexed(files.Upload{ID: "again"}, ferns); again != id {
		t.Errorf("again %s", again)
	}
	p.counts("vs", 0, 1, 0)
	p.finds("vs", "spores", id)
	p.checkConsistent()
}

// panicky panics or blocks, as only a bug can.
type panicky struct{ files.Ingester }

func (i panicky) IngestFile(ctx context.Context, f ingest.File, progress func(ingest.Stage, float64)) (ingest.FileResult, error) {
	if f.ID == "panics" {
		panic("secret text")
	}
	return i.Ingester.IngestFile(ctx, f, progress)
}

func TestPanicFailsOnlyItsFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(_ *place, o *options) { o.Workers, o.Ingest = 1, panicky{o.Ingest} })
	bad := p.send(files.Upload{ID: "panics"}, "text")
	good := p.send(files.Upload{}, ferns)
	if task := p.await(bad, store.Failed); task.Failure == "" || strings.Contains(task.Failure, "secret") {
		t.Errorf("failed with %q", task.Failure)
	}
	p.await(good, store.Completed)
	p.checkConsistent()
}

func TestHangFailsOnlyItsFile(t *testing.T) {
	t.Parallel()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = newHeld(o.Ingest)
			h.deaf = true
			o.Ingest, o.Deadline, o.Grace, o.Workers = h, 20*1e6, 20*1e6, 1
		}
	})
	bad := h.begins(p, ferns)
	if task := p.await(bad, store.Failed); !strings.Contains(task.Failure, "longer") {
		t.Errorf("failed with %q", task.Failure)
	}
	// When it ends at last, it does not change the index.
	close(h.letGo)
	h.begins(p, "Mosses.")
	p.finds("", "spores")
}

type muteModel struct{ model.Embedder }

func (muteModel) Embed(context.Context, []string, model.Purpose) ([][]float32, error) {
	return nil, errors.New("no vectors today")
}

func TestUploadWithoutVectors(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(p *place, o *options) {
		if p == nil {
			o.embedder = muteModel{o.embedder}
		}
	})
	p.newStore("vs")
	id := p.indexed(files.Upload{Stores: []string{"vs"}}, ferns)
	p.finds("vs", "spores", id)
	p.counts("vs", 0, 1, 0)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = newHeld(o.Ingest)
			o.Ingest, o.Workers = h, 1
		}
	})
	p.newStore("vs")
	id, waiting := p.send(files.Upload{Stores: []string{"vs"}}, ferns), p.send(files.Upload{}, "Mosses.")
	<-h.begun
	for of, want := range map[string]store.Status{id: store.Running, waiting: store.Pending} {
		task, err := p.Task(t.Context(), "upload-"+of)
		p.must(err)
		f, err := p.File(t.Context(), of)
		p.must(err)
		if task.Status != want || f.Status != want || (task.Progress > 0) != (want == store.Running) || task.Progress >= 100 {
			t.Errorf("task %+v of file %+v", task, f)
		}
	}
	p.counts("vs", 1, 0, 0)
	task, err := p.Task(t.Context(), "vectorize-vs")
	p.must(err)
	if task.Status != store.Running || task.Resource != "vs" {
		t.Errorf("task of the store %+v", task)
	}
	close(h.letGo)
	p.await(id, store.Completed)
	task, err = p.WaitTask(t.Context(), "vectorize-vs")
	p.must(err)
	if task.Progress != 100 || task.Status != store.Completed {
		t.Errorf("task of the store %+v", task)
	}
	p.counts("vs", 0, 1, 0)
}

func TestDeleteWhileIndexing(t *testing.T) {
	t.Parallel()
	var h *held
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h = newHeld(o.Ingest)
			o.Ingest, o.Workers = h, 1
		}
	})
	p.newStore("vs")
	up := files.Upload{Stores: []string{"vs"}}
	running, waiting, same := p.send(up, ferns), p.send(up, "Spores of mosses."), p.send(up, ferns)
	<-h.begun
	p.must(p.DeleteFile(t.Context(), running))
	p.must(p.DeleteFile(t.Context(), waiting))
	for _, id := range []string{running, waiting} {
		if task := p.await(id, store.Cancelled); task.Failure == "" {
			t.Error("cancelled without a reason")
		}
	}
	p.counts("vs", 1, 0, 0)
	close(h.letGo)
	p.await(same, store.Completed)
	third := p.indexed(up, "Mosses are small.")
	p.finds("", "spores", same)
	p.must(p.DeleteFile(t.Context(), same))
	p.finds("", "spores")
	p.checkConsistent()
	fourth := p.indexed(files.Upload{ID: running, Stores: []string{"vs"}}, "Mosses are soft.")
	p.finds("vs", "mosses", third, fourth)
	p.checkConsistent()
}

// source is a fetcher of texts by URL.
type source map[string]string

func (s source) Check(url string) error {
	if !strings.HasPrefix(url, "https://") {
		return fault.Invalid("url", "no")
	}
	return nil
}

func (s source) Fetch(_ context.Context, url string, w io.Writer) (string, error) {
	text, ok := s[url]
	if !ok {
		return "", fault.New(fault.Unavailable, "the host answered with status 404")
	}
	_, err := io.Copy(w, strings.NewReader(text))
	return "text/markdown", err
}

func TestUploadByURL(t *testing.T) {
	t.Parallel()
	from := source{"https://example.org/ferns?token=secret#x": ferns, "https://example.org/empty": "", "https://example.org/large": strings.Repeat("a", 10_000)}
	p := newPlace(t, func(_ *place, o *options) { o.Fetch, o.MaxFileBytes = from, 5000 })
	up := func(u files.Upload) string {
		t.Helper()
		f, _, err := p.Upload(t.Context(), u)
		p.must(err)
		return f.ID
	}
	id := up(files.Upload{URL: "https://example.org/ferns?token=secret#x"})
	p.await(id, store.Completed)
	f, err := p.File(t.Context(), id)
	p.must(err)
	if f.Name != "ferns" || f.Bytes != int64(len(ferns)) || f.SHA256 == "" || f.MediaType != "text/markdown" || f.URL != "https://example.org/ferns" {
		t.Errorf("file %+v", f)
	}
	d, err := p.Document(t.Context(), id, 0, 10)
	p.must(err)
	if d.Document.Title != "Ferns" || d.Document.URI != "https://example.org/ferns" {
		t.Errorf("document %+v", d.Document)
	}
	for want, u := range map[string]files.Upload{
		"404":    {URL: "https://example.org/gone"},
		"empty":  {URL: "https://example.org/empty"},
		"larger": {URL: "https://example.org/large"},
		"md5":    {URL: "https://example.org/ferns?token=secret#x", MD5: strings.Repeat("0", 32)},
	} {
		if task := p.await(up(u), store.Failed); !strings.Contains(task.Failure, want) || strings.Contains(task.Failure, "secret") {
			t.Errorf("%s: failed with %q", u.URL, task.Failure)
		}
	}
	_, _, err = p.Upload(t.Context(), files.Upload{URL: "ftp://example.org"})
	wantFault(t, "scheme", err, fault.InvalidRequest, "url")
	same := up(files.Upload{URL: "https://example.org/ferns?token=secret#x", ID: "mine"})
	p.await(same, store.Completed)
	if up(files.Upload{URL: "https://example.org/ferns?token=other", ID: "mine"}) != same {
		t.Error("the same URL again is another file")
	}
	_, _, err = p.Upload(t.Context(), files.Upload{URL: "https://example.org/gone", ID: "mine"})
	wantFault(t, "another URL", err, fault.Conflict, "")
	p.checkConsistent()
}

// TestFailedURLWithAnotherQuery: signed URLs expire, and the next one differs in its query.
func TestFailedURLWithAnotherQuery(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(_ *place, o *options) { o.Fetch = source{"https://example.org/ferns?token=new": ferns} })
	_, _, err := p.Upload(t.Context(), files.Upload{URL: "https://example.org/ferns?token=old", ID: "mine"})
	p.must(err)
	p.await("mine", store.Failed)
	_, _, err = p.Upload(t.Context(), files.Upload{URL: "https://example.org/mosses?token=new", ID: "mine"})
	wantFault(t, "another URL", err, fault.Conflict, "")
	_, _, err = p.Upload(t.Context(), files.Upload{URL: "https://example.org/ferns?token=new", ID: "mine"})
	p.must(err)
	p.await("mine", store.Completed)
	p.checkConsistent()
}

func TestUpdateFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.indexed(files.Upload{}, ferns)
	_, err := p.UpdateFile(t.Context(), id, map[string]json.RawMessage{"title": json.RawMessage(`"On ferns"`), "bookmarks": json.RawMessage(`[1,2]`),
		"read_progress": json.RawMessage(`0.5`), "metadata": json.RawMessage(`{"a":{"b":[1]}}`), "is_favorite": json.RawMessage(`true`)})
	p.must(err)
	f, err := p.UpdateFile(t.Context(), id, map[string]json.RawMessage{"bookmarks": json.RawMessage(`null`), "notes": json.RawMessage(`["n"]`)})
	p.must(err)
	var got map[string]any
	p.must(json.Unmarshal(f.Fields, &got))
	if len(got) != 5 || got["title"] != "On ferns" || got["bookmarks"] != nil || fmt.Sprint(got["notes"]) != "[n]" {
		t.Errorf("fields %s", f.Fields)
	}
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	for field, wrong := range map[string][]string{
		"title": {"1", "{", `"` + strings.Repeat("a", 9000) + `"`}, "read_progress": {"2", "-0.1", `"x"`}, "bookmarks": {"[1.5]", "[null]", "3"},
		"notes": {"[1]", "[" + strings.Repeat(`"a",`, 1000) + `"a"]`}, "is_favorite": {`"yes"`}, "metadata": {"[]", deep, `{"a":"` + strings.Repeat("a", 70_000) + `"}`},
		"status": {`"completed"`},
	} {
		for _, w := range wrong {
			_, err := p.UpdateFile(t.Context(), id, map[string]json.RawMessage{field: json.RawMessage(w)})
			wantFault(t, fmt.Sprintf("%s: %.40s", field, w), err, fault.InvalidRequest, field)
		}
	}
	_, err = p.UpdateFile(t.Context(), "no", map[string]json.RawMessage{"title": json.RawMessage(`"x"`)})
	wantFault(t, "no file", err, fault.NotFound, "")
}

func TestReading(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(_ *place, o *options) { o.MaxListed = 5 })
	var b bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&b, "## Part %d\n\n%s\n\n", i, strings.Repeat(fmt.Sprintf("Sentence of part %d. ", i), 30))
	}
	id := p.indexed(files.Upload{}, b.String())
	d, err := p.Document(t.Context(), id, 0, 10_000)
	p.must(err)
	if d.Document.ID != corpus.DocumentID(id) || len(d.Segments) != 5 || !d.More {
		t.Fatalf("document %+v of %d segments", d.Document, len(d.Segments))
	}
	if d, err = p.Document(t.Context(), id, 2, 1); err != nil || len(d.Segments) != 1 || d.Segments[0].Ordinal != 2 || !d.More {
		t.Errorf("the third passage: %+v, %v", d.Segments, err)
	}
	if d, err = p.Document(t.Context(), id, 0, 0); err != nil || d.Document.ID == "" || d.Segments != nil || d.More {
		t.Errorf("without passages: %+v, %v", d, err)
	}
	var segments []string
	for from, more := 0, true; more; {
		d, err := p.Document(t.Context(), id, from, 3)
		p.must(err)
		for _, c := range d.Segments {
			segments, from = append(segments, c.Text), c.Ordinal+1
		}
		more = d.More
	}
	pages, err := p.Pages(t.Context(), id, 0, 0)
	p.must(err)
	var texts []string
	for i, page := range pages {
		if page.Number != i+1 || len(page.Text) > 3000 {
			t.Errorf("page %d of %d bytes", page.Number, len(page.Text))
		}
		texts = append(texts, page.Text)
	}
	if got, want := strings.Join(texts, "\n\n"), strings.Join(segments, "\n\n"); got != want {
		t.Error("the pages are not the passages")
	}
	some, err := p.Pages(t.Context(), id, 3, 4)
	p.must(err)
	if !slices.Equal(some, pages[2:4]) {
		t.Errorf("pages 3 to 4 are %d", len(some))
	}
	if none, err := p.Pages(t.Context(), id, 500, 600); err != nil || len(none) != 0 {
		t.Errorf("pages after the end: %v, %v", none, err)
	}
	_, err = p.Pages(t.Context(), "no", 0, 0)
	wantFault(t, "no file", err, fault.NotFound, "")
}

func TestReadingFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	_, err := ingest.New(p.index, nil, ingest.Options{}).IngestDocuments(t.Context(), "", []ingest.Source{{URI: "/docs/ferns.md", Data: []byte(ferns)}}, nil)
	p.must(err)
	id := string(ingest.DocumentID(corpus.DefaultCollection, "/docs/ferns.md"))
	d, err := p.Document(t.Context(), id, 0, 10)
	p.must(err)
	if d.File.ID != id || d.File.Name != "ferns.md" || d.File.Status != store.Completed || len(d.Segments) != 1 || !slices.Equal(d.Stores, []string{"default"}) {
		t.Errorf("document %+v", d)
	}
	pages, err := p.Pages(t.Context(), id, 0, 0)
	p.must(err)
	if len(pages) != 1 || !strings.Contains(pages[0].Text, "spores") {
		t.Errorf("pages %v", pages)
	}
	_, _, err = p.Upload(t.Context(), files.Upload{ID: id, Body: strings.NewReader("x")})
	wantFault(t, "the id of a folder's document", err, fault.Conflict, "")
	wantFault(t, "deleting a folder's document", p.DeleteFile(t.Context(), id), fault.NotFound, "")
}

func TestOneProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	_, err := files.Open(t.Context(), filepath.Join(p.dir, "files"), files.Options{Store: p.store, Index: p.index})
	wantFault(t, "opened twice", err, fault.Conflict, "")
}

func TestIdle(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	p := newPlace(t, func(p *place, o *options) {
		if p != nil {
			h := newHeld(o.Ingest)
			o.Ingest, h.letGo = h, gate
		}
	})
	idle := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !p.Idle(); <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the service is never idle")
			}
		}
	}
	idle()
	id := p.send(files.Upload{}, "Ferns have spores.")
	if p.Idle() {
		t.Error("idle with a task")
	}
	close(gate)
	p.await(id, store.Completed)
	idle()
}
