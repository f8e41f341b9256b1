package parse

import (
	"regexp"
	"strings"
)

// quote matches the marks before a quoted line of a reply (RFC 3676, section 4.5), and spaces between them.
var quote = regexp.MustCompile(`^ ?(?:> ?)+`)

// unquote removes the marks of quoted lines, so that the lines of a quoted paragraph are joined as others are. Text of another depth begins a new
// paragraph. The line before a quotation that names its author and date is left out: "On 14 October, Ada wrote:". A line such as "> 5 kg" is not quoted.
func unquote(s string) string {
	if !strings.HasPrefix(s, ">") && !strings.Contains(s, "\n>") && !strings.Contains(s, "\n >") {
		return s
	}
	lines := strings.Split(s, "\n")
	out := make([]string, 0, len(lines)+16)
	depth := 0
	for _, l := range lines {
		mark := quote.FindString(l)
		rest := strings.TrimRight(l[len(mark):], " \t\r")
		d := strings.Count(mark, ">")
		if d == 1 && depth == 0 && startsWithDigit(rest) { // greater than a number
			d, rest = 0, l
		}
		if d != depth {
			if d > depth {
				out = dropAttribution(out)
			}
			out = append(out, "")
		}
		depth = d
		if d == 0 {
			rest = l
		}
		out = append(out, rest)
	}
	return strings.Join(out, "\n")
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// dropAttribution removes the last paragraph if it says who wrote what follows: it has at most two lines, a digit, and a colon at its end.
func dropAttribution(lines []string) []string {
	end := len(lines)
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	from := end
	for from > 0 && strings.TrimSpace(lines[from-1]) != "" {
		from--
	}
	text := strings.Join(lines[from:end], " ")
	if n := end - from; n == 0 || n > 2 || !strings.HasSuffix(text, ":") || !strings.ContainsAny(text, "0123456789") {
		return lines
	}
	return lines[:from]
}
