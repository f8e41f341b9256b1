package app_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/blobs/natsblobs"
	"github.com/sluice-rag/sluice/blobs/s3blobs"
	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// blobPlace is a place of uploaded files.
type blobPlace struct {
	blobs.Tenants
	url, credentials string
}

func (p blobPlace) set(c *config.Config) {
	c.Store.Blobs, c.Store.BlobsCredentials = config.Secret(p.url), p.credentials
}

// sums returns the hashes of the blobs of a tenant.
func (p blobPlace) sums(t *testing.T, tenant string) (out []string) {
	t.Helper()
	s, err := p.Open(t.Context(), tenant)
	require.NoError(t, err)
	for sum, err := range s.List(t.Context()) {
		require.NoError(t, err)
		out = append(out, sum)
	}
	slices.Sort(out)
	return out
}

func natsPlace(t *testing.T, url string) blobPlace {
	t.Helper()
	c, err := natsconn.Connect(url, natsconn.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return blobPlace{natsblobs.New(c, natsblobs.Options{}), url, ""}
}

// blobPlaces are the places of uploaded files outside of the data folder, with a function that makes a new one.
var blobPlaces = map[string]func(*testing.T) blobPlace{
	"nats": func(t *testing.T) blobPlace { return natsPlace(t, natstest.New(t).URL()) },
	"s3": func(t *testing.T) blobPlace {
		s := s3test.New(t)
		p := blobPlace{url: s.URL("sluice"), credentials: s3test.CredentialsFile(t)}
		at, err := s3blobs.Parse(p.url)
		require.NoError(t, err)
		if p.Tenants, err = s3blobs.Connect(t.Context(), at, p.credentials); err != nil {
			t.Fatal(err)
		}
		return p
	},
	"folder": func(t *testing.T) blobPlace {
		dir := t.TempDir()
		all, err := blobs.OpenShared(dir, false)
		require.NoError(t, err)
		return blobPlace{all, "file://" + filepath.ToSlash(dir), ""}
	},
}

func sumOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// TestBlobs lets two tenants upload to each place, read, delete, and be deleted, with a restart in between.
func TestBlobs(t *testing.T) {
	t.Parallel()
	for name, open := range blobPlaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, data := open(t), t.TempDir()
			c := openTenants(t, data, place.set)
			for _, tenant := range []string{"default", "t-1"} {
				c.upload(tenant, "f1", farland("Ada Brook"))
				c.upload(tenant, "f2", farland("Bo Crane"))
				if got, want := place.sums(t, tenant), sorted(sumOf(farland("Ada Brook")), sumOf(farland("Bo Crane"))); !slices.Equal(got, want) {
					t.Errorf("blobs of %s: %v, want %v", tenant, got, want)
				}
			}
			c.close()
			if local, _ := filepath.Glob(filepath.Join(data, "files", "*", "*", "????????????????*")); len(local) > 0 && !strings.Contains(local[0], "records") {
				t.Errorf("files in the data folder: %v", local)
			}
			c = openTenants(t, data, place.set)
			if w := c.request("t-1", "GET", "/api/documents/f1/original", ""); w.Code != http.StatusOK || w.Body.String() != farland("Ada Brook") {
				t.Errorf("original: %d %q", w.Code, w.Body)
			}
			if w := c.request("t-1", "GET", "/api/documents/f1/original", "", "Range", "bytes=2-8"); w.Code != http.StatusPartialContent || w.Body.String() != "Farland" {
				t.Errorf("a part of the original: %d %q", w.Code, w.Body)
			}
			if w := c.request("t-1", "DELETE", "/v1/files/f1", ""); w.Code != http.StatusOK {
				t.Errorf("delete: %d %s", w.Code, w.Body)
			}
			if got := place.sums(t, "t-1"); !slices.Equal(got, []string{sumOf(farland("Bo Crane"))}) {
				t.Errorf("blobs after a deletion: %v", got)
			}
			if w := c.request("default", "GET", "/readyz", ""); !strings.Contains(w.Body.String(), `"files":{"status":"ok"}`) {
				t.Errorf("readyz: %s", w.Body)
			}
			cfg := c.Default.Config
			c.close()
			require.NoError(t, app.DeleteTenant(t.Context(), cfg, "t-1", nil))
			if got := place.sums(t, "t-1"); len(got) > 0 {
				t.Errorf("blobs of a deleted tenant: %v", got)
			}
			if got := place.sums(t, "default"); len(got) != 2 {
				t.Errorf("blobs of the other tenant: %v", got)
			}
			cfg.Store.Blobs = ""
			if a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--blobs") {
				t.Errorf("open without --blobs: %v, %v", a, err)
			}
		})
	}
}

func sorted(s ...string) []string {
	slices.Sort(s)
	return s
}

// TestBlobsOfAFolderStay opens a folder that has uploaded files with --blobs, which would not find them.
func TestBlobsOfAFolderStay(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c := openTenants(t, data, nil)
	c.upload("t-1", "f1", farland("Ada Brook"))
	cfg := c.Default.Config
	c.close()
	blobPlaces["folder"](t).set(&cfg)
	if a, err := app.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("open: %v, %v", a, err)
	}
	if _, err := os.Stat(filepath.Join(data, "files.elsewhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the refused folder is marked: %v", err)
	}
}

// TestBlobsAway stops NATS while a file waits to be indexed, and starts it again.
func TestBlobsAway(t *testing.T) {
	t.Parallel()
	s := natstest.New(t)
	c := openTenants(t, t.TempDir(), natsPlace(t, s.URL()).set)
	now := time.Now()
	c.Default.Now = func() time.Time { now = now.Add(time.Minute); return now } // results are used for a second
	c.upload("default", "f1", farland("Ada Brook"))
	s.Stop()
	if w := c.request("default", "GET", "/readyz", ""); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"files":{"status":"failed","detail":"the store of uploaded files cannot be reached`) {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	for what, w := range map[string]int{
		"original": c.request("default", "GET", "/api/documents/f1/original", "").Code, "delete": c.request("default", "DELETE", "/v1/files/f1", "").Code,
		"upload": c.send("default", "f2", farland("Bo Crane")),
	} {
		if w != http.StatusServiceUnavailable {
			t.Errorf("%s while NATS is away: status %d", what, w)
		}
	}
	s.Start(t)
	if w := c.request("default", "GET", "/api/documents/f1/original", ""); w.Code != http.StatusOK || w.Body.String() != farland("Ada Brook") {
		t.Errorf("original: %d %q", w.Code, w.Body)
	}
	c.upload("default", "f2", farland("Bo Crane"))
	if w := c.request("default", "DELETE", "/v1/files/f1", ""); w.Code != http.StatusOK {
		t.Errorf("delete: %d %s", w.Code, w.Body)
	}
	if w := c.request("default", "GET", "/readyz", ""); w.Code != http.StatusOK {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
}

// send uploads a text as a file and returns the status.
func (c *city) send(tenant, id, text string) int {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("id", id) // a buffer takes everything
	part, _ := w.CreateFormFile("file", id+".md")
	_, _ = part.Write([]byte(text))
	_ = w.Close()
	return c.request(tenant, "POST", "/v1/files", form.String(), "Content-Type", w.FormDataContentType()).Code
}
