// Package cachetest makes questions to measure an answer cache on: from any list of questions, others that mean the same and others
// that nearly do. The rules and their lists of words are its own. They were written apart from those by which the cache compares
// questions, and are not to be made alike: a list that both shared would prove nothing.
package cachetest

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// Case is a pair of questions.
type Case struct {
	Question string // one of those given
	Other    string // made of it
	Same     bool   // an answer to one answers the other
	Kind     string // the rule
}

// rule makes another question of one, if it can. It is given a random source, and names from other questions.
type rule struct {
	kind string
	make func(r *rand.Rand, question string, names []string) (string, bool)
}

// Cases makes of each question all that the rules can make of it, one case a rule. The same questions and seed give the same
// cases, and what is made of a question does not hang on the others but for the names that are put into it.
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
				r := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(i))) //nolint:gosec // it is to be repeatable
				if other, ok := rule.make(r, strings.TrimSpace(q), names); ok && other != q {
					out = append(out, Case{q, other, set.same, rule.kind})
				}
			}
		}
	}
	return out
}

// Rate is how often a matcher took a pair for the same.
type Rate struct {
	Kind  string
	Same  bool // whether it should have
	Cases int
	Hits  int
}

// Share is hits over cases; 0 where there are none.
func (r Rate) Share() float64 {
	if r.Cases == 0 {
		return 0
	}
	return float64(r.Hits) / float64(r.Cases)
}

// Rates counts by kind, in the order in which kinds first come, with the sums of both sorts, of kind "all", at the end: first of
// pairs that mean the same, whose share is that of true hits, then of those that do not, whose share is that of false ones.
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
