package scripts_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// flat returns the JSON names of the fields of a struct, including those of embedded structs.
func flat(v reflect.Type) []string {
	var out []string
	for _, f := range reflect.VisibleFields(v) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// TestKnowledgeTables checks that the tables of the page list all fields and no others.
func TestKnowledgeTables(t *testing.T) {
	t.Parallel()
	page := sections(read(t, "protocols/knowledge.md"))
	for title, v := range map[string]any{"The response": knowledge.Response{}, "Output items": knowledge.Item{}, "Citations": knowledge.Annotation{}} {
		if d := cmp.Diff(flat(reflect.TypeOf(v)), rows(page[title])); d != "" {
			t.Errorf("knowledge.md, %s (-code +page):\n%s", title, d)
		}
	}
	want := append(flat(reflect.TypeFor[knowledge.Request]()), "low", "medium", "high", "dev", "file_search", "list_documents", "web_search")
	for i, name := range want {
		if got := rows(page["Request"]); !slices.Contains(got, name) || i == 0 && len(got) != len(want) {
			t.Errorf("knowledge.md, Request: %d rows of %d, or none of %s", len(got), len(want), name)
		}
	}
}

// TestKnowledgeExamples checks that the page has an example of each event as the code writes it.
func TestKnowledgeExamples(t *testing.T) {
	t.Parallel()
	page := sections(read(t, "protocols/knowledge.md"))
	deltas := map[string]any{
		knowledge.EventTextDelta: &knowledge.TextDelta{}, knowledge.EventReasoningDelta: &knowledge.ReasoningDelta{}, knowledge.EventAnnotationAdded: &knowledge.AnnotationAdded{},
	}
	for name, v := range deltas {
		checkExamples(t, page, name+" in deltas", v)
	}
	for _, name := range []string{knowledge.EventCreated, knowledge.EventInProgress, "response.file_search_call.completed", knowledge.EventReasoningDelta,
		knowledge.EventTextDelta, knowledge.EventTextDone, knowledge.EventCompleted, knowledge.EventIncomplete, knowledge.EventFailed} {
		checkExamples(t, page, name, &knowledge.Response{})
	}
	checkExamples(t, page, knowledge.EventDone, &knowledge.Done{})
	checkExamples(t, page, "Errors", &knowledge.Fault{})

	_, err := knowledge.Decode([]byte(`{"input":"x","effort":"huge"}`), 99)
	said, err2 := json.Marshal(knowledge.FaultOf(fault.Public(err)))
	if err2 != nil || !strings.Contains(page["Errors"], string(said)) {
		t.Errorf("not on the page: %s", said)
	}
}

// checkExamples checks that a section has examples, and that they decode to v and encode to the same text.
func checkExamples(t *testing.T, page map[string]string, title string, v any) {
	t.Helper()
	examples := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindAllStringSubmatch(page[title], -1)
	if len(examples) == 0 {
		t.Errorf("knowledge.md has no example of %s", title)
	}
	for _, e := range examples {
		reflect.ValueOf(v).Elem().SetZero()
		dec := json.NewDecoder(strings.NewReader(e[1]))
		dec.DisallowUnknownFields()
		if err := dec.Decode(v); err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		var again bytes.Buffer
		enc := json.NewEncoder(&again)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(v))
		if d := cmp.Diff(e[1]+"\n", again.String()); d != "" {
			t.Errorf("%s (-page +code):\n%s", title, d)
		}
	}
}
