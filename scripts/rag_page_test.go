package scripts_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/ragevents"
)

// TestRagExamples checks that the page has examples of each ragevents event as the code writes them.
func TestRagExamples(t *testing.T) {
	t.Parallel()
	page := sections(read(t, "protocols/ragevents.md"))
	contents := map[string]any{"events-sources-attention": ragevents.Attention{}, "events-sources-data": ragevents.SourcesData{},
		"events-sources-no-contribution": ragevents.NoContribution{}, "events-sources-message": ragevents.SourcesMessage{},
		"events-metadata-summary": ragevents.MetadataSummary{}, "events-answer-confidence": ragevents.AnswerConfidence{}, "transaction-summary": ragevents.Transaction{}}
	example := regexp.MustCompile("(?s)```json\n(.*?)\n```")
	for _, v := range ragevents.API().Types.Events {
		field, _ := reflect.TypeOf(v).FieldByName("Type")
		for name := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
			examples := example.FindAllStringSubmatch(page[name], -1)
			if len(examples) == 0 {
				t.Errorf("ragevents.md has no example of %s", name)
			}
			for _, e := range examples {
				checkEncoding(t, e[1], v)
				var p ragevents.Encoded
				if content := contents[name]; content != nil {
					require.NoError(t, json.Unmarshal([]byte(e[1]), &p))
					checkEncoding(t, p.Chunk, content)
				}
				if !strings.HasPrefix(e[1], `{"type":"`+name+`"`) {
					t.Errorf("an example of %s is %.80s", name, e[1])
				}
			}
		}
	}
	if d := cmp.Diff(fields(reflect.TypeFor[ragevents.Request]()), rows(page["Request"])); d != "" {
		t.Errorf("the request (-code +page):\n%s", d)
	}
	for _, f := range fields(reflect.TypeFor[ragevents.Answer]()) {
		if !strings.Contains(page["Reply without a stream"], "`"+f+"`") {
			t.Errorf("the reply has a field %s, which is not on the page", f)
		}
	}
}

// checkEncoding checks that a text is a value of the type of like as the code writes it.
func checkEncoding(t *testing.T, text string, like any) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(like))
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(got.Interface()); err != nil {
		t.Errorf("%.80s: %v", text, err)
		return
	}
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(got.Interface()))
	if d := cmp.Diff(text+"\n", again.String()); d != "" {
		t.Errorf("%.80s (-page +code):\n%s", text, d)
	}
}
