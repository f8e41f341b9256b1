package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// parts returns the texts as consecutive passages of one document under the same headings.
func parts(title string, headings []string, texts ...string) (out []model.Passage) {
	at := 0
	for i, text := range texts {
		p := chunk(title, headings, text)
		p.N, p.Score, p.Chunk.Document, p.Chunk.Ordinal, p.Chunk.Start = i+1, 0.8, "doc_1", i, at
		at += len(text) + 1
		out = append(out, p)
	}
	return out
}

func TestHowTo(t *testing.T) {
	m := local.New(local.Options{Patience: 1})
	kettle := []string{
		"KETTLE K2\n\n1. FIRST USE\nRinse the kettle with water.\n\n2. DESCALING\nDescale every two months.\n1) Mix a sachet with a litre of water.\n2) Boil the mixture.\n",
		"3) Leave it for an hour.\n4) Rinse twice.\n\n3. FAULTS\nDescaling does not help if the lamp is broken.\n",
	}
	for _, c := range []struct {
		name, question string
		passages       []model.Passage
		want           string
	}{
		{"a procedure that goes on in the next passage", "How do I descale the kettle?", parts("KETTLE K2", []string{"KETTLE K2"}, kettle...),
			"2. DESCALING: Mix a sachet with a litre of water. Boil the mixture. Leave it for an hour. Rinse twice."},
		{"the passages in another order", "How do I descale the kettle?", []model.Passage{parts("KETTLE K2", []string{"KETTLE K2"}, kettle...)[1], parts("KETTLE K2", []string{"KETTLE K2"}, kettle...)[0]},
			"2. DESCALING: Mix a sachet with a litre of water. Boil the mixture. Leave it for an hour. Rinse twice."},
		{"in Portuguese, where the verb is a form of that in the heading", "Como é que limpo o filtro?", parts("Manual", []string{"Manual", "Limpar o filtro"}, "Limpar o filtro\n\n1. Desligue a ficha.\n2. Desenrosque o filtro.\n3. Lave o filtro.\n"),
			"Limpar o filtro: Desligue a ficha. Desenrosque o filtro. Lave o filtro."},
		{"in German, with a verb in two parts", "Wie stelle ich die Uhrzeit ein?", append(parts("Handbuch", []string{"Handbuch", "Uhrzeit einstellen"}, "Halten Sie die Taste M gedrückt und drehen Sie am Rad.\n"),
			parts("Handbuch", []string{"Handbuch", "Anzeigen"}, "Die Uhrzeit steht oben rechts, wenn ich sie nicht ein- oder ausblende.\n")...),
			"Halten Sie die Taste M gedrückt und drehen Sie am Rad."},
		{"not the code elsewhere that has the words", "How do I install a package?", append(parts("Guide", []string{"Guide", "Installing packages"}, "Name the package:\n\n```\npkg get tide\n```\n"),
			parts("Guide", []string{"Guide", "Removing packages"}, "What was installed is removed:\n\n```\n# the packages to install are in list\npkg drop --all < list\n```\n")...),
			"Name the package:\n\n```\npkg get tide\n```\n"},
		{"steps", "What are the steps for setting up the projector?", parts("Hall", []string{"Hall", "Setting up the projector"}, "- Take off the cap\n- Press Power twice\n- Turn the ring until the picture is sharp\n"),
			"Setting up the projector: Take off the cap; Press Power twice; Turn the ring until the picture is sharp."},
		{"a label that names the task", "How do I report a fault?", parts("Rules", nil, "Quiet hours: 22:00 to 6:00\nReporting a fault: ring 0123 or write to Ada Vale\nKeys: at the gate\n"),
			"Reporting a fault: ring 0123 or write to Ada Vale."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: c.passages})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLists(t *testing.T) {
	m := local.New(local.Options{Patience: 1})
	minutes := "Minutes of 4 May 2031\n\nPresent: Ada Vale (chair), Per Lund, Ida Holm\nApologies: Nils Dahl\n\n1. Accounts\nThe balance is £310.\n\n2. Decisions\n- The roof is mended\n- The gate is painted\n\n3. Tasks\nAda: order paint\nPer: ring the roofer\n"
	for _, c := range []struct{ name, question, title, text, want string }{
		{"an enumeration in a sentence", "Which costs does the tenant bear?", "Lease", "§ 3 The landlord keeps the roof in repair. The tenant bears water, heating and cleaning. Rent is due on the first.\n",
			"The tenant bears water, heating and cleaning."},
		{"an enumeration after a label", "Who was present?", "Minutes", minutes, "Present: Ada Vale (chair), Per Lund, Ida Holm."},
		{"a numbered title over a list", "Which decisions were taken?", "Minutes", minutes, "2. Decisions: The roof is mended; The gate is painted."},
		{"labelled lines under a heading", "What tasks were given?", "Minutes", minutes, "3. Tasks: Ada: order paint; Per: ring the roofer."},
		{"the largest of several", "biggest boat allowed in the harbour", "Harbour", "- The harbour is open in summer\n- A boat in the harbour may be 14 m long at most\n- The harbour has 30 places\n- The crane is shut\n",
			"A boat in the harbour may be 14 m long at most."},
		{"prose before an instruction", "How do I reset the boiler?", "House", "## Reset the boiler\n\nThe cellar is dry. Hold the red button for five seconds to reset the boiler.\n", "Hold the red button for five seconds to reset the boiler."},
		{"a negation in the heading, in German", "Was ist in den Booten nicht gestattet?", "Bootsverleih", "# Boote\n\nDie Boote haben Ruder, Westen und Seile.\n\n# In den Booten nicht gestattet\n\n- Grillen\n- Rauchen an Bord\n",
			"In den Booten nicht gestattet: Grillen; Rauchen an Bord."},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: parts(c.title, nil, c.text)})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
