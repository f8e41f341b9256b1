package parse

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// minHeader is the least number of fields that begin a message, and maxSubject the maximum length of a subject in bytes.
const minHeader, maxSubject = 3, 200

// replyRE matches the marks of replies and forwarded messages before a subject.
var replyRE = regexp.MustCompile(`^(?i:(?:re|aw|fw|fwd|wg|tr|rv|rif|res|enc|antw|ynt)(?:\[[0-9]+\])?: *)+`)

// mailSubject returns the subject of the message whose fields begin a paragraph, or their first line if it has none; empty if it is no message. A text may hold
// several messages.
func mailSubject(lines []string) (subject string) {
	known, inSubject := 0, false
	for _, l := range lines {
		f, ok := lang.MessageField(l)
		switch {
		case l != strings.TrimLeft(l, " \t") && known > 0: // the rest of a long field
			if inSubject {
				subject += " " + l
			}
			continue
		case !ok && known == 0 && strings.HasPrefix(l, "From "): // of a mailbox
			continue
		case !ok:
			return messageHeading(lines, subject, known)
		}
		if f.Known {
			known++
		}
		if inSubject = f.Subject; inSubject {
			subject = f.Value
		}
	}
	return messageHeading(lines, subject, known)
}

// messageHeading returns the heading of a message with a number of known fields.
func messageHeading(lines []string, subject string, known int) string {
	if known < minHeader {
		return ""
	}
	subject = strings.Join(strings.Fields(lang.Truncate(subject, maxSubject)), " ")
	if short := strings.TrimSpace(replyRE.ReplaceAllString(subject+" ", "")); short != "" {
		return short
	}
	return strings.Join(strings.Fields(lang.Truncate(lines[0], maxSubject)), " ")
}
