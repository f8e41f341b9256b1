package local

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sluice-rag/sluice/model"
)

// inOrder yields the indexes of passages by document and position, and whether the passage follows the one before without a gap.
func inOrder(passages []model.Passage) iter.Seq2[int, bool] {
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := passages[a].Chunk, passages[b].Chunk
		return cmp.Or(cmp.Compare(x.Document, y.Document), x.Ordinal-y.Ordinal)
	})
	return func(yield func(int, bool) bool) {
		for k, i := range order {
			follows := false
			if k > 0 {
				x, y := passages[order[k-1]].Chunk, passages[i].Chunk
				follows = x.Document == y.Document && x.Ordinal+1 == y.Ordinal
			}
			if !yield(i, follows) {
				return
			}
		}
	}
}

// joinParts lets sections and lists go on in the next passage of a document, numbers lists and tables among all passages, and finds
// what follows code in its section.
func joinParts(passages []model.Passage, byPassage [][]*sentence) {
	groups, coded := 0, false
	var last *sentence
	for i, follows := range inOrder(passages) {
		if !follows {
			last = nil
		}
		cs, offset, most := byPassage[i], groups, 0
		for _, c := range cs {
			most = max(most, c.group)
		}
		groups += most
		goesOn := last != nil && last.group > 0 && (last.listed || !last.row && !last.label) && len(cs) > 0 && cs[0].listed && slices.Equal(passages[i].Chunk.Headings, passages[last.passage].Chunk.Headings)
		for k := 0; goesOn && k < len(cs) && cs[k].under == k; k++ { // the heading of a plain text stands only where its section begins
			cs[k].heading, cs[k].outer = last.heading, last.outer
		}
		section, under := last != nil, 0
		if section {
			under = last.under + 1
		}
		list := 0
		if goesOn {
			list = cs[0].group
		}
		for _, c := range cs {
			if c.under == 0 && !(section && c.at == 0 && c.heading == last.heading) {
				coded = false
			}
			c.coded, coded = coded, coded || c.code
			if section = section && c.under == c.at && c.heading == last.heading; section {
				c.under += under
			}
			switch {
			case list > 0 && c.group == list:
				c.group = last.group
				if c.listed && c.lead == "" {
					c.lead = last.lead
				}
			case c.group > 0:
				c.group += offset
			}
		}
		if len(cs) > 0 {
			last = cs[len(cs)-1]
		}
	}
}
