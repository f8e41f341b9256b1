package office

import (
	"slices"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// merged is a cell of a sheet that spans several columns or rows, from 0.
type merged struct{ column, row, columns, rows int }

// maxMerged limits the merged cells that are read.
const maxMerged = 100_000

// openMerged limits the merged cells of one row.
const openMerged = 512

// merge returns the cells of a row as cells of a table. Merged cells that begin later remain in the list, which is ordered by row; open has those of rows above.
func merge(texts []string, row int, list, open []merged) (cells []document.Cell, rest, still []merged) {
	still = slices.DeleteFunc(open, func(m merged) bool { return m.row+m.rows <= row })
	for len(list) > 0 && list[0].row <= row {
		if len(still) < openMerged {
			still = append(still, list[0])
		}
		list = list[1:]
	}
	for i := 0; i < len(texts); i++ {
		c := document.Cell{Text: texts[i]}
		covered := false
		for _, m := range still {
			if i < m.column || i >= m.column+m.columns {
				continue
			}
			if covered = m.row < row || m.column < i; !covered {
				c.Columns, c.Rows = m.columns, m.rows
			}
			break
		}
		if !covered {
			cells = append(cells, c)
		}
	}
	return cells, list, still
}
