package client_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/server"
	service "github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/store/sqlstore"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// extractive is the model of all sites; it is shared because creating it is slow.
var extractive = local.New(local.Options{})

// site is a whole server with a client.
type site struct {
	url string
	c   *client.Client
}

// sitting configures a site.
type sitting struct {
	answerer answer.Answerer // default: the real pipeline
	wrap     func(http.Handler) http.Handler
	client   client.Options
}

func newSite(t *testing.T, settings ...func(*sitting)) *site {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	check := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	ix, err := embedded.Open(t.Context(), filepath.Join(dir, "index"), embedded.Options{})
	check(err)
	kept, err := sqlstore.Open(ctx, filepath.Join(dir, "knowledge.db"))
	check(err)
	reader := scope.New(ix, files.Collection, scope.Options{Vectors: answer.OneEmbedder(extractive)})
	o := sitting{answerer: &answer.Pipeline{Index: reader, Vectors: reader, Generator: extractive, Grader: grade.Coverage{}, Reranker: rerank.New(extractive), Verifier: verify.Overlap{}}}
	for _, set := range settings {
		set(&o)
	}
	fs, err := files.Open(ctx, filepath.Join(dir, "files"), files.Options{Store: kept, Index: ix, Ingest: ingest.New(ix, extractive, ingest.Options{})})
	check(err)
	e := engine.New(o.answerer, engine.Options{})
	srv, err := server.New(e, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint},
		Routes: service.Routes(service.Options{Files: fs, Engine: e, Index: reader, Version: "test", Models: []string{"sluice-extractive"}})})
	check(err)
	h := srv.Handler()
	if o.wrap != nil {
		h = o.wrap(h)
	}
	hs := httptest.NewServer(h)
	c, err := client.New(hs.URL, o.client)
	check(err)
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = e.Close(ended)
		for _, err := range []error{fs.Close(), kept.Close(), ix.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return &site{url: hs.URL, c: c}
}

// uploaded uploads a text and waits until it is indexed.
func (s *site) uploaded(t *testing.T, name, text string) client.File {
	t.Helper()
	f, err := s.c.Upload(t.Context(), name, strings.NewReader(text), int64(len(text)), client.UploadOptions{Purpose: "qa"})
	require.NoError(t, err)
	if _, err := s.c.WaitForTask(t.Context(), f.TaskID, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

const (
	gold = "# Gold\n\nGold settles behind the riffles of a sluice box because it is heavier than gravel. The water carries the gravel away.\n"
	tide = "# Tides\n\nThe tide rises twice a day, as the moon draws the sea. A spring tide comes with the full moon.\n"
)

// TestServiceFromEndToEnd uploads files, puts them into a vector store, asks about them and deletes them.
func TestServiceFromEndToEnd(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newSite(t)
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	var sent []int64
	sum := md5.Sum([]byte(gold))
	f, err := s.c.Upload(ctx, "报 告/no 1%20+.md", strings.NewReader(gold), int64(len(gold)), client.UploadOptions{Purpose: "qa", MD5: hex.EncodeToString(sum[:]),
		DublinCore: &wire.DublinCore{Creator: "Ada Brook"}, Contributor: "ada", Progress: func(n int64) { sent = append(sent, n) }})
	must(err)
	if f.Filename != "no 1%20+.md" || f.Bytes != int64(len(gold)) || len(sent) == 0 || sent[len(sent)-1] != int64(len(gold)) {
		t.Errorf("%+v after %v", f, sent)
	}
	if f.DublinCore == nil || *f.DublinCore != (wire.DublinCore{Creator: "Ada Brook"}) || f.Contributor != "ada" {
		t.Errorf("metadata %+v of %q", f.DublinCore, f.Contributor)
	}
	var progress []float64
	task, err := s.c.WaitForTask(ctx, f.TaskID, func(t client.Task) { progress = append(progress, t.Progress) })
	must(err)
	if task.Status != "completed" || len(progress) == 0 || !slices.IsSorted(progress) {
		t.Errorf("%+v by %v", task, progress)
	}
	again, err := s.c.Upload(ctx, "again.md", bytes.NewBufferString(gold), -1, client.UploadOptions{SkipExists: true})
	must(err)
	if again.ID != f.ID {
		t.Errorf("a second file of the same bytes: %s and %s", again.ID, f.ID)
	}
	g := s.uploaded(t, "tides.md", tide)

	store, err := s.c.CreateStore(ctx, client.VectorStoreRequest{ID: "mining", Name: "Mining", FileIDs: []string{f.ID}})
	must(err)
	store, err = s.c.AddFiles(ctx, store.ID, g.ID)
	must(err)
	if store.FileCounts.Total != 2 {
		t.Errorf("%+v", store)
	}
	store, err = s.c.RemoveFiles(ctx, store.ID, g.ID)
	must(err)
	if store.FileCounts.Total != 1 {
		t.Errorf("%+v", store)
	}
	name := "Gold mining"
	store, err = s.c.ModifyStore(ctx, store.ID, client.VectorStoreUpdate{Name: &name})
	must(err)
	stores, err := s.c.Stores(ctx, 5, "")
	must(err)
	in, err := s.c.StoreFiles(ctx, store.ID, 5, "")
	must(err)
	if store.Name != name || len(stores.Data) != 1 || len(in.Data) != 1 || in.Data[0].ID != f.ID {
		t.Errorf("%+v %+v %+v", store, stores, in)
	}
	found, err := s.c.SearchStore(ctx, store.ID, client.SearchRequest{Query: "gold riffles", TopK: 3})
	must(err)
	if len(found.Data) == 0 || found.Data[0].FileID != f.ID {
		t.Errorf("%+v", found)
	}
	summary, err := s.c.SummarizeStore(ctx, store.ID, 100)
	must(err)
	if summary.SummaryText == "" {
		t.Errorf("%+v", summary)
	}

	q := client.Question("Why does gold settle behind the riffles?")
	q.Tools = []knowledge.Tool{client.FileSearch(store.ID)}
	stream := s.c.Respond(ctx, q)
	snap, err := stream.Wait()
	must(err)
	if snap.Status != client.Completed || len(snap.Citations) != 1 || snap.Citations[0].Document != f.ID || !strings.Contains(snap.Plain(), "heavier than gravel. [1]") {
		t.Errorf("%+v", snap)
	}
	q.Input = "What draws the sea?"
	if snap, err = s.c.Respond(ctx, q).Wait(); err != nil || len(snap.Citations) != 0 {
		t.Errorf("what is in no store was cited: %+v, %v", snap.Citations, err)
	}
	once, err := s.c.RespondOnce(ctx, q)
	must(err)
	if once.Status == "" || once.ID == "" {
		t.Errorf("%+v", once)
	}

	doc, err := s.c.Content(ctx, f.ID)
	must(err)
	pages, err := s.c.Pages(ctx, f.ID, 1, 1)
	must(err)
	if doc.Content == nil || !strings.Contains(doc.Content.Segments[0].Content+pages.Pages[0].Content, "riffles") {
		t.Errorf("%+v %+v", doc, pages)
	}
	title := "On gold"
	if doc, err = s.c.UpdateFile(ctx, f.ID, client.DocumentUpdate{Title: &title}); err != nil || doc.ID != f.ID {
		t.Errorf("%+v, %v", doc, err)
	}
	all, err := s.c.Files(ctx, 1, "")
	must(err)
	if len(all.Data) != 1 || !all.HasMore {
		t.Errorf("%+v", all)
	}
	must(s.c.DeleteFile(ctx, f.ID))
	if _, err := s.c.File(ctx, f.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a file that was deleted: %v", err)
	}
	must(s.c.DeleteStore(ctx, store.ID))
	if _, err := s.c.Store(ctx, store.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a store that was deleted: %v", err)
	}
}

// TestResponsesAreKept lists, reads, streams and deletes stored responses, and lists runs.
func TestResponsesAreKept(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newSite(t, func(o *sitting) { o.answerer = telling(story()) })
	var last client.Snapshot
	for i := range 3 {
		var err error
		if last, err = s.c.Respond(ctx, client.Question(fmt.Sprintf("why %d?", i))).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.c.Responses(ctx, 2, "")
	if err != nil || len(page.Data) != 2 || !page.HasMore || page.Data[0].ID != last.Run {
		t.Fatalf("%+v, %v", page, err)
	}
	if page, err = s.c.Responses(ctx, 2, page.LastID); err != nil || len(page.Data) != 1 || page.HasMore {
		t.Fatalf("%+v, %v", page, err)
	}
	r, err := s.c.Response(ctx, last.Run)
	if err != nil || r.ID != last.Run || r.Status != knowledge.StatusCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := s.c.StreamResponse(ctx, last.Run, "", nil).Wait(); err != nil || again.Text != last.Text {
		t.Errorf("%+v, %v", again, err)
	}
	if other, err := s.c.Stream(ctx, last.Run, "").Wait(); err != nil || other.Text != last.Text {
		t.Errorf("in forge: %q and %q, %v", other.Text, last.Text, err)
	}
	runs, err := s.c.Runs(ctx, 2, "")
	if err != nil || len(runs.Runs) != 2 || runs.Next == "" {
		t.Errorf("%+v, %v", runs, err)
	}
	if runs, err = s.c.Runs(ctx, 2, runs.Next); err != nil || len(runs.Runs) != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if run, err := s.c.Run(ctx, last.Run); err != nil || run.Query != "why 2?" || run.Answer.Answer == "" {
		t.Errorf("%+v, %v", run, err)
	}
	if c, err := s.c.CancelResponse(ctx, last.Run); err != nil || c.Status != knowledge.StatusCompleted {
		t.Errorf("%+v, %v", c, err)
	}
	if h, err := s.c.Health(ctx); err != nil || h.Status != "ok" {
		t.Errorf("%+v, %v", h, err)
	}
	if names, err := s.c.Models(ctx); err != nil || !slices.Contains(names, "sluice-extractive") {
		t.Errorf("%v, %v", names, err)
	}
	if st, err := s.c.ServerStatus(ctx); err != nil || st.Status == "" {
		t.Errorf("%+v, %v", st, err)
	}
	if a, err := s.c.AskOnce(ctx, forge.Request{Query: "why?"}); err != nil || a.Answer == "" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestTasksThatFail checks that a failed task has a reason.
func TestTasksThatFail(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newSite(t)
	f, err := s.c.UploadURL(ctx, "http://127.0.0.1:1/x.md", "x.md", client.UploadOptions{})
	if err == nil {
		_, err = s.c.WaitForTask(ctx, f.TaskID, nil)
	}
	task, failed := errors.AsType[*client.TaskError](err)
	if err == nil || failed && task.Task.Status != "failed" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := s.c.WaitForTask(ctx, "upload-none", nil); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.c.WaitForTask(gone, f.TaskID, nil); err == nil {
		t.Error("no error after the end of the context")
	}
}

// TestRequestsAreRepeated: requests that change nothing are repeated after connection failures, uploads only if the server
// rejected them, and deletions even if they may have succeeded.
func TestRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	var status, left atomic.Int64
	s := newSite(t, func(o *sitting) {
		o.client.Backoff = 1
		o.wrap = func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if left.Add(-1) < 0 {
					h.ServeHTTP(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				if status.Load() == 0 {
					h.ServeHTTP(httptest.NewRecorder(), r) // the request is handled, but the reply is lost
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(int(status.Load()))
			})
		}
	})
	ctx := t.Context()
	f := s.uploaded(t, "a.md", gold)
	status.Store(502)
	left.Store(3)
	if _, err := s.c.File(ctx, f.ID); err != nil {
		t.Errorf("a bad gateway: %v", err)
	}
	status.Store(503)
	left.Store(2)
	g, err := s.c.Upload(ctx, "b.md", strings.NewReader(tide), int64(len(tide)), client.UploadOptions{})
	if err != nil || g.Bytes != int64(len(tide)) {
		t.Errorf("an upload that was turned away: %+v, %v", g, err)
	}
	left.Store(1)
	if _, err := s.c.Upload(ctx, "c.md", io.MultiReader(strings.NewReader(tide)), -1, client.UploadOptions{}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("an upload that cannot be sent again: %v", err)
	}
	status.Store(0)
	left.Store(1)
	if err := s.c.DeleteFile(ctx, f.ID); err != nil {
		t.Errorf("a deletion whose reply was lost: %v", err)
	}
	left.Store(1)
	if _, err := s.c.CreateStore(ctx, client.VectorStoreRequest{Name: "x"}); err == nil {
		t.Error("a store may have been made twice")
	}
	left.Store(0)
	if l, err := s.c.Stores(ctx, 0, ""); err != nil || len(l.Data) > 1 {
		t.Errorf("%d stores, %v", len(l.Data), err)
	}
	if err := s.c.DeleteFile(ctx, f.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("what is not there: %v", err)
	}
}

// TestConversation checks that turns precede the question.
func TestConversation(t *testing.T) {
	t.Parallel()
	q := client.Question("And then?", event.Message{Role: event.RoleUser, Text: "First?"}, event.Message{Role: event.RoleAssistant, Text: "This. ⟦⟦1⟧⟧"})
	if m, ok := q.Input.([]knowledge.Message); !ok || len(m) != 3 || m[2].Content != "And then?" || m[1].Role != event.RoleAssistant {
		t.Errorf("%+v", q.Input)
	}
}
