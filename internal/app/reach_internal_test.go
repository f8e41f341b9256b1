package app

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server"
)

func TestReach(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	replies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(replies.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	for what, c := range map[string]struct {
		urls     []string
		fallback string
		embed    string
		want     string
	}{
		"the local model":         {nil, config.FallbackNone, "", server.PartOK},
		"a model that replies":    {[]string{replies.URL}, config.FallbackNone, "", server.PartOK},
		"one of two":              {[]string{gone.URL, replies.URL}, config.FallbackNone, "", server.PartDegraded},
		"none, with a fallback":   {[]string{gone.URL}, config.FallbackExtractive, "", server.PartDegraded},
		"none":                    {[]string{gone.URL, gone.URL}, config.FallbackNone, "", server.PartFailed},
		"no embedder":             {nil, config.FallbackNone, gone.URL, server.PartDegraded},
		"an embedder and a model": {[]string{replies.URL}, config.FallbackNone, replies.URL, server.PartOK},
	} {
		cfg := config.Models{ModelURL: c.urls, ModelFallback: c.fallback, EmbedURL: c.embed}
		m := &Models{reach: &reach{client: replies.Client()}}
		if got := m.health(t.Context(), cfg); got.Status != c.want || (got.Detail == "") != (c.want == server.PartOK) {
			t.Errorf("%s: %v, want %s", what, got, c.want)
		}
		before := asked.Load()
		if m.health(t.Context(), cfg); asked.Load() != before {
			t.Errorf("%s: asked again", what)
		}
	}
}
