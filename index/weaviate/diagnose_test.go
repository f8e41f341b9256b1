package weaviate_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/index/weaviate"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func problemsOf(f doctor.Finding) (out string) {
	for _, p := range f.Problems {
		out += p.Text + " | " + p.Fix + "\n"
	}
	return out
}

// TestDiagnose checks a Weaviate with an API key, with the right key and with others.
func TestDiagnose(t *testing.T) {
	s := weaviatetest.New(t, "hunter2")
	for name, c := range map[string]struct{ key, want string }{
		"right key": {key: "hunter2"},
		"wrong key": {key: "hunter22", want: "it refuses the API key | correct KEY"},
		"no key":    {want: "it needs an API key | set KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			f := weaviate.Diagnose(t.Context(), weaviate.Options{URL: s.URL(), Key: c.key}, "--index", "KEY")
			got := problemsOf(f)
			if !strings.Contains(got, c.want) || c.want == "" && (got != "" || f.Version != weaviatetest.Version || f.RoundTrip <= 0 || len(f.Details) == 0) {
				t.Errorf("%q, want %q: %+v", got, c.want, f)
			}
			if strings.Contains(fmt.Sprint(f), "hunter2") {
				t.Errorf("the finding shows the key: %+v", f)
			}
		})
	}
}

// TestDiagnoseOthers checks addresses where no Weaviate that works is.
func TestDiagnoseOthers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	require.NoError(t, l.Close())
	serve := func(replies map[string]string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text, ok := replies[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1")]; ok {
				_, _ = w.Write([]byte(text))
				return
			}
			http.Error(w, "not here", http.StatusForbidden)
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	for name, c := range map[string]struct{ address, want string }{
		"down":        {closed, "nothing listens at the address | start the server, or check the address in --index"},
		"another one": {serve(map[string]string{"GET /meta": "<html>"}), "it does not reply as Weaviate does"},
		"too old":     {serve(map[string]string{"GET /meta": `{"version":"1.24.1"}`}), "the server has version 1.24.1, but 1.33.0 or later is needed | upgrade it"},
		"a node that is down": {serve(map[string]string{"GET /meta": `{"version":"1.35.2"}`, "GET /nodes": `{"nodes":[{"name":"one","status":"HEALTHY"},{"name":"two","status":"UNAVAILABLE"}]}`}),
			"the node two is unavailable | start it"},
		"no rights": {serve(map[string]string{"GET /meta": `{"version":"1.35.2"}`}), "may not create collections"},
		"no URL":    {"", "has no host | correct --index or KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := weaviate.Diagnose(t.Context(), weaviate.Options{URL: "weaviate://" + c.address}, "--index", "KEY")
			if got := problemsOf(f); !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
