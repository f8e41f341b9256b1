package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestList(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	l.folder("default", "tide.md", tide)
	l.folder("notes", "salt.md", "# Salt\n\nSalt is won from the sea.\n")
	for i := range 5 {
		l.add(fmt.Sprintf("f%d.md", i), fmt.Sprintf("# File %d\n\nGold number %d.\n", i, i), object{"id": fmt.Sprintf("f%d", i), "metadata": object{"n": i}})
	}
	l.refused("DOCUMENT_INGESTION_FAILED", "", "documents.ingest", object{"name": "broken.pdf", "content": "%PDF-1.4\nbroken", "id": "broken"})
	l.add("moss.md", moss, object{"id": "moss", "collection": "plants"})

	folder := ids(l.call("documents.list", object{"filter": object{"type": "eq", "key": "filename", "value": "tide.md"}})["documents"])
	if len(folder) != 1 {
		t.Fatalf("%v", folder)
	}
	everything := append([]string{"broken", "f0", "f1", "f2", "f3", "f4", "moss"}, folder...)
	slices.Sort(everything)
	for what, c := range map[string]struct {
		arguments object
		want      []string
	}{
		"default":     {object{}, everything},
		"plants":      {object{"collection": "plants"}, []string{"moss"}},
		"a folder":    {object{"collection": "notes"}, nil},
		"uploads":     {object{"collection": "files"}, []string{"broken", "f0", "f1", "f2", "f3", "f4", "moss"}},
		"both":        {object{"collection": "default, files"}, everything},
		"one":         {object{"collection": "default"}, append([]string{"broken", "f0", "f1", "f2", "f3", "f4"}, folder...)},
		"failed":      {object{"status": "failed"}, []string{"broken"}},
		"a filter":    {object{"filter": object{"type": "gte", "key": "n", "value": 3}}, []string{"f3", "f4"}},
		"of passages": {object{"filter": object{"type": "eq", "key": "heading", "value": "Tides"}}, []string{}},
	} {
		got := l.call("documents.list", c.arguments)
		if c.want == nil {
			if len(got["documents"].([]any)) != 1 {
				t.Errorf("%s: %v", what, got)
			}
			continue
		}
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, ids(got["documents"])); diff != "" || got["next_cursor"] != nil {
			t.Errorf("%s: %v %s", what, got["next_cursor"], diff)
		}
	}
	for _, limit := range []int{1, 2, 3, 6, 7} {
		var seen []string
		arguments := object{"limit": limit}
		for {
			got := l.call("documents.list", arguments)
			page := ids(got["documents"])
			if seen = append(seen, page...); len(page) > limit || len(page) == 0 || len(seen) > len(everything) {
				t.Fatalf("limit %d: a page of %d", limit, len(page))
			}
			if got["next_cursor"] == nil {
				break
			}
			arguments["cursor"] = got["next_cursor"]
		}
		if diff := cmp.Diff(everything, seen); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
	for what, c := range map[string]struct {
		arguments     object
		code, pointer string
	}{
		"an unknown collection": {object{"collection": "nowhere"}, "NOT_FOUND", "/collection"},
		"a document":            {object{"collection": "file:moss"}, "INVALID_ARGUMENTS", "/collection"},
		"NUL in the cursor":     {object{"cursor": "a\x00"}, "INVALID_ARGUMENTS", "/cursor"},
		"a bad filter":          {object{"filter": object{"type": "like", "key": "a", "value": "b"}}, "INVALID_ARGUMENTS", "/filter/type"},
		"a huge limit":          {object{"limit": 1 << 40}, "SCHEMA_VALIDATION_FAILED", "/limit"},
	} {
		t.Log(what)
		l.refused(c.code, "/call/arguments"+c.pointer, "documents.list", c.arguments)
	}
}

// TestListAfterDeletion deletes a vector store between two pages of a list: the list continues, and a new one is refused.
func TestListAfterDeletion(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	l.folder("default", "tide.md", tide)
	l.folder("default", "moss.md", moss)
	l.add("gold.md", gold, object{"collection": "metals"})
	arguments := object{"collection": "default,metals", "limit": 1}
	first := l.call("documents.list", arguments)
	require.NoError(t, l.app.Files().DeleteStore(t.Context(), "metals"))
	l.refused("NOT_FOUND", "/call/arguments/collection", "documents.list", arguments)
	arguments["cursor"] = first["next_cursor"]
	if got := l.call("documents.list", arguments); len(got["documents"].([]any)) != 1 || first["next_cursor"] == nil {
		t.Errorf("after %v: %v", first, got)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	var long strings.Builder
	for i := range 12 {
		fmt.Fprintf(&long, "# Part %d\n\n%s\n\n", i, strings.Repeat(fmt.Sprintf("Sentence of part %d about gold. ", i), 20))
	}
	l.add("long.md", long.String(), object{"id": "long", "metadata": object{"a": []any{1, "b"}}, "dublin_core": object{"dc_title": "The long one"}})
	got := l.call("documents.get", object{"id": "long"})
	count := int(got["passage_count"].(float64))
	if passages := got["passages"].([]any); count < 12 || len(passages) != count || got["next"] != nil || len(got["sections"].([]any)) != 12 {
		t.Errorf("%d passages of %d, %d sections, next %v", len(passages), count, len(got["sections"].([]any)), got["next"])
	}
	if s := got["sections"].([]any)[3].(object); s["index"] != 3.0 || cmp.Diff([]any{"Part 3"}, s["headings"]) != "" {
		t.Errorf("%v", s)
	}
	if got["status"] != "completed" || got["progress"] != 1.0 || got["origin"] != "upload" || cmp.Diff([]any{"default"}, got["collections"]) != "" ||
		cmp.Diff(object{"a": []any{1.0, "b"}}, got["metadata"]) != "" || cmp.Diff(object{"dc_title": "The long one"}, got["dublin_core"]) != "" {
		t.Errorf("%v", got)
	}
	var whole []string
	for from := any(0); from != nil; {
		part := l.call("documents.get", object{"id": "long", "from": from, "limit": 5})
		whole = append(whole, texts(part["passages"])...)
		from = part["next"]
	}
	if diff := cmp.Diff(texts(got["passages"]), whole); diff != "" {
		t.Error(diff)
	}
	if none := l.call("documents.get", object{"id": "long", "limit": 0}); len(none["passages"].([]any)) != 0 || none["passage_count"] != float64(count) {
		t.Errorf("%v", none)
	}

	l.folder("default", "tide.md", tide)
	l.folder("notes", "notes/salt.md", "# Salt\n\nSalt is won from the sea.\n")
	inFolder := ids(l.call("documents.list", object{"collection": "default", "filter": object{"type": "eq", "key": "filename", "value": "tide.md"}})["documents"])[0]
	if got := l.call("documents.get", object{"id": inFolder}); got["origin"] != "folder" || got["name"] != "tide.md" || cmp.Diff([]any{"default"}, got["collections"]) != "" {
		t.Errorf("%v", got)
	}
	elsewhere := ids(l.call("documents.list", object{"collection": "notes"})["documents"])[0]
	l.refused("NOT_FOUND", "/call/arguments/id", "documents.get", object{"id": elsewhere})
	if got := l.call("documents.get", object{"id": elsewhere, "collection": "notes", "limit": 1}); got["name"] != "salt.md" || got["origin"] != "folder" || len(texts(got["passages"])) != 1 {
		t.Errorf("%v", got)
	}

	for _, id := range []string{"nothing", "../long", "long\x00", "long\x1fdlong", "%", strings.Repeat("x", 512)} {
		l.refused("NOT_FOUND", "/call/arguments/id", "documents.get", object{"id": id})
		l.refused("NOT_FOUND", "/call/arguments/id", "documents.delete", object{"id": id})
	}
	l.refused("SCHEMA_VALIDATION_FAILED", "/call/arguments/limit", "documents.get", object{"id": "long", "limit": 501})
	l.refused("CONFLICT", "", "documents.delete", object{"id": inFolder})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	id := l.add("gold.md", gold, nil)
	if diff := cmp.Diff(object{"id": id, "deleted": true}, l.call("documents.delete", object{"id": id})); diff != "" {
		t.Error(diff)
	}
	l.refused("NOT_FOUND", "/call/arguments/id", "documents.delete", object{"id": id})
	l.refused("NOT_FOUND", "/call/arguments/id", "documents.get", object{"id": id})
	if got := l.call("rag.search", object{"query": "gold"}); len(got["passages"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	if got := l.call("documents.list", object{}); len(got["documents"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
}

// TestConcurrentIngestsAndDeletes adds and deletes documents at the same time. In the end, the lists and the searches agree.
func TestConcurrentIngestsAndDeletes(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, func(c *config.Config) { c.Ingest.Workers = 4 })
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			id := fmt.Sprintf("d%02d", i)
			status, doc := l.document("documents.ingest", object{"name": id + ".md", "content": fmt.Sprintf("# D\n\nGold of number %d.\n", i), "id": id, "collection": fmt.Sprintf("c%d", i%2)})
			deleted := i%3 == 0 && (status == 410 || status == 409) // while it was ingested, or just before
			if status != 200 && !deleted {
				t.Errorf("ingest: %d %v", status, doc)
			}
		})
		if i%3 == 0 {
			all.Go(func() { // before, during or after the ingestion
				if status, doc := l.document("documents.delete", object{"id": fmt.Sprintf("d%02d", i)}); status != 200 && status != 404 {
					t.Errorf("delete: %d %v", status, doc)
				}
			})
		}
	}
	all.Wait()
	for i := 0; i < 12; i += 3 {
		l.document("documents.delete", object{"id": fmt.Sprintf("d%02d", i)})
	}
	want := []string{"d01", "d02", "d04", "d05", "d07", "d08", "d10", "d11"}
	if diff := cmp.Diff(want, ids(l.call("documents.list", object{"collection": "c0,c1"})["documents"])); diff != "" {
		t.Error(diff)
	}
	var found []string
	for _, p := range l.call("rag.search", object{"query": "gold", "collection": "c0,c1", "top_k": 100})["passages"].([]any) {
		found = append(found, p.(object)["document_id"].(string))
	}
	slices.Sort(found)
	if diff := cmp.Diff(want, slices.Compact(found)); diff != "" {
		t.Error(diff)
	}
}
