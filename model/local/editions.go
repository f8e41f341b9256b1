package local

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sluice-rag/sluice/model"
)

// compared is how many of the best parts are compared with the best one, to find a newer edition.
const compared = 20

// preferNewest moves the part to the front that says the same as the best one in the newest edition of its document, such as the price list of the next year.
// Editions have the same title but for its year. A question that names a year gets what it asks for.
func (q *question) preferNewest(all []*sentence, passages []model.Passage) {
	if len(all) == 0 {
		return
	}
	if years := yearRE.FindAllString(q.text, 2); years != nil {
		if len(years) == 1 {
			q.preferYear(all, passages, years[0])
		}
		return
	}
	best := all[0]
	title, year := edition(passages[best.passage].Chunk.Title)
	if year == "" {
		return
	}
	newest := 0
	for i, c := range all[1:min(len(all), compared)] {
		t, y := edition(passages[c.passage].Chunk.Title)
		if t == title && y > year && c.row == best.row && sayAlike(best, c) {
			newest, year = i+1, y
		}
	}
	if c := all[newest]; newest > 0 {
		copy(all[1:newest+1], all[:newest])
		all[0], c.score = c, best.score
	}
}

// preferYear moves the first part to the front whose document has the year of the question in its title, if the best one is of a document with another year, and
// covers no more of the question.
func (q *question) preferYear(all []*sentence, passages []model.Passage, year string) {
	best := all[0]
	titleOf := func(c *sentence) string { return fileName.Replace(passages[c.passage].Chunk.Title) }
	if title := titleOf(best); strings.Contains(title, year) || !yearRE.MatchString(title) {
		return
	}
	for k, c := range all[:min(len(all), compared)] {
		if !strings.Contains(titleOf(c), year) || c.score < best.score-maxYearLoss {
			continue
		}
		less := false
		for i, t := range q.terms {
			said := t.Word == year || c.evid[measured] == 1 && q.measure.words != "" && q.lang.Has(q.measure.words, t.Word) // an amount of money says that it is a price
			less = less || !said && max(c.exact[i], c.over[i]) < max(best.exact[i], best.over[i])
		}
		if !less {
			copy(all[1:k+1], all[:k])
			all[0], c.score = c, best.score
			return
		}
	}
}

// maxYearLoss is by how much the score of a part of the document of the right year may be lower.
const maxYearLoss = 3

// edition returns a title without its last year, and the year; "" if it has none.
func edition(title string) (name, year string) {
	title = fileName.Replace(title)
	years := yearRE.FindAllStringIndex(title, -1)
	if years == nil {
		return title, ""
	}
	last := years[len(years)-1]
	return title[:last[0]] + title[last[1]:], title[last[0]:last[1]]
}

// sayAlike reports whether two parts differ in numbers at most: rows in their first cells, and others in a quarter of their words.
func sayAlike(a, b *sentence) bool {
	if a.row {
		return len(a.cells) > 0 && len(b.cells) > 0 && strings.EqualFold(a.cells[0], b.cells[0])
	}
	words := func(c *sentence) (out []string) {
		for _, w := range c.words {
			if strings.ContainsFunc(w.Text, unicode.IsLetter) && !slices.Contains(out, w.Text) {
				out = append(out, w.Text)
			}
		}
		return out
	}
	x, y := words(a), words(b)
	both := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			both++
		}
	}
	return both > 0 && 4*both >= 3*max(len(x), len(y))
}
