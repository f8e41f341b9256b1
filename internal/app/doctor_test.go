package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// diagnose returns the findings of settings that differ from the defaults, and their problems as lines.
func diagnose(t *testing.T, change func(*config.Config)) (found []doctor.Finding, problems string) {
	t.Helper()
	cfg := config.Default()
	cfg.Store.Data = filepath.Join(t.TempDir(), "a", "data")
	cfg.Keys.OpenAI, cfg.Keys.Anthropic = "hunter2-o", "hunter2-a"
	change(&cfg)
	found = app.Diagnose(t.Context(), cfg)
	for _, f := range found {
		for _, p := range f.Problems {
			problems += f.Part + ": " + p.Text + " | " + p.Fix + "\n"
		}
	}
	if text, err := json.Marshal(found); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("the findings show a key: %s, %v", text, err)
	}
	return found, problems
}

func TestDiagnoseFolder(t *testing.T) {
	t.Parallel()
	write := func(path string, mode os.FileMode) string {
		require.NoError(t, os.WriteFile(path, nil, mode))
		return path
	}
	file := write(filepath.Join(t.TempDir(), "file"), 0o600)
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil { //nolint:gosec // that is the fault
		t.Fatal(err)
	}
	elsewhere := filepath.Dir(write(filepath.Join(t.TempDir(), "records.elsewhere"), 0o600))
	for name, c := range map[string]struct{ data, want string }{
		"new":              {},
		"a file":           {data: file, want: "is not a folder | choose another folder with --data"},
		"below a file":     {data: filepath.Join(file, "data"), want: "data: "},
		"of others too":    {data: open, want: "other users of this machine can open it | chmod 700"},
		"of a database":    {data: elsewhere, want: "records: those of " + elsewhere + " are in a database"},
		"in no such place": {data: "/proc/none/data", want: "it cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			found, problems := diagnose(t, func(cfg *config.Config) {
				if c.data != "" {
					cfg.Store.Data = c.data
				}
			})
			if !strings.Contains(problems, c.want) || c.want == "" && (problems != "" || len(found) != 1 || found[0].RoundTrip <= 0) {
				t.Errorf("%q, want %q", problems, c.want)
			}
			if entries, err := os.ReadDir(found[0].Address); err == nil && len(entries) > 1 {
				t.Errorf("the folder has %v", entries)
			}
			if _, err := os.Stat(found[0].Address); c.data == "" && err == nil {
				t.Error("the folder was created")
			}
		})
	}
}

func TestDiagnoseModels(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models", "/other/models":
			if r.Header.Get("Authorization") != "Bearer hunter2-o" && r.Header.Get("X-Api-Key") != "hunter2-a" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = w.Write([]byte(`{"data":[{"id":"small"},{"id":"large"}]}`))
		case "/broken/models":
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	for name, c := range map[string]struct {
		models config.Models
		key    config.Secret
		want   string
	}{
		"openai":       {models: config.Models{ModelURL: []string{s.URL + "/v1"}}, key: "hunter2-o"},
		"without path": {models: config.Models{ModelURL: []string{s.URL}, ModelName: []string{"large"}}, key: "hunter2-o"},
		"anthropic":    {models: config.Models{Model: []string{"anthropic"}, ModelURL: []string{s.URL}}, key: "hunter2-o"},
		"embedder":     {models: config.Models{EmbedURL: s.URL + "/other", EmbedName: "small"}, key: "hunter2-o"},
		"wrong key":    {models: config.Models{ModelURL: []string{s.URL + "/v1"}}, key: "hunter2-x", want: "model: it refuses the key | set OPENAI_API_KEY"},
		"no key":       {models: config.Models{ModelURL: []string{s.URL + "/v1"}}, want: "model: it needs a key | set OPENAI_API_KEY"},
		"no such name": {models: config.Models{ModelURL: []string{s.URL + "/v1"}, ModelName: []string{"huge"}}, key: "hunter2-o", want: "model: its list of models does not have huge"},
		"wrong path":   {models: config.Models{EmbedURL: s.URL + "/v2"}, key: "hunter2-o", want: "embedder: it has no list of models at this address | check the path in --embed-url"},
		"broken":       {models: config.Models{ModelURL: []string{s.URL + "/broken"}}, key: "hunter2-o", want: "model: it replies with the HTTP status 502"},
		"down":         {models: config.Models{ModelURL: []string{"http://127.0.0.1:1/v1"}}, want: "model: nothing listens at the address | start the server, or check the address in --model-url"},
		"not a URL":    {models: config.Models{ModelURL: []string{"ftp://me:hunter2@host"}}, want: "model: read the model's URL: it must begin with http"},
	} {
		t.Run(name, func(t *testing.T) {
			found, problems := diagnose(t, func(cfg *config.Config) { cfg.Models, cfg.Keys.OpenAI = c.models, c.key })
			if len(found) != 2 || c.want == "" && problems != "" || !strings.HasPrefix(problems, c.want) {
				t.Errorf("%q, want %q; %+v", problems, c.want, found)
			}
		})
	}
}

func TestDiagnoseBlobs(t *testing.T) {
	t.Parallel()
	shared, empty := t.TempDir(), t.TempDir()
	if _, err := blobs.OpenShared(shared, false); err != nil {
		t.Fatal(err)
	}
	n := natstest.New(t)
	s3 := s3test.New(t)
	wrong := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(wrong, []byte("[default]\naws_access_key_id = "+s3test.AccessKey+"\naws_secret_access_key = hunter2\n"), 0o600))
	right := s3test.CredentialsFile(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, c := range map[string]struct{ place, credentials, want string }{
		"folder":             {place: "file://" + filepath.ToSlash(shared)},
		"folder not mounted": {place: "file://" + filepath.ToSlash(empty), want: "files: it holds no uploaded files of Sluice | mount its file system"},
		"NATS":               {place: n.URL()},
		"NATS down":          {place: "nats://" + strings.TrimPrefix(closed.URL, "http://"), want: "files: "},
		"S3":                 {place: s3.URL("sluice"), credentials: right},
		"S3, wrong secret":   {place: s3.URL("sluice"), credentials: wrong, want: "files: "},
		"S3 down":            {place: "s3://bucket?region=x&endpoint=" + closed.URL, credentials: right, want: "nothing listens at the address | start the server, or check the address in --blobs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, problems := diagnose(t, func(cfg *config.Config) {
				cfg.Store.Blobs, cfg.Store.BlobsCredentials = config.Secret(c.place), c.credentials
			})
			f := found[1]
			if !strings.Contains(problems, c.want) || c.want == "" && (problems != "" || f.Part != "files" || len(f.Details) != 1) {
				t.Errorf("%q, want %q: %+v", problems, c.want, f)
			}
			if entries, err := os.ReadDir(shared); name == "folder" && (err != nil || len(entries) != 1) {
				t.Errorf("the folder has %v, %v", entries, err)
			}
		})
	}
}
