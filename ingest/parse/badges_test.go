package parse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestBadges checks that images beside a project's name are not part of its title or text, and that the description of a figure is.
func TestBadges(t *testing.T) {
	p, err := parse.Parse(t.Context(), "README.md", []byte("# Sluice [![Build](b.svg)](https://ci) <img src=\"l.png\" alt=\"logo\"> ![Go](g.svg)\n\n"+
		"[![Build](b.svg)](https://ci)\n[![Docs](d.svg)](https://docs) ![Go](g.svg)\n\n![How water runs](w.png)\n\n"+
		"[![Build](b.svg)](https://ci) is the state.\n\n## ![Pictured](p.png)\n\nEnd."), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.Text)
	}
	if d := cmp.Diff([]string{"Sluice", "How water runs", "Build is the state.", "Pictured", "End."}, got); d != "" || p.Title != "Sluice" {
		t.Error(p.Title, d)
	}
}
