package local

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// compareRE matches words of questions that compare things.
var compareRE = regexp.MustCompile(`(?i)\b(or|both|same|first|earlier|later|older|oldest|younger|youngest|than|between|among|and|out of)\b`)

// whenRE matches words of questions that compare dates.
var whenRE = regexp.MustCompile(`(?i)\b(first|earlier|later|last|older|oldest|younger|youngest|longer|newer|more recent\w*)\b`)

// maxTitle is the maximum length of a title in bytes that is searched in texts.
const maxTitle = 256

// titleIn reports whether a text contains a title as a name: it begins with a capital, and case is ignored otherwise.
func titleIn(s, title string) bool {
	if r, _ := utf8.DecodeRuneInString(title); len(title) < 2 || len(title) > maxTitle || !unicode.IsUpper(r) && !unicode.IsDigit(r) {
		return false
	}
	for i := range s {
		if i+len(title) > len(s) {
			return false
		}
		if !strings.EqualFold(s[i:i+len(title)], title) {
			continue
		}
		if i == 0 && !strings.Contains(title, " ") {
			continue // any word may open a sentence
		}
		first, _ := utf8.DecodeRuneInString(s[i:])
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+len(title):])
		if !unicode.IsLower(first) && !wordy(before) && !wordy(after) {
			return true
		}
	}
	return false
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// maxCompared is the maximum number of documents in a comparison.
const maxCompared = 4

// comparison returns the best sentence of each document that the question names, if these are two or more.
func (q *question) comparison(readings []*passageView) []*sentence {
	if !compareRE.MatchString(q.text) {
		return nil
	}
	dates := whenRE.MatchString(q.text)
	var out []*sentence
	seen := map[string]int{}
	for _, r := range readings {
		if !r.named {
			continue
		}
		best := r.best(func(c *sentence) float64 {
			if dates && dateRE.MatchString(c.text) {
				return c.score + 5
			}
			return c.score
		})
		if best == nil {
			continue
		}
		title := strings.Join(r.title, " ")
		if at, ok := seen[title]; !ok {
			seen[title] = len(out)
			out = append(out, best)
		} else if best.score > out[at].score {
			out[at] = best
		}
	}
	if len(out) < 2 || len(out) > maxCompared {
		return nil
	}
	for _, c := range out[:len(out):len(out)] {
		if b := q.bestTwoHopFrom(readings[c.passage], readings); b.to != nil && b.gain > 0.1 {
			if b.from != c {
				out = append(out, b.from)
			}
			out = append(out, b.to)
		}
	}
	return out
}

// best returns the quotable sentence with the highest value, or nil.
func (r *passageView) best(worth func(*sentence) float64) *sentence {
	var best *sentence
	most := 0.0
	for _, c := range r.cs {
		if !c.whole || c.row || c.code {
			continue
		}
		if x := worth(c); best == nil || x > most {
			best, most = c, x
		}
	}
	return best
}

// twoHop is an answer of two sentences: the first is about a document that the question names and names another document, and
// the second is from that document.
type twoHop struct {
	from, to *sentence
	gain     float64 // share of them, near words included, that the second adds
	worth    float64
}

// bestTwoHopFrom returns the best answer of two sentences that starts in a passage. Its sentences are nil if there is none.
func (q *question) bestTwoHopFrom(a *passageView, readings []*passageView) twoHop {
	var best twoHop
	for _, b := range readings[:min(len(readings), maxPathPassages)] {
		if b.named || a == b {
			continue
		}
		from := a.bestNaming(b)
		if from == nil {
			continue
		}
		to := b.best(func(c *sentence) float64 {
			_, worth := q.gainOf(from, c)
			return worth
		})
		if to == nil {
			continue
		}
		x := twoHop{from: from, to: to}
		x.gain, x.worth = q.gainOf(from, to)
		x.worth += 4 * q.coverage(from.over, from.covers)
		if best.to == nil || x.worth > best.worth {
			best = x
		}
	}
	return best
}

// bestNaming returns the best quotable sentence that names the subject of another document, or nil.
func (r *passageView) bestNaming(o *passageView) *sentence {
	if len(o.title) == 0 || strings.Join(r.title, " ") == strings.Join(o.title, " ") {
		return nil
	}
	var best *sentence
	for _, c := range r.cs {
		if c.whole && !c.row && !c.code && (best == nil || c.score > best.score) && c.names(o) {
			best = c
		}
	}
	return best
}

// names reports whether the sentence contains the title of a document.
func (c *sentence) names(o *passageView) bool {
	if len(o.written) > maxTitle {
		return false
	}
	for k, s := range c.stems {
		if s == o.title[0] && c.hasStems(k, o.title) {
			return titleIn(c.text, o.written)
		}
	}
	return false
}

// gainOf returns how much of the question a second sentence adds to the first, and its value together with the type of the
// answer.
func (q *question) gainOf(from, c *sentence) (gain, worth float64) {
	for i, w := range q.plain {
		if from.covers[i] == 1 || from.over[i] == 1 {
			continue
		}
		w *= 1 - from.covers[i]
		if x := c.covers[i]; x > 0 {
			gain += w * x
		} else if x := c.nearest[i]; x > 0.4 {
			gain += w * x / 2
		}
	}
	gain /= max(q.plainTotal, 1e-9)
	worth = 4*gain + c.evid[fit] + c.evid[similar]
	if c.at == 0 {
		worth += 0.3 // who or what it is
	}
	return gain, worth
}

// multiDocument returns the sentences of an answer over several documents, if the question needs one.
func (q *question) multiDocument(top *sentence, trusted bool, readings []*passageView) []*sentence {
	if q.open || q.broad || len(readings) < 2 {
		return nil
	}
	if cs := q.comparison(readings); cs != nil {
		return cs
	}
	return q.bestPath(top, trusted, readings)
}
