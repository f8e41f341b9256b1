package knowledge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/rerank"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/index/scope"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/store/sqlstore"
	protocol "github.com/sluice-rag/sluice/wire/knowledge"
)

// words is the model of all sites; it is shared because creating it is slow.
var words = local.New(local.Options{})

// site is a whole server.
type site struct {
	t        testing.TB
	url      string
	files    *files.Service
	engine   *engine.Engine
	ingester *ingest.Ingester
	stop     func()
}

// parts are the parts of a site, which settings can change before it is created.
type parts struct {
	engine   engine.Options
	files    files.Options
	routes   knowledge.Options
	answerer answer.Answerer // the pipeline without models that have to be called
}

type setting func(*parts)

func newSite(t testing.TB, settings ...setting) *site {
	t.Helper()
	return openSite(t, t.TempDir(), settings...)
}

// openSite serves a folder until the test ends or stop is called.
func openSite(t testing.TB, dir string, settings ...setting) *site {
	t.Helper()
	ctx := context.Background()
	ix, err := embedded.Open(t.Context(), filepath.Join(dir, "index"), embedded.Options{})
	require.NoError(t, err)
	kept, err := sqlstore.Open(ctx, filepath.Join(dir, "knowledge.db"))
	require.NoError(t, err)
	vectors := answer.OneEmbedder(words)
	reader := scope.New(ix, files.Collection, scope.Options{Vectors: vectors})
	s := &site{t: t, ingester: ingest.New(ix, words, ingest.Options{})}
	p := parts{files: files.Options{Store: kept, Index: ix, Ingest: s.ingester}}
	p.routes = knowledge.Options{Index: reader, Version: "test", Models: []string{"first", "second"}, Search: func(ctx context.Context, q index.Query) ([]index.Hit, error) {
		if at, err := reader.SearchVector(ctx, q.Collection, q.Text, model.ForQuery); err == nil {
			q.Space, q.Vector = at.Space, at.Vector
		}
		return reader.Search(ctx, q)
	}}
	p.answerer = &answer.Pipeline{Index: reader, Vectors: reader, Generator: words, Grader: grade.Coverage{}, Reranker: rerank.New(words), Verifier: verify.Overlap{}}
	for _, set := range settings {
		set(&p)
	}
	s.files, err = files.Open(ctx, filepath.Join(dir, "files"), p.files)
	require.NoError(t, err)
	s.engine = engine.New(p.answerer, p.engine)
	p.routes.Files, p.routes.Engine = s.files, s.engine
	srv, err := server.New(s.engine, server.Options{Protocols: []server.Endpoint{{API: protocol.API(), StreamPath: "/v1/responses", AlwaysOK: true}}, Routes: knowledge.Routes(p.routes), Registry: prometheus.NewRegistry()})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(serving, l) }()
	s.url = "http://" + l.Addr().String()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		http.DefaultClient.CloseIdleConnections()
		stop()
		for _, err := range []error{<-done, s.files.Close(), kept.Close(), ix.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(s.stop)
	return s
}

// do sends a request and returns the status and the body of the reply.
func (s *site) do(method, path, kind string, body io.Reader) (int, []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, body)
	require.NoError(s.t, err)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, b
}

// json sends a request with a JSON body, which may be empty, and checks the status of the reply.
func (s *site) json(want int, method, path, body string) map[string]any {
	s.t.Helper()
	kind := ""
	if body != "" {
		kind = "application/json"
	}
	status, b := s.do(method, path, kind, strings.NewReader(body))
	if status != want {
		s.t.Fatalf("%s %s: status %d, want %d: %s", method, path, status, want, b)
	}
	return object(s.t, b)
}

func (s *site) get(path string) map[string]any {
	s.t.Helper()
	return s.json(http.StatusOK, "GET", path, "")
}

func (s *site) post(path, body string) map[string]any {
	s.t.Helper()
	return s.json(http.StatusOK, "POST", path, body)
}

func object(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %.200s", err, b)
	}
	return v
}

// part is a part of a form: a file if it has a name, otherwise a field.
type part struct{ field, filename, kind, body string }

// multipartOf encodes a form in the way of the service's client, with its parts in this order.
func multipartOf(parts ...part) (kind string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := map[string][]string{"Content-Type": {"text/plain; charset=utf-8"}, "Content-Disposition": {fmt.Sprintf(`form-data; name="%s"`, p.field)}}
		if p.filename != "" {
			h["Content-Disposition"][0] += fmt.Sprintf(`; filename="%s"`, p.filename)
		}
		if p.kind != "" {
			h["Content-Type"] = []string{p.kind}
		}
		pw, err := w.CreatePart(h)
		if err != nil {
			panic(err)
		}
		io.WriteString(pw, p.body) //nolint:errcheck // to memory
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func (s *site) form(want int, parts ...part) map[string]any {
	s.t.Helper()
	kind, body := multipartOf(parts...)
	status, b := s.do("POST", "/v1/files", kind, bytes.NewReader(body))
	if status != want {
		s.t.Fatalf("upload: status %d, want %d: %s", status, want, b)
	}
	return object(s.t, b)
}

// uploaded uploads a text, waits until it is indexed, and returns its id.
func (s *site) uploaded(name, text string) string {
	s.t.Helper()
	f := s.form(http.StatusOK, part{field: "file", filename: name, body: text}, part{field: "purpose", body: "qa"})
	id := f["id"].(string)
	s.await("upload-" + id)
	return id
}

// await waits until a task is completed.
func (s *site) await(task string) {
	s.t.Helper()
	t, err := s.files.WaitTask(s.t.Context(), task)
	require.NoError(s.t, err)
	if t.Status != "completed" {
		s.t.Fatalf("%s: %s: %s", task, t.Status, t.Failure)
	}
}

// store creates a vector store of files.
func (s *site) store(id string, files ...string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"id": id, "name": id, "file_ids": files})
	require.NoError(s.t, err)
	s.post("/v1/vector_stores", string(body))
}

// rows returns the file ids and the texts of a search.
func (s *site) rows(store, body string) (ids, texts []string) {
	s.t.Helper()
	found := s.post("/v1/vector_stores/"+store+"/search", body)
	for _, row := range found["data"].([]any) {
		r := row.(map[string]any)
		ids = append(ids, r["file_id"].(string))
		texts = append(texts, r["content"].([]any)[0].(map[string]any)["text"].(string))
	}
	return ids, texts
}

const (
	gold = "# Gold\n\nGold settles behind the riffles of a sluice box because it is heavier than gravel. The water carries the gravel away.\n"
	tide = "# Tides\n\nThe tide rises twice a day, as the moon draws the sea. A spring tide comes with the full moon.\n"
	salt = "# Salt\n\nSalt is won from the sea in shallow ponds. The sun dries the ponds, and salt stays behind.\n"
)
