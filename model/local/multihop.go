package local

import "strings"

// Limits of an answer over three sentences or more.
const (
	minHops         = 3
	maxHops         = 4
	minHopCoverage  = 0.55 // share of the question's weighted terms that the sentences hold together
	minHopGain      = 0.02 // share of them that each sentence adds
	hopTypeWeight   = 0.05 // what it is worth in such shares that a sentence holds the kind of thing that is asked for
	minHopAdvantage = 0.1  // what the chain holds beyond the best sentence, or beyond the best two steps
)

// multiHop is a sequence of sentences of different documents. Each is linked to an earlier one.
type multiHop struct {
	cs    []*sentence
	held  []float64 // of each term of the question, 1 if a sentence or what stands over it holds it
	cover float64   // share of the question's weighted terms that are held
}

// bestMultiHop returns the best sequence of three sentences or more, or nil if none covers enough of the question beyond the
// given coverage. It starts in a document that the question names, if there is one.
func (q *question) bestMultiHop(readings []*passageView, covered float64) []*sentence {
	first := readings[:min(len(readings), maxHopPassages)]
	anyNamed := false
	for _, r := range first {
		anyNamed = anyNamed || r.named
	}
	names := q.newNames(first)
	var best multiHop
	for _, r := range first {
		if anyNamed && !r.named {
			continue
		}
		start := r.best(func(c *sentence) float64 { return c.score })
		if start == nil {
			continue
		}
		if x := q.grow(start, first, names); len(x.cs) >= minHops && x.cover > best.cover {
			best = x
		}
	}
	if best.cover < minHopCoverage || best.cover < covered+minHopAdvantage {
		return nil
	}
	return best.cs
}

// grow extends a sequence with the linked sentence of another document that adds most of the question, again and again.
func (q *question) grow(start *sentence, readings []*passageView, names map[*sentence]map[string]struct{}) multiHop {
	x := multiHop{held: make([]float64, len(q.terms))}
	x.add(q, start)
	for len(x.cs) < maxHops {
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
				gain := q.coverage(x.held, c.over, c.covers) - x.cover
				if worth := gain + hopTypeWeight*c.evid.fit; gain >= minHopGain && worth > most && x.linked(c, r, readings, names) {
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

func (x *multiHop) add(q *question, c *sentence) {
	x.cs = append(x.cs, c)
	for i := range x.held {
		if c.covers[i] == 1 || c.over[i] == 1 {
			x.held[i] = 1
		}
	}
	x.cover = q.coverage(x.held)
}

// has reports whether the sequence has a sentence of the document of a passage.
func (x *multiHop) has(r *passageView, readings []*passageView) bool {
	for _, c := range x.cs {
		if strings.Join(readings[c.passage].title, " ") == strings.Join(r.title, " ") {
			return true
		}
	}
	return false
}

// linked reports whether a sentence of the sequence names the document of a passage, or the passage names the document of one
// of the sequence, or both share a name that the question does not have.
func (x *multiHop) linked(c *sentence, r *passageView, readings []*passageView, names map[*sentence]map[string]struct{}) bool {
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

// newNames returns the names in each sentence that are not in the question and are in at most half of the passages.
func (q *question) newNames(readings []*passageView) map[*sentence]map[string]struct{} {
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
