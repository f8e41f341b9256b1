package local

import "strings"

// Bounds of an answer in three steps or more.
const (
	minChain  = 3
	maxChain  = 4
	chainNeed = 0.55 // share of the question's weighted terms that the sentences hold together
	chainGain = 0.02 // share of them that each sentence adds
	chainFit  = 0.05 // what it is worth in such shares that a sentence holds the kind of thing that is asked for
	chainMore = 0.1  // what the chain holds beyond the best sentence, or beyond the best two steps
)

// chain is a row of sentences of different documents, each of which is linked with one before it.
type chain struct {
	cs    []*sentence
	held  []float64 // of each term of the question, 1 if a sentence or what stands over it holds it
	cover float64   // share of the question's weighted terms that are held
}

// chained returns the sentences of the best answer in three steps or more, or nil if none holds enough of the question beyond what already
// covers so much of it. The first sentence is of a document that the question names, if there is one.
func (q *question) chained(readings []*reading, covered float64) []*sentence {
	first := readings[:min(len(readings), maxStepped)]
	anyNamed := false
	for _, r := range first {
		anyNamed = anyNamed || r.named
	}
	names := q.newNames(first)
	var best chain
	for _, r := range first {
		if anyNamed && !r.named {
			continue
		}
		start := r.best(func(c *sentence) float64 { return c.score })
		if start == nil {
			continue
		}
		if x := q.grow(start, first, names); len(x.cs) >= minChain && x.cover > best.cover {
			best = x
		}
	}
	if best.cover < chainNeed || best.cover < covered+chainMore {
		return nil
	}
	return best.cs
}

// grow adds to a sentence, one after the other, the linked sentence of another document that adds most of the question.
func (q *question) grow(start *sentence, readings []*reading, names map[*sentence]map[string]struct{}) chain {
	x := chain{held: make([]float64, len(q.terms))}
	x.add(q, start)
	for len(x.cs) < maxChain {
		var next *sentence
		most := 0.0
		for _, r := range readings {
			if x.has(r, readings) {
				continue
			}
			for _, c := range r.cs {
				if !c.whole || c.row || c.code {
					continue
				}
				gain := q.whole(x.held, c.over, c.covers) - x.cover
				if worth := gain + chainFit*c.evid.fit; gain >= chainGain && worth > most && x.linked(c, r, readings, names) {
					next, most = c, worth
				}
			}
		}
		if next == nil {
			break
		}
		x.add(q, next)
	}
	return x
}

func (x *chain) add(q *question, c *sentence) {
	x.cs = append(x.cs, c)
	for i := range x.held {
		if c.covers[i] == 1 || c.over[i] == 1 {
			x.held[i] = 1
		}
	}
	x.cover = q.whole(x.held)
}

// has reports whether a sentence of the chain is of the document of a passage.
func (x *chain) has(r *reading, readings []*reading) bool {
	for _, c := range x.cs {
		if strings.Join(readings[c.passage].title, " ") == strings.Join(r.title, " ") {
			return true
		}
	}
	return false
}

// linked reports whether a sentence of the chain names the document of a passage, or its sentence the document of one of the chain, or both
// name something that the question does not.
func (x *chain) linked(c *sentence, r *reading, readings []*reading, names map[*sentence]map[string]struct{}) bool {
	for _, o := range x.cs {
		from := readings[o.passage]
		if len(r.title) > 0 && o.names(r) || len(from.title) > 0 && c.names(from) {
			return true
		}
		for name := range names[c] {
			if _, both := names[o][name]; both {
				return true
			}
		}
	}
	return false
}

// newNames returns the names in each sentence that the question does not hold and that at most half of the passages hold.
func (q *question) newNames(readings []*reading) map[*sentence]map[string]struct{} {
	asked := map[string]struct{}{}
	for _, w := range q.words {
		asked[w.Text] = struct{}{}
	}
	in := map[string]map[int]struct{}{}
	all := map[*sentence]map[string]struct{}{}
	for i, r := range readings {
		for _, c := range r.cs {
			all[c] = namesIn(c.text)
			for name := range all[c] {
				if _, known := asked[name]; known || len(name) < 4 {
					delete(all[c], name)
					continue
				}
				if in[name] == nil {
					in[name] = map[int]struct{}{}
				}
				in[name][i] = struct{}{}
			}
		}
	}
	for _, names := range all {
		for name := range names {
			if 2*len(in[name]) > len(readings) {
				delete(names, name)
			}
		}
	}
	return all
}
