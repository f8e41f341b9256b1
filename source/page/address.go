package page

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest/parse"
)

// maxURL is the longest URL that is visited, in bytes. Longer ones come from servers that generate links without end, and cannot be cited.
const maxURL = 2048

// tracking are parameters of URLs that name a visitor or a campaign, and not another page.
var tracking = []string{"fbclid", "gclid", "dclid", "msclkid", "mc_cid", "mc_eid", "igshid", "phpsessid", "jsessionid"}

// Parse returns the one form of a URL of a page: without a fragment, dot segments, the default port and parameters for tracking. Errors are of the
// type [fault.Error].
func Parse(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || len(raw) > maxURL || strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fault.Invalid("location", "want a URL of at most %d bytes, such as https://docs.example.org/guide/", maxURL)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fault.Invalid("location", "want a URL of http or https, such as https://docs.example.org/guide/")
	case u.User != nil:
		return nil, fault.Invalid("location", "contains a user name or password, which would be stored")
	}
	return tidy(u), nil
}

// tidy brings an absolute URL to its one form.
func tidy(u *url.URL) *url.URL {
	u = u.JoinPath() // without dot segments
	u.Fragment, u.RawFragment, u.ForceQuery = "", "", false
	u.Host = strings.ToLower(u.Host)
	if port := u.Port(); port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if u.RawQuery != "" {
		u.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(p string) bool {
			name, _, _ := strings.Cut(strings.ToLower(p), "=")
			return name == "" || strings.HasPrefix(name, "utm_") || slices.Contains(tracking, name)
		}), "&")
	}
	return u
}

// Resolve returns the one form of a link of a page, or an empty text if it does not lead to a page of http or https.
func Resolve(base *url.URL, link string) string {
	link = strings.TrimSpace(link)
	if link == "" || len(link) > maxURL || strings.HasPrefix(link, "#") {
		return ""
	}
	u, err := base.Parse(link)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return ""
	}
	if u.Scheme != base.Scheme && u.Host == base.Host && u.Port() == "" {
		u.Scheme = base.Scheme // old pages link to http where the site has moved to https
	}
	out := tidy(u).String()
	if len(out) > maxURL {
		return ""
	}
	return out
}

// assets are extensions of files that are linked by pages and are no documents of a site. Archives repeat its pages.
var assets = extensions(`.css .js .mjs .map .rss .atom .ico .png .jpg .jpeg .gif .svg .webp .avif .bmp .tif .tiff .woff .woff2 .ttf .otf .eot
	.mp3 .mp4 .m4a .ogg .oga .ogv .wav .flac .webm .avi .mov .zip .tar .tgz .tbz2 .txz .7z .rar .jar .war .deb .rpm .apk .exe .msi .dmg .iso .img
	.bin .so .dll .whl .asc .sig .sha256 .torrent`)

func extensions(list string) map[string]bool {
	out := map[string]bool{}
	for e := range strings.FieldsSeq(list) {
		out[e] = true
	}
	return out
}

// IsPage reports whether a URL ends in the name of a page of HTML.
func IsPage(u *url.URL) bool {
	return slices.Contains([]string{".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp"}, strings.ToLower(path.Ext(u.Path)))
}

// lists matches names of files that list the pages of a site, or describe the site or a package to programs.
var lists = regexp.MustCompile(`^(?:sitemap.*|(?:.*[-_.])?(?:feed|rss|atom)|manifest|package(?:-lock)?|opensearch|browserconfig)\.(?:xml|json)$`)

// IsAsset reports whether the name of a URL is that of a file that is no document, so that it need not be requested. A compressed file is a document if its name without the extension is that of one.
func IsAsset(u *url.URL) bool {
	name := strings.ToLower(path.Base(u.Path))
	ext := path.Ext(name)
	if slices.Contains([]string{".gz", ".bz2", ".xz", ".zst"}, ext) {
		name = strings.TrimSuffix(name, ext)
		if ext = path.Ext(name); !parse.Supported(name) {
			return true
		}
	}
	return assets[ext] || lists.MatchString(name)
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// isDocument reports whether content of a media type can be a document.
func isDocument(mediaType string, u *url.URL) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch {
	case isHTML(mediaType), mediaType == "text/plain", parse.ExtensionOf(mediaType) != "":
		return true
	case IsAsset(u), kind == "image", kind == "audio", kind == "video", kind == "font":
		return false
	}
	return parse.Supported(u.Path)
}

// fileOf returns a name whose extension is that of the format of a page, whatever its URL ends in: /guide/ and /guide.php are HTML.
func fileOf(u *url.URL, mediaType string) string {
	name := u.Hostname() + strings.TrimRight(u.Path, "/")
	ext := parse.ExtensionOf(mediaType)
	switch {
	case isHTML(mediaType) && parse.ExtensionOf("text/html") != strings.ToLower(path.Ext(name)):
		return name + ext
	case u.Path != "/" && parse.Supported(u.Path):
		return name
	case mediaType == "text/plain":
		return name + ".txt"
	}
	return name + ext
}

// Name is the name of a page for users: its host and path.
func Name(u *url.URL) string {
	name := u.Host + strings.TrimRight(u.Path, "/")
	if u.RawQuery != "" {
		name += "?" + u.RawQuery
	}
	return name
}
