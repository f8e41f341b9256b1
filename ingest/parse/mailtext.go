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

// mailSubject returns the subject of the message whose fields begin a paragraph; empty if it is none. A text may hold several messages.
func mailSubject(lines []string) (subject string) {
	fields := 0
	for _, l := range lines {
		name, value, ok := strings.Cut(strings.TrimSpace(l), ":")
		isSubject, known := headerNames[strings.ToLower(strings.TrimSpace(name))]
		if !ok || !known {
			break
		}
		fields++
		if isSubject {
			subject = strings.Join(strings.Fields(replyRE.ReplaceAllString(lang.Truncate(strings.TrimSpace(value), maxSubject), "")), " ")
		}
	}
	if fields < minHeader {
		return ""
	}
	return subject
}
