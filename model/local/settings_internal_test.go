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
	if got, want := lang.IdentifierParts("idle_TimeoutMax"), []string{"idle", "timeout", "max"}; !slices.Equal(got, want) {
		t.Errorf("parts %q, want %q", got, want)
	}
}

func TestActionFit(t *testing.T) {
	t.Parallel()
	text := "## Install\nIt is small.\n\n```\ntide get\n```\n\nIt is fast.\n\n```\ntide look\n```\n\n" +
		"## Use\nInstall it twice.\n\n```\ntide twice\n```\n\nIt is free.\n\n```\ntide free\n```\n\nIt is open.\n\n```\ntide install north\n```\n\nIt is old.\n\n```\n(alias: tide)\n```"
	m := New(Options{})
	for question, want := range map[string]map[string]float64{
		"How do I install it?":       {"tide get": firstCode, "tide look": 0, "tide twice": 1, "tide free": 0, "tide install north": 1, "(alias: tide)": 0},
		"Which version is the tide?": {"tide get": 1, "tide free": 1, "(alias: tide)": 0}, // it asks for no action
	} {
		q := m.ask(model.Task{Question: question})
		p := model.Passage{Chunk: corpus.Chunk{Text: text}}
		cs := sentences(p, 0, lang.English)
		joinParts([]model.Passage{p}, [][]*sentence{cs})
		m.read(q, p, cs)
		got := map[string]float64{}
		for _, c := range cs {
			if c.code {
				got[c.text] = q.actionFit(c, cs)
			}
		}
		for code, fit := range want {
			if x, ok := got[code]; !ok || x != fit {
				t.Errorf("%s: the fit of %q is %v, want %v", question, code, x, fit)
			}
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	table := []string{"Option", "Default"}
	for _, c := range []struct {
		question string
		part     sentence
		want     bool
	}{
		{"Who wrote tide?", sentence{own: "tide was written by Ada Vale."}, true},
		{"Who wrote tide?", sentence{own: "Copyright 2020 Ada Vale"}, true},
		{"Who wrote tide?", sentence{own: "Ada Vale", heading: "Authors"}, true},
		{"Who wrote tide?", sentence{own: "Ada Vale", heading: "Authors", under: 3}, false},
		{"Who wrote tide?", sentence{own: "Ada Vale", lead: "Maintainers:"}, true},
		{"Who wrote tide?", sentence{own: "it was written by hand."}, false},
		{"Who wrote tide?", sentence{own: "Ada Vale likes it."}, false},
		{"What is the default depth?", sentence{own: "The default is 4."}, true},
		{"What is the default depth?", sentence{own: "The depth is 4 by default."}, true},
		{"What is the default depth?", sentence{own: "depth 4", setting: true}, true},
		{"What is the default depth?", sentence{own: "depth, 4", columns: table, cells: []string{"depth", "4"}}, true},
		{"What is the default depth?", sentence{own: "depth", columns: table, cells: []string{"depth", ""}}, false},
		{"What is the default depth?", sentence{own: "depth", columns: table, cells: []string{"depth"}}, false},
		{"What is the default depth?", sentence{own: "The depth is 4."}, false},
	} {
		if got := m.ask(model.Task{Question: c.question}).states(&c.part); got != c.want {
			t.Errorf("%s %+v: %v, want %v", c.question, c.part, got, c.want)
		}
	}
	for question, want := range map[string]fact{"Who wrote tide?": authorFact, "Who is the maintainer of tide?": authorFact, "What is the default depth?": defaultFact, "How do I change the default?": noFact, "Who is he?": noFact} {
		if got := m.ask(model.Task{Question: question}).fact; got != want {
			t.Errorf("%s: fact %d, want %d", question, got, want)
		}
	}
}

// TestAsksForCode checks which questions ask for code. The name of a program alone does not.
func TestAsksForCode(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	for question, want := range map[string]bool{
		"How do I ask a question with curl?": true, "List the channels using curl": true, "Zeig die Abfrage der Aufträge mit curl": true, "Покажите пример запроса через curl": true,
		"Siparişleri curl ile listele": true, "curlで注文を一覧にする": true, "使用 curl 查询订单": true, "Which curl command lists the channels?": true,
		"What does curl return?": false, "Why does curl fail?": false, "Which versions of curl are supported?": false, "Was gibt curl zurück?": false,
	} {
		if got := m.ask(model.Task{Question: question}).code; got != want {
			t.Errorf("%q: %v, want %v", question, got, want)
		}
	}
}
