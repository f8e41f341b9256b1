package manpage

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// noBreak at the end of a text means that no space follows.
const noBreak = "\x00"

// special has characters by their two-letter names (groff_char(7)).
var special = map[string]string{"bu": "•", "em": "—", "en": "–", "hy": "-", "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'", "dq": "\"", "ha": "^", "ti": "~",
	"rs": "\\", "co": "©", "rg": "®", "tm": "™", "mu": "×", "di": "÷", "->": "→", "<-": "←", "<>": "↔", "ua": "↑", "da": "↓", "<=": "≤", ">=": "≥", "!=": "≠", "==": "≡", "+-": "±", "de": "°",
	"sc": "§", "bv": "|", "ba": "|", "or": "|", "br": "|", "ul": "_", "ru": "_", "sq": "■", "at": "@", "sh": "#", "Do": "$", "ga": "`", "aa": "´", "mi": "−", "pl": "+", "eq": "=", "**": "*", "sl": "/",
	"12": "½", "14": "¼", "34": "¾", "ss": "ß", "AE": "Æ", "ae": "æ", "OE": "Œ", "oe": "œ", "/o": "ø", "/O": "Ø", "oa": "å", "oA": "Å", "Eu": "€", "eu": "€", "Po": "£", "Ye": "¥", "ct": "¢", "dg": "†",
	"dd": "‡", "fm": "′", "sd": "″", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "⟨", "ra": "⟩", "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "r!": "¡", "r?": "¿", "mc": "µ", "*m": "μ", "*a": "α", "*b": "β",
	"*p": "π", "if": "∞", "is": "∫", "no": "¬", "md": "⋅", "pc": "·", "ps": "¶", "ci": "○", "OK": "✓", "fi": "fi", "fl": "fl", "ff": "ff", "Tm": "™", "+e": "+", "rh": "☞", "S2": "²", "S3": "³", "S1": "¹", "es": "∅",
	"mo": "∈", "~~": "≈", "~=": "≅", "lh": "☜", "tf": "∴", "sr": "√", "lf": "⌊", "rf": "⌋", "lc": "⌈", "rc": "⌉", "-D": "Ð", "Sd": "ð", "TP": "Þ", "Tp": "þ", ".i": "ı", "bq": "‚", "Bq": "„", "u": "µ", "OR": "∨", "AN": "∧"}

// accents has combining characters by the marks that name them.
var accents = map[byte]rune{'\'': 0x301, '`': 0x300, '^': 0x302, ':': 0x308, '~': 0x303, ',': 0x327, 'v': 0x30c, 'o': 0x30a}

// character returns the character with a name.
func character(name string) string {
	if s, ok := special[name]; ok {
		return s
	}
	if len(name) >= 5 && name[0] == 'u' {
		hex, _, _ := strings.Cut(name[1:], "_")
		if n, err := strconv.ParseUint(hex, 16, 32); err == nil && n <= utf8.MaxRune {
			return string(rune(n))
		}
	}
	if len(name) == 2 {
		if a := accents[name[0]]; a != 0 {
			return name[1:] + string(a)
		}
	}
	return ""
}

// escape returns the text of a line: without fonts and sizes, and with its special characters.
func (p *page) escape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case '"', '#': // a comment
			return strings.TrimRight(b.String(), " \t")
		case 'c':
			b.WriteString(noBreak)
			return b.String()
		case '(', '[':
			var name string
			name, s = named(string(c) + s)
			b.WriteString(character(name))
		case '*':
			var name string
			name, s = named(s)
			if text := p.strings[name]; len(text) <= p.expansions {
				p.expansions -= len(text)
				b.WriteString(text)
			}
		case 'f', 'F', 'g', 'k', 'm', 'M', 'n', 'V', 'Y':
			if c == 'n' && s != "" && (s[0] == '+' || s[0] == '-') {
				s = s[1:]
			}
			_, s = named(s)
		case 's':
			s = size(s)
		case 'A', 'b', 'B', 'D', 'h', 'H', 'l', 'L', 'o', 'R', 'S', 'v', 'w', 'x', 'X', 'Z', 'N', 'C':
			var inner string
			if inner, s = delimited(s); c == 'N' {
				if n, err := strconv.Atoi(inner); err == nil && n >= 32 && n < 127 {
					b.WriteByte(byte(n))
				}
			} else if c == 'o' {
				b.WriteString(inner)
			} else if c == 'C' {
				b.WriteString(character(inner))
			}
		case ' ', '~', '0':
			b.WriteByte(' ')
		case '-', '\'', '`', '.', '_':
			b.WriteByte(c)
		case 'e', 'E', '\\':
			b.WriteByte('\\')
		case 't':
			b.WriteByte('\t')
		case '&', '|', '^', '%', ':', '/', ',', ')', '{', '}', 'd', 'u', 'r', 'p', 'z', 'a', '!', '?':
		default:
			b.WriteByte(c)
		}
	}
}

// named splits the name of an escape from what follows: x, (xx or [name].
func named(s string) (name, rest string) {
	switch {
	case s == "":
		return "", ""
	case s[0] == '(' && len(s) >= 3:
		return s[1:3], s[3:]
	case s[0] == '[':
		name, rest, _ = strings.Cut(s[1:], "]")
		return name, rest
	}
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], s[n:]
}

// size skips the argument of \s: a digit or two, or a number in brackets, with a sign.
func size(s string) string {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	switch {
	case s == "":
		return ""
	case s[0] == '\'':
		_, rest := delimited(s)
		return rest
	case s[0] == '(' || s[0] == '[':
		_, rest := named(s)
		return rest
	case len(s) > 1 && s[0] >= '1' && s[0] <= '3' && s[1] >= '0' && s[1] <= '9':
		return s[2:]
	}
	return s[1:]
}

// delimited splits the argument of an escape from what follows. The first character of the argument is also the delimiter at its end: 'text'.
func delimited(s string) (inner, rest string) {
	if s == "" {
		return "", ""
	}
	inner, rest, _ = strings.Cut(s[1:], s[:1])
	return inner, rest
}

// arguments splits the arguments of a macro. One in quotation marks may have spaces.
func (p *page) arguments(s string) []string {
	var out []string
	for s = strings.TrimLeft(s, " \t"); s != "" && len(out) < 200; s = strings.TrimLeft(s, " \t") {
		if strings.HasPrefix(s, `\"`) {
			break
		}
		var b strings.Builder
		quoted := s[0] == '"'
		i := 0
		if quoted {
			i = 1
		}
		for ; i < len(s); i++ {
			c := s[i]
			if quoted && c == '"' {
				if i+1 < len(s) && s[i+1] == '"' {
					i++
				} else {
					i++
					break
				}
			}
			if !quoted && (c == ' ' || c == '\t') {
				break
			}
			b.WriteByte(c)
			if c == '\\' && i+1 < len(s) {
				i++
				b.WriteByte(s[i])
			}
		}
		out = append(out, p.escape(b.String()))
		s = s[min(i, len(s)):]
	}
	return out
}
