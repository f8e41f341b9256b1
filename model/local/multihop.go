package local

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Limits of an answer over several documents.
const (
	maxPathPassages  = 16   // passages that are searched
	maxPathSentences = 4    // sentences of a path
	beamWidth        = 16   // paths that are extended in each step
	minPathCoverage  = 0.5  // coverage that a path needs
	minPathGain      = 0.03 // coverage that a path needs beyond the best single sentence
	minPathOpen      = 0.4  // the same as a share of what the best single sentence leaves open
	maxPathGain      = 0.1  // upper limit of what minPathOpen demands, because each sentence of a long path covers little of the question
	minSentenceGain  = 0.02 // coverage that each sentence adds
)

// Strengths of a link between two sentences.
const (
	titleLink  = 1.0 // the first names the document of the second
	backLink   = 0.8 // the second names the document of the first
	entityLink = 0.6 // one has a name that is part of the other document's title
	sameLink   = 0.5 // both are of one document
	anchorLink = 0.3 // the question names the document of the second
	nameLink   = 0.2 // both have a name that the question does not have
)

// reasoningPath is a sequence of sentences. Each is linked to an earlier one, and they are of two documents at least.
type reasoningPath struct {
	cs      []*sentence
	held    []float64 // how well each term of the question is covered, 0..1
	cover   float64   // the weighted mean of held
	links   float64   // sum over the links of how much each is weaker than a title link
	weakest float64   // the strength of the weakest link between two documents
	worth   float64
}

// pathSearch searches for the best path by beam search. A sentence that answers the last part of a question shares few words
// with the whole of it, so sentences are scored by the terms that the earlier ones leave open.
type pathSearch struct {
	q        *question
	readings []*passageView
	document []string               // the title of each passage, or its index
	cs       []*sentence            // the quotable sentences
	names    map[*sentence][]string // stems of the names that are not in the question
	links    map[*sentence][]float64
}

func (q *question) newPathSearch(readings []*passageView) *pathSearch {
	s := &pathSearch{q: q, readings: readings[:min(len(readings), maxPathPassages)], links: map[*sentence][]float64{}}
	for i, r := range s.readings {
		document := strings.Join(r.title, " ")
		if document == "" {
			document = strconv.Itoa(i)
		}
		s.document = append(s.document, document)
		for _, c := range r.cs {
			if c.whole && !c.row && !c.code {
				s.cs = append(s.cs, c)
			}
		}
	}
	s.names = q.newNames(s.readings)
	return s
}

// bestPath returns the sentences of the best path, or nil if none covers enough of the question beyond the best single
// sentence. It starts in a document that the question names, if there is one. Without one, and if that sentence is not trusted,
// the documents must name each other.
func (q *question) bestPath(top *sentence, trusted bool, readings []*passageView) []*sentence {
	s := q.newPathSearch(readings)
	named := slices.ContainsFunc(s.readings, func(r *passageView) bool { return r.named })
	single := s.extend(q.emptyPath(), top, titleLink).cover
	best := s.search(named)
	if best.cs == nil || !trusted && !named && best.weakest < backLink {
		return nil
	}
	if best.cover < minPathCoverage || best.cover < single+max(minPathGain, min(maxPathGain, minPathOpen*(1-single))) {
		return nil
	}
	if trusted && !slices.Contains(best.cs, top) && !top.dangles {
		return append(best.cs, top) // it may be the answer without a second step
	}
	return best.cs
}

func (q *question) emptyPath() reasoningPath {
	return reasoningPath{held: make([]float64, len(q.terms)), weakest: titleLink}
}

// search returns the best path. If documents are named, it starts in one of them.
func (s *pathSearch) search(named bool) (best reasoningPath) {
	var beam []reasoningPath
	for _, c := range s.cs {
		if !named || s.readings[c.passage].named {
			x := s.extend(s.q.emptyPath(), c, titleLink)
			x.worth = x.cover + 0.004*c.score
			beam = append(beam, x)
		}
	}
	for range maxPathSentences - 1 {
		slices.SortStableFunc(beam, func(a, b reasoningPath) int { return cmp.Compare(b.worth, a.worth) })
		var next []reasoningPath
		for _, x := range beam[:min(len(beam), beamWidth)] {
			for i, c := range s.cs {
				link := s.link(x, i)
				if link == 0 {
					continue
				}
				y := s.extend(x, c, link)
				if y.cover < x.cover+minSentenceGain {
					continue
				}
				next = append(next, y)
				if y.worth > best.worth && s.spansDocuments(y) {
					best = y
				}
			}
		}
		beam = next
	}
	return best
}

// extend returns a path with one more sentence. Its worth are coverage, the share of the open terms that the last sentence
// covers, and whether that holds the requested type of thing. The weights were fitted to half a of the questions of hotpotqa
// and musique.
func (s *pathSearch) extend(x reasoningPath, c *sentence, link float64) reasoningPath {
	y := reasoningPath{cs: append(slices.Clone(x.cs), c), held: slices.Clone(x.held), links: x.links + titleLink - link, weakest: x.weakest}
	if link != sameLink {
		y.weakest = min(y.weakest, link)
	}
	var open, gain float64
	for i, w := range s.q.plain {
		held := c.covers[i]
		switch {
		case c.over[i] == 1:
			held = 1
		case held == 0 && c.nearest[i] > 0.4:
			held = c.nearest[i] / 2
		}
		open += w * (1 - x.held[i])
		gain += w * max(0, held-x.held[i])
		y.held[i] = max(x.held[i], held)
	}
	for i, w := range s.q.plain {
		y.cover += w * y.held[i] / max(s.q.plainTotal, 1e-9)
	}
	y.worth = y.cover + 0.2*gain/max(open, 1e-9) + 0.25*c.evid[fit] + 0.04*c.evid[rank] - 0.09*y.links - 0.025*float64(len(x.cs))
	if c.at == 0 {
		y.worth += 0.02 // who or what it is
	}
	return y
}

// spansDocuments reports whether a path has sentences of two documents.
func (s *pathSearch) spansDocuments(x reasoningPath) bool {
	return slices.ContainsFunc(x.cs, func(c *sentence) bool { return s.document[c.passage] != s.document[x.cs[0].passage] })
}

// link returns the strength of the strongest link of a path to the sentence at i; 0 if there is none, or if the path has it.
func (s *pathSearch) link(x reasoningPath, i int) float64 {
	strongest := 0.0
	for _, c := range x.cs {
		if c.text == s.cs[i].text {
			return 0
		}
		strongest = max(strongest, s.linksOf(c)[i])
	}
	return strongest
}

// linksOf returns the strengths of the links from a sentence to each other one.
func (s *pathSearch) linksOf(from *sentence) []float64 {
	if links := s.links[from]; links != nil {
		return links
	}
	links := make([]float64, len(s.cs))
	named := make([]bool, len(s.readings))
	for i, r := range s.readings {
		named[i] = len(r.title) > 0 && from.names(r)
	}
	r := s.readings[from.passage]
	for i, to := range s.cs {
		switch o := s.readings[to.passage]; {
		case s.document[from.passage] == s.document[to.passage]:
			links[i] = sameLink
		case named[to.passage]:
			links[i] = titleLink
		case len(r.title) > 0 && to.names(r):
			links[i] = backLink
		case shareAny(s.names[from], o.title) || shareAny(s.names[to], r.title):
			links[i] = entityLink
		case o.named:
			links[i] = anchorLink
		case shareAny(s.names[from], s.names[to]):
			links[i] = nameLink
		}
	}
	s.links[from] = links
	return links
}

func shareAny(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// maxNewNames is the maximum number of names of a sentence that are compared.
const maxNewNames = 32

// newNames returns the stems of the names in each sentence that are not in the question and are in at most half of the passages.
func (q *question) newNames(readings []*passageView) map[*sentence][]string {
	asked := map[string]struct{}{}
	for _, w := range q.words {
		asked[stemIn(q.lang, w.Text)] = struct{}{}
	}
	last := map[string]int{} // the last passage with the name
	count := map[string]int{}
	all := map[*sentence][]string{}
	for i, r := range readings {
		for _, c := range r.cs {
			for name := range namesIn(q.lang, c.text) {
				s := stemIn(q.lang, name)
				if _, known := asked[s]; known || len(name) < 4 {
					continue
				}
				all[c] = append(all[c], s)
				if at, seen := last[s]; !seen || at != i {
					last[s] = i
					count[s]++
				}
			}
		}
	}
	for c, names := range all {
		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(s string) bool { return 2*count[s] > len(readings) })
		all[c] = names[:min(len(names), maxNewNames)]
	}
	return all
}
