package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/swaggest/swgui/v5emb"
)

// docsURL is the path of the page.
var docsURL = &url.URL{Path: "/docs/"}

// inline matches inline scripts and styles.
var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</`)

// docs serves the page that shows the API. Its Content-Security-Policy allows resources of this server, and the inline
// scripts and styles of the page by their hashes.
func docs() http.Handler {
	page := v5emb.New("Sluice", "/openapi.json", "/docs/")
	var index buffered
	page.ServeHTTP(&index, &http.Request{Method: http.MethodGet, URL: docsURL})
	sources := map[string]string{}
	for _, m := range inline.FindAllSubmatch(index.Bytes(), -1) {
		sum := sha256.Sum256(m[2])
		sources[string(m[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := fmt.Sprintf("default-src 'none'; script-src 'self'%s; style-src 'self'%s; img-src 'self' data:; font-src 'self'; connect-src 'self'; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", sources["script"], sources["style"])
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		if !strings.HasPrefix(r.URL.Path, docsURL.Path) {
			http.Redirect(w, r, docsURL.Path, http.StatusMovedPermanently)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// buffered is a [http.ResponseWriter] that keeps the body.
type buffered struct {
	bytes.Buffer
	header http.Header
}

func (b *buffered) Header() http.Header {
	if b.header == nil {
		b.header = http.Header{}
	}
	return b.header
}

func (b *buffered) WriteHeader(int) {}
