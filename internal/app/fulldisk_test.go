package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/disk/disktest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// upload sends a file to the app's server and returns the status and the file's id.
func upload(t *testing.T, h http.Handler, text string) (status int, id, reply string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "a.md")
	require.NoError(t, err)
	if _, err := part.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	r := httptest.NewRequest("POST", "/v1/files", &form)
	r.Header.Set("Content-Type", w.FormDataContentType())
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	var f struct{ ID string }
	_ = json.Unmarshal(rec.Body.Bytes(), &f)
	return rec.Code, f.ID, rec.Body.String()
}

// TestStartOnFullDisk starts a server with keys on a full disk, with the steps of the command serve.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.Small(t, "64m")
	cfg := config.Default()
	cfg.Store.Data = filepath.Join(disk, "data")
	serve := func() error {
		if _, err := app.HasKeys(t.Context(), cfg.Store); err != nil {
			return err
		}
		s, err := app.OpenShared(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		if err := s.OpenAccess(t.Context(), "", false); err != nil {
			return errors.Join(err, s.Close())
		}
		a, err := s.Open(t.Context(), auth.DefaultTenant)
		if err == nil {
			err = a.OpenFiles(t.Context())
			err = errors.Join(err, a.Close())
		}
		return errors.Join(err, s.Close())
	}
	require.NoError(t, serve())
	disktest.Fill(t, disk, 0)
	if err := serve(); err != nil {
		t.Errorf("on a full disk: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := disktest.Small(t, "64m")
	data := filepath.Join(disk, "data")
	start := func() (*app.App, http.Handler) {
		cfg := config.Default()
		cfg.Store.Data = data
		a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		a.Now = ticking(2 * time.Second)
		return a, handler(t, a)
	}
	a, h := start()
	put(t, a, "lighthouse.md", lighthouse)
	uploaded := func(text string) string {
		t.Helper()
		status, id, reply := upload(t, h, text)
		if status/100 != 2 {
			t.Fatalf("upload: status %d: %s", status, reply)
		}
		if _, err := a.Files().WaitTask(t.Context(), "upload-"+id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	first, second := uploaded("# Ferns\n\nFerns carry spores.\n"), uploaded("# Moss\n\nMoss drinks rain.\n")
	forge, knowledge := `{"query":"Who keeps the Farland lighthouse?"}`, `{"input":"Who keeps the Farland lighthouse?"}`
	ask := func(step string, want int) {
		t.Helper()
		for path, body := range map[string]string{"/api/query": forge, "/api/query/stream": forge, "/v1/responses": knowledge} {
			if status, reply := request(t, h, "POST", path, body); status != want || want == 507 && !strings.Contains(reply, "INSUFFICIENT_STORAGE") {
				t.Errorf("%s: %s: status %d, want %d: %.300s", step, path, status, want, reply)
			}
		}
		ready := http.StatusOK
		if want == 507 {
			ready = http.StatusServiceUnavailable
		}
		if status, reply := request(t, h, "GET", "/readyz", ""); status != ready {
			t.Errorf("%s: /readyz is %d, want %d: %s", step, status, ready, reply)
		}
	}
	ask("at first", 200)
	_, list := request(t, h, "GET", "/v1/responses", "")
	var runs struct{ Data []struct{ ID string } }
	if err := json.Unmarshal([]byte(list), &runs); err != nil || len(runs.Data) < 2 {
		t.Fatalf("responses: %s", list)
	}

	free := disktest.Fill(t, disk, 0)
	if status, reply := request(t, h, "GET", "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("a full disk: /readyz is %d: %s", status, reply)
	}
	for range 20 { // the last pages of the files have room for some
		if status, _ := request(t, h, "POST", "/api/query", forge); status == 507 {
			break
		}
	}
	ask("full", 507)
	if _, metrics := request(t, h, "GET", "/metrics", ""); !strings.Contains(metrics, "sluice_disk_free_bytes ") {
		t.Error("/metrics does not show the free space")
	}
	if status, _, reply := upload(t, h, strings.Repeat("more ", 10_000)); status != 507 || !strings.Contains(reply, "INSUFFICIENT_STORAGE") {
		t.Errorf("upload to a full disk: status %d: %s", status, reply)
	}
	for _, path := range []string{"/v1/files/" + first, "/v1/responses/" + runs.Data[0].ID} {
		if status, reply := request(t, h, "DELETE", path, ""); status != 200 {
			t.Errorf("delete %s on a full disk: status %d: %s", path, status, reply)
		}
		if status, _ := request(t, h, "GET", path, ""); status != 404 {
			t.Errorf("%s is there after its deletion", path)
		}
	}
	ask("after the deletes", 507)
	free()
	ask("with room again", 200)
	third := uploaded("# Oak\n\nOaks bear acorns.\n")
	check := func() {
		t.Helper()
		for _, id := range []string{second, third} {
			if status, reply := request(t, h, "GET", "/v1/files/"+id, ""); status != 200 || !strings.Contains(reply, `"completed"`) && !strings.Contains(reply, `"processed"`) {
				t.Errorf("file: status %d: %s", status, reply)
			}
		}
		for _, run := range runs.Data[1:] {
			if status, _ := request(t, h, "GET", "/v1/responses/"+run.ID, ""); status != 200 {
				t.Errorf("response %s: status %d", run.ID, status)
			}
		}
		ask("again", 200)
	}
	check()
	require.NoError(t, a.Close())
	a, h = start()
	check()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
