package rtf

import "strings"

// targets are the destinations that are not text.
var targets = map[string]string{
	"fonttbl": "fonts", "stylesheet": "styles", "footnote": "note", "title": "title", "author": "author", "subject": "subject", "keywords": "keywords",
	"info": "skip", "colortbl": "skip", "pict": "skip", "header": "skip", "headerl": "skip", "headerr": "skip", "headerf": "skip", "footer": "skip",
	"footerl": "skip", "footerr": "skip", "footerf": "skip", "fldinst": "skip", "object": "skip", "listtable": "skip", "listoverridetable": "skip",
	"annotation": "skip", "xe": "skip", "tc": "skip", "revtbl": "skip", "rsidtbl": "skip", "nonshppict": "skip",
}

var characters = map[string]string{
	"tab": "\t", "line": "\n", "lbr": "\n", "bullet": "•", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“",
	"rdblquote": "”", "emspace": " ", "enspace": " ", "qmspace": " ",
}

// charsets are the code pages of fonts by their character sets.
var charsets = map[int]int{128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250}

// word handles a control word with its number, if it has one.
func (r *reader) word(word string, n int, given bool) error {
	if s, ok := characters[word]; ok {
		r.decode()
		r.write(s)
		return nil
	}
	if t, ok := targets[word]; ok {
		r.decode()
		if r.now.target != "skip" || isProperty(t) {
			r.now.target = t
		}
		return nil
	}
	switch word {
	case "u":
		if len(r.pending) > 0 {
			r.decode()
		}
		r.wide, r.skip = append(r.wide, uint16(n)), r.now.skipped //nolint:gosec // negative numbers stand for those over 32,767
		return nil
	case "bin":
		r.data = r.data[min(max(n, 0), len(r.data)):]
		return nil
	case "cell", "nestcell":
		if r.now.target == "" {
			return r.cell()
		}
	case "row", "nestrow":
		if r.now.target == "" {
			r.row()
		}
	case "par", "sect", "page":
		r.endParagraph()
	default:
		r.decode()
		r.format(word, n, given)
	}
	return nil
}

func isProperty(target string) bool {
	return target != "skip" && target != "note" && !strings.HasSuffix(target, "s") || target == "keywords"
}

func (r *reader) endParagraph() {
	switch {
	case r.now.target != "" || r.now.table:
		r.decode()
		r.write(" ")
	default:
		r.paragraph()
	}
}

// format handles the words that change the state.
func (r *reader) format(word string, n int, given bool) {
	switch word {
	case "ansicpg":
		if n > 0 {
			r.codePage = n
		}
	case "mac":
		r.codePage = 10000
	case "uc":
		r.now.skipped = max(n, 0)
	case "pard":
		r.now.level, r.now.indent, r.now.table = 0, 0, false
	case "plain":
		r.now.hidden, r.now.deleted, r.now.noSize, r.now.bold = false, false, false, false
	case "b":
		r.now.bold = !given || n != 0
	case "v":
		r.now.hidden = !given || n != 0
	case "deleted":
		r.now.deleted = !given || n != 0
	case "fs":
		r.now.noSize = given && n == 0
	case "intbl":
		r.now.table = true
	case "li":
		r.now.indent = n
	case "outlinelevel":
		if n >= 0 && n < 9 {
			r.now.level = n + 1
		}
	case "s":
		if r.now.target == "styles" {
			r.style = n
		} else if l := r.styles[n]; l > 0 {
			r.now.level = l
		}
	case "f":
		r.now.font = n
	case "fmodern", "fprq":
		if f := r.fonts[r.now.font]; r.now.target == "fonts" && (word == "fmodern" || n == 1) && len(r.fonts) < maxTable {
			f.mono = true
			r.fonts[r.now.font] = f
		}
	case "fcharset":
		if f := r.fonts[r.now.font]; r.now.target == "fonts" && len(r.fonts) < maxTable {
			f.codePage = charsets[n]
			r.fonts[r.now.font] = f
		}
	}
}
