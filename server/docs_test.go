package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/server"
)

// TestDocsPageIsProtected: the page and its files cannot be framed or sniffed, and only scripts of the page and of this
// server can run in it.
func TestDocsPageIsProtected(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(), engine.Options{}, server.Options{})
	page := s.do("GET", "/docs/", "")
	policy := page.Header.Get("Content-Security-Policy")
	body := slurp(t, page.Body)
	paths := []string{"/docs/", "/docs"}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if !strings.HasPrefix(m[1], "/docs/") {
			t.Errorf("the page loads %s, which 'self' may not cover", m[1])
		}
		paths = append(paths, m[1])
	}
	if len(paths) < 6 {
		t.Errorf("the page loads only %q", paths)
	}
	for _, path := range paths {
		res := s.do("GET", path, "")
		_ = slurp(t, res.Body)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if got := res.Header.Get(name); got != want || want == "" {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		kind := res.Header.Get("Content-Type")
		if res.StatusCode != 200 || strings.HasSuffix(path, ".js") && !strings.Contains(kind, "javascript") || strings.HasSuffix(path, ".css") && !strings.Contains(kind, "text/css") {
			t.Errorf("%s: %s as %q", path, res.Status, kind)
		}
	}
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(body, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy forbids a %s of the page: %.100s", m[1], m[2])
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	if regexp.MustCompile(`\s(?:on\w+|style)="`).MatchString(body) {
		t.Error("the page has inline handlers or styles that no hash covers")
	}
}
