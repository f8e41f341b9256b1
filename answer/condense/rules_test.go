package condense_test

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/condense"
	"github.com/sluice-rag/sluice/event"
)

var _ condense.Condenser = condense.Rules{}

// talks reads conversations, parted by empty lines: a line "> …" is a question before the last, "< …" an answer, "? …" the last
// question and "= …" what it is to be; without the last, the question says all itself. "# …" is a remark.
func talks(t *testing.T, file string) []talk {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []talk
	var now talk
	flush := func() {
		if now.question != "" {
			if now.want == "" {
				now.want = now.question
			}
			out = append(out, now)
		}
		now = talk{}
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		kind, line, _ := strings.Cut(s.Text(), " ")
		switch kind {
		case ">":
			now.history = append(now.history, event.Message{Role: event.RoleUser, Text: line})
		case "<":
			now.history = append(now.history, event.Message{Role: event.RoleAssistant, Text: line})
		case "?":
			now.question = line
		case "=":
			now.want = line
		case "":
			flush()
		}
	}
	flush()
	return out
}

type talk struct {
	history        []event.Message
	question, want string
}

// right counts the questions that become what they are to be, and tells the others.
func right(t *testing.T, file string) (n, all int) {
	t.Helper()
	ts := talks(t, file)
	for _, c := range ts {
		got, err := condense.Rules{}.Condense(t.Context(), c.question, "", c.history)
		if err != nil {
			t.Fatal(err)
		}
		if got == c.want {
			n++
			continue
		}
		t.Logf("%s\n\tbecomes %s\n\tnot     %s", c.question, got, c.want)
	}
	t.Logf("%s: %d of %d are right", file, n, len(ts))
	return n, len(ts)
}

// TestRules: of the conversations that the rules were made by.
func TestRules(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/talks.txt"); n < all {
		t.Errorf("%d of %d are right", n, all)
	}
}

func TestWithoutHistory(t *testing.T) {
	t.Parallel()
	for _, history := range [][]event.Message{nil, {}, {{Role: event.RoleAssistant, Text: "Hello."}}, {{Role: event.RoleUser, Text: " \x00"}}} {
		if got, err := (condense.Rules{}).Condense(t.Context(), "When was it built?", "", history); got != "When was it built?" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// TestHostileTalk: any text is read in linear time, and what comes is no longer than it may be.
func TestHostileTalk(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("it ", 4000), strings.Repeat("The A Of ", 9000), strings.Repeat("and ", 9000), strings.Repeat("what is the x of ", 4000), "\xff\xfe", "?", "¿", "and",
		strings.Repeat("Aa ", 20000), strings.Repeat("\"", 9000), "What about", "what about ?", "in", "it", "Why?", strings.Repeat("⟦1", 30000), strings.Repeat("İ", 250)} {
		for _, q := range []string{s, "Who is it?", "And in 2021?", "Why?", "What about her?", "Which is older?"} {
			var history []event.Message
			for range 100 {
				history = append(history, event.Message{Role: event.RoleUser, Text: s}, event.Message{Role: event.RoleAssistant, Text: s})
			}
			got, err := condense.Rules{}.Condense(context.Background(), q, "", history)
			if err != nil || len(got) > max(len(q), 1200) {
				t.Fatalf("%.40q after %.40q: %d bytes, %v", q, s, len(got), err)
			}
		}
	}
}

// TestRulesOnOthers: of conversations that the rules were not made by.
func TestRulesOnOthers(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/others.txt"); n < 27 {
		t.Errorf("%d of %d are right", n, all)
	}
}

// TestRulesUnseen: of conversations that were written when the rules were done. Of 20, 14 were right then.
func TestRulesUnseen(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/late.txt"); n < 17 {
		t.Errorf("%d of %d are right", n, all)
	}
}

// TestRulesOnDocuments: of conversations that were held over real documents, whose answers are sentences of them.
func TestRulesOnDocuments(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/real.txt"); n < all {
		t.Errorf("%d of %d are right", n, all)
	}
}

// TestRulesByKind: of conversations whose follow-ups name only what is of the same kind, and of pronouns with a verb.
func TestRulesByKind(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/kinds.txt"); n < all {
		t.Errorf("%d of %d are right", n, all)
	}
}

// TestRulesInAllLanguages: of conversations in the languages that lang has words of.
func TestRulesInAllLanguages(t *testing.T) {
	t.Parallel()
	if n, all := right(t, "testdata/languages.txt"); n < all {
		t.Errorf("%d of %d are right", n, all)
	}
}
