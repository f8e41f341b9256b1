package local

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/internal/text"
	"github.com/sluice-rag/sluice/model"
)

// sentence is a candidate for an answer.
type sentence struct {
	passage int    // index into the task's passages
	at      int    // position within its passage
	text    string // as it would be said: no markup, one line, closed by a mark
	heading string // what stands over it inside the passage
	listed  bool   // an item of a list
	row     bool   // a row of a table
	dangles bool   // it opens with a pronoun whose noun is in a sentence before
	whole   bool   // it is a whole statement: fit to be said
	words   []text.Token
	stems   []string // one a word; empty for stop words
	score   float64
	evid    evidence
}

// maxPassage is how many bytes of one passage are read.
const maxPassage = 64 << 10

// sentences cuts a passage into candidates.
func sentences(p model.Passage, number int) []*sentence {
	s := p.Chunk.Text
	if len(s) > maxPassage {
		s = s[:maxPassage]
	}
	s = dropFences(text.Clean(s))
	var out []*sentence
	heading := ""
	for _, sp := range text.Sentences(s) {
		raw := s[sp.Start:sp.End]
		if strings.HasPrefix(raw, "#") {
			heading = plain(strings.Trim(raw, "# \t"))
			continue
		}
		c := &sentence{passage: number, at: len(out), heading: heading}
		body, listed := cutMarker(raw)
		c.listed, c.row = listed, strings.HasPrefix(body, "|")
		if c.text = plain(body); c.text == "" {
			continue
		}
		ownLine := (sp.Start == 0 || strings.HasSuffix(strings.TrimRight(s[:sp.Start], " \t"), "\n")) &&
			(sp.End == len(s) || s[sp.End] == '\n')
		c.judge(ownLine, sp.Start == 0 && p.Chunk.Start > 0)
		c.words = text.Words(c.text)
		c.stems = make([]string, len(c.words))
		for i, w := range c.words {
			if !text.Stop(w.Text) {
				c.stems[i] = text.Stem(w.Text)
			}
		}
		out = append(out, c)
	}
	return out
}

// judge decides whether the candidate is a whole statement, and closes it with a full stop if it is a line without one.
func (c *sentence) judge(ownLine, mayContinue bool) {
	first, _ := utf8.DecodeRuneInString(c.text)
	last, _ := utf8.DecodeLastRuneInString(c.text)
	closed := strings.ContainsRune(`.!?…。！？`, last) ||
		strings.ContainsRune(`"')]”’`, last) && strings.ContainsAny(c.text[max(0, len(c.text)-8):], ".!?")
	fields := strings.Fields(c.text)
	c.whole = len(fields) >= 3 || closed && len(fields) >= 2
	switch {
	case !closed && (c.listed || ownLine) && len(c.text) < 300 && last != ':' && last != ',':
		c.text = strings.TrimRight(c.text, ";, ") + "."
	case !closed:
		c.whole = false
	}
	if codeRE.MatchString(c.text) {
		c.whole = false
	}
	if mayContinue && !c.listed && (unicode.IsLower(first) || unicode.IsPunct(first)) {
		c.whole = false
	}
	if len(fields) > 0 && !c.listed {
		_, c.dangles = pronouns[strings.ToLower(strings.Trim(fields[0], `"'“‘,`))]
	}
}

var pronouns = wordSet("he she it they his her its their him them this these those such both neither")

func wordSet(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(s) {
		m[w] = struct{}{}
	}
	return m
}

// dropFences takes fenced code out of Markdown. Where a fence lacks its other end, which may be in another passage, nobody
// knows which side of it is code, and only the fence goes.
func dropFences(s string) string {
	if !strings.Contains(s, "```") {
		return s
	}
	var b strings.Builder
	in, halved := false, strings.Count(s, "```")%2 == 1
	for line := range strings.Lines(s) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			in = !in && !halved
			b.WriteByte('\n')
			continue
		}
		if !in {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	markerRE = regexp.MustCompile(`^(?:[-*+•◦▪‣·–—>]+[ \t]+|[0-9]{1,3}[.)][ \t]+|\(?[a-z]\)[ \t]+|•)+`)
	imageRE  = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	linkRE   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noteRE   = regexp.MustCompile(`\[(?:[0-9]{1,3}(?:[,–-] ?[0-9]{1,3})*|[a-z]|citation needed|edit)\]`)
	tagRE    = regexp.MustCompile(`</?[a-zA-Z][^<>]{0,200}>`)
	ruleRE   = regexp.MustCompile(`^[-|:=_* \t]+$`)
	codeRE   = regexp.MustCompile(`(?:^|\s)//\s|:=|[{;]\s*$|^[})]|\)\s*[{;]|\}\.?$|</|=>|\bfunc\b.*\(`)
	markup   = strings.NewReplacer("**", "", "__", "", "`", "", "~~", "", "⟦", "[", "⟧", "]")
	emphasis = regexp.MustCompile(`(^|[\s(])[*_]([^*_\s][^*_]*)[*_]`)
)

// cutMarker takes the bullet or counter off a list's item.
func cutMarker(s string) (string, bool) {
	if m := markerRE.FindString(s); m != "" {
		return s[len(m):], !strings.HasPrefix(m, ">")
	}
	return s, false
}

// plain takes the markup out of a sentence and puts it on one line.
func plain(s string) string {
	if ruleRE.MatchString(s) {
		return ""
	}
	if strings.HasPrefix(s, "|") {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '|' }), " – ")
		s = strings.Trim(s, " –")
	}
	if strings.ContainsAny(s, "[]<>*_`~⟦⟧") {
		s = imageRE.ReplaceAllString(s, "")
		s = linkRE.ReplaceAllString(s, "$1")
		s = noteRE.ReplaceAllString(s, "")
		s = tagRE.ReplaceAllString(s, " ")
		s = emphasis.ReplaceAllString(s, "$1$2")
		s = markup.Replace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}
