package local

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// compareRE finds words by which a question sets things beside each other.
var compareRE = regexp.MustCompile(`(?i)\b(or|both|same|first|earlier|later|older|oldest|younger|youngest|than|between|among|and|out of)\b`)

// whenRE finds words by which a question sets things beside each other in time.
var whenRE = regexp.MustCompile(`(?i)\b(first|earlier|later|last|older|oldest|younger|youngest|longer|newer|more recent\w*)\b`)

// maxTitle is the longest title, in bytes, that is looked for in texts: a longer one is no name.
const maxTitle = 256

// titleIn says whether a text names a document by its title, with a capital, but for that in whatever case.
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

// maxCompared is how many documents an answer sets beside each other.
const maxCompared = 4

// compared gives, where a question names two documents or more, the best sentence of each.
func (q *question) compared(readings []*reading) []*sentence {
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
		if b := q.onward(readings[c.passage], readings); b.to != nil && b.gain > 0.1 {
			if b.from != c {
				out = append(out, b.from)
			}
			out = append(out, b.to)
		}
	}
	return out
}

// best gives the sentence that may be said and is worth most; nil if there is none.
func (r *reading) best(worth func(*sentence) float64) *sentence {
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

// bridge is an answer in two steps: a sentence about what the question names, which names another document, and a sentence of
// that one which says the rest.
type bridge struct {
	from, to *sentence
	cover    float64 // share of the question's weighted terms that the two hold
	gain     float64 // share of them, near words included, that the second adds
	worth    float64
}

// maxStepped is how many passages are looked at for a second step.
const maxStepped = 16

// onward gives the best answer in two steps that begins in a passage; its sentences are nil if there is none.
func (q *question) onward(a *reading, readings []*reading) bridge {
	var best bridge
	for _, b := range readings[:min(len(readings), maxStepped)] {
		if b.named || a == b {
			continue
		}
		from := a.naming(b)
		if from == nil {
			continue
		}
		to := b.best(func(c *sentence) float64 {
			_, worth := q.rest(from, c)
			return worth
		})
		if to == nil {
			continue
		}
		x := bridge{from: from, to: to, cover: q.whole(from.over, from.covers, to.over, to.covers)}
		x.gain, x.worth = q.rest(from, to)
		x.worth += 4 * q.whole(from.over, from.covers)
		if best.to == nil || x.worth > best.worth {
			best = x
		}
	}
	return best
}

// bridged gives the best answer in two steps; it begins in a document that the question names, if there is one.
func (q *question) bridged(readings []*reading) bridge {
	var best bridge
	first := readings[:min(len(readings), maxStepped)]
	named := slices.ContainsFunc(first, func(r *reading) bool { return r.named })
	for _, a := range first {
		if named && !a.named {
			continue
		}
		if b := q.onward(a, readings); b.to != nil && (best.to == nil || b.worth > best.worth) {
			best = b
		}
	}
	return best
}

// naming gives the best sentence that may be said and names what the other document is about; nil if there is none.
func (r *reading) naming(o *reading) *sentence {
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

// names says whether the sentence names what a document is about by its title.
func (c *sentence) names(o *reading) bool {
	if len(o.written) > maxTitle {
		return false
	}
	for k, s := range c.stems {
		if s == o.title[0] && c.says(k, o.title) {
			return titleIn(c.text, o.written)
		}
	}
	return false
}

// rest gives what a sentence adds of the question as the second step after another, and what it is worth with what is asked for.
func (q *question) rest(from, c *sentence) (gain, worth float64) {
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
	worth = 4*gain + c.evid.fit + c.evid.similar
	if c.at == 0 {
		worth += 0.3 // who or what it is
	}
	return gain, worth
}

// stepwise gives the sentences of an answer that rests on several documents, where the question asks for one; otherwise none.
// Where one sentence is not to be trusted, two may hold less of the question.
func (q *question) stepwise(top *sentence, trusted bool, readings []*reading) []*sentence {
	if q.open || q.broad || len(readings) < 2 {
		return nil
	}
	if cs := q.compared(readings); cs != nil {
		return cs
	}
	needs, more := 0.5, 0.1
	if !trusted {
		needs, more = 0.45, 0.05
	}
	b := q.bridged(readings)
	if cs := q.chained(readings, max(b.cover, q.whole(top.over, top.covers))); cs != nil {
		return cs
	}
	if b.to == nil || b.gain == 0 || b.cover < needs || b.cover <= q.whole(top.over, top.covers)+more {
		return nil
	}
	return []*sentence{b.from, b.to}
}
