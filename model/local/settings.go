package local

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// settingRE matches a line that sets something in a configuration file: port 6379, timeout = 30, weekly.
var settingRE = regexp.MustCompile(`^[#;]?([A-Za-z_][\w.-]*)(?:[ \t]*[=:][ \t]*\S.*|(?:[ \t]+[^ \t]+){0,4})$`)

// keyOf returns the name of what a line sets; empty if it sets nothing.
func keyOf(line string) string {
	m := settingRE.FindStringSubmatch(line)
	if m == nil || strings.ContainsAny(line[len(line)-1:], ".:,!?") {
		return ""
	}
	return m[1]
}

// isComment reports whether a line is a comment of a configuration file, if that has comments.
func isComment(line string) bool {
	return strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "#!")
}

// hasComments reports whether the lines of a passage that begin with a number sign are comments and not headings: two of them follow each other, or one
// is a setting that is commented out.
func hasComments(lines []string) bool {
	before, n := false, 0
	for _, line := range lines {
		bare := strings.TrimSpace(line)
		comment := isComment(bare)
		if comment {
			n++
		}
		if comment && (before || len(bare) > 1 && isLetter(bare[1]) && keyOf(bare) != "") || before && !comment && keyOf(bare) != "" && strings.ToLower(bare[:1]) == bare[:1] {
			return true
		}
		before = comment
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// maxComment is the maximum number of bytes of a comment that count as what leads to a setting.
const maxComment = 600

// comment reads the comment that begins at a line, and the settings after it. Settings that are commented out are settings too.
func (r *reader) comment(i int) int {
	r.inList, r.parents, r.lead, r.code = false, nil, "", false
	var text []string
	said := ""
	flush := func() {
		if len(text) == 0 {
			return
		}
		said = strings.TrimSpace(said + " " + lang.Truncate(strings.Join(text, " "), maxComment))
		r.prose(strings.Join(text, " "), len(text) == 1, false)
		r.blocks++
		text = nil
	}
	for ; i < len(r.lines); i++ {
		bare := strings.TrimSpace(r.lines[i])
		if bare == "" || strings.HasPrefix(bare, "```") {
			break
		}
		inner := bare
		if isComment(bare) {
			inner = strings.TrimSpace(strings.TrimLeft(bare, "#"))
			if strings.HasPrefix(bare, "##") && strings.HasSuffix(inner, "##") { // a heading with a frame
				flush()
				r.setHeading(strings.Trim(inner, "# "))
				said = ""
				continue
			}
			out := len(bare) > 1 && isLetter(bare[1])
			if key := keyOf(inner); inner != "" && (key == "" || !out && (len(text) > 0 || strings.Count(inner, " ") > 1)) {
				text = append(text, inner)
				continue
			}
		}
		flush()
		if inner == "" {
			continue
		}
		if key := keyOf(inner); key != "" {
			r.add(&sentence{text: "`" + strings.ReplaceAll(bare, "`", "'") + "`.", own: inner, key: key, lead: said, setting: true, whole: true})
		}
	}
	flush()
	r.lead = ""
	return i
}

// intro returns the first sentence of the comment on a setting, to be said before it.
func (c *sentence) intro() string {
	for _, sp := range lang.Sentences(c.lead) {
		return strings.TrimRight(c.lead[sp.Start:sp.End], ".: ") + ": "
	}
	return ""
}

// inConfig reports whether a line is a setting without a comment.
func (r *reader) inConfig(line string) bool {
	return keyOf(line) != "" && !strings.Contains(line, ": ")
}
