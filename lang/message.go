package lang

import (
	"regexp"
	"strings"
)

// messageFields are the names of the fields of a message that a text holds as mail programs show them, in several languages; true for that of the subject.
var messageFields = map[string]bool{"subject": true, "betreff": true, "objet": true, "asunto": true, "oggetto": true, "assunto": true, "onderwerp": true, "тема": true, "konu": true,
	"from": false, "to": false, "cc": false, "date": false, "sent": false, "von": false, "an": false, "datum": false, "gesendet": false, "de": false, "à": false, "envoyé": false,
	"para": false, "fecha": false, "enviado": false, "da": false, "a": false, "data": false, "inviato": false, "aan": false, "van": false, "verzonden": false, "от": false,
	"кому": false, "дата": false, "kimden": false, "kime": false, "tarih": false, "gönderen": false, "alıcı": false}

// fieldRE matches the name and the value of a field of a message.
var fieldRE = regexp.MustCompile(`^([\pL][\pL\pN-]*) ?: ?(.*)$`)

// Field is a line such as From: Ada Quill.
type Field struct {
	Value   string
	Known   bool // fields of messages have this name
	Subject bool // it is that of the subject
}

// MessageField returns the field that a line of the head of a message may be. It reports false if the line is none.
func MessageField(line string) (Field, bool) {
	m := fieldRE.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return Field{}, false
	}
	subject, known := messageFields[strings.ToLower(m[1])]
	return Field{m[2], known, subject}, true
}
