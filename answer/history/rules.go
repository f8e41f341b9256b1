package history

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/condense"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// Rules is the [Summarizer] that needs no model. The summary has a line for each question of the conversation, the newest one first: the
// question, made self-contained, and the first cited sentence of its answer. Lines of older questions lack the answer if there is no room, and
// the oldest ones are left out. The earlier summary comes last and is cut. The zero value works.
type Rules struct{}

const (
	rules     = "rules"
	maxTopic  = 200 // bytes of a question
	maxAnswer = 300 // bytes of a sentence of an answer
)

// entry is a line of a summary.
type entry struct{ topic, answer string }

// Summarize implements [Summarizer].
func (Rules) Summarize(ctx context.Context, earlier string, messages []event.Message, tokens int) (summary, by string, err error) {
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	earlier = strings.TrimSpace(lang.Clean(earlier))
	room := tokens
	if earlier != "" {
		room -= min(Tokens(earlier)+1, tokens/3)
	}
	entries, used := newest(ctx, messages, room)
	var out strings.Builder
	answered := true // answers fit so far
	for _, e := range entries {
		line := e.topic
		if n := cost(line+" "+e.answer) - cost(line); answered && e.answer != "" {
			if answered = used+n <= room; answered {
				line += " " + e.answer
				used += n
			}
		}
		out.WriteString("- " + line + "\n")
	}
	out.WriteString(cut(earlier, tokens-used-1))
	return strings.TrimSpace(out.String()), rules, nil
}

// cost returns the tokens of a line with its bullet.
func cost(line string) int { return Tokens("- " + line + "\n") }

// newest returns an entry for each of the newest questions whose topics have at most the given number of tokens, except for small talk, and the tokens
// of these topics. The newest question comes first. It reads no older ones, because each of them takes time.
func newest(ctx context.Context, messages []event.Message, room int) (entries []entry, used int) {
	answer := ""
	for i, t := range slices.Backward(messages) {
		if t.Role != event.RoleUser {
			answer = t.Text
			continue
		}
		if question, _ := analyze.SmallTalk(t.Text, i > 0); question != "" {
			question, _ = condense.Rules{}.Condense(ctx, question, "", messages[:i]) // its error is always nil
			topic := clip(question, maxTopic)
			if used+cost(topic) > room {
				break
			}
			used += cost(topic)
			entries = append(entries, entry{topic, clip(citedSentence(answer), maxAnswer)})
		}
		answer = ""
	}
	return entries, used
}

// markRE matches citation marks.
var markRE = regexp.MustCompile(`\s*(?:⟦+[0-9 ,;–-]*⟧+|\[[0-9]{1,3}\])`)

// citedSentence returns the first sentence of an answer that has a citation mark, or else the first sentence.
func citedSentence(answer string) string {
	answer = lang.Truncate(lang.Clean(answer), 8<<10)
	if at := markRE.FindStringIndex(answer); at != nil {
		before := lang.Sentences(answer[:at[0]])
		if len(before) > 0 {
			last := before[len(before)-1]
			return markRE.ReplaceAllString(answer[last.Start:last.End], "")
		}
	}
	if all := lang.Sentences(answer); len(all) > 0 {
		return answer[all[0].Start:all[0].End]
	}
	return ""
}

// clip returns a text in one line of at most the given number of bytes.
func clip(s string, most int) string {
	s = strings.Join(strings.Fields(lang.Clean(s)), " ")
	if len(s) <= most {
		return s
	}
	return strings.TrimSpace(lang.Truncate(s, most-len("…"))) + "…"
}

// cut returns the first sentences of a summary that have at most the given number of tokens.
func cut(s string, tokens int) string {
	if Tokens(s) <= tokens {
		return s
	}
	end := 0
	for _, at := range lang.Sentences(s) {
		if Tokens(s[:at.End]) > tokens {
			break
		}
		end = at.End
	}
	return s[:end]
}
