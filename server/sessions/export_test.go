package sessions_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server/sessions"
	"github.com/sluice-rag/sluice/wire"
	wiresessions "github.com/sluice-rag/sluice/wire/sessions"
)

func TestExportAsMarkdown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.reply(new(wiresessions.Session), http.StatusCreated, "POST", "", `{"session_id":"s","title":"Tides & Moons / \"2026\""}`)
	s.ask("ann", "s", "first\nline", wire.Turn{})
	s.ask("ann", "s", "Why?\nTell\u202eme.", wire.Turn{})
	w := s.do(as("ann", auth.Ask), "GET", "/s/export", "")
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || kind != "text/markdown; charset=utf-8" {
		t.Fatalf("%d %q: %s", w.Code, kind, w.Body)
	}
	if _, p, err := mime.ParseMediaType(w.Header().Get("Content-Disposition")); err != nil || p["filename"] != "tides-moons-2026.md" {
		t.Errorf("%q: %v", w.Header().Get("Content-Disposition"), err)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "*20") {
			line = "*DATE*\n"
		}
		lines = append(lines, line)
	}
	answer := func(text string) string {
		return "\n" + text + "! [1] The tide is höher. [1]\n\n### Sources\n\n1. **Tide tables › Spring** (tide.md), pages 3, 4\n"
	}
	want := "# Tides & Moons / \"2026\"\n\n*DATE*\n\n## first line\n\n*DATE*\n\n> first\n> line\n" + answer("FIRST\nLINE") +
		"\n## Why? Tellme.\n\n*DATE*\n\n> Why?\n> Tellme.\n" + answer("WHY?\nTELLME.")
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestExportHasAllPages exports a session of more messages than a page: Markdown has the active branch, JSON all branches.
func TestExportHasAllPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const n = 61
	var left string
	for i := range n {
		run := s.ask("ann", "s", fmt.Sprintf("question %03d", i), wire.Turn{})
		if i == n-2 {
			left = run.QuestionID()
		}
	}
	s.ask("ann", "s", "edited", wire.Turn{Edit: left})
	text := s.do(as("ann", auth.Ask), "GET", "/s/export", "").Body.String()
	at := 0
	for i := range n - 2 {
		next := strings.Index(text[at:], fmt.Sprintf("## question %03d", i))
		if next < 0 {
			t.Fatalf("question %d is missing or not in its place:\n%s", i, text)
		}
		at += next
	}
	if strings.Count(text, "\n## ") != n-1 || !strings.Contains(text[at:], "## edited") {
		t.Errorf("another branch is exported:\n%s", text[at:])
	}
	w := s.do(as("ann", auth.Ask), "GET", "/s/export?format=json", "")
	var all sessions.Export
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	seen := map[string]bool{}
	for _, m := range all.Messages {
		if m.Parent != "" && !seen[m.Parent] {
			t.Errorf("%s comes before its parent", m.ID)
		}
		seen[m.ID] = true
	}
	if len(seen) != 2*(n+1) || all.Session.ID != "s" {
		t.Errorf("%d messages of %s", len(seen), all.Session.ID)
	}
	if w := s.do(as("ann", auth.Ask), "HEAD", "/s/export", ""); w.Code != http.StatusOK {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestExportOfEmptySession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.reply(new(wiresessions.Session), http.StatusCreated, "POST", "", `{"session_id":"s"}`)
	w := s.do(as("ann", auth.Ask), "GET", "/s/export", "")
	if !strings.HasPrefix(w.Body.String(), "# Conversation\n") || !strings.Contains(w.Header().Get("Content-Disposition"), "conversation.md") {
		t.Errorf("%v: %s", w.Header(), w.Body)
	}
	var all sessions.Export
	if err := json.Unmarshal(s.do(as("ann", auth.Ask), "GET", "/s/export?format=json", "").Body.Bytes(), &all); err != nil || all.Messages == nil {
		t.Errorf("%+v: %v", all, err)
	}
}

// TestDocument checks that the OpenAPI document has both formats of exports, and the status of lists of other accounts.
func TestDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/openapi.json", nil)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	content := doc.Paths["/v1/rag/sessions/{id}/export"]["get"].Responses["200"].Content
	if len(content) != 2 || content["text/markdown"].Schema["type"] != "string" || content["application/json"].Schema["$ref"] == nil {
		t.Errorf("%+v", content)
	}
	status := s.do(as("bob", auth.Ask), "GET", "?account=ann", "").Code
	if _, described := doc.Paths["/v1/rag/sessions"]["get"].Responses[strconv.Itoa(status)]; !described || status != http.StatusNotFound {
		t.Errorf("the status %d of a list of another account is not described", status)
	}
}
