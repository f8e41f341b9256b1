package corpus_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
)

func TestValidAccount(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"ann": true, "Zoë Smith": true, "bob+x@y.org": true, "": false, "platform": false, "issuer": false, " a": false,
		"a ": false, "a\nb": false, "\xff": false, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "a\u202eb": false} {
		if corpus.ValidAccount(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
