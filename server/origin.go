package server

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/wire"
)

// linked returns a protocol with links to the pages of documents if it can have such links.
func (s *Server) linked(p wire.Protocol, r *http.Request) wire.Protocol {
	if l, ok := p.(wire.Linked); ok && s.o.Page != nil {
		return l.LinkTo(s.o.Page(r))
	}
	return p
}

// LocalOrigin returns the origin of this server for a browser on the same machine, such as http://localhost:8000, or nothing for requests from others: the
// host of their requests is not to be trusted.
func LocalOrigin(r *http.Request) string {
	base := "http://" + r.Host
	u, err := url.Parse(base)
	if err != nil || !Loopback(r) || u.Host != r.Host || u.User != nil || u.Path != "" {
		return ""
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return ""
	}
	return base
}

// Loopback reports whether the browser of a request reaches the server without TLS on the same machine. Browsers do not send cookies with the attribute
// Secure there.
func Loopback(r *http.Request) bool {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
