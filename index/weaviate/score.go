package weaviate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// scoring has the constants of the lexical score, which are those of the embedded index and are explained there.
var scoring = struct {
	k1, b, title, heading, pairs float64
	window, gap                  int
}{k1: 0.9, b: 0.4, title: 0.6, heading: 0.6, pairs: 0.5, window: 8, gap: 100}

const (
	maxCounted    = 128 // distinct terms of a question that are counted; the rest is ignored
	maxQueryTerms = 64  // of these, only the rarest are used
	synonymWeight = 0.4 // of a word of the same meaning
)

// queryTerm is a term of a question.
type queryTerm struct {
	text   string
	others []string // terms of the same meaning
	times  float64  // occurrences in the question
	idf    float64
	title  float64 // idf among titles
}

// question holds the terms of a question, and the pairs of neighbouring ones by their places.
type question struct {
	terms   []queryTerm
	pairs   [][2]int
	average float64 // length of the chunks of a level in terms
}

// words returns the words of a question with their terms as they are indexed.
func words(s string, l *lang.Language) []lang.Term {
	all := prepare.QueryWords(s, l)
	for i := range all {
		all[i].Stem = term(all[i].Stem)
	}
	return all
}

// termsIn returns the distinct terms of words, with those of the same meaning by term.
func termsIn(all []lang.Term, same map[string][]string) (distinct []lang.Term, others map[string][]string) {
	others = map[string][]string{}
	seen := map[string]bool{}
	for _, w := range all {
		if seen[w.Stem] || len(distinct) == maxCounted {
			continue
		}
		seen[w.Stem] = true
		distinct = append(distinct, w)
		for _, m := range same[w.Word] {
			if s := term(lang.Stem(m)); s != w.Stem && !slices.Contains(others[w.Stem], s) {
				others[w.Stem] = append(others[w.Stem], s)
			}
		}
	}
	return distinct, others
}

// statistics count passages.
type statistics struct {
	passages   int
	df, titles map[string]int   // that contain a term, and that contain it in the title
	shared     *index.TermStats // replaces the others; nil: it does not
}

// weigh returns the question with its weights.
func weigh(all, distinct []lang.Term, others map[string][]string, stats statistics) *question {
	df, n, shared := stats.df, stats.passages, stats.shared
	q := &question{}
	wide := map[string]int{}
	if shared != nil {
		for w, m := range shared.DF {
			for _, t := range lang.Terms(lang.Truncate(w, prepare.MaxQuery)) {
				wide[term(t)] = max(wide[term(t)], m)
			}
		}
	}
	place := map[string]int{}
	for _, w := range distinct {
		t := queryTerm{text: w.Stem}
		count := df[w.Stem]
		for _, o := range others[w.Stem] {
			if df[o] > 0 {
				t.others = append(t.others, o)
				count += df[o]
			}
		}
		if count == 0 {
			continue
		}
		t.idf = idf(float64(n), float64(min(count, n)))
		t.title = t.idf
		if m, ok := wide[w.Stem]; ok {
			t.idf = idf(float64(shared.Chunks), float64(max(m, df[w.Stem])))
			t.title = t.idf
		} else if len(t.others) == 0 {
			t.title = idf(float64(n), float64(stats.titles[w.Stem]))
		}
		place[w.Stem] = len(q.terms)
		q.terms = append(q.terms, t)
	}
	if len(q.terms) > maxQueryTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.idf, a.idf) })
		q.terms = q.terms[:maxQueryTerms]
		clear(place)
		for i, t := range q.terms {
			place[t.text] = i
		}
	}
	seen := map[[2]int]bool{}
	for i, w := range all {
		a, ok := place[w.Stem]
		if !ok {
			continue
		}
		q.terms[a].times++
		if i+1 == len(all) || len(q.pairs) == maxQueryTerms {
			continue
		}
		b, ok := place[all[i+1].Stem]
		if p := [2]int{a, b}; ok && a != b && !seen[p] {
			seen[p] = true
			q.pairs = append(q.pairs, p)
		}
	}
	return q
}

// text is the query for BM25.
func (q *question) text() string {
	var b strings.Builder
	for _, t := range q.terms {
		for _, s := range append([]string{t.text}, t.others...) {
			b.WriteString(s + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// score returns the lexical score of a chunk with terms as termsOf returns them.
func (q *question) score(terms string) float64 {
	places := map[string][]int{}
	length, position, part := 0, 0, 0
	var named [2]map[string]int // occurrences in the title and the innermost heading
	var sizes [2]int
	for t := range strings.FieldsSeq(terms) {
		if t == separator {
			part++
			position += scoring.gap
			continue
		}
		length++
		position++
		places[t] = append(places[t], position)
		if part < len(named) {
			if named[part] == nil {
				named[part] = map[string]int{}
			}
			named[part][t]++
			sizes[part]++
		}
	}
	norm := scoring.k1 * (1 - scoring.b + scoring.b*float64(length)/max(q.average, 1))
	sum, found := 0.0, false
	for _, t := range q.terms {
		tf, weight := float64(len(places[t.text])), 1.0
		if tf == 0 {
			weight = synonymWeight
		}
		for _, o := range t.others {
			tf += float64(len(places[o]))
		}
		found = found || tf > 0
		sum += t.times * t.idf * weight * tf / (tf + norm)
	}
	if !found {
		return 0
	}
	for i, weight := range []float64{scoring.title, scoring.heading} {
		total, share := 0.0, 0.0
		for _, t := range q.terms {
			w := t.idf
			if i == 0 {
				w = t.title
			}
			for k, s := range append([]string{t.text}, t.others...) {
				if n := named[i][s]; n > 0 {
					total += w * map[bool]float64{true: 1, false: synonymWeight}[k == 0]
					share += float64(n) / float64(sizes[i])
				}
			}
		}
		sum += weight * total * min(share, 1)
	}
	for _, p := range q.pairs {
		a, b := q.terms[p[0]], q.terms[p[1]]
		if n := float64(index.Following(places[a.text], places[b.text], scoring.window)); n > 0 {
			sum += scoring.pairs * min(a.idf, b.idf) * n / (n + norm)
		}
	}
	return sum
}
