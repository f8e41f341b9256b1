package contentline

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// entryKinds are the components of a calendar that are read. Others are time zones, alarms and busy times.
var entryKinds = map[string]string{"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Journal"}

// ParseCalendar parses a calendar. The summary of each event, task and journal entry is a heading, followed by its time, place and people,
// one in a line, and its description.
func ParseCalendar(ctx context.Context, s string, limits document.Limits) (document.Parsed, error) {
	var p document.Parsed
	var e *entry
	var start, end line
	depth := 0 // of components within the entry
	for l := range lines(s) {
		if ctx.Err() != nil || len(p.Blocks) > limits.Blocks {
			break
		}
		component := strings.ToUpper(strings.TrimSpace(l.value))
		switch {
		case l.name == "BEGIN" && e == nil && entryKinds[component] != "":
			e, start, end, depth = &entry{kind: entryKinds[component]}, line{}, line{}, 0
		case l.name == "BEGIN" && e != nil:
			depth++
		case l.name == "END" && e != nil && depth > 0:
			depth--
		case l.name == "END" && e != nil:
			e.lines = append(times(start, end), e.lines...)
			p.Blocks = append(p.Blocks, e.blocks()...)
			e = nil
		case e != nil && depth == 0 && l.name == "DTSTART":
			start = l
		case e != nil && depth == 0 && l.name == "DTEND":
			end = l
		case e != nil && depth == 0:
			e.property(l)
		case e == nil && p.Title == "" && (l.name == "X-WR-CALNAME" || l.name == "NAME"):
			p.Title = document.OneLine(l.text())
		}
	}
	return p, ctx.Err()
}

// property adds a property other than the times.
func (e *entry) property(l line) {
	switch l.name {
	case "SUMMARY":
		e.name = document.OneLine(l.text())
	case "DESCRIPTION", "COMMENT":
		e.note(l.text())
	case "DUE":
		e.add("Due", l.when(0))
	case "DURATION":
		e.add("Duration", strings.ToLower(strings.NewReplacer("PT", "", "P", "").Replace(l.value)))
	case "RRULE":
		e.add("Repeats", rule(l.value))
	case "EXDATE":
		e.add("Except", l.when(0))
	case "LOCATION":
		e.add("Location", l.text())
	case "ORGANIZER":
		e.add("Organizer", l.person())
	case "ATTENDEE":
		e.add("Attendee", l.person())
	case "CONTACT":
		e.add("Contact", l.text())
	case "CATEGORIES":
		e.add("Categories", l.text())
	case "STATUS":
		e.add("Status", strings.ToLower(l.text()))
	case "URL":
		e.add("URL", l.text())
	}
}

func times(start, end line) []string {
	var out []string
	from := start.when(0)
	if from != "" {
		out = append(out, "Start: "+from)
	}
	back := 0
	if len(strings.TrimSpace(end.value)) == len("20060102") {
		back = -1 // the end of a whole day is the day after
	}
	if to := end.when(back); to != "" && to != from {
		out = append(out, "End: "+to)
	}
	return out
}

// when returns a date, or a date and time with its zone, moved by days. Other values are returned as they are.
func (l line) when(days int) string {
	var out []string
	for v := range strings.SplitSeq(strings.TrimSpace(l.value), ",") {
		for _, form := range []struct{ layout, shown, zone string }{
			{"20060102", "Monday, 2 January 2006", ""},
			{"20060102T150405Z", "Monday, 2 January 2006, 15:04", "UTC"},
			{"20060102T150405", "Monday, 2 January 2006, 15:04", document.OneLine(l.params["TZID"])},
		} {
			if t, err := time.Parse(form.layout, v); err == nil {
				v = t.AddDate(0, 0, days).Format(form.shown)
				if form.zone != "" {
					v += " (" + form.zone + ")"
				}
				break
			}
		}
		out = append(out, v)
	}
	return strings.Join(out, "; ")
}

// person returns the name and address of a calendar user.
func (l line) person() string {
	address := l.text()
	if scheme, rest, ok := strings.Cut(address, ":"); ok && strings.EqualFold(scheme, "mailto") {
		address = rest
	}
	if name := l.params["CN"]; name != "" && name != address {
		return name + " <" + address + ">"
	}
	return address
}

var weekdays = map[string]string{"MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday", "SA": "Saturday", "SU": "Sunday"}

// rule returns a rule of recurrence in words, as far as it is a usual one.
func rule(s string) string {
	var out []string
	for part := range strings.SplitSeq(s, ";") {
		key, v, _ := strings.Cut(part, "=")
		switch strings.ToUpper(key) {
		case "FREQ":
			out = append(out, strings.ToLower(v))
		case "INTERVAL":
			if v != "1" {
				out = append(out, "interval "+v)
			}
		case "COUNT":
			out = append(out, v+" times")
		case "UNTIL":
			out = append(out, "until "+line{value: v}.when(0))
		case "BYDAY":
			var days []string
			for d := range strings.SplitSeq(v, ",") {
				if n := len(d); n >= 2 && weekdays[strings.ToUpper(d[n-2:])] != "" {
					d = strings.TrimSpace(d[:n-2] + " " + weekdays[strings.ToUpper(d[n-2:])])
				}
				days = append(days, d)
			}
			out = append(out, "on "+strings.Join(days, " and "))
		case "WKST":
		default:
			out = append(out, strings.ToLower(key)+" "+v)
		}
	}
	return strings.Join(out, ", ")
}
