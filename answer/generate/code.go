package generate

// code tracks Markdown code in a text: spans and fenced blocks of backticks. A span ends at the end of its line at the
// latest, so that a stray backtick has little effect.
type code struct {
	width     int  // number of backticks that opened it; 0 outside of code
	fence     bool // it is a block and not a span
	first     bool // still in the opening line
	ticks     int  // current run of backticks
	lineStart bool // only white space, bullets and quotation marks precede them in the line
	line      bool // the line has other characters
}

// in reports whether the next character is in code.
func (c *code) in() bool {
	c.endTicks()
	return c.width > 0
}

// inPlainText reports whether a character that is neither a backtick nor a newline changes nothing.
func (c *code) inPlainText() bool { return c.ticks == 0 && c.line }

// next processes the first byte of the next character.
func (c *code) next(b byte) {
	if b == '`' {
		if c.ticks == 0 {
			c.lineStart = !c.line
		}
		c.ticks++
		c.line = true
		return
	}
	c.endTicks()
	switch b {
	case '\n':
		c.line, c.first = false, false
		if !c.fence {
			c.width = 0
		}
	case ' ', '\t', '-', '*', '+', '>':
	default:
		c.line = true
	}
}

// endTicks opens or closes code at the end of a run of backticks.
func (c *code) endTicks() {
	n := c.ticks
	c.ticks = 0
	switch {
	case n == 0:
	case c.width == 0:
		c.width, c.fence, c.first = n, c.lineStart && n >= 3, true
	case c.fence && n >= c.width && (c.lineStart || c.first), !c.fence && n == c.width:
		c.width, c.fence = 0, false
	}
}
