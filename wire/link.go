package wire

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
)

// maxURL limits the URLs of [WebURL], in bytes.
const maxURL = 2048

// LinkOf returns the URL of a source if a browser can open it. Otherwise, it is that of the page at the origin of a server, such as
// http://localhost:8000, which shows the document at the passage of the source. It is empty if the origin is.
func LinkOf(origin string, s *event.Source) string {
	if u := WebURL(s); u != "" || origin == "" || s.Document == "" {
		return u
	}
	page := origin + "/documents/" + url.PathEscape(string(s.Document))
	if s.Chunk != "" {
		page += "?chunk=" + url.QueryEscape(string(s.Chunk))
	}
	return page
}

// WebURL returns the URL of a source if a browser can open it, and an empty string otherwise.
func WebURL(s *event.Source) string {
	scheme, rest, found := strings.Cut(s.URI, "://")
	strange := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`"<>\^{|}`+"`", r)
	}
	if !found || scheme != "http" && scheme != "https" || rest == "" || strings.ContainsAny(rest[:1], "/?#") || len(s.URI) > maxURL || strings.ContainsFunc(rest, strange) {
		return ""
	}
	return s.URI
}
