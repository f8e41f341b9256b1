package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

const (
	maxBeginning = 3   // passages at the beginning of a document
	briefly      = 3   // sentences that say what a topic is
	maxSections  = 2   // that an account quotes
	minAsGood    = 0.8 // how well the second one must be named, compared with the first
	maxRunIn     = 4   // words of a title that begins a paragraph: Bereavement. Five days with pay …
)

// section is a part of a document that is named after the topic of the question.
type section struct {
	document corpus.DocumentID
	heading  string      // that names the topic
	named    float64     // how well
	inner    bool        // it is a paragraph that begins with its title, such as a numbered one: (2) Deposit. …
	first    int         // the first of its passages in the task
	cs       []*sentence // its sentences, in their order
}

// account returns the first sentences of the sections or documents that the topic of the question names best, in their order; none if it names none, or if
// the best sentence is a definition or may be the fact that is asked for.
func (q *question) account(t model.Task, best *sentence, readings []*passageView, sentences int) (chosen []*sentence) {
	topic := q.lang.TopicOf(q.text)
	if topic == nil || topic.Brief && (q.hasType() || q.measure != nil || best.evid[defines] >= 1) {
		return nil
	}
	found := namedSections(topic, t.Passages, readings)
	if len(found) == 0 {
		return nil
	}
	limit := 4 * sentences / len(found)
	if topic.Brief {
		found, limit = found[:1], briefly
	}
	for _, s := range found {
		n := 0
		heading := s.cs[0].heading
		for _, c := range s.cs {
			if n == limit || !c.whole || c.code || c.dangles && n == 0 && c.under > 0 {
				continue
			}
			if n++; s.inner || n > 1 && c.heading == heading {
				c.heading = "" // it is said once at most
			}
			c.listed, c.row = c.listed && !s.inner, false // all items and rows of the section are said, and not only those that compose would select
			if n == 1 && (len(found) > 1 || c.dangles) && !strings.Contains(c.text, s.heading) {
				c.text = strings.TrimRight(s.heading, ".: ") + ": " + c.text
			}
			chosen = append(chosen, c)
		}
	}
	q.broad = q.broad || len(chosen) > 0
	return chosen
}

// namedSections returns the sections that are named best after a topic, the best first.
func namedSections(topic *lang.Topic, passages []model.Passage, readings []*passageView) []*section {
	var found []*section
	for i := range inOrder(passages) {
		chunk := passages[i].Chunk
		runIn, block := "", -1
		var last []string
		named, depth := 0.0, 0
		for _, c := range readings[i].cs {
			headings := slices.Concat([]string{c.heading}, c.outer)
			slices.Reverse(headings)
			if c.under == 0 {
				runIn = ""
			}
			if c.block != block && !c.row && !c.code && !c.label && c.closed && len(c.words) <= maxRunIn {
				runIn = c.text
			}
			block = c.block
			if runIn != "" {
				headings = append(headings, runIn)
			}
			if last == nil || !slices.Equal(headings, last) {
				named, depth = topic.NamedBy(chunk.Title, headings, chunk.Text)
				last = headings
			}
			if named < lang.MinTopic || depth == 0 && chunk.Ordinal >= maxBeginning {
				continue
			}
			heading := slices.Concat([]string{chunk.Title}, headings)[depth]
			at := slices.IndexFunc(found, func(s *section) bool { return s.document == chunk.Document && s.heading == heading })
			if at < 0 {
				at = len(found)
				found = append(found, &section{document: chunk.Document, heading: heading, inner: depth > len(c.outer)+1, first: i})
			}
			s := found[at]
			s.named, s.first, s.cs = max(s.named, named), min(s.first, i), append(s.cs, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *section) int { return cmp.Or(cmp.Compare(b.named, a.named), a.first-b.first) })
	n := 0
	for n < min(len(found), maxSections) && found[n].named >= minAsGood*found[0].named {
		n++
	}
	return found[:n]
}
