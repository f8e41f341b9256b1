package corpus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

func TestParseScope(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]corpus.Scope{
		"":                  {Collections: []string{"default"}},
		"a":                 {Collections: []string{"a"}},
		"b, a,b ,":          {Collections: []string{"a", "b"}},
		"file:1,file:,x":    {Collections: []string{"x"}, Documents: []corpus.DocumentID{"1"}},
		"file: 2 ,file:1,x": {Collections: []string{"x"}, Documents: []corpus.DocumentID{"1", "2"}},
		"ein Ö":             {Collections: []string{"ein Ö"}},
	} {
		got, err := corpus.ParseScope(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("vs_%d", i))
	}
	for _, text := range []string{",", " ", "file:", "a\x1fsvs_a", "vs_a\x00", "a\nb", "\xff", "a\u202eb", strings.Join(many, ","), strings.Repeat("a,", 20_000)} {
		_, err := corpus.ParseScope(text)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidRequest || e.Field != "collection" {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzParseScope(f *testing.F) {
	for _, s := range []string{"", "a,b", "file:x, y", "a\x1fsb", ",,,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := corpus.ParseScope(text)
		if err != nil {
			return
		}
		again, err := corpus.ParseScope(got.String())
		if diff := cmp.Diff(got, again); err != nil || diff != "" || strings.ContainsRune(got.String(), '\x1f') {
			t.Errorf("%q is %q: %v %s", text, got, err, diff)
		}
	})
}
