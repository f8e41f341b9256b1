package index_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
)

func TestScopeName(t *testing.T) {
	t.Parallel()
	for _, s := range []index.Scope{
		{},
		{Collection: "files"},
		{Collection: "files", Sets: []string{"vs_1"}},
		{Collection: "a,b", Sets: []string{"A-z_9", "b"}, Documents: []corpus.DocumentID{"d", "söd/1, 2"}},
	} {
		got, err := index.ParseScope(s.Name())
		if d := cmp.Diff(s, got); d != "" || err != nil {
			t.Errorf("%q (-want +got), %v:\n%s", s.Name(), err, d)
		}
		if s.Whole() != (len(s.Sets)+len(s.Documents) == 0) {
			t.Errorf("whole %v: %+v", s.Whole(), s)
		}
	}
	for what, name := range map[string]string{
		"a set within a document's id": index.Scope{Collection: "c", Documents: []corpus.DocumentID{"d\x1fssecret"}}.Name(),
		"a set within a set's name":    index.Scope{Collection: "c", Sets: []string{"a\x1fssecret"}}.Name(),
		"no set":                       index.Scope{Collection: "c", Sets: []string{""}}.Name(),
		"no document":                  index.Scope{Collection: "c", Documents: []corpus.DocumentID{""}}.Name(),
		"nothing":                      "c\x1f",
		"another kind":                 "c\x1fxa",
		"a set's zero byte":            "c\x1fsa\x00b",
		"a long set":                   "c\x1fs" + strings.Repeat("a", 257),
	} {
		_, err := index.ParseScope(name)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidRequest || e.Field != "collection" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzParseScope(f *testing.F) {
	f.Add("files\x1fsvs_1\x1fdid")
	f.Add("\x1f\x1fs")
	f.Fuzz(func(t *testing.T, name string) {
		s, err := index.ParseScope(name)
		if err == nil && s.Name() != name {
			t.Errorf("%q is read as %q", name, s.Name())
		}
	})
}
