package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// analysisVersion changes whenever the analysis of a text changes. Lexical indexes of another version are rebuilt.
const analysisVersion = "5"

// The fields of the lexical index. fieldText contains title, headings and text.
const (
	fieldText    = iota
	fieldTitle   // of the document
	fieldHeading // the innermost heading, unless it is the title
	fieldNamed   // the entities that a passage mentions, one term each; see [lang.NormalizeName]
	fieldAbout   // the entities that it is about
)

// details are what the fields keep.
var details = []inverted.Detail{inverted.Positions, inverted.Frequencies, inverted.Frequencies, inverted.Documents, inverted.Documents}

// fieldGap is the distance between the positions of title, headings and text, so that their terms are not neighbours.
const fieldGap = 100

// analysed holds the terms of a chunk.
type analysed struct {
	row                  uint64
	text, title, heading []inverted.Token
	named, about         []inverted.Token // entities
}

// analyse splits a chunk into terms, as [lang.Terms] does with questions.
func analyse(c *corpus.Chunk, n *prepare.Mentions) analysed {
	var a analysed
	all, subjects := n.Keys()
	a.named, a.about = nameTokens(all), nameTokens(subjects)
	text := c.SearchText()
	a.text = appendTerms(make([]inverted.Token, 0, (len(c.Title)+len(text))/8+8), c.Title)
	a.title = slices.Clone(a.text)
	if h := c.Heading(); h != c.Title {
		a.heading = appendTerms(nil, h)
	}
	for _, h := range c.Headings {
		if h != c.Title {
			a.text = appendTerms(a.text, h)
		}
	}
	a.text = appendTerms(a.text, text)
	return a
}

func appendTerms(tokens []inverted.Token, s string) []inverted.Token {
	position := 1
	if n := len(tokens); n > 0 {
		position = tokens[n-1].Position + fieldGap
	}
	for t := range lang.AllTerms(s) {
		tokens = append(tokens, inverted.Token{Term: t, Position: position})
		position++
	}
	return tokens
}

// nameTokens makes each name a term.
func nameTokens(names []string) []inverted.Token {
	tokens := make([]inverted.Token, len(names))
	for i, n := range names {
		tokens[i] = inverted.Token{Term: n, Position: i + 1}
	}
	return tokens
}

func (a analysed) document() inverted.Document {
	return inverted.Document{Row: a.row, Fields: [][]inverted.Token{a.text, a.title, a.heading, a.named, a.about}}
}

// lexical is the inverted index of one level of a collection. Its tag holds the version of the analysis and the generation of the data that it covers.
type lexical struct {
	*inverted.Index
}

// openLexical opens or creates the lexical index of a level.
func (x *Index) openLexical(c *collection, level int) (*lexical, error) {
	dir := x.lexicalDir(c, level)
	if err := removeForeign(dir); err != nil {
		return nil, err
	}
	l, err := inverted.Open(dir, inverted.Options{Fields: details, OnError: func(err error) {
		x.opts.Logger.Warn("merging segments failed; it is tried again after the next change", "folder", dir, "error", err)
		c.mu.Lock()
		loaded := c.cur != nil
		c.mu.Unlock()
		if errors.Is(err, inverted.ErrDamaged) && loaded {
			x.scheduleReload(c, err)
		}
	}})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &lexical{l}, nil
}

// removeForeign removes an index that an earlier version of the program made with another format, which has this file.
func removeForeign(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "root.bolt")); err == nil {
		return os.RemoveAll(dir)
	}
	return nil
}

// termsOf returns the terms of a field of the visible chunks.
func (v *view) termsOf(field int) (*inverted.Terms, error) {
	switch {
	case v.lexical == nil:
		return &inverted.Terms{}, nil
	case v.only == nil:
		return v.lexical.Terms(field, nil)
	}
	v.only.prune(v.lexical)
	return v.lexical.Terms(field, v.only)
}

// whole returns the view without its filter.
func (v *view) whole() *view {
	all := *v
	all.only = nil
	return &all
}

// generation returns the generation of the data that the index covers, or 0 if it is not usable.
func (l *lexical) generation() uint64 {
	version, number, _ := strings.Cut(string(l.Tag()), "/")
	g, err := strconv.ParseUint(number, 10, 64)
	if version != analysisVersion || err != nil {
		return 0
	}
	return g
}

// change adds chunks, removes ranges of rows and sets the generation (0: keeps it) in one atomic step. It returns when the change is
// durable.
func (l *lexical) change(added []analysed, removed [][2]uint64, generation uint64) error {
	documents := make([]inverted.Document, len(added))
	for i, a := range added {
		documents[i] = a.document()
	}
	var tag []byte
	if generation > 0 {
		tag = []byte(analysisVersion + "/" + strconv.FormatUint(generation, 10))
	}
	return l.Change(documents, removed, tag)
}
