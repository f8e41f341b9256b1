// Package paraphrase generates questions to evaluate an answer cache with: from any list of questions, it makes paraphrases with
// the same meaning and near misses with another meaning. Its rules and word lists are independent of those by which the cache
// compares questions. Keep them so: a shared list would prove nothing.
package paraphrase

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// Case is a pair of questions.
type Case struct {
	Question string // a given question
	Other    string // the question that was made from it
	Same     bool   // whether both have the same answer
	Kind     string // name of the rule
}

// rule makes another question from a question, and reports whether it applies. names come from other questions.
type rule struct {
	kind string
	make func(r *rand.Rand, question string, names []string) (string, bool)
}

// Cases applies each rule to each question. The same questions and seed give the same cases. The cases of a question depend on
// other questions only by the names that are inserted.
func Cases(questions []string, seed uint64) []Case {
	var names []string
	for _, q := range questions {
		for _, s := range namesOf(q) {
			names = append(names, q[s.from:s.to])
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var out []Case
	for _, q := range questions {
		h := fnv.New64a()
		_, _ = h.Write([]byte(q))
		for _, set := range []struct {
			same  bool
			rules []rule
		}{{true, paraphrases}, {false, nearMisses}} {
			for i, rule := range set.rules {
				r := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(i))) //nolint:gosec // it must be repeatable
				if other, ok := rule.make(r, strings.TrimSpace(q), names); ok && other != q {
					out = append(out, Case{q, other, set.same, rule.kind})
				}
			}
		}
	}
	return out
}

// Rate counts how often a matcher judged pairs of one kind to be the same.
type Rate struct {
	Kind  string
	Same  bool // the correct judgement
	Cases int
	Hits  int
}

// Share returns hits divided by cases, or 0 without cases.
func (r Rate) Share() float64 {
	if r.Cases == 0 {
		return 0
	}
	return float64(r.Hits) / float64(r.Cases)
}

// Rates counts by kind, in the order of first appearance. The last two rates have the kind "all": first that of all paraphrases,
// whose share is the rate of true hits, then that of all near misses, whose share is the rate of false hits.
func Rates(same func(a, b string) bool, cases []Case) []Rate {
	var out []Rate
	place := map[Case]int{}
	all := [2]Rate{{Kind: "all", Same: true}, {Kind: "all"}}
	for _, c := range cases {
		k := Case{Kind: c.Kind, Same: c.Same}
		if _, ok := place[k]; !ok {
			place[k] = len(out)
			out = append(out, Rate{Kind: c.Kind, Same: c.Same})
		}
		sum := &all[1]
		if c.Same {
			sum = &all[0]
		}
		one := &out[place[k]]
		one.Cases++
		sum.Cases++
		if same(c.Question, c.Other) {
			one.Hits++
			sum.Hits++
		}
	}
	return append(out, all[0], all[1])
}
