package imap_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"

	"github.com/sluice-rag/sluice/files/fetch"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
	"github.com/sluice-rag/sluice/source/imap"
)

const credentials = "ada:lamp:1871"

// mailServer is a real IMAP server with one user.
type mailServer struct {
	*testing.T
	host  string
	user  *imapmemserver.User
	trust *tls.Config
	close func()
}

// certificate returns the settings of a server and of its clients.
func certificate(t *testing.T) (server, client *tls.Config) {
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"imap"}}, &tls.Config{RootCAs: roots}
}

func newServer(t *testing.T, startTLS bool) *mailServer {
	t.Helper()
	server, client := certificate(t)
	users := imapmemserver.New()
	user := imapmemserver.NewUser("ada", "lamp:1871")
	users.AddUser(user)
	s := imapserver.New(&imapserver.Options{Logger: log.New(io.Discard, "", 0), TLSConfig: server, Caps: goimap.CapSet{goimap.CapIMAP4rev1: {}},
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return users.NewSession(), nil, nil
		}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	m := &mailServer{T: t, host: l.Addr().String(), user: user, trust: client, close: sync.OnceFunc(func() { _ = s.Close() })}
	if !startTLS {
		l = tls.NewListener(l, server)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		m.close()
		wg.Wait()
	})
	for _, folder := range []string{"INBOX", "Archive/2025", "Archive/Büro", "Old"} {
		require.NoError(t, user.Create(folder, nil))
	}
	return m
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

func (m *mailServer) add(folder, subject string, flags ...goimap.Flag) string {
	m.Helper()
	text := "From: Ada <ada@example.org>\r\nSubject: " + subject + "\r\n\r\nAbout " + subject + ".\r\n"
	_, err := m.user.Append(folder, literal{strings.NewReader(text)}, &goimap.AppendOptions{Flags: flags})
	require.NoError(m.T, err)
	return text
}

var loopback = netip.MustParsePrefix("127.0.0.0/8")

func (m *mailServer) kind(allow ...netip.Prefix) source.Kind {
	return imap.Kind(imap.Options{Dial: fetch.New(fetch.Options{Allow: allow}).Dial, TLS: m.trust})
}

func (m *mailServer) open(location string) source.Connector {
	m.Helper()
	k := m.kind(loopback)
	at, err := k.Locate(location)
	require.NoError(m.T, err)
	c, err := k.OpenWith(at, credentials)
	require.NoError(m.T, err)
	m.Cleanup(func() { require.NoError(m.T, c.Close()) })
	return c
}

func paths(l source.Listing) (out []string) {
	for _, d := range l.Documents {
		out = append(out, d.Path)
	}
	slices.Sort(out)
	return out
}

func list(t *testing.T, c source.Connector) source.Listing {
	t.Helper()
	l, err := c.List(t.Context())
	if err != nil || len(l.Failed) > 0 || len(l.Unread) > 0 {
		t.Fatalf("%v, %+v", err, l)
	}
	return l
}

// TestFolders lists a folder with those below it, and reads its messages, with TLS from the start and after STARTTLS.
func TestFolders(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"imaps", "imap"} {
		m := newServer(t, scheme == "imap")
		want := m.add("Archive/2025", "the lamp")
		m.add("Archive/2025", "deleted", goimap.FlagDeleted)
		m.add("Archive/Büro", "tea")
		m.add("INBOX", "inbox")
		c := m.open(scheme + "://" + m.host + "/Archive/")
		l := list(t, c)
		if got := paths(l); !slices.Equal(got, []string{"2025/1.eml", "Büro/1.eml"}) {
			t.Fatalf("%s: listed %q", scheme, got)
		}
		i := slices.IndexFunc(l.Documents, func(d source.Document) bool { return d.Path == "2025/1.eml" })
		d := l.Documents[i]
		if d.Name != "Archive/2025/1.eml" || d.File != "message.eml" || d.Version == "" || !strings.HasPrefix(d.URI, scheme+"://"+m.host+"/Archive/2025;UIDVALIDITY=") || !strings.HasSuffix(d.URI, "/;UID=1") {
			t.Errorf("document %+v", d)
		}
		for range 2 {
			if data, err := c.Read(t.Context(), d, 1000); err != nil || string(data) != want {
				t.Errorf("read %q, %v", data, err)
			}
		}
		if again := list(t, c); again.Documents[i] != d {
			t.Errorf("listed again: %+v", again.Documents[i])
		}
		if got := paths(list(t, m.open(scheme+"://"+m.host+"/inbox"))); !slices.Equal(got, []string{"1.eml"}) && !slices.Equal(got, []string{"INBOX/1.eml"}) {
			t.Errorf("inbox: %q", got)
		}
		if got := paths(list(t, m.open(scheme+"://"+m.host))); len(got) != 3 {
			t.Errorf("all folders: %q", got)
		}
	}
}

// TestChanges: new and removed messages are noticed, and a folder that was made again has other messages. A lost connection is opened again.
func TestChanges(t *testing.T) {
	t.Parallel()
	m := newServer(t, false)
	m.add("Old", "one")
	c := m.open("imaps://" + m.host + "/Old")
	first := list(t, c).Documents[0]
	m.add("Old", "two")
	if got := paths(list(t, c)); !slices.Equal(got, []string{"1.eml", "2.eml"}) {
		t.Errorf("after a new message: %q", got)
	}
	require.NoError(t, m.user.Delete("Old"))
	require.NoError(t, m.user.Create("Old", nil))
	m.add("Old", "three")
	if got := list(t, c); len(got.Documents) != 1 || got.Documents[0].URI == first.URI {
		t.Errorf("a new folder of the same name: %+v", got)
	}
	if _, err := c.Read(t.Context(), first, 1000); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a message of the folder that is gone: %v", err)
	}
}

// TestRefused checks the errors. None has the password.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := newServer(t, false)
	m.add("INBOX", "long")
	plain := newServer(t, true)
	for name, c := range map[string]struct {
		kind                  source.Kind
		location, keys, wants string
	}{
		"address":     {m.kind(), "imaps://" + m.host + "/INBOX", credentials, "not at a public address"},
		"password":    {m.kind(loopback), "imaps://" + m.host + "/INBOX", "ada:hunter2", "refuses the user or the password"},
		"folder":      {m.kind(loopback), "imaps://" + m.host + "/None", credentials, `the server has no folder "None"`},
		"certificate": {imap.Kind(imap.Options{Dial: fetch.New(fetch.Options{Allow: []netip.Prefix{loopback}}).Dial}), "imaps://" + m.host + "/INBOX", credentials, "is not trusted"},
		"no TLS":      {m.kind(loopback), "imaps://" + plain.host + "/INBOX", credentials, "could not be read"},
	} {
		at, err := c.kind.Locate(c.location)
		require.NoError(t, err)
		conn, err := c.kind.OpenWith(at, c.keys)
		require.NoError(t, err)
		if _, err := conn.List(t.Context()); err == nil || !strings.Contains(err.Error(), c.wants) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", name, err, c.wants)
		}
		require.NoError(t, conn.Close())
	}
	k := m.kind(loopback)
	for _, location := range []string{"imaps://", "https://example.org/INBOX", "imaps://ada:x@example.org/INBOX", "imaps://example.org/a;UID=1", "imaps://example.org/a%00b", "imaps://example.org/?x=1"} {
		if at, err := k.Locate(location); err == nil {
			t.Errorf("%s: located at %s", location, at)
		}
	}
	for _, keys := range []string{"", "ada", ":x", "ada:"} {
		if _, err := k.OpenWith("imaps://example.org/INBOX", keys); err == nil || keys != "" && strings.Contains(err.Error(), "ada") {
			t.Errorf("%q: %v", keys, err)
		}
	}
	if _, err := k.Open("imaps://example.org/INBOX"); err == nil {
		t.Error("opened without credentials")
	}
}

// TestLimits: a message that is too large is not read, and the next one is.
func TestLimits(t *testing.T) {
	t.Parallel()
	m := newServer(t, false)
	m.add("INBOX", strings.Repeat("long ", 1000))
	want := m.add("INBOX", "short")
	c := m.open("imaps://" + m.host + "/INBOX")
	l := list(t, c)
	if _, err := c.Read(t.Context(), l.Documents[0], 100); err == nil || !strings.Contains(err.Error(), "larger than the limit of 100 bytes") {
		t.Errorf("too large: %v", err)
	}
	if data, err := c.Read(t.Context(), l.Documents[1], int64(len(want))); err != nil || string(data) != want {
		t.Errorf("%q, %v", data, err)
	}
	m.close()
	if _, err := c.Read(t.Context(), l.Documents[1], 1000); err == nil {
		t.Error("read from a server that has stopped")
	}
}

// TestHostileServers: a server that sends without an end, or no IMAP, is an error.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(io.ReadWriter){
		"endless greeting": func(c io.ReadWriter) {
			for {
				if _, err := io.WriteString(c, "* OK "+strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		},
		"endless folders": func(c io.ReadWriter) {
			_, _ = io.WriteString(c, "* OK hello\r\n")
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				tag, command, _ := strings.Cut(lines.Text(), " ")
				for strings.HasPrefix(command, "LIST") {
					if _, err := fmt.Fprintf(c, "* LIST () \"/\" {%d}\r\n", 1<<30); err != nil {
						return
					}
					if _, err := io.CopyN(c, zeros{}, 1<<30); err != nil {
						return
					}
				}
				_, _ = fmt.Fprintf(c, "%s OK\r\n", tag)
			}
		},
		"no IMAP": func(c io.ReadWriter) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"nothing": func(io.ReadWriter) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := certificate(t)
			l, err := tls.Listen("tcp", "127.0.0.1:0", server)
			require.NoError(t, err)
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					serve(c)
					_ = c.Close()
				}
			})
			defer wg.Wait()
			defer func() { require.NoError(t, l.Close()) }()
			k := imap.Kind(imap.Options{Dial: fetch.New(fetch.Options{Allow: []netip.Prefix{loopback}}).Dial, TLS: client})
			c, err := k.OpenWith("imaps://"+l.Addr().String()+"/INBOX", credentials)
			require.NoError(t, err)
			if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "could not be read") {
				t.Errorf("%v", err)
			}
			require.NoError(t, c.Close())
		})
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}
