package git

import (
	"cmp"
	"net/url"
	"strings"
)

// tip is the commit that a ref names.
type tip struct {
	branch string // the branch of the ref; of the default branch as the server names it; "": unknown
	tag    bool   // the ref is a tag
}

// forge is a kind of web interface for repositories.
type forge int

const (
	unknown forge = iota
	gitHub
	gitLab
	bitbucket
	gitea // also Forgejo
)

// forges are the known hosts. Other hosts are recognized by their first label, such as gitlab.example.org.
var forges = map[string]forge{
	"github.com": gitHub, "gitlab.com": gitLab, "bitbucket.org": bitbucket, "codeberg.org": gitea, "gitea.com": gitea,
	"github": gitHub, "gitlab": gitLab, "gitea": gitea, "forgejo": gitea,
}

// uri returns the URI of a file. If the web interface of the host is known, it is the URL of the page that shows the file, so people can open it. Otherwise it is
// the location with the path. The default branch is HEAD there too, so that URIs stay the same if it gets another name; Gitea has no such URL.
func (p place) uri(t tip, file string) string {
	label, _, _ := strings.Cut(p.host, ".")
	kind := cmp.Or(forges[p.host], forges[label])
	show := map[forge]string{gitHub: "/blob/" + p.ref, gitLab: "/-/blob/" + p.ref, bitbucket: "/src/" + p.ref}[kind]
	if kind == gitea {
		switch {
		case t.tag:
			show = "/src/tag/" + p.ref
		case t.branch != "":
			show = "/src/branch/" + t.branch
		}
	}
	if show == "" {
		return p.location(file)
	}
	u := url.URL{Scheme: p.scheme, Host: p.host, Path: strings.TrimSuffix(p.path, ".git") + show + "/" + file}
	return u.String()
}
