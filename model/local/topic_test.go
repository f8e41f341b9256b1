package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestTopics checks that questions about a topic are answered from the section or the document that is named after it.
func TestTopics(t *testing.T) {
	m := local.New(local.Options{})
	deposit := chunk("Rental agreement", []string{"Rental agreement", "Deposit"}, "It is $3,200. It is returned within 30 days. It may not be used as rent.\n")
	other := chunk("Hall hire", []string{"Hall hire", "Damage"}, "Damage is taken from the deposit. The deposit of a key is separate from the deposit of the hall.\n")
	bisect := chunk("git-bisect(1)", []string{"git-bisect(1)", "NAME"}, "git-bisect - Use binary search to find a faulty commit\n")
	options := chunk("git-bisect(1)", []string{"git-bisect(1)", "Reset"}, "A new git bisect start also cleans up the old bisection. Run git bisect reset <commit> to go elsewhere.\n")
	options.Chunk.Ordinal = 7
	aid := chunk("SDS_Kleerol.txt", []string{"SECTION 4: First aid"}, "Inhaled: Bring into fresh air.\nSkin: Wash with soap.\n")
	lease := chunk("Mietvertrag", []string{"§ 3 Miete"}, "(1) Miete. Sie beträgt 865 EUR im Monat.\n\n(2) Staffelmiete. Die Miete steigt jedes Jahr um 25 EUR.\n")
	pool := chunk("Harrowmere pool", nil, "The main pool has 25 m and 28 °C. A hoist is there.\n")
	minutes := chunk("Harrowmere council minutes", []string{"Pool"}, "Works to the roof start on 8 September.\n")
	for _, c := range []struct {
		name, question string
		passages       []model.Passage
		want           string
	}{
		{"the section with this heading", "Tell me about the deposit", []model.Passage{other, deposit}, "Deposit: It is $3,200. It is returned within 30 days. It may not be used as rent."},
		{"only its name", "deposit", []model.Passage{other, deposit}, "Deposit: It is $3,200. It is returned within 30 days. It may not be used as rent."},
		{"the beginning of the document with this title", "What does git bisect do?", []model.Passage{options, bisect}, "git-bisect - Use binary search to find a faulty commit."},
		{"a placeholder", "How do I go elsewhere with git bisect reset?", []model.Passage{options}, "Run git bisect reset <commit> to go elsewhere."},
		{"a list under a heading, which is said once", "first aid for Kleerol", []model.Passage{aid}, "SECTION 4: First aid: Inhaled: Bring into fresh air. Skin: Wash with soap."},
		{"a paragraph with a title", "Wie ist das mit der Staffelmiete?", []model.Passage{lease}, "(2) Staffelmiete. Die Miete steigt jedes Jahr um 25 EUR."},
		{"an item with a title", "Tell me about the notice", []model.Passage{chunk("Lease", []string{"§ 3 Ending"}, "1. Term. It is two years.\n2. Notice. It is given by letter. It takes three months.\n3. Keys. All are returned.\n")},
			"Notice. It is given by letter. It takes three months."},
		{"another section in the same passage", "Tell me about the notice", []model.Passage{chunk("Lease", []string{"Lease"}, "## Ending\n\nNotice. A letter is needed.\n\n## Roof\n\nThe roof is red and new.\n")},
			"A letter is needed."},
		{"code and a pronoun after it", "Tell me about restores", []model.Passage{chunk("Manual", []string{"Restores"}, "```\nrestore --all\n```\n\nIt reads the copy. A restore takes an hour.\n")}, "A restore takes an hour."},
		{"all rows", "Tell me about the deposit", []model.Passage{chunk("Hire", []string{"Deposit"}, "Room | Deposit\nHall | 200 €\nLoft | 90 €\nKitchen | 50 €\n")},
			"Hall: Deposit 200 €. Loft: Deposit 90 €. Kitchen: Deposit 50 €."},
		{"two documents", "Describe the Harrowmere pool", []model.Passage{pool, minutes},
			"Harrowmere pool: The main pool has 25 m and 28 °C. A hoist is there. Pool: Works to the roof start on 8 September."},
		{"a topic in words that other questions are made with", "Tell me about keys", []model.Passage{chunk("Operations", []string{"Keys"}, "A key says who asks. See maxAge and sluice keys --help.\n")},
			"A key says who asks. See maxAge and sluice keys --help."},
		{"a fact, and not its section", "When is the deposit returned?", []model.Passage{deposit}, "It is returned within 30 days."},
		{"the entry of a glossary", "What is a worktree?", []model.Passage{chunk("Glossary", nil, "worktree : A folder with the files of a commit. A repository can have several. They share its history.\n")},
			"worktree : A folder with the files of a commit. A repository can have several."},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.passages {
				c.passages[i].N, c.passages[i].Score = i+1, 0.8
			}
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: c.passages})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
