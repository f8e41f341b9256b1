package failover_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
)

func TestContinuation(t *testing.T) {
	t.Parallel()
	const long = "A sluice box is a long, narrow trough. It has many riffles on its wooden floor ⟦1⟧. Gold is he"
	for name, test := range map[string]struct{ said, next, want string }{
		"exactly":                          {"Gold is he", "avy and sinks.", "Gold is he|avy and sinks."},
		"with the space that follows":      {"Gold is", " heavy.", "Gold is| heavy."},
		"without it, after a known word":   {"What a box", "holds is gold.", "What a box| holds is gold."},
		"a known word that begins another": {"What box", "sluice", "What box| sluice"},
		"with the last word":               {"Gold is heavy", "heavy and sinks.", "Gold is heavy| and sinks."},
		"with the last word, whole now":    {"Gold is hea", "heavy and sinks.", "Gold is hea|vy and sinks."},
		"a short word is not the next":     {"That is a", "animal", "That is a| animal"},
		"a short piece is the next":        {"That is an", "animal", "That is an|imal"},
		"with the last words":              {"Gold is heavy", "is heavy and sinks.", "Gold is heavy| and sinks."},
		"with the last sentence":           {long, "Gold is heavy.", long + "|avy."},
		"from the beginning":               {long, long + "avy.", long + "|avy."},
		"from the beginning, set anew": {
			long, strings.ReplaceAll(long, ". ", ".\n\n") + "avy.", long + "|avy.",
		},
		"from the beginning, and no more":   {long, long, long + "|"},
		"from the beginning, otherwise":     {long, "A sluice box is a long, narrow trough in which gold is won.", long + "|"},
		"from the middle, otherwise":        {long, "It has many riffles on its wooden floor ⟦1⟧ and " + long, long + "|"},
		"from the beginning, but shorter":   {long, "A sluice box is a long, narrow trough.", long + "|"},
		"short, from the beginning again":   {"The answer is", "The answer was no.", "The answer is|"},
		"one word, then one like it":        {"That", " Thames water rises.", "That| Thames water rises."},
		"one word, otherwise":               {"Gold", "Golf is a game.", "Gold|"},
		"a beginning by chance":             {"A box has riffles", " A", "A box has riffles| A"},
		"a citation that was begun":         {"Gold is heavy ⟦1", "⟦1⟧.", "Gold is heavy ⟦1|⟦1⟧."},
		"only a citation that was begun":    {"⟦", "Gold ⟦1⟧.", "⟦|Gold ⟦1⟧."},
		"a citation again":                  {"Gold ⟦1⟧", "⟦1⟧ is heavy.", "Gold ⟦1⟧| is heavy."},
		"an open bracket long ago":          {"⟦ is a bracket of mathematics", ".", "⟦ is a bracket of mathematics|."},
		"white space twice":                 {"Gold. ", " It sinks.", "Gold. |It sinks."},
		"white space once more":             {"Gold.\n", "Gold.\n\nIt sinks.", "Gold.\n|\nIt sinks."},
		"indented":                          {"Code:\n", "    x := 1", "Code:\n|    x := 1"},
		"punctuation may well come twice":   {"Well.", "..", "Well.|.."},
		"a script without spaces":           {"黄金は重い金属", "金属です。", "黄金は重い金属|です。"},
		"a single character of one":         {"重い人", "人です。", "重い人|人です。"},
		"letters that come twice in a word": {"a little tal", "l man", "a little tal|l man"},
		"digits":                            {"It costs 10", "0 a year.", "It costs 10|0 a year."},
		"nothing new, and white space":      {"Gold is heavy.", "heavy.\n", "Gold is heavy.|\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, 1000} {
				a := &scripted{name: "a", acts: []act{begins(pieces(test.said, size)...)}}
				b := &scripted{name: "b", acts: []act{says(pieces(test.next, size)...)}}
				h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
				want(t, fmt.Sprintf("text in pieces of %d", size), h.text, test.want)
				stop, told := model.StopEnd, []string{"a>b cut"}
				if strings.HasSuffix(test.want, "|") && test.next != test.said {
					stop, told = model.StopIncomplete, append(told, "b> malformed")
				}
				want(t, "stop", h.stop, stop)
				want(t, "error", h.err, nil)
				if d := cmp.Diff(told, h.failures); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// pieces cuts a text into pieces of some runes.
func pieces(text string, size int) (out []string) {
	for rs := []rune(text); len(rs) > 0; rs = rs[min(size, len(rs)):] {
		out = append(out, string(rs[:min(size, len(rs))]))
	}
	return out
}

func TestContinuationRequest(t *testing.T) {
	t.Parallel()
	r := question
	r.MaxTokens = 100
	r.Messages = append(make([]model.Message, 0, 9), question.Messages...)
	a := &scripted{name: "a", acts: []act{begins("Gold is heavy ⟦1")}}
	b := &scripted{name: "b", acts: []act{begins()}}
	c := &scripted{name: "c", acts: []act{says(".")}}
	h := listen(t.Context(), failover.New(chats(a, b, c), failover.Options{}), r)
	want(t, "text", h.text, "Gold is heavy ⟦1|.")
	if d := cmp.Diff([]string{"a>b cut", "b>c cut"}, h.failures); d != "" {
		t.Error(d)
	}
	for _, m := range []*scripted{b, c} {
		asked := m.requests[0]
		want(t, "tokens", asked.MaxTokens, 100-len("Gold is heavy "))
		if d := cmp.Diff(model.Message{Role: model.Assistant, Text: "Gold is heavy "}, asked.Messages[1]); d != "" {
			t.Error(d)
		}
		if last := asked.Messages[2]; last.Role != model.User || !strings.Contains(last.Text, "exactly where it stops") {
			t.Errorf("the model is told %q", last.Text)
		}
	}
	if d := cmp.Diff(model.Message{}, r.Messages[:3][2]); d != "" {
		t.Errorf("the caller's messages were written over: %s", d)
	}
}

func TestNoModelCanContinue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then []act
		told []string
	}{
		"alone":             {nil, []string{"a> broken"}},
		"the next is dead":  {[]act{fails(model.Unreachable)}, []string{"a>b broken", "b> unreachable"}},
		"unjudged when cut": {[]act{begins("Gold")}, []string{"a>b broken", "b> cut"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &scripted{name: "a", acts: []act{{pieces: begins("Gold is heavy").pieces, fails: fails(model.ServerError).fails}}}
			models := chats(a)
			if test.then != nil {
				models = append(models, &scripted{name: "b", acts: test.then})
			}
			h := listen(t.Context(), failover.New(models, failover.Options{}), question)
			want(t, "text", strings.TrimSuffix(h.text, "|"), "Gold is heavy")
			want(t, "stop", h.stop, model.StopIncomplete)
			want(t, "error", h.err, nil)
			if d := cmp.Diff(test.told, h.failures); d != "" {
				t.Error(d)
			}
		})
	}
}

// writer returns a continuation of the answer in a random form: with a repetition, a restart or a divergence.
func writer(rnd *rand.Rand, whole, said string) (text string, strays bool) {
	if said == "" {
		return whole, false
	}
	rest := whole // after as many characters as said has, ignoring white space
	for n := len(squeezed(said)); n > 0; {
		_, size := utf8.DecodeRuneInString(rest)
		n -= len(squeezed(rest[:size]))
		rest = rest[size:]
	}
	switch rnd.IntN(6) {
	case 0:
		return said[strings.LastIndex(said[:max(0, len(said)-1)], " ")+1:] + rest, false
	case 1:
		return said[strings.LastIndex(said, ". ")+1:] + rest, false
	case 2:
		return strings.Join(strings.Fields(whole), "\n"), false
	case 3:
		if len(said) > 100 {
			runes := []rune(said)
			return string(runes[:30+rnd.IntN(len(runes)-40)]) + "§ and so on, quite differently", true
		}
	}
	return rest, false
}

// story returns a text without repeated words, and without repeated letters in a word, so that repetitions are certain.
func story(rnd *rand.Rand) string {
	var b strings.Builder
	letters, seen := []rune("abcdefghijklmnopqrstuvwxyzäöüßéñžłшж"), map[string]bool{}
	for i := range 5 + rnd.IntN(40) {
		rnd.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
		word := string(letters[:4+rnd.IntN(6)])
		if seen[word[:4]] {
			continue
		}
		seen[word[:4]] = true
		b.WriteString(word)
		if rnd.IntN(4) == 0 {
			fmt.Fprintf(&b, " ⟦%d⟧", 100+i)
		}
		b.WriteString([]string{" ", " ", ". ", ", ", ".\n\n", " 😀 "}[rnd.IntN(6)])
	}
	return strings.TrimSpace(b.String())
}

func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// TestNoRepetition cuts models at random places and compares the continued answer with the expected text.
func TestNoRepetition(t *testing.T) {
	t.Parallel()
	ends := map[model.StopReason]int{}
	for seed := range uint64(3000) {
		h, whole := tellStory(t, seed)
		ends[h.stop]++
		if want, got := squeezed(whole), squeezed(h.text); !strings.HasPrefix(want, got) || h.stop == model.StopEnd && got != want {
			t.Fatalf("seed %d: heard %q\nof %q\nended by %q", seed, h.text, whole, h.stop)
		}
		if h.err != nil || h.stop != model.StopEnd && h.stop != model.StopIncomplete {
			t.Fatalf("seed %d: ended by %q, %v", seed, h.stop, h.err)
		}
	}
	if ends[model.StopEnd] < 500 || ends[model.StopIncomplete] < 500 {
		t.Errorf("one-sided: %v", ends)
	}
}

// tellStory asks a chain of models that are cut off at random bytes, and returns the result without incomplete citations and the
// expected text.
func tellStory(t *testing.T, seed uint64) (heard, string) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	whole := story(rnd)
	var models []model.Chat
	for i := range 1 + rnd.IntN(4) {
		models = append(models, &author{scripted: scripted{name: fmt.Sprint(i)}, whole: whole, rnd: rnd})
	}
	mute := model.Request{Messages: []model.Message{{Role: model.User, Text: "?"}}} // contains no word of the story
	h := listen(t.Context(), failover.New(models, failover.Options{Rounds: 1}), mute)
	if h.failure() != "" { // all models failed before the first word
		return heard{stop: model.StopIncomplete}, whole
	}
	var text string
	for _, p := range h.pieces {
		if p.Resumed {
			text = finished(text)
		}
		text += p.Text
		if !utf8.ValidString(p.Text) {
			t.Fatalf("seed %d: %q is no UTF-8", seed, p.Text)
		}
	}
	h.text = text
	return h, whole
}

// finished removes an incomplete citation.
func finished(text string) string {
	if i := strings.LastIndex(text, "⟦"); i >= 0 && !strings.Contains(text[i:], "⟧") {
		return text[:i]
	}
	return text
}

// FuzzContinuation checks that the result is always a suffix of the continuation, with at most an additional space before it.
func FuzzContinuation(f *testing.F) {
	f.Add("Gold is hea", "heavy.", 3)
	f.Add("黄金は重い金属 ⟦1", "金属です。", 1)
	f.Add(" \n", "\u2028x\u0301", 1)
	f.Fuzz(func(t *testing.T, said, next string, size int) {
		said, next = strings.ToValidUTF8(said, ""), strings.ToValidUTF8(next, "")
		if said == "" || len(said)+len(next) > 1<<14 {
			return
		}
		a := &scripted{name: "a", acts: []act{begins(said)}}
		b := &scripted{name: "b", acts: []act{says(pieces(next, 1+max(0, size%100))...)}}
		h := listen(t.Context(), failover.New(chats(a, b), failover.Options{}), question)
		got := strings.TrimPrefix(h.text, said+"|")
		if !strings.HasSuffix(next, got) && !strings.HasSuffix(next, strings.TrimPrefix(got, " ")) {
			t.Errorf("of %q after %q came %q", next, said, got)
		}
		if h.err != nil || h.stop == "" {
			t.Errorf("ended by %q, %v", h.stop, h.err)
		}
	})
}

func TestNoFailoverAfterDivergence(t *testing.T) {
	t.Parallel()
	a := &scripted{name: "a", acts: []act{begins("The answer is")}}
	b := &scripted{name: "b", acts: []act{says("The answer was no.")}}
	c := &scripted{name: "c", acts: []act{says(" yes.")}}
	h := listen(t.Context(), failover.New(chats(a, b, c), failover.Options{}), question)
	want(t, "text", h.text, "The answer is|")
	want(t, "stop", h.stop, model.StopIncomplete)
	want(t, "asked the third", c.times(), 0)
}

// TestPrefix continues the prefix of a request, as after a restart.
func TestPrefix(t *testing.T) {
	t.Parallel()
	r := question
	r.Prefix = "Gold is heavy ⟦1⟧"
	for name, test := range map[string]struct {
		acts  []act
		text  string
		stop  model.StopReason
		fails model.Failure
	}{
		"the rest":                       {[]act{says(" and sinks.")}, " and sinks.", model.StopEnd, ""},
		"from the beginning":             {[]act{says("Gold is heavy ⟦1⟧ and", " sinks.")}, " and sinks.", model.StopEnd, ""},
		"nothing more":                   {[]act{says()}, "", model.StopEnd, ""},
		"something else":                 {[]act{says("Gold is heavy because of its density.")}, "", model.StopIncomplete, ""},
		"asked again after a failure":    {[]act{fails(model.ServerError), says(" and sinks.")}, " and sinks.", model.StopEnd, ""},
		"never":                          {[]act{fails(model.Rejected)}, "", "", model.Rejected},
		"breaks off in the continuation": {[]act{begins(" and sinks")}, " and sinks", model.StopIncomplete, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &scripted{name: "a", acts: test.acts}
			h := listen(t.Context(), failover.New(chats(a), failover.Options{Backoff: 1}), r)
			want(t, "text", h.text, test.text)
			want(t, "stop", h.stop, test.stop)
			want(t, "failure", h.failure(), test.fails)
			for _, asked := range a.requests {
				if len(asked.Messages) != 3 || asked.Messages[1].Text != r.Prefix || asked.Prefix != "" {
					t.Errorf("asked %+v", asked)
				}
			}
		})
	}
}
