package eval

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Patterns are regular expressions in Go's syntax that are matched in the text of an answer, ignoring case.
type Patterns []*regexp.Regexp

// maxPatterns is the maximum number of patterns of a list, and maxPattern the maximum length of each in bytes.
const maxPatterns, maxPattern = 100, 2000

// UnmarshalJSON reads an array of regular expressions.
func (p *Patterns) UnmarshalJSON(data []byte) error {
	var sources []string
	if err := json.Unmarshal(data, &sources); err != nil {
		return err
	}
	if len(sources) > maxPatterns {
		return fmt.Errorf("%d patterns, and the most are %d", len(sources), maxPatterns)
	}
	*p = nil
	for _, source := range sources {
		if len(source) > maxPattern {
			return fmt.Errorf("a pattern of %d bytes, and the most are %d", len(source), maxPattern)
		}
		re, err := regexp.Compile("(?i)" + source)
		if err != nil {
			return err
		}
		*p = append(*p, re)
	}
	return nil
}

var emphasis = strings.NewReplacer("**", "", "__", "", "`", "")

// judges reports whether the set says by patterns which answers are right.
func (q Question) judges() bool { return len(q.Accept)+len(q.Reject) > 0 }

// Right reports whether a text is a right answer by the patterns of the question: all of Accept match, and none of Reject. White space is
// collapsed, and Markdown's marks of emphasis and code are left out.
func (q Question) Right(text string) bool {
	text = strings.Join(strings.Fields(emphasis.Replace(text)), " ")
	for _, re := range q.Accept {
		if !re.MatchString(text) {
			return false
		}
	}
	for _, re := range q.Reject {
		if re.MatchString(text) {
			return false
		}
	}
	return true
}
