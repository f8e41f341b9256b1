// Package tree parses JSON, JSON lines and XML as structure: lists of records become tables with the names of their columns, and each other value
// is an item under its headings, with its path, such as staging.database.port.
package tree

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of a tree. A file over them is not read as structure.
const (
	maxNodes   = 500_000
	maxDepth   = 64
	maxColumns = 30
	maxCell    = 400 // bytes of a cell on average; records with longer texts are sections
	inlineText = 600 // bytes of an object that gets no heading of its own
)

// ErrNoTree is the error for text that is not valid or exceeds the limits of a tree. The caller can read it as source code.
var ErrNoTree = errors.New("no tree")

// node is a value: a text, a list, or an object with keys in their order.
type node struct {
	list  bool
	text  string
	keys  []string // of an object, one for each item
	items []*node
}

func (n *node) scalar() bool { return !n.list && n.keys == nil && n.items == nil }

// object reports whether n has keys.
func (n *node) object() bool { return n.keys != nil }

// hasRecords reports whether n contains a list with values that are not texts.
func (n *node) hasRecords() bool {
	for _, c := range n.items {
		if !c.scalar() && (n.list || c.hasRecords()) {
			return true
		}
	}
	return false
}

// field returns the text of the first of the keys whose value is a text.
func (n *node) field(names ...string) string {
	for _, name := range names {
		for i, k := range n.keys {
			if strings.EqualFold(k, name) && n.items[i].scalar() && n.items[i].text != "" {
				return n.items[i].text
			}
		}
	}
	return ""
}

// size returns the bytes of the texts of n, up to a limit.
func (n *node) size(limit int) int {
	total := len(n.text)
	for i, c := range n.items {
		if total > limit {
			return total
		}
		if n.keys != nil {
			total += len(n.keys[i])
		}
		total += 2 + c.size(limit-total)
	}
	return total
}

// renderer writes a tree as blocks.
type renderer struct {
	*document.Builder
	ctx  context.Context
	html func(string) []document.Block // parses a text that has tags, or nil
	feed bool                          // lists of records are sections
}

// render adds a value with its path. Level is that of the next heading.
func (r *renderer) render(n *node, path []string, level int) {
	if r.Full() || r.ctx.Err() != nil {
		return
	}
	switch {
	case n.scalar():
		r.value(path, n.text)
	case n.list:
		r.list(n, path, level)
	default:
		r.object(n, path, level)
	}
}

// object adds the values of an object, first those that need no heading.
func (r *renderer) object(n *node, path []string, level int) {
	var large []int
	for i, c := range n.items {
		if !c.scalar() && level < 20 && (c.size(inlineText) > inlineText || c.hasRecords()) {
			large = append(large, i)
			continue
		}
		r.render(c, below(path, n.keys[i]), level)
	}
	for _, i := range large {
		inner := below(path, n.keys[i])
		if r.feed && n.items[i].list { // each entry has a heading
			r.render(n.items[i], inner, level)
			continue
		}
		r.Heading(level, n.keys[i])
		r.render(n.items[i], inner, level+1)
	}
}

func below(path []string, key string) []string {
	return append(path[:len(path):len(path)], key)
}

// value adds a text with its path, as an item.
func (r *renderer) value(path []string, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if r.html != nil && strings.Contains(text, "</") {
		if blocks := r.html(text); len(blocks) > 0 {
			for _, b := range blocks {
				r.Text(b.Text, b.Links...)
			}
			return
		}
	}
	r.BeginList()
	defer r.EndList()
	r.Item("- ")
	if len(path) > 0 {
		r.Lead(strings.Join(path, "."))
	}
	r.Text(text)
}

// list adds a list: as a table, on one line, or item by item.
func (r *renderer) list(n *node, path []string, level int) {
	if rows := r.table(n); rows != nil {
		if len(path) > 1 { // the heading is the last key
			r.Text(strings.Join(path, ".") + ":")
		}
		r.Rows(rows)
		return
	}
	if slices.ContainsFunc(n.items, func(c *node) bool { return !c.scalar() }) {
		headed := false // an element has a heading, so all after it have one
		for i, c := range n.items {
			if r.Full() || r.ctx.Err() != nil {
				return
			}
			headed = r.element(c, path, level, i, headed)
		}
		return
	}
	if n.size(inlineText) <= inlineText {
		parts := make([]string, 0, len(n.items))
		for _, c := range n.items {
			if c.text != "" {
				parts = append(parts, c.text)
			}
		}
		r.value(path, strings.Join(parts, ", "))
		return
	}
	for _, c := range n.items {
		r.value(path, c.text)
	}
}

// element adds an element of a list that is no table, and reports whether it has a heading, which is its name.
func (r *renderer) element(c *node, path []string, level, i int, headed bool) bool {
	name := c.field("name", "title", "label", "id", "key", "subject")
	if len(name) > 200 || strings.Contains(name, "\n") {
		name = ""
	}
	if name == "" && !headed && (c.scalar() || c.size(inlineText) <= inlineText && !c.hasRecords()) {
		r.render(c, path, level) // the heading above it is kept
		return false
	}
	if name == "" {
		name = strconv.Itoa(i + 1)
		if len(path) > 0 {
			name = path[len(path)-1] + " " + name
		}
	}
	r.Heading(min(level, 20), name)
	if c.scalar() {
		r.Text(c.text)
	} else {
		r.render(c, nil, level+1)
	}
	return true
}

// table returns the rows of a list of objects with mostly the same keys, or of lists of equal length. The first row has the keys.
func (r *renderer) table(n *node) [][]string {
	if !n.list || len(n.items) < 2 || r.feed {
		return nil
	}
	if rows := matrix(n); rows != nil {
		return rows
	}
	columns := map[string]int{}
	var header []string
	filled, size, objects := 0, 0, 0
	flat := make([][]cell, len(n.items))
	for i, c := range n.items {
		cells, ok := flatten(c)
		if !ok {
			return nil
		}
		flat[i] = cells
		if c.object() {
			objects++
		}
		for _, x := range cells {
			if _, ok := columns[x.key]; !ok {
				if columns[x.key] = len(header); len(header) == maxColumns {
					return nil
				}
				header = append(header, x.key)
			}
			filled++
			size += len(x.text)
		}
	}
	if len(header) == 0 || objects*2 < len(n.items) || r.Full() || filled*2 < len(header)*len(n.items) || size > maxCell*max(filled, 1) {
		return nil
	}
	rows := make([][]string, 1, len(n.items)+1)
	rows[0] = header
	for _, cells := range flat {
		row := make([]string, len(header))
		for _, x := range cells {
			row[columns[x.key]] = x.text
		}
		rows = append(rows, row)
	}
	return rows
}

// matrix returns the rows of a list of lists of texts.
func matrix(n *node) [][]string {
	var rows [][]string
	for _, c := range n.items {
		if !c.list || len(c.items) == 0 || len(c.items) > maxColumns || len(c.items) != len(n.items[0].items) {
			return nil
		}
		row := make([]string, len(c.items))
		for i, x := range c.items {
			if !x.scalar() {
				return nil
			}
			row[i] = x.text
		}
		rows = append(rows, row)
	}
	return rows
}

type cell struct{ key, text string }

// flatten returns the cells of an object: its texts, short lists of them, and the texts of objects in it.
func flatten(n *node) ([]cell, bool) {
	if n.scalar() { // an element without attributes, among others
		return []cell{{"text", n.text}}, len(n.text) <= 4*maxCell
	}
	if !n.object() {
		return nil, false
	}
	var out []cell
	for i, c := range n.items {
		switch {
		case len(out) > maxColumns:
			return nil, false
		case c.scalar():
			if len(c.text) > 4*maxCell {
				return nil, false
			}
			out = append(out, cell{n.keys[i], c.text})
		case c.list:
			var parts []string
			for _, x := range c.items {
				if !x.scalar() || len(parts) > 50 {
					return nil, false
				}
				parts = append(parts, x.text)
			}
			out = append(out, cell{n.keys[i], strings.Join(parts, ", ")})
		default:
			for k, x := range c.items {
				if !x.scalar() {
					return nil, false
				}
				out = append(out, cell{n.keys[i] + "." + c.keys[k], x.text})
			}
		}
	}
	return out, true
}
