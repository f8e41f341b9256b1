package webdav

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// FuzzMultistatus checks that no reply names an entry that is not one of the folder.
func FuzzMultistatus(f *testing.F) {
	for _, href := range []string{"/a/", "/a/x.md", "/a/../x", "http://h/a/x", "/a/%2e%2e/x", "//h/a/x"} {
		f.Add(`<multistatus xmlns="DAV:"><response><href>` + href + `</href><propstat><prop><resourcetype><collection/></resourcetype><getetag>"1"</getetag></prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`)
	}
	c := &connector{place: place{"https", "h", "/a"}}
	f.Fuzz(func(t *testing.T, text string) {
		_ = decode(strings.NewReader(text), func(r *response) error {
			r.entry().version()
			if name, ok := c.nameOf("/a", r.Href); ok && (strings.Contains(name, "/") || name == ".." || name == ".") {
				t.Errorf("%q is taken for the entry %q", r.Href, name)
			}
			return nil
		})
	})
}

// TestUnknownEntry checks that an entry without properties, which may be a folder, is not taken for a file: the documents in it would be removed.
func TestUnknownEntry(t *testing.T) {
	for _, r := range []response{{Href: "/a/x"}, {Href: "/a/x", Status: "HTTP/1.1 200 OK"}} {
		if e := r.entry(); e.status != 403 {
			t.Errorf("%+v has the status %d", r, e.status)
		}
	}
}

// TestFailedType checks that an entry whose server cannot say whether it is a folder is not taken for a file, also if its other properties are known.
func TestFailedType(t *testing.T) {
	for status, want := range map[string]int{"HTTP/1.1 403 Forbidden": 403, "HTTP/1.1 500 Internal Server Error": 403, "nonsense": 403, "HTTP/1.1 404 Not Found": 200} {
		var r response
		text := `<D:response xmlns:D="DAV:"><D:href>/a/x</D:href><D:propstat><D:prop><D:getetag>"1"</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>` +
			`<D:propstat><D:prop><D:resourcetype/></D:prop><D:status>` + status + `</D:status></D:propstat></D:response>`
		require.NoError(t, xml.Unmarshal([]byte(text), &r))
		if e := r.entry(); e.status != want || e.folder {
			t.Errorf("%s: %+v, want the status %d", status, e, want)
		}
	}
}
