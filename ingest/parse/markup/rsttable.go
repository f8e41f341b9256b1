package markup

import (
	"slices"
	"strings"

	"golang.org/x/text/width"
)

// Limits of tables.
const (
	maxCells   = 1_000_000
	maxColumns = 200
	maxCell    = 8 << 10 // bytes; the rest of a cell is dropped
)

// table parses a grid table or a simple table that begins at line i.
func (r *rst) table(i, to, indent int) int {
	l := r.at(i, indent)
	switch {
	case isGridRule(l):
		end := i
		for end < to && r.lines[end] != "" && strings.ContainsAny(r.at(end, indent)[:1], "+|") {
			end++
		}
		if end-i < 3 {
			return i
		}
		r.gridTable(i, end, indent)
		return end
	case isSimpleRule(l):
		return r.simpleTable(i, to, indent)
	}
	return i
}

// isGridRule reports whether a line separates rows: +---+---+
func isGridRule(l string) bool {
	return len(l) > 2 && l[0] == '+' && l[len(l)-1] == '+' && strings.Trim(l, "+-=") == "" && (l[1] == '-' || l[1] == '=')
}

// columns returns the characters of a line by their columns. A wide character takes two.
func columns(l string) []rune {
	out := make([]rune, 0, len(l))
	for _, c := range l {
		out = append(out, c)
		if c >= 0x1100 {
			if k := width.LookupRune(c).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
				out = append(out, -1)
			}
		}
	}
	return out
}

// cellText returns the text of columns.
func cellText(line []rune, from, to int) string {
	from, to = min(from, len(line)), min(to, len(line))
	if from >= to {
		return ""
	}
	var b strings.Builder
	for _, c := range line[from:to] {
		if c >= 0 {
			b.WriteRune(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// gridTable adds the rows of a grid table. A cell that spans rows is repeated in each.
func (r *rst) gridTable(from, to, indent int) {
	edges := map[int]bool{}
	for i := from; i < to; i++ {
		if l := r.at(i, indent); isGridRule(l) {
			for k := range len(l) {
				if l[k] == '+' {
					edges[k] = true
				}
			}
		}
	}
	at := make([]int, 0, len(edges))
	for k := range edges {
		at = append(at, k)
	}
	slices.Sort(at)
	if len(at) < 2 || len(at) > maxColumns || (to-from)*len(at) > maxCells {
		r.code(from, to, indent)
		return
	}
	cells := make([]*string, len(at)-1) // of the open row; rows share a cell that spans them
	for k := range cells {
		cells[k] = new(string)
	}
	var open [][]*string
	filled := false
	for i := from + 1; i < to; i++ {
		line := columns(r.at(i, indent))
		ends := make([]bool, len(cells)) // the cells under which the row ends
		ended := false
		for k := range cells {
			ends[k] = at[k]+1 < len(line) && strings.Trim(cellText(line, at[k]+1, at[k+1]), "-=+") == "" && (line[at[k]+1] == '-' || line[at[k]+1] == '=')
			ended = ended || ends[k]
		}
		if ended {
			if filled {
				open = append(open, slices.Clone(cells))
			}
			for k := range cells {
				if ends[k] {
					cells[k] = new(string)
				}
			}
			filled = false
		}
		for k := 0; k < len(cells); k++ {
			if ends[k] {
				continue
			}
			last := k + 1
			for last < len(cells) && !ends[last] && at[last] < len(line) && line[at[last]] != '|' && line[at[last]] != '+' {
				last++ // the cell spans columns
			}
			if text := cellText(line, at[k]+1, at[last]); text != "" {
				*cells[k], filled = joinWith(*cells[k], text), true
			}
			k = last - 1
		}
	}
	rows := make([][]string, len(open))
	for i, row := range open {
		rows[i] = make([]string, len(row))
		for k, cell := range row {
			rows[i][k] = *cell
		}
	}
	addRows(r, r.Builder, mergeHeader(rows, r.headerRows(from, to, indent)))
}

// headerRows returns the number of rows above the line of equals signs of a grid table.
func (r *rst) headerRows(from, to, indent int) int {
	n := 0
	for i := from + 1; i < to; i++ {
		if l := r.at(i, indent); isGridRule(l) {
			if n++; l[1] == '=' {
				return n
			}
		}
	}
	return 0
}

// mergeHeader joins the rows of a header into one.
func mergeHeader(rows [][]string, n int) [][]string {
	if n < 2 || n > min(len(rows), 5) {
		return rows
	}
	for _, row := range rows[1:n] {
		for k := range row {
			if k < len(rows[0]) && row[k] != rows[0][k] {
				rows[0][k] = strings.TrimSpace(rows[0][k] + " " + row[k])
			}
		}
	}
	return append(rows[:1], rows[n:]...)
}

// isSimpleRule reports whether a line begins or ends a simple table, or its header: ====  ====
func isSimpleRule(l string) bool {
	return len(l) > 4 && strings.HasPrefix(l, "==") && strings.Contains(l, " ") && strings.Trim(l, "= ") == ""
}

// simpleTable adds the rows of a simple table.
func (r *rst) simpleTable(i, to, indent int) int {
	rule := r.at(i, indent)
	var starts []int
	for k := range len(rule) {
		if rule[k] == '=' && (k == 0 || rule[k-1] == ' ') {
			starts = append(starts, k)
		}
	}
	last, rules, headers := i, 1, 0 // last: the last line of the table
	for j := i + 1; j < to; j++ {
		if indentOf(r.lines[j]) < indent && r.lines[j] != "" {
			break
		}
		if isSimpleRule(r.at(j, indent)) {
			rules++
			last = j
			if rules == 3 || j+1 >= to || r.lines[j+1] == "" {
				break
			}
		}
	}
	if rules < 2 || len(starts) < 2 || len(starts) > maxColumns || (last-i)*len(starts) > maxCells {
		return i
	}
	var rows [][]string
	for j := i + 1; j < last; j++ {
		l := r.at(j, indent)
		switch {
		case isSimpleRule(l):
			headers = len(rows)
			continue
		case l == "" || strings.Trim(l, "- ") == "" && strings.Contains(l, "--"):
			continue
		}
		line := columns(l)
		cells := make([]string, len(starts))
		for k := range starts {
			end := len(line)
			if k+1 < len(starts) {
				if end = starts[k+1]; end <= len(line) && end > 0 && line[end-1] > ' ' { // the cell spans columns
					continue
				}
			}
			from := starts[k]
			for from > 0 && k > 0 && from <= len(line) && line[from-1] > ' ' && cells[k-1] == "" {
				k--
				from = starts[k]
			}
			cells[k] = cellText(line, from, end)
		}
		if cells[0] == "" && len(rows) > 0 && headers != len(rows) {
			n := len(rows) - 1
			for k := range cells {
				if cells[k] != "" {
					rows[n][k] = joinWith(rows[n][k], cells[k])
				}
			}
			continue
		}
		rows = append(rows, cells)
	}
	addRows(r, r.Builder, mergeHeader(rows, headers))
	return last + 1
}
