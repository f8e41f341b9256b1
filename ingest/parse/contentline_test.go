package parse_test

import (
	"strings"
	"testing"
)

const calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Harbour office\r\n" +
	"BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n" +
	"BEGIN:VEVENT\r\nSUMMARY:Safety drill\\, north pier\r\nDTSTART;TZID=Europe/Berlin:20240506T140000\r\nDTEND;TZID=Europe/Berlin:20240506T153000\r\n" +
	"RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO,FR;UNTIL=20251231T000000Z\r\nLOCATION:Hall 3\r\nORGANIZER;CN=\"Quill, Ada\":mailto:ada@example.org\r\n" +
	"DESCRIPTION:Bring your life vests.\\n\\nThe alarm sounds twice\r\n  and then\r\n  stops.\r\nBEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nSTATUS:CONFIRMED\r\nEND:VEVENT\r\n" +
	"BEGIN:VEVENT\r\nSUMMARY:Holiday\r\nDTSTART;VALUE=DATE:20240701\r\nDTEND;VALUE=DATE:20240715\r\nEND:VEVENT\r\n" +
	"BEGIN:VTODO\r\nSUMMARY:Paint the boat\r\nDUE:20240601T080000Z\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"

func TestCalendar(t *testing.T) {
	for _, name := range []string{"a.ics", "b"} {
		p := parsed(t, name, []byte(calendar), `heading1: Safety drill, north pier
		paragraph: Start: Monday, 6 May 2024, 14:00 (Europe/Berlin)⏎End: Monday, 6 May 2024, 15:30 (Europe/Berlin)⏎`+
			`Repeats: monthly, interval 2, on 1 Monday and Friday, until Wednesday, 31 December 2025, 00:00 (UTC)⏎Location: Hall 3⏎Organizer: Quill, Ada <ada@example.org>⏎Status: confirmed
		paragraph: Bring your life vests.
		paragraph: The alarm sounds twice and then stops.
		heading1: Holiday
		paragraph: Start: Monday, 1 July 2024⏎End: Sunday, 14 July 2024
		heading1: Paint the boat
		paragraph: Due: Saturday, 1 June 2024, 08:00 (UTC)`)
		if p.Title != "Harbour office" || p.MediaType != "text/calendar" {
			t.Errorf("%q %s", p.Title, p.MediaType)
		}
	}
}

const contacts = "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada Quill\r\nN:Quill;Ada;;;\r\nORG:Harbour office;Pilots\r\nTITLE:Master\\, pilot\r\n" +
	"TEL;TYPE=\"voice,work\";VALUE=uri:tel:+44-20-5550-1234\r\nitem1.EMAIL;TYPE=INTERNET:ada@example.org\r\nADR;TYPE=work:;;1 Quay\\; North;Farhaven;;12345;Norland\r\n" +
	"BDAY:19711224\r\nNOTE:Speaks French.\\nKnows the tides.\r\nPHOTO;ENCODING=b:AAAA\r\nbroken line\r\nEND:VCARD\r\n" +
	"BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:L=C3=B6w=\r\ne;Bob;;Dr.;\r\nTEL;CELL:555\r\nEND:VCARD\r\n"

func TestContacts(t *testing.T) {
	for _, name := range []string{"a.vcf", "b"} {
		parsed(t, name, []byte(contacts), `heading1: Ada Quill
		paragraph: Organization: Harbour office, Pilots⏎Title: Master, pilot⏎Phone (work): +44-20-5550-1234⏎Email: ada@example.org⏎`+
			`Address (work): 1 Quay; North, Farhaven, 12345, Norland⏎Birthday: 24 December 1971
		paragraph: Speaks French.⏎Knows the tides.
		heading1: Dr. Bob Löwe
		paragraph: Phone (cell): 555`)
	}
	if p := parsed(t, "c.vcf", []byte("begin:vcard\nFN:Eve\nend:vcard\n"), "heading1: Eve\n\t\tparagraph: Eve"); p.Title != "Eve" {
		t.Errorf("%q", p.Title)
	}
}

func FuzzCalendar(f *testing.F) {
	fuzz(f, "a.ics", calendar, strings.ReplaceAll(calendar, "SUMMARY", "SUMMARY;ENCODING=QUOTED-PRINTABLE"))
}
func FuzzContacts(f *testing.F) { fuzz(f, "a.vcf", contacts) }
