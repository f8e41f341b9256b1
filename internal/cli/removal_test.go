package cli_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"golang.org/x/net/webdav"

	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source/git/gittest"
)

// TestEmptiedPlaces empties places of several kinds, as the end of a mount or a failure does: their documents are kept until a removal is allowed.
func TestEmptiedPlaces(t *testing.T) {
	var gone atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/guide/":
			_, _ = w.Write([]byte("<html><meta name=robots content=noindex><a href=quays.html>The quays</a><a href=tugs.html>Tugs</a><a href=cranes.html>Cranes</a></html>"))
		case gone.Load() || !strings.HasSuffix(r.URL.Path, ".html"):
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, "<html><title>The quays</title><body><p>The quay of %s is for vessels of the pilots.</p></body></html>", r.URL.Path)
		}
	}))
	t.Cleanup(site.Close)
	repo := gittest.New(t, nil).Started()
	folder, shared := t.TempDir(), t.TempDir()
	objects := s3test.New(t)
	inBucket := filepath.Join(objects.Folder, objects.Bucket, "team")
	require.NoError(t, os.Mkdir(inBucket, 0o700))
	mail := newMailbox(t)
	t.Setenv("SLUICE_SOURCE_BUCKET", s3test.AccessKey+":"+s3test.SecretKey)
	t.Setenv("SLUICE_SOURCE_MAIL", "ada:lamp:1871")
	for _, name := range []string{"crane.md", "tugs.md", "quays.md"} {
		text := "# " + name + "\n\nThis is the text of " + name + ".\n"
		repo.Put(name, text)
		mail.put(t, text)
		for _, dir := range []string{folder, shared, inBucket} {
			write(t, filepath.Join(dir, name), text)
		}
	}
	cloud := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(shared), LockSystem: webdav.NewMemLS()})
	t.Cleanup(cloud.Close)
	empty := func(dir string) {
		require.NoError(t, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)))
	}
	urls := strings.Join([]string{site.URL + "/quays.html", site.URL + "/tugs.html", site.URL + "/cranes.html"}, " ")
	places := []struct {
		location string
		empty    func()
		status   int // of the sync that may remove the documents
		settings []string
	}{
		{site.URL + "/guide/", func() { gone.Store(true) }, 0, nil},
		{urls, func() { gone.Store(true) }, 1, []string{"--kind", "urls"}}, // it reports the URLs
		{repo.URL + gittest.Name, func() { repo.Remove("quays.md"); repo.Remove("crane.md"); repo.Remove("tugs.md") }, 0, nil},
		{folder, func() { empty(folder) }, 0, nil},
		{strings.Replace(cloud.URL, "http:", "webdav:", 1), func() { empty(shared) }, 0, nil},
		{"s3+http://" + objects.Address() + "/" + objects.Bucket + "/team", func() { empty(inBucket) }, 0, []string{"--credentials", "env:SLUICE_SOURCE_BUCKET"}},
		{"imaps://" + mail.address + "/Harbour", func() { mail.empty(t) }, 0, []string{"--credentials", "env:SLUICE_SOURCE_MAIL"}},
	}

	data := t.TempDir()
	url, _ := child(t, "--data", data, "--fetch-allow", "127.0.0.0/8") // a process of its own reads the certificates of the test
	sources := func(status int, want string, args ...string) {
		t.Helper()
		got, out, errs := run(t, append(append([]string{"sources"}, args...), "--data", data)...)
		if got != status || !strings.Contains(out+errs, want) {
			t.Errorf("%v: status %d, want %d and %q in %s\n%s", args, got, status, want, out, errs)
		}
	}
	for _, p := range places {
		gone.Store(false)
		sources(0, "added 3 ", append([]string{"add", p.location}, p.settings...)...)
		p.empty()
		const kept = "3 documents have vanished"
		sources(1, kept, "sync", p.location)
		sources(0, kept, "list")
		if body := get(t, url+"/api/sources"); !strings.Contains(body, `"not_removed":3`) || !strings.Contains(body, kept) {
			t.Errorf("%s: %s", p.location, body)
		}
		sources(p.status, "removed 3,", "sync", p.location, "--allow-removal")
		sources(0, "removed src-", "remove", p.location)
	}
	sources(2, "needs the sources", "sync", "--allow-removal")
}

// mailbox is a folder of a real IMAP server, whose certificate SSL_CERT_FILE names.
type mailbox struct {
	address string
	user    *imapmemserver.User
}

func newMailbox(t *testing.T) *mailbox {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	t.Cleanup(web.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	write(t, authority, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	t.Setenv("SSL_CERT_FILE", authority)
	users, user := imapmemserver.New(), imapmemserver.NewUser("ada", "lamp:1871")
	users.AddUser(user)
	s := imapserver.New(&imapserver.Options{Logger: log.New(io.Discard, "", 0), Caps: goimap.CapSet{goimap.CapIMAP4rev1: {}},
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return users.NewSession(), nil, nil
		}})
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, NextProtos: []string{"imap"}})
	if err == nil {
		err = user.Create("Harbour", nil)
	}
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { _ = s.Close(); serving.Wait() })
	return &mailbox{l.Addr().String(), user}
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

func (m *mailbox) put(t *testing.T, text string) {
	t.Helper()
	message := "From: Ada <ada@example.org>\r\nSubject: The quays\r\n\r\n" + strings.ReplaceAll(text, "\n", "\r\n")
	if _, err := m.user.Append("Harbour", literal{strings.NewReader(message)}, new(goimap.AppendOptions)); err != nil {
		t.Fatal(err)
	}
}

func (m *mailbox) empty(t *testing.T) {
	t.Helper()
	require.NoError(t, errors.Join(m.user.Delete("Harbour"), m.user.Create("Harbour", nil)))
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(text)
}

// TestEmptiedDocs starts a server whose folder of documents was emptied. A watch removes no documents either.
func TestEmptiedDocs(t *testing.T) {
	folder, data := docs(t), t.TempDir()
	write(t, filepath.Join(folder, "tugs.md"), "The tugs are red.")
	write(t, filepath.Join(folder, "quays.md"), "The quays are long.")
	if status, _, errs := run(t, "ingest", folder, "--data", data); status != 0 {
		t.Fatal(errs)
	}
	for _, name := range []string{"handbook.md", "tugs.md", "quays.md"} {
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
	}
	ingest := func(status int, want string, args ...string) {
		t.Helper()
		got, out, errs := run(t, append([]string{"ingest", folder, "--data", data}, args...)...)
		if got != status || !strings.Contains(out+errs, want) {
			t.Errorf("%v: status %d, want %d and %q in %s%s", args, got, status, want, out, errs)
		}
	}
	ingest(1, "3 documents have vanished")
	url, stop := serve(t, "--data", data, "--docs", folder, "--watch")
	ingest(1, "3 documents have vanished")
	if body := get(t, url+"/api/documents"); !strings.Contains(body, "handbook.md") {
		t.Error(body)
	}
	ingest(0, "removed 3,", "--allow-removal")
	if body := get(t, url+"/api/documents"); strings.Contains(body, "handbook.md") {
		t.Error(body)
	}
	if status := stop(); status != 0 {
		t.Errorf("server: status %d", status)
	}
}
