package local

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// leaderRE matches a leader and a page number: "Lost tickets ..... 41", "Lost tickets . . . . xii".
	leaderRE = regexp.MustCompile(`\pL[^.…·]*(?:(?:[.·][ \t]?){4,}|(?:…[ \t]?){2,})[ \t]*([0-9]{1,4}|[ivxlc]{1,7})(?:[ \t]|$)`)
	// sectionRE matches the number of a section or of a chapter at the beginning of a line.
	sectionRE = regexp.MustCompile(`^(?:\pL{4,10} )?(?:[0-9]{1,3}|[A-Z])(?:\.[0-9]{1,3})*[.:]? `)
)

// dotsRE matches the leader before a value at the end of a line: "Green salad ........ 5.00 €".
var dotsRE = regexp.MustCompile(`^([\pL\pN][^.…|]*[^.…|\s])[ \t]*(?:[ \t]\.{2,}|\.{4,}|(?:[ \t]\.){4,}|…{2,})[ \t]*([^.…\s][^…]{0,40})$`)

// minContents is the number of lines with rising page numbers that make a table of contents, if they have no section numbers.
const minContents = 4

// dropContents empties the lines of a table of contents, which name what other pages say. In other lines with leaders, such as those of a price list, a colon
// replaces the leader. They begin with no section number, and their numbers do not rise from line to line or have units.
func dropContents(lines []string) {
	var run []int // lines without a section number
	last := 0
	end := func() {
		if len(run) >= minContents {
			for _, i := range run {
				lines[i] = ""
			}
		}
		run, last = nil, 0
	}
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		if bare == "" {
			continue
		}
		var m [][]int
		if strings.Count(bare, ".")+strings.Count(bare, "·") >= 4 || strings.Count(bare, "…") >= 2 { // few lines have as many, and the regular expression is much slower
			m = leaderRE.FindAllStringSubmatchIndex(bare, -1)
		}
		switch {
		case len(m) > 0 && sectionRE.MatchString(bare) && (len(m) > 1 || m[0][1] == len(bare)):
			lines[i] = ""
			continue
		case len(m) != 1 || m[0][1] != len(bare):
			end()
			continue
		}
		page, _ := strconv.Atoi(bare[m[0][2]:m[0][3]]) // 0 for a Roman number
		if page < last {
			end()
		}
		run, last = append(run, i), page
	}
	end()
	for i, line := range lines {
		if strings.Contains(line, " ..") || strings.Contains(line, "....") || strings.Contains(line, ". . .") || strings.Contains(line, "……") {
			lines[i] = dotsRE.ReplaceAllString(strings.TrimSpace(line), "$1: $2")
		}
	}
}
