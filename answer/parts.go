package answer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// maxTableParts is the maximum number of passages of a long table that are read.
const maxTableParts = 24

// maxSectionParts is the maximum number of passages of a section that are read.
const maxSectionParts = 8

// addParts adds the other parts of a long table to the passages that are read, if one of the first passages is a part and the question depends on all rows,
// such as which is the cheapest. For a question how to do something, it adds the other parts of the section whose headings name that best, and for a question
// about a topic the beginnings of the sections or documents that are named after it. A language model does not get them, since they would cost many tokens.
// After a restart, the same parts are added.
func (j *job) addParts(ctx context.Context) error {
	if len(j.context) == 0 || j.contents() == nil || model.SupportsParameters(j.Generator) {
		return nil
	}
	first := j.context[:min(len(j.context), minRead)]
	texts := make([]string, len(first))
	for i, c := range first {
		texts[i] = c.Chunk.Text
	}
	l := lang.OfQuestion(j.q.Query, texts...)
	if l.AsksOfAllRows(j.q.Query) {
		if at := slices.IndexFunc(first, func(c candidate) bool { return firstColumns(c.Chunk) != "" || lastColumns(c.Chunk) != "" }); at >= 0 {
			return j.addTableParts(ctx, first[at])
		}
	}
	if topic := l.TopicOf(j.q.Query); topic != nil {
		return j.addTopic(ctx, topic)
	}
	part, section := j.sectionOf(l.TaskOf(j.q.Query))
	if section == nil {
		return nil
	}
	all, _, err := j.partsAround(ctx, part, maxSectionParts, func(c, next corpus.Chunk) bool {
		return hasPrefix(c.Headings, section) && hasPrefix(next.Headings, section)
	})
	j.addRest(part, all[:min(len(all), maxSectionParts)])
	return err
}

// sectionOf returns the passage whose headings name a task best, with the headings down to the one that does; nil if none names it.
func (j *job) sectionOf(task *lang.Task) (part candidate, section []string) {
	most := minServes
	for _, c := range j.context {
		for n := 1; task != nil && n <= len(c.Chunk.Headings); n++ {
			upTo := c.Chunk
			upTo.Headings = upTo.Headings[:n]
			if x := namedBy(upTo, task); x > most {
				part, section, most = c, upTo.Headings, x
			}
		}
	}
	return part, section
}

const (
	maxTopicSections = 2 // sections or documents that are named after a topic
	maxTopicParts    = 3 // passages of each that are read
)

// addTopic adds the first passages of the sections or documents that a topic names best, of those with a passage in the pool.
func (j *job) addTopic(ctx context.Context, topic *lang.Topic) error {
	type section struct {
		part     candidate
		headings []string
		named    float64
	}
	var found []section
	for _, c := range slices.SortedStableFunc(slices.Values(j.pool), func(a, b candidate) int { return cmp.Compare(b.place, a.place) }) {
		named, depth := topic.NamedBy(c.Chunk.Title, c.Chunk.Headings, c.Chunk.Text)
		headings := c.Chunk.Headings[:depth]
		if named >= lang.MinTopic && !slices.ContainsFunc(found, func(o section) bool {
			return o.part.Chunk.Document == c.Chunk.Document && slices.Equal(o.headings, headings)
		}) {
			found = append(found, section{c, headings, named})
		}
	}
	slices.SortStableFunc(found, func(a, b section) int { return cmp.Compare(b.named, a.named) })
	for _, s := range found[:min(len(found), maxTopicSections)] {
		parts, err := j.beginning(ctx, s.part, s.headings)
		if err != nil {
			return err
		}
		j.addRest(s.part, parts)
	}
	return nil
}

// beginning returns the first passages of the section of a passage that has these headings, or of its document if there are none. Of a long section, the
// passage must be among the first.
func (j *job) beginning(ctx context.Context, part candidate, headings []string) ([]corpus.Chunk, error) {
	if len(headings) == 0 {
		parts, err := j.contents().DocumentChunks(ctx, j.q.Collection, part.Chunk.Document, corpus.Passage, 0, maxTopicParts)
		if err != nil {
			return nil, j.indexFault(ctx, err)
		}
		return parts, nil
	}
	parts, _, err := j.partsAround(ctx, part, maxTableParts, func(c, next corpus.Chunk) bool {
		return hasPrefix(c.Headings, headings) && hasPrefix(next.Headings, headings)
	})
	return parts[:min(len(parts), maxTopicParts)], err
}

func hasPrefix(headings, first []string) bool {
	return len(headings) >= len(first) && slices.Equal(headings[:len(first)], first)
}

// partsAround returns the passages around one that belong to the same table or section, and whether all are there.
func (j *job) partsAround(ctx context.Context, part candidate, most int, joined func(c, next corpus.Chunk) bool) (parts []corpus.Chunk, whole bool, err error) {
	all, err := j.contents().DocumentChunks(ctx, j.q.Collection, part.Chunk.Document, corpus.Passage, max(0, part.Chunk.Ordinal-most), 2*most+1)
	if err != nil {
		return nil, false, j.indexFault(ctx, err)
	}
	here := slices.IndexFunc(all, func(c corpus.Chunk) bool { return c.ID == part.Chunk.ID })
	if here < 0 {
		return nil, false, nil
	}
	from, to := here, here+1
	for from > 0 && joined(all[from-1], all[from]) {
		from--
	}
	for to < len(all) && joined(all[to-1], all[to]) {
		to++
	}
	return all[from:to], to-from <= most, nil
}

// addRest adds the passages to those that are read that are not among them.
func (j *job) addRest(part candidate, parts []corpus.Chunk) {
	for _, c := range parts {
		if !slices.ContainsFunc(j.context, func(o candidate) bool { return o.Chunk.ID == c.ID }) {
			j.context = append(slices.Clip(j.context), candidate{Hit: index.Hit{Chunk: c}, grade: part.grade, asked: part.asked, rest: true})
		}
	}
}

// addTableParts adds the other parts of a long table. If there are too many, the ones that are read are marked as not all.
func (j *job) addTableParts(ctx context.Context, part candidate) error {
	parts, whole, err := j.partsAround(ctx, part, maxTableParts, continues)
	switch {
	case err != nil || len(parts) == 0:
	case whole:
		j.addRest(part, parts)
	default:
		columns := cmp.Or(firstColumns(parts[len(parts)-1]), lastColumns(parts[0]))
		for i, c := range j.context {
			if c.Chunk.Document == part.Chunk.Document && (firstColumns(c.Chunk) == columns || lastColumns(c.Chunk) == columns) {
				j.context[i].cut = true
			}
		}
	}
	return err
}

// continues reports whether a table with which a passage ends goes on in the next one.
func continues(c, next corpus.Chunk) bool {
	columns := firstColumns(next)
	return columns != "" && columns == lastColumns(c)
}

// firstColumns returns the row with the names of the columns with which a passage begins, as each further part of a long table does, and "" if it begins
// otherwise.
func firstColumns(c corpus.Chunk) string {
	line, _, _ := strings.Cut(strings.TrimSpace(c.Text), "\n")
	if line = strings.TrimSpace(line); lang.IsTableRow(line) && lang.IsTableHead(lang.TableCells(line)) {
		return line
	}
	return ""
}

// lastColumns returns the row with the names of the columns of the table with which a passage ends, and "" if it ends otherwise.
func lastColumns(c corpus.Chunk) string {
	columns := ""
	for line := range strings.Lines(c.Text) {
		switch line = strings.TrimSpace(line); {
		case !lang.IsTableRow(line):
			columns = ""
		case columns == "" && lang.IsTableHead(lang.TableCells(line)):
			columns = line
		case columns == "":
			columns = noColumns
		}
	}
	if columns == noColumns {
		return ""
	}
	return columns
}

// noColumns stands for a table without names of columns. It is no row.
const noColumns = "-"
