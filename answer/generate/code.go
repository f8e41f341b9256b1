package generate

// code follows Markdown's code over a text: spans and fences of backticks. A span ends with its line at the latest, so that a
// stray backtick costs no more than that.
type code struct {
	width int  // of the backticks that opened it; 0 outside of code
	fence bool // it is a block and not a span
	first bool // the line that opened it goes on
	ticks int  // backticks at hand
	fresh bool // nothing but white space, bullets and quotation marks stands before them in their line
	line  bool // something else stands in the line
}

// in tells whether the next character stands in code.
func (c *code) in() bool {
	c.settle()
	return c.width > 0
}

// quiet tells whether a character that is neither a backtick nor a line's end changes nothing.
func (c *code) quiet() bool { return c.ticks == 0 && c.line }

// see takes the first byte of the next character.
func (c *code) see(b byte) {
	if b == '`' {
		if c.ticks == 0 {
			c.fresh = !c.line
		}
		c.ticks++
		c.line = true
		return
	}
	c.settle()
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

// settle opens or closes code where a row of backticks has ended.
func (c *code) settle() {
	n := c.ticks
	c.ticks = 0
	switch {
	case n == 0:
	case c.width == 0:
		c.width, c.fence, c.first = n, c.fresh && n >= 3, true
	case c.fence && n >= c.width && (c.fresh || c.first), !c.fence && n == c.width:
		c.width, c.fence = 0, false
	}
}
