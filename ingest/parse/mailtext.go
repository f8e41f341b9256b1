package parse

import (
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// headerNames are the names of the fields of a message that a text holds as mail programs show them, in several languages; true for that of the subject.
var headerNames = map[string]bool{"subject": true, "betreff": true, "objet": true, "asunto": true, "oggetto": true, "assunto": true, "onderwerp": true, "тема": true, "konu": true,
	"from": false, "to": false, "cc": false, "date": false, "sent": false, "von": false, "an": false, "datum": false, "gesendet": false, "de": false, "à": false, "envoyé": false,
	"para": false, "fecha": false, "enviado": false, "da": false, "a": false, "data": false, "inviato": false, "aan": false, "van": false, "verzonden": false, "от": false,
	"кому": false, "дата": false, "kimden": false, "kime": false, "tarih": false, "gönderen": false, "alıcı": false}

// minHeader is the least number of fields that begin a message, and maxSubject the maximum length of a subject in bytes.
const minHeader, maxSubject = 3, 200

// replyRE matches the marks of replies and forwarded messages before a subject.
var replyRE = regexp.MustCompile(`^(?i:(?:re|aw|fw|fwd|wg|tr|rv|rif|res|enc|antw|ynt)(?:\[[0-9]+\])?: *)+`)

// fieldRE matches the name and the value of a field of a message.
var fieldRE = regexp.MustCompile(`^([\pL][\pL\pN-]*) ?: ?(.*)$`)

// mailSubject returns the subject of the message whose fields begin a paragraph, or their first line if it has none; empty if it is no message. A text may hold
// several messages.
func mailSubject(lines []string) (subject string) {
	known, inSubject := 0, false
	for _, l := range lines {
		m := fieldRE.FindStringSubmatch(strings.TrimSpace(l))
		switch {
		case l != strings.TrimLeft(l, " \t") && known > 0: // the rest of a long field
			if inSubject {
				subject += " " + l
			}
			continue
		case m == nil && known == 0 && strings.HasPrefix(l, "From "): // of a mailbox
			continue
		case m == nil:
			return messageHeading(lines, subject, known)
		}
		isSubject, ok := headerNames[strings.ToLower(m[1])]
		if ok {
			known++
		}
		if inSubject = isSubject; isSubject {
			subject = m[2]
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
