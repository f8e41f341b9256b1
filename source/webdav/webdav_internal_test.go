package webdav

import (
	"strings"
	"testing"
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
