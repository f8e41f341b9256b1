package lang_test

import (
	"strconv"
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

// TestTopicOf checks which questions have a topic, by a heading that names it.
func TestTopicOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code, question, heading string
		brief                   bool
	}{
		{"en", "Tell me about the deposit, please", "Deposit", false},
		{"en", "What does git bisect do?", "git-bisect", true},
		{"en", "How does the late fee work?", "Late fees", true},
		{"en", "opening hours", "Opening hours", false},
		{"en", "What is a worktree?", "Worktrees", true},
		{"de", "Wie ist das mit der Staffelmiete?", "(2) Staffelmiete.", false},
		{"de", "Was ist eine Staffelmiete?", "Staffelmiete", true},
		{"fr", "parle-moi du dépôt de garantie", "IV. DÉPÔT DE GARANTIE", false},
		{"es", "¿Cómo funciona la calefacción?", "Calefacción", true},
		{"it", "parlami della piscina", "Piscina", false},
		{"pt", "fale-me do condomínio", "Condomínio", false},
		{"nl", "vertel me over het zwembad", "Zwembad", false},
		{"ru", "расскажи про бассейн", "Бассейн", false},
		{"tr", "havuz hakkında bilgi ver", "Havuz", false},
		{"zh", "退团规定", "退团规定", false},
		{"ja", "敷金とは", "敷金", true},
		{"ja", "駐車場について教えてください", "駐車場", false},
	} {
		topic := lang.Languages()[c.code].TopicOf(c.question)
		if named, depth := topic.NamedBy("", []string{c.heading}, ""); named < lang.MinTopic || depth != 1 || topic.Brief != c.brief {
			t.Errorf("%q: %q names it %.2f, brief %v", c.question, c.heading, named, topic != nil && topic.Brief)
		}
	}
	for _, question := range []string{"When is the pool open?", "How much is the deposit?", "Is there a deposit?", "Tell me about it", "What does --hard do?", "", "?"} {
		if lang.English.TopicOf(question) != nil {
			t.Errorf("%q has a topic", question)
		}
	}
}

func TestTopicNamedBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, title string
		headings        []string
		text            string
		least, most     float64
		depth           int
	}{
		{"Tell me about the deposit", "Rental agreement", []string{"2. SECURITY DEPOSIT"}, "", 0.5, 0.5, 1},
		{"Tell me about the deposit", "Rental agreement", []string{"SECTION 4: Deposit", "Return"}, "", 1, 1, 1},
		{"Tell me about the deposit at the Wherry", "Wherry Inn", []string{"Deposit"}, "", 0.8, 0.9, 1},
		{"Tell me about the deposit at the Wherry", "Terms", []string{"Deposit"}, "The Wherry keeps it.", 0.6, 0.7, 1},
		{"Tell me about the heating of the pool", "Minutes", []string{"Heating of the hall, the library and the pool"}, "", 0.5, 0.5, 1},
		{"first aid for Kleerol", "SDS_Kleerol_W40.txt", []string{"SECTION 4: First aid"}, "", 0.8, 1, 1},
		{"first aid for Kleerol", "Safety sheet", []string{"First aid"}, "Kleerol", 0, 0, 0}, // it may ask for a fact
		{"What does error E4 mean?", "Manual", []string{"Errors"}, "E4 is a leak", 0, 0, 0},
		{"What does git bisect do?", "git-bisect(1) Manual Page", []string{"OPTIONS"}, "", 0.6, 0.8, 0},
		{"Tell me about the roof of the village hall", "Village hall minutes", nil, "the roof", 0, 0, 0},
		{"Tell me about the opening hours of the sauna", "Park", []string{"Opening hours"}, "The gates open at 8.", 0, 0, 0},
		{"How does the cache work?", "Answer cache", []string{"Without the cache"}, "", 0.7, 0.8, 0},
		{"Tell me about the deposit", "Terms", []string{"IV. Deposit"}, "", 1, 1, 1},
		{"Tell me about the deposit", "Guide", []string{"Prices, deposits, hire, opening hours and rules"}, "", 0.1, 0.3, 1},
	} {
		named, depth := lang.English.TopicOf(c.question).NamedBy(c.title, c.headings, c.text)
		if named < c.least-1e-9 || named > c.most+1e-9 || depth != c.depth {
			t.Errorf("%q, %q, %q: %.2f at %d, want %.2f to %.2f at %d", c.question, c.title, c.headings, named, depth, c.least, c.most, c.depth)
		}
	}
}

func BenchmarkTopicOf(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		lang.English.TopicOf("What is the charge per hour for the cellar no. " + strconv.Itoa(i) + "?") // a different one, because topics are kept
	}
}
