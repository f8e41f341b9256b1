package office

import (
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/xmltext"
)

// wordLevel is how the items of a level of a list are numbered (ISO/IEC 29500-1, 17.9).
type wordLevel struct {
	format string // such as bullet or decimal
	text   string // of a number: %1 is that of the first level
	start  int
	plain  bool // all numbers are decimal
}

// numbering returns the levels of each list by its id.
func (f *file) numbering(member string) (map[string]*[9]wordLevel, error) {
	abstract, lists := map[string]*[9]wordLevel{}, map[string]*[9]wordLevel{}
	var levels *[9]wordLevel
	var list string
	level := 0
	err := f.read(member, xmltext.Handler{Start: func(e xmltext.Element) bool {
		value := e.Attr("val")
		switch e.Name {
		case "abstractNum":
			levels = &[9]wordLevel{}
			abstract[e.Attr("abstractNumId")] = levels
		case "lvl":
			if level, _ = strconv.Atoi(e.Attr("ilvl")); levels != nil && level >= 0 && level < 9 {
				levels[level] = wordLevel{start: 1}
			}
		case "num":
			levels, list = nil, e.Attr("numId")
		case "abstractNumId":
			if a := abstract[value]; a != nil && list != "" {
				lists[list] = a
			}
		default:
			if levels != nil && level >= 0 && level < 9 {
				levels[level].property(e.Name, value)
			}
		}
		return true
	}})
	return lists, err
}

func (l *wordLevel) property(name, value string) {
	switch name {
	case "numFmt":
		l.format = value
	case "lvlText":
		l.text = value
	case "start":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 {
			l.start = n
		}
	case "isLgl":
		l.plain = true
	}
}

// mark returns the number or bullet of a heading or an item of a list, and counts it.
func (d *docx) mark(s wordStyle) string {
	levels := d.numbering[s.list]
	if levels == nil || levels[s.level].format == "bullet" || levels[s.level].format == "none" || levels[s.level].format == "" {
		return "- "
	}
	n := d.counters[s.list]
	if n == nil {
		n = &[9]int{}
		d.counters[s.list] = n
	}
	n[s.level]++
	clear(n[s.level+1:])
	text := levels[s.level].text
	if !strings.Contains(text, "%") {
		text = "%" + strconv.Itoa(s.level+1) + "."
	}
	for i, l := range levels[:s.level+1] {
		if levels[s.level].plain {
			l.format = ""
		}
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), l.number(l.start+max(n[i], 1)-1))
	}
	return text + " "
}

// number writes a number of the level.
func (l wordLevel) number(n int) string {
	s := strconv.Itoa(n)
	switch {
	case n < 1 || n > 300:
	case strings.HasSuffix(l.format, "Letter"):
		s = strings.Repeat(string(rune('a'+(n-1)%26)), (n+25)/26)
	case strings.HasSuffix(l.format, "Roman"):
		s = ""
		for _, r := range []struct {
			value  int
			letter string
		}{{100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5, "v"}, {4, "iv"}, {1, "i"}} {
			for ; n >= r.value; n -= r.value {
				s += r.letter
			}
		}
	}
	if strings.HasPrefix(l.format, "upper") {
		return strings.ToUpper(s)
	}
	return s
}
