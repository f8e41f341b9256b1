package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// serveProxy runs the reverse proxy of the standard library in front of a provider, as the cheapest possible relay, until in
// ends. It prints two addresses to out: that of the proxy, and that of a handler that returns the processUsage.
func serveProxy(ctx context.Context, target string, in io.Reader, out io.Writer) error {
	u, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("parse proxy target: %w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone() // nothing replaces it
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
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
