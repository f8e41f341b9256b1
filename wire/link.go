package wire

import (
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/event"
)

// maxURL limits the URLs of [WebURL], in bytes.
const maxURL = 2048

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
