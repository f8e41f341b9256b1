// Package git is the connector of Git repositories on servers with the smart protocol over HTTP. It reads the files of one branch or tag, runs nothing that a
// repository contains, and does not need Git to be installed.
package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/source"
)

// Options configure the kind. Dial and Dir are required.
type Options struct {
	// Dial connects to a server: see [fetch.Fetcher.Dial].
	Dial       func(ctx context.Context, network, address string) (net.Conn, error)
	TLS        *tls.Config // nil: the default
	Dir        string      // keeps the objects of each location, so that the next sync downloads what has changed
	Extensions []string    // of files that are read although they are commonly no documents: see [ingest.Options]
	MaxFile    int64       // larger files are not downloaded, if the server can leave them out; default 64 MiB
	Limits
}

// Limits are the limits of a repository. Zero values select the defaults.
type Limits struct {
	Bytes   int64         // downloaded and kept; default 2 GiB
	Object  int64         // size of a file of the repository, also of one that is no document; default 256 MiB
	Objects int           // files and folders, with those in a download; default 1,000,000
	Time    time.Duration // of a listing; default 1 hour
	Packs   int           // downloads that are kept of a location, before all is downloaded again; default 100
}

// Kind returns the kind of source. Its locations are git+https://HOST/PATH#BRANCH:/FOLDER, or git+http:// for a server without TLS. The credentials are USER:PASSWORD,
// and are only sent with TLS.
func Kind(o Options) source.Kind {
	o.MaxFile = cmp.Or(max(o.MaxFile, 0), 64<<20)
	o.Bytes = cmp.Or(o.Bytes, 2<<30)
	o.Object = cmp.Or(o.Object, 256<<20)
	o.MaxFile = min(o.MaxFile, o.Object)
	o.Objects = cmp.Or(o.Objects, 1_000_000)
	o.Time = cmp.Or(o.Time, time.Hour)
	o.Packs = cmp.Or(o.Packs, 100)
	return source.Kind{
		Suits: suits,
		Locate: func(location string) (string, error) {
			p, err := parseLocation(location)
			if err != nil {
				return "", err
			}
			return p.location(p.inside), nil
		},
		Open: func(location string) (source.Connector, error) { return open(o, location, "") },
		OpenWith: func(location, credentials string) (source.Connector, error) {
			return open(o, location, credentials)
		},
		Forget: func(location string) error { return os.RemoveAll(dirOf(o.Dir, location)) },
	}
}

// suits reports whether a location has a scheme of Git, or is a URL that ends in .git.
func suits(location string) bool {
	u, err := url.Parse(location)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "git+https", "git+http", "ssh", "git+ssh", "git": // the last three are errors of Locate, which say why
		return true
	case "https", "http":
		return strings.HasSuffix(strings.TrimRight(u.Path, "/"), ".git")
	}
	return false
}

// head is the ref of the default branch of a repository.
const head = "HEAD"

// place is a parsed location.
type place struct {
	scheme string // http or https
	host   string
	path   string // of the repository, with a slash at its beginning
	ref    string // a branch or tag, or head
	inside string // the folder, without slashes at its ends; "": all
}

// parseLocation parses a location in its canonical form, or as users write it: without the prefix git+, the branch or the folder.
func parseLocation(text string) (place, error) {
	u, err := url.Parse(text)
	if err != nil {
		return place{}, fault.Invalid("location", "want a URL such as https://HOST/PATH.git#BRANCH:FOLDER") // err contains the URL
	}
	p := place{scheme: strings.TrimPrefix(strings.ToLower(u.Scheme), "git+"), host: strings.ToLower(u.Host), path: path.Clean("/" + u.Path), ref: head}
	switch {
	case p.scheme != "http" && p.scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Opaque != "" || p.path == "/":
		return place{}, fault.Invalid("location", "want git+https://HOST/PATH#BRANCH:FOLDER, or git+http:// for a server without TLS; other protocols such as SSH are not supported")
	case u.User != nil:
		return place{}, fault.Invalid("location", "must not contain credentials: name them in the setting credentials")
	case !source.Printable(p.path):
		return place{}, fault.Invalid("location", "has characters that cannot be printed")
	}
	if port := u.Port(); port == "443" && p.scheme == "https" || port == "80" && p.scheme == "http" {
		p.host = strings.TrimSuffix(p.host, ":"+port)
	}
	ref, folder, _ := strings.Cut(u.Fragment, ":")
	p.ref, p.inside = cmp.Or(ref, head), strings.TrimPrefix(path.Clean("/"+folder), "/")
	if !validRef(p.ref) {
		return place{}, fault.Invalid("location", "the text after # is not a valid name of a branch or tag")
	}
	if !source.Printable(p.inside) {
		return place{}, fault.Invalid("location", "has a folder with characters that cannot be printed")
	}
	return p, nil
}

// validRef reports whether a text can be the name of a branch or tag, by the rules of git check-ref-format.
func validRef(ref string) bool {
	return len(ref) <= 255 && source.Printable(ref) && !strings.ContainsAny(ref, " ~^:?*[\\") && !strings.Contains(ref, "..") && !strings.Contains(ref, "//") &&
		!strings.Contains(ref, "@{") && !strings.HasPrefix(ref, "/") && !strings.HasPrefix(ref, "-") && !strings.HasSuffix(ref, "/") && !strings.HasSuffix(ref, ".")
}

// location returns the location with another folder, in its canonical form. The location of a folder begins with that of each folder above it.
func (p place) location(inside string) string {
	u := url.URL{Scheme: "git+" + p.scheme, Host: p.host, Path: p.path, Fragment: p.ref + ":/" + inside}
	return u.String()
}

// name returns the name of the repository for users.
func (p place) name() string { return strings.TrimSuffix(path.Base(p.path), ".git") }
