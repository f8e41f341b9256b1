package local

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	commaRE = regexp.MustCompile(`[,;] |[、，；]`)
	andRE   = regexp.MustCompile(`(?i)^(?:\S+ ){0,4}?(?:and|or|und|oder|sowie|et|ou|y|o|e|en|of|ve|veya|и|или|及|和) \S`)
)

// maxMember is the maximum number of words of a member of an enumeration, and maxMemberRunes that of its characters.
const maxMember, maxMemberRunes = 4, 40

// enumerates reports whether a sentence lists several things between commas: electricity, water and cleaning. What is before a colon does not count.
func enumerates(text string) bool {
	text = strings.TrimRight(text, " .")
	if i := strings.LastIndexAny(text, ":："); i >= 0 {
		_, size := utf8.DecodeRuneInString(text[i:])
		text = text[i+size:]
	}
	parts := commaRE.Split(text, -1)
	if len(parts) < 2 {
		return false
	}
	for _, inner := range parts[1 : len(parts)-1] {
		if len(strings.Fields(inner)) > maxMember || utf8.RuneCountInString(inner) > maxMemberRunes {
			return false
		}
	}
	return andRE.MatchString(strings.TrimSpace(parts[len(parts)-1])) || len(parts) > 3
}
