package lang_test

import (
	"math"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestTaskOf(t *testing.T) {
	t.Parallel()
	for question, ok := range map[string]bool{"How do I remove a source?": true, "How to restart?": true, "How do I do it?": false, "How old is it?": false, "What is the way to add a key?": true, "": false} {
		if got := lang.English.TaskOf(question) != nil; got != ok {
			t.Errorf("%q: %v", question, got)
		}
	}
	if got := lang.English.TaskOf("How can I back up PostgreSQL?").Joined(); got != "backup" {
		t.Errorf("joined %q", got)
	}
	var none *lang.Task
	if none.Joined() != "" || none.In("remove a source") != 0 || none.NamedBy("", "Removing a source") != 0 || none.HasVerb("remove") {
		t.Error("no task")
	}
}

// TestTaskLanguages checks how well a heading names the task, in languages where the verb stands in different places.
func TestTaskLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, question, heading string
		least                   float64
	}{
		{"de", "Wie ändere ich das Passwort?", "Passwort ändern", 1},
		{"de", "Wie kann ich das Passwort ändern?", "3.2 Passwort ändern", 1},
		{"de", "Wie stelle ich die Uhrzeit ein?", "Uhrzeit einstellen", 1},
		{"de", "Wie lösche ich ein Konto?", "Konto entfernen", 0.9},
		{"fr", "Comment supprimer un compte ?", "Supprimer un compte", 1},
		{"fr", "Comment puis-je supprimer un compte ?", "Supprimer un compte", 1},
		{"it", "Come faccio a pulire il filtro?", "Pulire il filtro", 1},
		{"pt", "Como é que limpo o filtro?", "Limpar o filtro", 1},
		{"nl", "Hoe kan ik de accu opladen?", "De accu opladen", 1},
		{"es", "¿Cómo se limpia el filtro?", "Limpiar el filtro", 1},
		{"en", "What must I do to move the database?", "Moving the database", 1},
		{"en", "steps for cleaning the filter", "Cleaning the filter", 1},
	} {
		l := lang.Languages()[c.code]
		if got := l.TaskOf(c.question).NamedBy("", c.heading); got < c.least-1e-9 {
			t.Errorf("%s: %.2f, want %.2f", c.question, got, c.least)
		}
	}
	for code, question := range map[string]string{"de": "Wann ist geöffnet?", "fr": "Combien ça coûte ?", "zh": "怎么清洗?", "ja": "どうやって洗う？", "nl": "Hoe?", "es": "¿Cómo se hace?"} {
		if got := lang.Languages()[code].TaskOf(question); got != nil {
			t.Errorf("%s: a task", question)
		}
	}
}

// TestNamedBy: a heading that names the task is better than one that has only a part of it, and one with another verb does not name it.
func TestNamedBy(t *testing.T) {
	t.Parallel()
	remove := lang.English.TaskOf("How do I remove a source?")
	for _, c := range []struct {
		text, heading, title string
		least, most          float64
	}{
		{"", "Removing a source", "Sources", 1, 1},
		{"", "5.4.2. Source Removal", "", 1, 1},
		{"", "Deleting sources", "", 0.9, 0.99},
		{"", "Removing", "Sources", 0.8, 0.9},
		{"To do this, name the source.", "Removing", "Operations", 0.8, 0.9},
		{"", "Removing", "Operations", 0, 0},
		{"", "Sources", "", 0.5, 0.6},
		{"", "Adding a source", "", 0, 0},
		{"", "", "", 0, 0},
	} {
		if got := remove.NamedBy(c.text, c.heading, c.title); got < c.least-1e-9 || got > c.most+1e-9 {
			t.Errorf("%q, %q: %.2f, want %.2f to %.2f", c.heading, c.title, got, c.least, c.most)
		}
	}
	if got := lang.English.TaskOf("How do I add a plugin?").NamedBy("", "Adding a plugin"); got != 1 {
		t.Errorf("adding: %.2f", got)
	}
	if got := lang.English.TaskOf("How do I set the time zone?").NamedBy("", "8.9.1. Timezone"); math.Abs(got-0.55) > 1e-9 {
		t.Errorf("compound: %.2f", got)
	}
	if got := lang.English.TaskOf("How do I back up PostgreSQL?").NamedBy("", "Backup, restore, upgrade", "PostgreSQL"); got < 0.5 {
		t.Errorf("particle: %.2f", got)
	}
}

func TestTaskIn(t *testing.T) {
	t.Parallel()
	remove := lang.English.TaskOf("How do I remove a source?")
	command, option, prose := remove.In("sluice sources remove ./x"), remove.In("sluice sources sync ./x --remove"), remove.In("The old source is removed at night.")
	if command != 1 || option >= prose || prose >= command || prose == 0 {
		t.Errorf("command %.2f, prose %.2f, option %.2f", command, prose, option)
	}
	for _, text := range []string{"remove the cause of it and then go on with the next source", "Remove a source", "sources", ""} {
		if got := remove.In(text); got != 0 {
			t.Errorf("%q: %.2f", text, got)
		}
	}
	if got := lang.English.TaskOf("How do I connect to a database?").In(`conn := pgx.Connect(os.Getenv("DATABASE_URL"))`); got == 0 {
		t.Error("parts of an identifier")
	}
}
