package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// serveProxy runs the reverse proxy of the standard library in front of servers, which get the requests in turn, until in ends. In front of one provider, it is the cheapest possible
// relay. It prints two addresses to out: that of the proxy, and that of a handler that returns the processUsage.
func serveProxy(ctx context.Context, targets []string, in io.Reader, out io.Writer) error {
	var urls []*url.URL
	for _, target := range targets {
		u, err := url.Parse(target)
		if err != nil {
			return fmt.Errorf("parse proxy target: %w", err)
		}
		urls = append(urls, u)
	}
	var requests atomic.Uint64
	t := http.DefaultTransport.(*http.Transport).Clone() // nothing replaces it
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(urls[requests.Add(1)%uint64(len(urls))]) },
		Transport:     t,
		FlushInterval: -1, // flush after each write
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without full duplex, the server closes the request's body when the response begins. If the proxy has not read it to its
		// end by then, its transport takes that for a failed request.
		_ = http.NewResponseController(w).EnableFullDuplex() // net/http's writer supports it
		proxy.ServeHTTP(w, r)
	})
	return serveWithStats(ctx, h, nil, usage(nil), in, out)
}
