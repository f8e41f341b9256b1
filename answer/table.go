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

// addTableParts adds the other parts of a long table to the passages that are read, if one of the first passages is a part and the question depends on all
// rows, such as which is the cheapest. A language model does not get them, since it would cost many tokens. After a restart, the same parts are added.
func (j *job) addTableParts(ctx context.Context) error {
	if len(j.context) == 0 || j.contents() == nil || model.SupportsParameters(j.Generator) {
		return nil
	}
	first := j.context[:min(len(j.context), minRead)]
	texts := make([]string, len(first))
	for i, c := range first {
		texts[i] = c.Chunk.Text
	}
	if !lang.OfQuestion(j.q.Query, texts...).AsksOfAllRows(j.q.Query) {
		return nil
	}
	at := slices.IndexFunc(first, func(c candidate) bool { return firstColumns(c.Chunk) != "" || lastColumns(c.Chunk) != "" })
	if at < 0 {
		return nil
	}
	part := first[at]
	all, err := j.contents().DocumentChunks(ctx, j.q.Collection, part.Chunk.Document, corpus.Passage, max(0, part.Chunk.Ordinal-maxTableParts), 2*maxTableParts+1)
	if err != nil {
		return j.indexFault(ctx, err)
	}
	here := slices.IndexFunc(all, func(c corpus.Chunk) bool { return c.ID == part.Chunk.ID })
	if here < 0 {
		return nil
	}
	from, to := here, here+1
	for from > 0 && continues(all[from-1], all[from]) {
		from--
	}
	for to < len(all) && continues(all[to-1], all[to]) {
		to++
	}
	if to-from > maxTableParts {
		columns := cmp.Or(firstColumns(all[to-1]), lastColumns(all[from]))
		for i, c := range j.context {
			if c.Chunk.Document == part.Chunk.Document && (firstColumns(c.Chunk) == columns || lastColumns(c.Chunk) == columns) {
				j.context[i].cut = true
			}
		}
		return nil
	}
	for _, c := range all[from:to] {
		if !slices.ContainsFunc(j.context, func(o candidate) bool { return o.Chunk.ID == c.ID }) {
			j.context = append(slices.Clip(j.context), candidate{Hit: index.Hit{Chunk: c}, grade: part.grade, asked: part.asked, rest: true})
		}
	}
	return nil
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
