//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// uploaders is the number of uploads at a time.
const uploaders = 2

// TestUploads uploads files while servers and engines are killed. Each file that was accepted is there once, with its bytes, and is indexed once.
func TestUploads(t *testing.T) {
	index := weaviatetest.New(t, "")
	g := startGroup(t, model(t).URL, "--blobs=NODES", "--index="+index.URL())
	b := newBalancer(t, g.urls)
	var accepted sync.Map // contents by id
	var number, repeated atomic.Int64
	var uploading sync.WaitGroup
	stop := make(chan struct{})
	for range uploaders {
		uploading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := number.Add(1)
				id, text := fmt.Sprintf("beacon-%04d", n), fmt.Sprintf("# Beacon %d\n\nThe beacon number%d shines every %d seconds.\n", n, n, n+7)
				for begun := time.Now(); ; repeated.Add(1) {
					err := upload(t.Context(), b.url, id, text, int(n))
					if err == nil {
						break
					}
					if time.Since(begun) > patience {
						t.Errorf("%s is not accepted: %v", id, err)
						return
					}
					<-time.After(100 * time.Millisecond)
				}
				accepted.Store(id, text)
			}
		})
	}
	killed := func(p *process) error {
		_ = p.end(syscall.SIGKILL)
		<-time.After(time.Second)
		return p.start()
	}
	for n, fault := range []func() error{
		func() error { return killed(g.servers[0]) },
		func() error { return killed(g.nats[1]) },
		func() error {
			postgrestest.Exec(t, g.store, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
			return nil
		},
		func() error { index.Stop(); <-time.After(time.Second); return index.Run() },
		func() error { return killed(g.servers[1]) },
	} {
		<-time.After(time.Second) // uploads go on
		if err := fault(); err != nil {
			t.Fatalf("fault %d: %v", n, err)
		}
	}
	for i := range g.servers {
		require.NoError(t, g.ready(t.Context(), i))
	}
	close(stop)
	uploading.Wait()
	total := 0
	accepted.Range(func(id, text any) bool {
		total++
		if err := g.indexed(t.Context(), id.(string), text.(string), total); err != nil {
			t.Errorf("%v: %v", id, err)
		}
		return true
	})
	t.Logf("%d files, %d uploads that were repeated", total, repeated.Load())
	g.checkFiles(t, &accepted, total)
	x, err := weaviate.Open(weaviate.Options{URL: index.URL(), Tenant: "default", Writer: "test"})
	require.NoError(t, err)
	defer func() { _ = x.Close() }()
	begun := time.Now()
	for first := true; ; first = false { // revisions that a server has left are dropped by another one, after two minutes
		docs, err := x.Documents(t.Context(), files.Collection, "", 0)
		if err == nil && len(docs) == total {
			t.Logf("the index had each file once after %v", time.Since(begun))
			break
		}
		seen := map[corpus.DocumentID]int{}
		for _, d := range docs {
			if seen[d.ID]++; seen[d.ID] == 2 && first {
				t.Logf("the file %s is indexed twice, at first", d.ID)
			}
		}
		if time.Since(begun) > 3*time.Minute {
			t.Fatalf("the index has %d documents of %d files, %v", len(docs), total, err)
		}
		<-time.After(time.Second)
	}
}

// upload uploads a file. To repeat it has no effect, because the file has an id.
func upload(ctx context.Context, base, id, text string, server int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("id", id) // a buffer does not fail
	part, _ := form.CreateFormFile("file", id+".md")
	_, _ = io.WriteString(part, text)
	_ = form.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/files", &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set(preferred, strconv.Itoa(server))
	return fetch(req, nil)
}

// fetch sends a request and decodes the reply; nil: it is ignored.
func fetch(req *http.Request, out any) error {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		return fmt.Errorf("%s, %w: %.300s", res.Status, err, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// get sends a GET request to a server.
func (g *group) get(ctx context.Context, server int, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.urls[server%len(g.urls)]+path, nil)
	if err != nil {
		return err
	}
	return fetch(req, out)
}

// indexed waits until the task of a file is completed, and compares its bytes on a server.
func (g *group) indexed(ctx context.Context, id, text string, server int) error {
	for begun := time.Now(); ; <-time.After(50 * time.Millisecond) {
		var task struct {
			Status string
			Reason string `json:"failure_reason"`
		}
		err := g.get(ctx, server, "/v1/tasks/upload-"+id, &task)
		if err == nil && task.Status == "completed" {
			break
		}
		if err != nil || task.Status == "failed" || time.Since(begun) > patience {
			return fmt.Errorf("its task is %s %s, %w", task.Status, task.Reason, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.urls[server%len(g.urls)]+"/api/documents/"+id+"/original", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err != nil || string(got) != text {
		return fmt.Errorf("its bytes are %q, %w", got, err)
	}
	return nil
}

// checkFiles checks that the list of files has each accepted file once, and no other.
func (g *group) checkFiles(t *testing.T, accepted *sync.Map, total int) {
	t.Helper()
	seen := map[string]int{}
	for after := ""; ; {
		var list struct{ Files, Data []struct{ ID string } }
		require.NoError(t, g.get(t.Context(), 2, "/v1/files?limit=100&after="+after, &list))
		page := append(list.Files, list.Data...)
		if len(page) == 0 {
			break
		}
		for _, f := range page {
			seen[f.ID]++
			after = f.ID
		}
	}
	for id, n := range seen {
		if _, ok := accepted.Load(id); !ok || n != 1 {
			t.Errorf("the list has the file %s %d times, accepted: %v", id, n, ok)
		}
	}
	if len(seen) != total {
		t.Errorf("the list has %d files, want %d", len(seen), total)
	}
}
