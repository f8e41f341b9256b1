package source_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/source"
)

// TestOverlap checks that no document gets into two sources, whichever of them is added first.
func TestOverlap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, shared string }{
		"the same URL in two lists":      {"list http://h/x http://h/y", "list http://i/z http://h/y", "http://h/y"},
		"different URLs":                 {"list http://h/x http://h/y", "list http://h/z http://h/x/1", ""},
		"a home page and another one":    {"list http://h/", "list http://h/report.pdf", ""},
		"a URL inside a site":            {"site http://h/guide/", "list http://i/z http://h/guide/a", "http://h/guide/a"},
		"a URL beside a site":            {"site http://h/guide/", "list http://h/ http://h/guides", ""},
		"a site inside another one":      {"site http://h/", "site http://h/guide/", "http://h/guide/"},
		"sites with similar names":       {"site http://h/guide/", "site http://h/guides/", ""},
		"a path with spaces, not a list": {"site /my docs", "list docs /my", ""},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			b := newBench(t)
			site := b.opened.Kind
			site.Locate = func(location string) (string, error) { return location, nil }
			list := site
			list.Documents = strings.Fields
			s := source.New(source.Options{Store: b.store, Ingestions: b.store, Collection: "default", Kinds: map[string]source.Kind{"site": site, "list": list}})
			add := func(given string) error {
				kind, location, _ := strings.Cut(given, " ")
				_, err := s.Add(t.Context(), source.Settings{Kind: kind, Location: location}, true)
				return err
			}
			require.NoError(t, add(pair[0]))
			err := add(pair[1])
			switch {
			case c.shared == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.shared != "" && (err == nil || fault.Public(err).Code != fault.Conflict || !strings.Contains(err.Error(), ": "+c.shared+";")):
				t.Errorf("%s: %v, want a conflict about %s", name, err, c.shared)
			}
			s.Close()
		}
	}
}
