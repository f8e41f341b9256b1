// Package scripts_test checks the pages in docs against the code. It is not in docs because those are also the sample documents.
package scripts_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	service "github.com/sluice-rag/sluice/server/knowledge"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/turns"
)

// docs is where the pages are.
var docs = filepath.FromSlash("../docs")

// read gives a file by its path from docs.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(path)))
	require.NoError(t, err)
	return string(data)
}

// sections cuts a page at its headings of the third level: what stands under each, by its title.
func sections(page string) map[string]string {
	out := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^#{2,3} `).Split(page, -1)[1:] {
		title, body, _ := strings.Cut(part, "\n")
		out[title] = body
	}
	return out
}

// rows gives the first cells of a section's tables, without their quotes.
func rows(section string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		out = append(out, m[1])
	}
	return out
}

// fields returns the JSON names of the fields of a struct in order.
func fields(v reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(v) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			out = append(out, name)
		}
	}
	return out
}

// TestEveryEventIsOnThePage checks that events.md describes each event with all its JSON fields, and no others.
func TestEveryEventIsOnThePage(t *testing.T) {
	t.Parallel()
	page := sections(read(t, "events.md"))
	want := map[string]any{"A chunk found": event.Found{}, "A grade": event.Grade{}, "A claim": event.Claim{}, "A passage": event.Passage{}, "A source": event.Source{}, "A share": event.Share{}}
	for _, b := range []event.Body{event.RunStarted{}, event.HistorySummarized{}, event.QueryAnalyzed{}, event.CacheChecked{}, event.ToolCalled{},
		event.ToolReturned{}, event.RetrievalStarted{}, event.RetrievalFinished{}, event.Graded{}, event.Reranked{},
		event.GenerationStarted{}, event.Reasoned{}, event.Token{}, event.Cited{}, event.GenerationFinished{}, event.Verified{},
		event.Attributed{}, event.Settled{}, event.ModelUsed{}, event.Warned{}, event.RunFinished{}, event.RunFailed{}} {
		want[string(b.Kind())] = b
	}
	kinds := regexp.MustCompile(`= "(\w+)"`).FindAllStringSubmatch(read(t, "../event/event.go"), -1)
	for _, k := range kinds {
		if want[k[1]] == nil {
			t.Errorf("this test does not know the kind %s", k[1])
		}
	}
	for title, v := range want {
		if d := cmp.Diff(fields(reflect.TypeOf(v)), rows(page[title])); d != "" {
			t.Errorf("events.md, %s (-code +page):\n%s", title, d)
		}
		delete(page, title)
	}
	for title, body := range page {
		if len(rows(body)) > 0 {
			t.Errorf("events.md describes %q, which is not an event", title)
		}
	}
}

// TestForgeExamples checks that the page has examples of each forge event as the code writes them.
func TestForgeExamples(t *testing.T) {
	t.Parallel()
	page := sections(read(t, "protocols/forge.md"))
	example := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	for _, v := range forge.API().Types.Events {
		typ := reflect.TypeOf(v)
		field, _ := typ.FieldByName("Type")
		name := field.Tag.Get("enum")
		examples := example.FindAllStringSubmatch(page[name], -1)
		if len(examples) == 0 {
			t.Errorf("forge.md has no example of %s", name)
		}
		for _, e := range examples {
			checkEncoding(t, e[1], v)
			if !strings.HasPrefix(e[1], `{"type":"`+name+`"`) {
				t.Errorf("an example of %s is %.80s", name, e[1])
			}
		}
	}
	if d := cmp.Diff(fields(reflect.TypeFor[forge.Request]()), rows(page["Request"])); d != "" {
		t.Errorf("the request (-code +page):\n%s", d)
	}
}

// TestTurnsPage checks that the examples of the page are in the goldens, and that its tables have the fields of the code.
func TestTurnsPage(t *testing.T) {
	t.Parallel()
	text := read(t, "protocols/turns.md")
	goldens, err := filepath.Glob("../wire/turns/testdata/*.txt")
	require.NoError(t, err)
	var streams strings.Builder
	for _, path := range goldens {
		streams.WriteString(read(t, "../scripts/"+filepath.ToSlash(path)))
	}
	for _, m := range regexp.MustCompile(`(?m)^\{"(?:type|run_id)":.*$`).FindAllString(text, -1) {
		if !strings.Contains(streams.String(), m) {
			t.Errorf("not in a golden: %s", m)
		}
	}
	page := sections(text)
	for title, v := range map[string]any{"Request": turns.Request{}, "search": turns.Search{}, "review": turns.Review{}, "trailer": turns.Trailer{}, "Citations": turns.Citation{}} {
		if d := cmp.Diff(fields(reflect.TypeOf(v)), rows(page[title])); d != "" {
			t.Errorf("turns.md, %s (-code +page):\n%s", title, d)
		}
	}
}

// TestRoutesAndMetricsAreOnThePage compares the page with the routes and metrics of a server.
func TestRoutesAndMetricsAreOnThePage(t *testing.T) {
	t.Parallel()
	page := read(t, "http.md")
	engine := engine.New(nil, engine.Options{})
	s, err := server.New(engine, server.Options{Protocols: app.Protocols(),
		Routes: service.Routes(service.Options{Engine: engine})})
	require.NoError(t, err)
	get := func(path string) string {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		body, _ := io.ReadAll(w.Body)
		return string(body)
	}
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(get("/openapi.json")), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatal(len(doc.Paths), err)
	}
	for path, methods := range doc.Paths {
		for m := range methods {
			if row := "| `" + strings.ToUpper(m) + " " + path + "` |"; !strings.Contains(page, row) {
				t.Errorf("http.md has no row %s", row)
			}
		}
	}
	code := get("/metrics") + read(t, "../server/metrics.go")
	for _, name := range regexp.MustCompile(`\bsluice_[a-z_]*[a-z]\b`).FindAllString(code, -1) {
		if !strings.Contains(page, "| `"+name+"` |") && !regexp.MustCompile(`_(bucket|sum|count)$`).MatchString(name) {
			t.Errorf("http.md has no row of the metric %s", name)
		}
	}
	for _, c := range fault.Codes() {
		if !strings.Contains(page, "`"+string(c)+"`") {
			t.Errorf("http.md does not describe the status of %s", c)
		}
	}
}

// TestLibraryPageIsCompiled checks that the Go code of library.md is in the compiled examples.
func TestLibraryPageIsCompiled(t *testing.T) {
	t.Parallel()
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	compiled := flat(read(t, "../example_test.go") + read(t, "../engine/example_test.go"))
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "library.md"), -1) {
		if !strings.Contains(compiled, flat(m[1])) {
			t.Errorf("not in example_test.go:\n%s", m[1])
		}
	}
}

// TestExampleCompiles builds the program in examples, whose folder the go command passes over.
func TestExampleCompiles(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "vet", "../examples/go/ask.go").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var (
	linkRE  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenceRE = regexp.MustCompile("(?s)```.*?```")
	dropRE  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks checks that the links of the pages lead to existing files and headings.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(docs), ".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	require.NoError(t, err)
	for _, page := range pages {
		for _, m := range linkRE.FindAllStringSubmatch(fenceRE.ReplaceAllString(read(t, page), ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(filepath.Join(docs, to)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s links to %s: no such heading", page, m[1])
			}
		}
	}
}

// anchors returns the link targets of the headings of a page.
func anchors(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fenceRE.ReplaceAllString(page, ""), -1) {
		out = append(out, strings.ReplaceAll(strings.ToLower(dropRE.ReplaceAllString(m[1], "")), " ", "-"))
	}
	return out
}
