package parse

import (
	"context"
	"strings"
)

// parseCode splits source code at declarations and, within them, at blank lines. The heading of a block is its declaration. The title is the
// file's name.
func parseCode(ctx context.Context, src source) (Parsed, error) {
	c := codeCutter{lang: src.format.lang}
	text := strings.TrimRight(decode(src.data), "\n")
	if err := checkLines(text); err != nil {
		return Parsed{}, err
	}
	c.lines = strings.Split(text, "\n")
	for i := range c.lines {
		if i%1024 == 0 && ctx.Err() != nil {
			return Parsed{}, ctx.Err()
		}
		if len(c.out) > src.limits.Blocks {
			break
		}
		c.line(i)
	}
	c.flush(len(c.lines))
	return Parsed{Title: baseTitle(src.name), Blocks: c.out}, nil
}

type codeCutter struct {
	lang  *language
	lines []string
	out   []Block
	from  int // the first line of the current block
	blank bool
}

// line starts a new block at line i if a declaration or paragraph begins there.
func (c *codeCutter) line(i int) {
	l := c.lines[i]
	if strings.TrimSpace(l) == "" {
		c.flush(i)
		c.from, c.blank = i+1, true
		return
	}
	level := c.declares(l)
	if level == 0 {
		return
	}
	start := i
	for start > c.from && c.leads(c.lines[start-1]) {
		start--
	}
	c.flush(start)
	c.from = start
	c.out = append(c.out, Block{Kind: Heading, Level: level, Text: declarationName(l), Synthetic: true})
}

// declares returns the level of the declaration that the line begins, or 0.
func (c *codeCutter) declares(l string) int {
	if len(l) > 2000 {
		return 0
	}
	switch {
	case c.lang.top.MatchString(l) && !statement.MatchString(l):
		return 1
	case c.lang.inner != nil && c.lang.inner.MatchString(l) && !statement.MatchString(l) && !c.leads(l):
		return 2
	}
	return 0
}

// leads reports whether a line belongs to the declaration after it.
func (c *codeCutter) leads(l string) bool {
	t := strings.TrimLeft(l, "\t")
	if len(t) > 1 && t[0] == ' ' && t[1] != '*' {
		t = strings.TrimLeft(t, " ")
	}
	for _, p := range c.lang.prefix {
		if strings.HasPrefix(t, p) || strings.HasPrefix(strings.TrimSpace(l), p) {
			return true
		}
	}
	return false
}

// flush ends the current block before line end.
func (c *codeCutter) flush(end int) {
	if end <= c.from {
		return
	}
	text := strings.Join(c.lines[c.from:end], "\n")
	if strings.TrimSpace(text) != "" {
		c.out = append(c.out, Block{Kind: Code, Text: text, Tight: !c.blank})
		c.blank = false
	}
	c.from = end
}

// declarationName returns the line of a declaration without the beginning of its body.
func declarationName(l string) string {
	l = strings.TrimSpace(l)
	if i := strings.Index(l, "=>"); i > 0 {
		l = l[:i]
	}
	if i := strings.Index(l, " = "); i > 0 && !strings.Contains(l[:i], "(") {
		l = l[:i]
	}
	l = strings.TrimRight(l, " \t{(:[,=")
	if i := strings.IndexAny(l, "\"'"); i == 0 { // a key of JSON or YAML
		if j := strings.IndexByte(l[1:], l[0]); j > 0 {
			l = l[1 : j+1]
		}
	} else if i := strings.Index(l, ": "); i > 0 && !strings.ContainsAny(l[:i], " (") {
		l = l[:i]
	}
	return clip(l, 160)
}
