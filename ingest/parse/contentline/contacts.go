package contentline

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// fields are the properties of a contact that are read, with their labels.
var fields = map[string]string{
	"ORG": "Organization", "TITLE": "Title", "ROLE": "Role", "NICKNAME": "Nickname", "TEL": "Phone", "EMAIL": "Email", "ADR": "Address",
	"URL": "URL", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary", "IMPP": "Messages", "CATEGORIES": "Categories", "RELATED": "Related",
	"LANG": "Language", "GENDER": "Gender", "TZ": "Time zone", "MEMBER": "Member",
}

// ParseContacts parses contacts. The name of each is a heading, followed by its properties, one in a line, and its notes.
func ParseContacts(ctx context.Context, s string, limits document.Limits) (document.Parsed, error) {
	var p document.Parsed
	var e *entry
	cards, name := 0, ""
	for l := range lines(s) {
		if ctx.Err() != nil || len(p.Blocks) > limits.Blocks {
			break
		}
		switch {
		case l.name == "BEGIN":
			e, name = &entry{kind: "Contact"}, ""
		case e == nil:
		case l.name == "END":
			if e.name == "" {
				e.name = name
			}
			if cards++; cards == 1 {
				p.Title = e.name
			}
			p.Blocks = append(p.Blocks, e.blocks()...)
			e = nil
		case l.name == "FN":
			e.name = document.OneLine(l.text())
		case l.name == "N":
			name = l.fullName()
		case l.name == "NOTE":
			e.note(l.text())
		case fields[l.name] != "":
			e.add(fields[l.name]+l.types(), l.contact())
		}
	}
	if cards > 1 {
		p.Title = "" // the file's name
	}
	return p, ctx.Err()
}

// fullName returns a name whose components are family name, given name, others, prefixes and suffixes.
func (l line) fullName() string {
	c := strings.SplitN(l.value, ";", 5)
	c = append(c, make([]string, 5-len(c))...)
	return document.OneLine(unescaper.Replace(strings.Join([]string{c[3], c[1], c[2], c[0], c[4]}, " ")))
}

// types returns the types of a property that a reader needs: (work).
func (l line) types() string {
	var out []string
	for t := range strings.SplitSeq(strings.ToLower(l.params["TYPE"]), ",") {
		switch t = strings.TrimSpace(t); t {
		case "", "pref", "internet", "voice", "x-internet":
		default:
			if !slices.Contains(out, t) && len(t) <= 40 {
				out = append(out, t)
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// contact returns the value of a property as text.
func (l line) contact() string {
	switch l.name {
	case "ORG", "ADR":
		return l.parts()
	case "BDAY", "ANNIVERSARY":
		for _, layout := range []string{"20060102", time.DateOnly} {
			if t, err := time.Parse(layout, strings.TrimSpace(l.value)); err == nil {
				return t.Format("2 January 2006")
			}
		}
	case "TEL", "EMAIL", "IMPP", "MEMBER":
		s := l.text()
		for _, scheme := range []string{"tel:", "mailto:"} {
			s = strings.TrimPrefix(s, scheme)
		}
		return s
	}
	return l.text()
}
