package parse

import (
	"bytes"
	"strconv"
)

type opKind int

const (
	opNumber opKind = iota
	opName
	opString
	opArray
	opDict
	opKeyword
)

// operand is a token of a content stream or of a character map.
type operand struct {
	kind opKind
	num  float64
	text string
	list []operand
}

// maxArray limits the elements of an array. A line of text has about a hundred.
const maxArray = 100_000

// lexer reads the tokens of PDF 32000-1:2008, section 7.8.2. It accepts any bytes, and each token advances it.
type lexer struct {
	data []byte
	at   int
}

func (l *lexer) blanks() {
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		case c == 0 || c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' ':
			l.at++
		default:
			return
		}
	}
}

func (l *lexer) next() (operand, bool) { return l.token(0) }

func (l *lexer) token(depth int) (operand, bool) {
	l.blanks()
	if l.at >= len(l.data) {
		return operand{}, false
	}
	c := l.data[l.at]
	l.at++
	switch c {
	case '/':
		return operand{kind: opName, text: l.name()}, true
	case '(':
		return operand{kind: opString, text: l.literal()}, true
	case '[':
		return operand{kind: opArray, list: l.array(depth)}, true
	case '<':
		if l.at < len(l.data) && l.data[l.at] == '<' {
			l.at++
			return operand{kind: opDict}, true // its keys and values follow as operands, which are ignored
		}
		return operand{kind: opString, text: l.hex()}, true
	case '>':
		if l.at < len(l.data) && l.data[l.at] == '>' {
			l.at++
		}
		return operand{kind: opDict}, true
	case ']', ')', '{', '}':
		return operand{kind: opDict}, true
	}
	l.at--
	word := string(l.regular())
	if n, err := strconv.ParseFloat(word, 64); err == nil && (word[0] < 'A' || word[0] == '.') {
		return operand{kind: opNumber, num: n}, true
	}
	return operand{kind: opKeyword, text: word}, true
}

func delimiter(c byte) bool {
	switch c {
	case 0, '\t', '\n', '\f', '\r', ' ', '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) regular() []byte {
	start := l.at
	for l.at < len(l.data) && !delimiter(l.data[l.at]) {
		l.at++
	}
	if l.at == start {
		l.at++
	}
	return l.data[start:l.at]
}

func (l *lexer) name() string {
	start := l.at
	for l.at < len(l.data) && !delimiter(l.data[l.at]) {
		l.at++
	}
	raw := l.data[start:l.at]
	if bytes.IndexByte(raw, '#') < 0 {
		return string(raw)
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) {
			if n, err := strconv.ParseUint(string(raw[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, raw[i])
	}
	return string(out)
}

func (l *lexer) array(depth int) []operand {
	var out []operand
	for {
		l.blanks()
		if l.at >= len(l.data) {
			return out
		}
		if l.data[l.at] == ']' {
			l.at++
			return out
		}
		if depth > 8 {
			l.at++
			continue
		}
		o, ok := l.token(depth + 1)
		if !ok {
			return out
		}
		if len(out) < maxArray {
			out = append(out, o)
		}
	}
}

func (l *lexer) hex() string {
	var out []byte
	high, half := byte(0), false
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		var v byte
		switch {
		case c == '>':
			if half {
				out = append(out, high)
			}
			return string(out)
		case c >= '0' && c <= '9':
			v = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = c | 0x20 - 'a' + 10
		default:
			continue
		}
		if half {
			out = append(out, high|v)
		}
		high, half = v<<4, !half
	}
	return string(out)
}

func (l *lexer) literal() string {
	var out []byte
	for depth := 1; l.at < len(l.data); {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func (l *lexer) escape(out []byte) []byte {
	if l.at >= len(l.data) {
		return out
	}
	c := l.data[l.at]
	l.at++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r':
		if l.at < len(l.data) && l.data[l.at] == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := int(c - '0')
	for range 2 {
		if l.at < len(l.data) && l.data[l.at] >= '0' && l.data[l.at] <= '7' {
			n = n*8 + int(l.data[l.at]-'0')
			l.at++
		}
	}
	return append(out, byte(n))
}

// skipImage skips the data of an inline image after its BI operator.
func (l *lexer) skipImage() {
	i := bytes.Index(l.data[l.at:], []byte("ID"))
	if i < 0 {
		l.at = len(l.data)
		return
	}
	l.at += i + 2
	for l.at < len(l.data) {
		i := bytes.Index(l.data[l.at:], []byte("EI"))
		if i < 0 {
			l.at = len(l.data)
			return
		}
		end := l.at + i
		l.at = end + 2
		if end > 0 && delimiter(l.data[end-1]) && (l.at >= len(l.data) || delimiter(l.data[l.at])) {
			return
		}
	}
}
