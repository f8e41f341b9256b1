package local

import (
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	text := "# Set the number of databases. The default is DB 0.\n# It is never changed.\ndatabases 16\n\n# Limit the clients.\n#\n# maxclients 10000\n#dateext"
	var keys, said []string
	for _, c := range sentences(model.Passage{Chunk: corpus.Chunk{Text: text}}, 0, lang.English) {
		if c.setting {
			keys, said = append(keys, c.key), append(said, c.intro()+c.text)
		}
	}
	if want := []string{"databases", "maxclients", "dateext"}; !slices.Equal(keys, want) {
		t.Errorf("settings %q, want %q", keys, want)
	}
	if len(said) == 0 || said[0] != "Set the number of databases: `databases 16`." {
		t.Errorf("said %q", said)
	}
	for _, c := range sentences(model.Passage{Chunk: corpus.Chunk{Text: "# Keys\nEach room has a key.\n\n## Lost keys\nA lost key costs 40 euros."}}, 0, lang.English) {
		if c.setting || c.heading == "" {
			t.Errorf("%q of Markdown is read as a setting, or its heading is lost", c.text)
		}
	}
}

func TestNamesOfCode(t *testing.T) {
	t.Parallel()
	q := &question{codes: codesIn("What do --delete and IdleTimeout do?")}
	if want := []string{"--delete", "IdleTimeout"}; !slices.Equal(q.codes, want) {
		t.Fatalf("codes %q, want %q", q.codes, want)
	}
	for own, want := range map[string]bool{"-d, --delete: Delete what is not there": true, "--delete-after: Delete what is not there": false, "IdleTimeout is the time without a request": true,
		"The time after which IdleTimeout ends a session": false} {
		if got := q.namesCode(&sentence{own: own, words: lang.Words(own)}); got != want {
			t.Errorf("%q: %v, want %v", own, got, want)
		}
	}
	if got, want := partsOf("idle_TimeoutMax"), []string{"idle", "timeout", "max"}; !slices.Equal(got, want) {
		t.Errorf("parts %q, want %q", got, want)
	}
}
