package suggest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
)

// candidate is a question with the passage that should answer it.
type candidate struct {
	question string
	passage  corpus.Chunk // from which it was made
	weight   float64      // how good it is as a question; about 0 to 1
	heading  string       // for a question made from nothing but a heading
}

// Limits of the text that questions are made from, in bytes.
const (
	minSentence = 20
	maxSentence = 320
	maxQuestion = 110
)

// languageOf returns the code of the language of a text, by its frequent words; English if there are none.
func languageOf(text string) string {
	counts := map[string]int{}
	for _, w := range lang.Words(lang.Truncate(text, 4096)) {
		for code, g := range grammars {
			if g.common[w.Text] {
				counts[code]++
			}
		}
	}
	best := "en"
	for _, code := range []string{"de", "fr", "es"} {
		if counts[code] > counts[best] {
			best = code
		}
	}
	return best
}

// candidatesOf returns the questions made from passages of one document, the best first.
func candidatesOf(passages []corpus.Chunk) (out []candidate, language string) {
	var sample strings.Builder
	for _, p := range passages[:min(len(passages), 8)] {
		sample.WriteString(p.Text + "\n")
	}
	language = languageOf(sample.String())
	g := grammars[language]
	seen := map[string]bool{}
	add := func(question string, p corpus.Chunk, weight float64, heading string) {
		if question != "" && !seen[question] && g.sensible(question) {
			seen[question] = true
			out = append(out, candidate{question, p, weight + clarity(question, p), heading})
		}
	}
	lastHeading := ""
	for _, p := range passages {
		for _, span := range lang.Sentences(p.Text) {
			raw := p.Text[span.Start:span.End]
			if lang.IsTableRow(raw) {
				add(g.fromRow(raw), p, 0.8, "")
				continue
			}
			if s := plain(raw); len(s) >= minSentence && len(s) <= maxSentence {
				question, weight := g.fromSentence(s)
				add(question, p, weight, "")
			}
		}
		if h := plain(p.Heading()); h != lastHeading && len(p.Headings) > 0 {
			lastHeading = h
			question, weight := g.fromHeading(h)
			if weight != headingWeight {
				h = ""
			}
			add(question, p, weight, h)
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	return out, language
}

// clarity returns by how much a question is better or worse for what it is about: the subject of the document or of the section, or a few words
// that could mean anything.
func clarity(question string, p corpus.Chunk) float64 {
	asked := lang.TermSet(question)
	topic := lang.TermSet(p.Title + " " + strings.Join(p.Headings, " "))
	better := 0.0
	for t := range asked {
		if _, ok := topic[t]; ok {
			better = 0.15
		}
	}
	switch {
	case len(asked) < 2:
		better -= 0.4
	case len(asked) < 3:
		better -= 0.1
	}
	return better
}

var (
	linkRE   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	bulletRE = regexp.MustCompile(`^(?:[-*+•–] |\d+[.)] |#{1,6} |> )+`)
	spaceRE  = regexp.MustCompile(`\s+`)
	marks    = strings.NewReplacer("**", "", "__", "", "`", "", "*", "")
	// odd is what no question may have: addresses, code, placeholders, unfinished text.
	oddRE = regexp.MustCompile(`https?:|www\.|[<>{}|=\\@_^~#]|\.\.\.|…|\d{5,}|\(|\)|--|/`)
)

// plain returns a sentence on one line without the marks of Markdown.
func plain(s string) string {
	s = linkRE.ReplaceAllString(strings.TrimSpace(s), "$1")
	s = bulletRE.ReplaceAllString(s, "")
	return strings.TrimSpace(spaceRE.ReplaceAllString(marks.Replace(s), " "))
}

// fromSentence returns a question that the sentence answers; empty: there is none.
func (g *grammar) fromSentence(s string) (string, float64) {
	for _, r := range g.rules() {
		m := r.pattern.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		q := r.template
		for i, group := range m {
			if i == 0 {
				continue
			}
			n := string(rune('0' + i))
			for _, kind := range []string{"s", "d"} {
				q = strings.ReplaceAll(q, "${"+n+":"+kind+"}", base(kind, group))
			}
			q = strings.ReplaceAll(q, "${"+n+"}", g.within(group))
		}
		q = " " + strings.TrimSpace(q)
		return strings.TrimSpace(g.person.Replace(g.person.Replace(q))), r.weight
	}
	return "", 0
}

// within returns a part of a sentence as it stands within another one: its article in lower case.
func (g *grammar) within(part string) string {
	first, _, _ := strings.Cut(strings.Replace(part, "’", "'", 1), " ")
	first, _, _ = strings.Cut(first, "'")
	if !g.articles[strings.ToLower(first)] {
		return part
	}
	r, n := utf8.DecodeRuneInString(part)
	return string(unicode.ToLower(r)) + part[n:]
}

var (
	howToRE  = regexp.MustCompile(`^How to ([a-z]+ .+)$`)
	gerundRE = regexp.MustCompile(`^([A-Z][a-z]+ing) ((?:the|a|an|your) .+)$`)
	numberRE = regexp.MustCompile(`^(?:§+ ?)?[\dIVX]+(?:[.)][\d.)]*)? +|^[A-Z][.)] +`)
)

// fromHeading returns a question about the text under a heading.
func (g *grammar) fromHeading(h string) (string, float64) {
	h = strings.TrimSpace(numberRE.ReplaceAllString(h, ""))
	words := len(strings.Fields(h))
	switch m := howToRE.FindStringSubmatch(h); {
	case strings.HasSuffix(h, "?") && words >= 3:
		return h, 1
	case words < 1 || words > 7 || strings.ContainsAny(h, ":;,.!?\"“”„«»") || len(lang.Terms(h)) == 0 || len(h) < 4:
		return "", 0
	case m != nil && g == english:
		return strings.TrimSpace(g.person.Replace("How do I " + m[1] + "?")), 0.95
	case g == english && gerundRE.MatchString(h):
		return strings.TrimSpace(g.person.Replace("How does " + strings.ToLower(h[:1]) + h[1:] + " work?")), 0.7
	}
	return strings.Replace(g.heading, "${1}", h, 1), headingWeight
}

// headingWeight is the weight of questions made from nothing but a heading.
const headingWeight = 0.3

var moneyRE = regexp.MustCompile(`^(?:[€$£] ?\d[\d.,]*|\d[\d.,]* ?(?:€|\$|£|EUR|USD|CHF|GBP|Euro|euros?))\b?`)

// fromRow returns a question about the price in a row of a table.
func (g *grammar) fromRow(row string) string {
	cells := lang.TableCells(row)
	if len(cells) < 2 || moneyRE.MatchString(plain(cells[0])) {
		return ""
	}
	label := plain(cells[0])
	prices := 0
	for _, c := range cells[1:] {
		if moneyRE.MatchString(plain(c)) {
			prices++
		}
	}
	if prices != 1 || len(label) < 4 || len(label) > 60 || len(lang.Terms(label)) == 0 {
		return ""
	}
	return strings.Replace(g.price, "${1}", label, 1)
}

// invertedRE matches the pronoun that repeats the subject of a French question, as in "doit-il".
var invertedRE = regexp.MustCompile(`-(?:t-)?(?:il|elle)s?\b`)

// sensible reports whether a question can be understood by itself.
func (g *grammar) sensible(q string) bool {
	if len(q) > maxQuestion || oddRE.MatchString(q) || strings.Count(q, "?") != 1 || strings.Count(q, `"`)%2 != 0 {
		return false
	}
	words := lang.Words(invertedRE.ReplaceAllString(q, ""))
	if len(words) < 3 || len(words) > 16 || len(lang.Terms(q)) == 0 {
		return false
	}
	for i, w := range words {
		if g.vague[w.Text] && (i > 0 || g != english) {
			return false
		}
	}
	return true
}
