package rpc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/config"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	l.folder("default", "tide.md", tide)
	id := l.add("gold.md", gold, object{"metadata": object{"year": 1849}, "dublin_core": object{"dc_creator": "Ada Miner"}})
	l.add("moss.md", moss, object{"collection": "plants"})

	found := l.call("rag.search", object{"query": "Why does gold settle behind the riffles?"})
	first := found["passages"].([]any)[0].(object)
	delete(first, "id")
	score, _ := first["score"].(float64)
	if delete(first, "score"); score < 0.5 || score > 1 {
		t.Errorf("score %v", score)
	}
	if diff := cmp.Diff(object{"text": "Gold\n\nGold settles behind the riffles of a sluice box because it is heavier than gravel.", "level": "passage", "index": 0.0,
		"document_id": id, "name": "gold.md", "title": "Gold", "headings": []any{"Gold"}, "start": 0.0, "end": 88.0, "media_type": "text/markdown",
		"metadata": object{"year": 1849.0}, "dublin_core": object{"dc_creator": "Ada Miner"}}, first); diff != "" {
		t.Error(diff)
	}
	for what, c := range map[string]struct {
		arguments object
		want      []string // words of the results
		more      bool
	}{
		"another collection": {object{"query": "seeds of mosses", "collection": "plants"}, []string{"spores"}, false},
		"several":            {object{"query": "tide mosses", "collection": "plants,default", "top_k": 2}, []string{"tide", "spores"}, true},
		"all uploads":        {object{"query": "mosses", "collection": "files", "top_k": 1}, []string{"spores"}, true},
		"one document":       {object{"query": "mosses", "collection": "file:" + id}, []string{"riffles"}, false},
		"a filter":           {object{"query": "tide", "filter": object{"type": "eq", "key": "year", "value": 1849}}, []string{"riffles"}, false},
		"no match":           {object{"query": "gold", "filter": object{"type": "eq", "key": "year", "value": 2}}, nil, false},
		"sentences":          {object{"query": "What does the moon draw?", "level": "sentence", "mode": "lexical", "top_k": 1}, []string{"moon draws"}, false},
		"words":              {object{"query": "riffles", "mode": "lexical", "rerank": false}, []string{"riffles"}, false},
		"vectors":            {object{"query": "moon and ocean", "mode": "semantic", "top_k": 1}, []string{"moon"}, true},
	} {
		got := l.call("rag.search", c.arguments)
		all := texts(got["passages"])
		if len(all) != len(c.want) || got["more"] != c.more {
			t.Errorf("%s: %q, more %v", what, all, got["more"])
		}
		joined := strings.Join(all, "\n")
		for _, word := range c.want {
			if !strings.Contains(joined, word) {
				t.Errorf("%s: %q, want %q", what, all, word)
			}
		}
	}
	sorted := l.call("rag.search", object{"query": "gold and the tide", "collection": "files,default"})["passages"].([]any)
	for i := 1; i < len(sorted); i++ {
		if sorted[i].(object)["score"].(float64) > sorted[i-1].(object)["score"].(float64) {
			t.Errorf("not sorted: %v", sorted)
		}
	}
	l.refused("NOT_FOUND", "/call/arguments/collection", "rag.search", object{"query": "gold", "collection": "nowhere"})
	l.refused("NOT_FOUND", "/call/arguments/collection", "rag.search", object{"query": "gold", "collection": "file:nothing"})
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	l.addBytes("salt.pdf", book(t))
	found := l.call("rag.search", object{"query": "When does the harvest of salt begin?", "top_k": 1})["passages"].([]any)[0].(object)
	if pages, _ := found["pages"].([]any); found["title"] != "The book of salt" || len(pages) == 0 || found["page"] != pages[0] || found["media_type"] != "application/pdf" {
		t.Errorf("%v", found)
	}
}

func TestSearchOfEmptyServer(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	for _, collection := range []string{"", "default", "files"} {
		got := l.call("rag.search", object{"query": "gold", "collection": collection})
		if diff := cmp.Diff(object{"passages": []any{}, "more": false}, got); diff != "" {
			t.Errorf("%q: %s", collection, diff)
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, func(c *config.Config) { c.Runs.MaxQuery = 100 })
	l.folder("default", "tide.md", tide)
	deep := object{"type": "eq", "key": "a", "value": 1}
	for range 40 {
		deep = object{"type": "and", "filters": []any{deep}}
	}
	const arguments = "/call/arguments"
	for what, c := range map[string]struct {
		arguments     object
		code, pointer string
	}{
		"no query":         {object{}, "SCHEMA_VALIDATION_FAILED", arguments + "/query"},
		"a blank query":    {object{"query": " \n"}, "INVALID_ARGUMENTS", arguments + "/query"},
		"a long query":     {object{"query": strings.Repeat("a", 101)}, "INVALID_ARGUMENTS", arguments + "/query"},
		"huge top_k":       {object{"query": "x", "top_k": 1e300}, "SCHEMA_VALIDATION_FAILED", arguments + "/top_k"},
		"no top_k":         {object{"query": "x", "top_k": 0}, "SCHEMA_VALIDATION_FAILED", arguments + "/top_k"},
		"an unknown mode":  {object{"query": "x", "mode": "psychic"}, "SCHEMA_VALIDATION_FAILED", arguments + "/mode"},
		"an unknown level": {object{"query": "x", "level": "L9"}, "SCHEMA_VALIDATION_FAILED", arguments + "/level"},
		"another name":     {object{"query": "x", "topk": 1}, "SCHEMA_VALIDATION_FAILED", arguments + "/topk"},
		"a deep filter":    {object{"query": "x", "filter": deep}, "INVALID_ARGUMENTS", arguments + "/filter"},
		"a bad filter":     {object{"query": "x", "filter": object{"type": "and", "filters": []any{object{"type": "eq"}}}}, "INVALID_ARGUMENTS", arguments + "/filter/filters/0/key"},
		"a list":           {object{"query": "x", "filter": []any{}}, "SCHEMA_VALIDATION_FAILED", arguments + "/filter"},
		"NUL":              {object{"query": "x", "collection": "a\x00b"}, "INVALID_ARGUMENTS", arguments + "/collection"},
		"a set":            {object{"query": "x", "collection": "files\x1fsx"}, "INVALID_ARGUMENTS", arguments + "/collection"},
		"a bad query too":  {object{"query": "\x00", "collection": "default"}, "", ""},
	} {
		if c.code == "" {
			l.call("rag.search", c.arguments)
			continue
		}
		t.Log(what)
		l.refused(c.code, c.pointer, "rag.search", c.arguments)
	}
	l.refused("EXTENSION_NOT_APPLICABLE", "", "rag.search", object{"query": "x"}, streaming...)
}

func TestScopes(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	id := l.add("gold.md", gold, nil)
	calls := map[string]struct {
		arguments object
		scope     auth.Scope
	}{
		"rag.search":       {object{"query": "gold"}, auth.Read},
		"documents.list":   {object{}, auth.Read},
		"documents.get":    {object{"id": id}, auth.Read},
		"documents.ingest": {object{"name": "a.md", "content": "text"}, auth.Write},
		"documents.delete": {object{"id": id}, auth.Write},
	}
	for name, c := range calls {
		for _, scope := range []auth.Scope{auth.Ask, auth.Read, auth.Write} {
			if scope != c.scope {
				l.with(scope)
				l.refused("FORBIDDEN", "", name, c.arguments)
			}
		}
	}
	for _, name := range []string{"rag.search", "documents.list", "documents.get", "documents.ingest", "documents.delete"} {
		l.with(calls[name].scope)
		if status, doc := l.document(name, calls[name].arguments); status != http.StatusOK {
			t.Errorf("%s with its scope: %v", name, doc)
		}
	}
}
