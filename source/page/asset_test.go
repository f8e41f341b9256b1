package page_test

import (
	"net/url"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source/page"
)

// TestIsAsset checks which links are requested. Whether they are documents is decided by their media types.
func TestIsAsset(t *testing.T) {
	for name, want := range map[string]bool{
		"data.json": false, "Rules.XML": false, "log.txt.xz": false, "data.json.gz": false, "guide/": false, "report.pdf": false, "feedback.xml": false, "atomic.json": false,
		"style.css": true, "map.js": true, "a.tar.xz": true, "a.tar.gz": true, "a.txz": true, "a.xz": true, "a.bin.xz": true, "a.js.gz": true, "picture.png": true, "sitemap.xml": true, "sitemap-2.xml.gz": true,
		"feed.xml": true, "blog-rss.xml": true, "atom.xml": true, "manifest.json": true, "package.json": true, "a.rss": true,
	} {
		u, err := url.Parse("https://docs.example.org/" + name)
		require.NoError(t, err)
		if got := page.IsAsset(u); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
