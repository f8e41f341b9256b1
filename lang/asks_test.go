package lang_test

import (
	"testing"

	"github.com/sluice-rag/sluice/lang"
)

func TestAsksWhether(t *testing.T) {
	for _, c := range []struct {
		lang, question string
		want           bool
	}{
		{"en", "May I bring my dog?", true},
		{"en", "When may I bring my dog?", false},
		{"en", "The dog may come along", false},
		{"de", "Gibt es einen Aufzug?", true},
		{"fr", "Est-ce que les chiens sont admis ?", true},
		{"fr", "Quels chiens sont admis ?", false},
		{"tr", "Köpeğimi getirebilir miyim?", true},
		{"tr", "Köpekler nerede?", false},
		{"zh", "可以带狗吗？", true},
		{"ja", "犬を連れて入れますか？", true},
		{"ja", "いつ入れますか？", false},
	} {
		if got := lang.Languages()[c.lang].AsksWhether(c.question); got != c.want {
			t.Errorf("%s %q: %v", c.lang, c.question, got)
		}
	}
}

func TestAsksOfAllRows(t *testing.T) {
	for _, c := range []struct {
		lang, question string
		want           bool
	}{
		{"en", "Which room is the cheapest?", true},
		{"en", "Which parts are out of stock?", true},
		{"en", "What does the room by the lake cost?", false},
		{"de", "Welches Zimmer ist am billigsten?", true},
		{"de", "Was kostet das Zimmer am See?", false},
		{"zh", "哪个房间最便宜？", true},
		{"zh", "不带阳台的房间多少钱？", false}, // a negation alone is none of the signs there
	} {
		if got := lang.Languages()[c.lang].AsksOfAllRows(c.question); got != c.want {
			t.Errorf("%s %q: %v", c.lang, c.question, got)
		}
	}
}
