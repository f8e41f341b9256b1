package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestLiteralNames asks for options and variables that passages have as they are written, have as words only, or do not have.
func TestLiteralNames(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	const text = "A lease is the time for which a server holds a run. A lease ends when the server stops. The default of a lease is one minute.\n\n" +
		"- `--lease`: how long the others wait for a silent server, by default 2 seconds\n- `--lease-log`: where leases are written\n"
	for _, c := range []struct{ question, holds string }{
		{"What does --lease do?", "how long the others wait"},
		{"What is the default of --lease?", "2 seconds"},
		{"What does --lease-log do?", "where leases are written"},
		{"What does --lease-time do?", ""},
		{"What does SERVER_LEASE set?", ""},
	} {
		got, cites := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, "Servers", text)}})
		if c.holds == "" && len(cites) > 0 || !strings.Contains(got, c.holds) {
			t.Errorf("%s: got %q, want one with %q", c.question, got, c.holds)
		}
	}
}

// TestTaskHeading: the paragraph and the code under the heading that names the task are the answer, and not other code that has the nouns.
func TestTaskHeading(t *testing.T) {
	t.Parallel()
	const removing = "Removing a place\n\nA place is taken out together with its documents. Its name is enough:\n\n```\nlagerctl drop ./contracts\n```\n"
	const other = "Places in the list\n\nThe list of a place shows what places have:\n\n```\nplace: ./contracts\nplaces: 12\n```\n"
	first, second := titled(1, "Lager", other), titled(2, "Lager", removing)
	first.Chunk.Headings, second.Chunk.Headings = []string{"Lager", "Places in the list"}, []string{"Lager", "Removing a place"}
	got, _ := answer(t, local.New(local.Options{}), model.Task{Question: "How do I remove a place?", Passages: []model.Passage{first, second}})
	for _, want := range []string{"together with its documents", "lagerctl drop ./contracts"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "places: 12") {
		t.Errorf("got %q", got)
	}
}
