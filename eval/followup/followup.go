// Package followup generates follow-up questions for the evaluation of query rewriting. It makes conversations of two questions from the
// questions of a set. Both questions are about the same text and share a name or a noun phrase. In the second question, a pronoun replaces
// the phrase, or the phrase is left out. The rules and word lists must stay independent of those of answer/condense: an evaluation with
// shared lists would not find their errors.
package followup

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Question is a question of a set that has an answer.
type Question struct {
	ID        string
	Text      string
	Paragraph string // id of the document with the answer
	Article   string // documents with the same article are about the same things
}

// Case is a conversation of two turns.
type Case struct {
	ID       string `json:"id"` // of the second question
	Form     Form   `json:"form"`
	Phrase   string `json:"phrase"` // what both questions share, or for Replaced and QuestionWord, what the second one says
	FirstID  string `json:"first_id"`
	First    string `json:"first"`
	Second   string `json:"second"`    // as the set has it: self-contained
	FollowUp string `json:"follow_up"` // the second question without the phrase
}

// Form is how a follow-up refers to the first question.
type Form string

// The forms.
const (
	Personal     Form = "pronoun"       // "When did it begin?"
	Possessive   Form = "possessive"    // "Who was its first ruler?"
	Place        Form = "place"         // "Who lives there?"
	Omitted      Form = "omitted"       // "And what is the largest park?"
	Replaced     Form = "replaced"      // "And the Osterby sluice?"
	QuestionWord Form = "question word" // "And where?"
)

const (
	maxPerPhrase   = 40 // cases with the same phrase, for variety
	maxPerQuestion = 3  // cases with the same second question, each with another first one
)

// Cases returns at most limit cases, in an order that depends on the ids only: first one for each second question, then others with another
// first question. texts are the paragraphs of each article, from which the kind of a phrase is found. The same input gives the same cases.
func Cases(questions []Question, texts map[string][]string, limit int) []Case {
	order := slices.SortedFunc(slices.Values(questions), func(a, b Question) int {
		return cmp.Or(cmp.Compare(hash(a.ID), hash(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	byArticle := map[string][]Question{}
	for _, q := range order {
		byArticle[q.Article] = append(byArticle[q.Article], q)
	}
	about := map[string]*article{}
	found := make([][]Case, len(order))
	for i, q := range order {
		if about[q.Article] == nil {
			about[q.Article] = newArticle(texts[q.Article])
		}
		found[i] = about[q.Article].followUps(q, byArticle[q.Article])
	}
	used := map[string]int{}
	var out []Case
	for n := range maxPerQuestion {
		for _, cases := range found {
			if n < len(cases) && len(out) < limit && used[cases[n].Phrase] < maxPerPhrase {
				used[cases[n].Phrase]++
				out = append(out, cases[n])
			}
		}
	}
	return out
}

func hash(s string) uint64 {
	sum := sha256.Sum256([]byte("follow-up " + s))
	return binary.BigEndian.Uint64(sum[:])
}

// followUps makes cases of a question and others of its article as the first turn, the most suitable ones first.
func (a *article) followUps(q Question, others []Question) []Case {
	type scored struct {
		Case
		score int
	}
	second := split(q.Text)
	var all []scored
	for _, o := range others {
		first := split(o.Text)
		if o.ID == q.ID || strings.EqualFold(first.text, second.text) {
			continue
		}
		random := hash(q.ID + o.ID)
		best := scored{Case: Case{ID: q.ID, FirstID: o.ID, First: first.text, Second: second.text}}
		if form, phrase, text, ok := ellipsis(first, second, random); ok {
			best.Form, best.Phrase, best.FollowUp, best.score = form, phrase, text, 50
		}
		for _, p := range second.phrases() {
			phrase := second.text[p.from:p.to]
			score := 1 + p.last - p.first // a longer phrase is more likely the topic
			if score <= best.score || !first.holds(phrase) || strings.Count(second.text, phrase) != 1 {
				continue
			}
			kind, ok := a.kind(second, p)
			if !ok {
				continue
			}
			if form, text, ok := second.without(p, kind, random); ok {
				best.Form, best.Phrase, best.FollowUp, best.score = form, phrase, text, score
			}
		}
		if best.score > 0 {
			if o.Paragraph == q.Paragraph {
				best.score += 100 // the questions of one paragraph are about the same thing
			}
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, func(x, y scored) int { return cmp.Compare(y.score, x.score) })
	var out []Case
	for _, c := range all[:min(len(all), maxPerQuestion)] {
		out = append(out, c.Case)
	}
	return out
}

// ellipsis returns the part in which a question differs from the first one, if that is all that a speaker would say.
func ellipsis(first, second sentence, random uint64) (form Form, phrase, text string, ok bool) {
	a, b := first.words, second.words
	start := 0
	for start < min(len(a), len(b)) && a[start].lower == b[start].lower {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end].lower == b[len(b)-1-end].lower {
		end++
	}
	old, now := a[start:len(a)-end], b[start:len(b)-end]
	switch {
	case len(old) == 0 || len(now) == 0 || len(now) > 5 || len(old) > 5:
	case start == 0 && end >= 3 && len(old) == 1 && len(now) == 1 && questionWords[old[0].lower] && questionWords[now[0].lower]:
		phrase = second.text[now[0].from:now[len(now)-1].to]
		return QuestionWord, phrase, opening(random, "And ", "", "And ") + lowerFirst(phrase) + "?", true
	case start >= 2 && start+end >= 3 && isPhrase(old) && isPhrase(now):
		phrase = second.text[now[0].from:now[len(now)-1].to]
		return Replaced, phrase, opening(random, "And ", "What about ", "How about ") + phrase + "?", true
	}
	return "", "", "", false
}

// isPhrase reports whether words are a name or a noun phrase, and not a verb.
func isPhrase(ws []word) bool {
	last := ws[len(ws)-1]
	return (ws[0].upper || determiner[ws[0].lower] && len(ws) > 1) && !function[last.lower] && !slices.ContainsFunc(ws, func(w word) bool { return auxiliary[w.lower] || w.possessive })
}

// without returns the question with a pronoun instead of a phrase, or without it.
func (s sentence) without(p span, kind pronoun, random uint64) (Form, string, bool) {
	from := p.from
	first := p.first
	if first > 0 && s.words[first-1].lower == "the" {
		first--
		from = s.words[first].from
	}
	before, after := s.at(first-1), s.at(p.last)
	replaced := func(from, to int, by string) string {
		text := s.text[:from] + by + s.text[to:]
		return connect(text, opening(random, "", "", "", "And ", "So ", "OK, and "))
	}
	switch {
	case s.words[p.last-1].possessive:
		return Possessive, replaced(from, p.to+len("'s"), kind.possessive), true
	case !s.closed(p, before, after):
		return "", "", false
	case before.lower == "of" && s.owned(first-1) >= 0 && random%4 > 0:
		return Possessive, replaced(s.words[s.owned(first-1)].from, p.to, kind.possessive+s.text[s.words[s.owned(first-1)].to:s.words[first-2].to]), true
	case (before.lower == "in" || before.lower == "of" || before.lower == "at") && after.lower == "" && first >= 5 && random%4 == 0:
		return Omitted, connect(strings.TrimSpace(s.text[:before.from])+s.text[p.to:], "And "), true
	case (before.lower == "in" || before.lower == "at") && first == p.first && kind == it && (after.lower == "" || function[after.lower]):
		return Place, replaced(before.from, p.to, "there"), true
	case before.lower == "", auxiliary[before.lower], questionWords[before.lower], conjunction[before.lower]:
		return Personal, replaced(from, p.to, kind.subject), true
	}
	return Personal, replaced(from, p.to, kind.object), true
}

// closed reports whether a phrase is a whole noun phrase, which a pronoun can replace, and no part of one.
func (s sentence) closed(p span, before, after word) bool {
	if !s.words[p.first].upper && (preposition[after.lower] || conjunction[after.lower] || strings.HasSuffix(after.lower, "ed")) || after.lower == "of" || after.dash {
		return false // as in "the price of oil"
	}
	starts := preposition[before.lower] || auxiliary[before.lower] || conjunction[before.lower] || strings.HasSuffix(before.lower, "ed") ||
		before.lower == "" || (s.words[0].lower == "who" || s.words[0].lower == "what") && before == s.words[1] // as in "who ruled"
	ends := after.lower == "" || after.gap || preposition[after.lower] || auxiliary[after.lower] || conjunction[after.lower] || strings.HasSuffix(after.lower, "ed") || participle[after.lower]
	if !ends && asks[before.lower] { // the verb follows, as in "did Luther write"
		next := s.at(p.last + 1)
		ends = !after.upper && (!strings.HasSuffix(after.lower, "s") || strings.HasSuffix(after.lower, "ss")) && (next.lower == "" || function[next.lower])
	}
	return starts && ends
}

// owned returns the index of the article of "the X of" before a name, or -1.
func (s sentence) owned(of int) int {
	for i := of - 1; i >= max(0, of-4); i-- {
		switch w := s.words[i]; {
		case w.lower == "the" && i < of-1:
			return i
		case function[w.lower], w.upper:
			return -1
		}
	}
	return -1
}

// opening selects one of the texts.
func opening(random uint64, texts ...string) string { return texts[random>>8%uint64(len(texts))] }

// connect puts the opening before a question that begins with a question word or a verb.
func connect(text, opening string) string {
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	if opening == "" || !questionWords[first] && !asks[first] {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return opening + lowerFirst(text)
}

// lowerFirst lower-cases the first letter of a text that begins with a function word.
func lowerFirst(s string) string {
	if first, _, _ := strings.Cut(s, " "); function[strings.ToLower(strings.Trim(first, "?"))] {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
