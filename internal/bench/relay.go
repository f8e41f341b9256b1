package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Relay is the process of a reverse proxy of the standard library before a provider: what the least costs that can stand in
// the way. It prints its addresses to out and serves until in ends. The second one gives its Usage.
func Relay(ctx context.Context, to string, in io.Reader, out io.Writer) error {
	u, err := url.Parse(to)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	t := http.DefaultTransport.(*http.Transport).Clone() // which it is unless somebody replaced it
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     t,
		FlushInterval: -1, // at once
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it, a reply that begins before the proxy has seen the end of the request's body breaks off now and then: the
		// server closes the body then, and the transport takes that for a request that failed.
		_ = http.NewResponseController(w).EnableFullDuplex() // fails on other writers than net/http's
		proxy.ServeHTTP(w, r)
	})
	return serveBeside(ctx, h, nil, http.HandlerFunc(usage), in, out)
}
