package local_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestRowsAndLabels asks for rows of tables, lines with labels, amounts, and trips of timetables.
func TestRowsAndLabels(t *testing.T) {
	m := local.New(local.Options{})
	boat := "| Pier | | | |\n|---|---|---|---|\n| Old Quay | 9:05 | 11:40 | 16:15 |\n| Lighthouse | 9:31 | 12:06 | 16:41 |\n| Seal Bay | 9:50 | 12:25 | 17:00 |\n"
	phones := "Name | Extension | Mobile | Deputy\nRosa Field | 41 | 07700 1 | Ivo Marsh\nIvo Marsh | 42 | 07700 2 | Una Bell\nUna Bell | 43 | 07700 3 | Ivo Marsh\n"
	prices := "Item | Price for 5 pieces (€) | Price for 20 pieces (€)\nLamp | 14.00 | 11.00\nRope | 9.50 | 8.00\n"
	terms := "Mon 6 Jan: Term starts\n17 - 21 Feb: Half term\nFri 4 Apr: Term ends\n26 - 30 May: Half term\n"
	courses := "| Course | Day | Time |\n|---|---|---|\n| Pottery | Thu | 18:00 |\n| Judo | Fri | 19:00 |\n| Yoga | Tue, Thu | 7:30 |\n| Chess | Mon | 20:00 |\n"
	tools := "| Tool | Shelf | Stock |\n|---|---|---|\n| Saw | A1 | 4 |\n| Hammer | A2 | 17 |\n| Pliers | B1 | 9 |\n"
	rooms := "| Room | Number of seats | Projector |\n|---|---|---|\n| Hall | 120 | yes |\n| Cellar | 20 | no |\n| Attic | 15 | yes |\n"
	weekend := "| Course | Day | Time |\n|---|---|---|\n| Pottery | Thu | 18:00 |\n| Judo | Sat | 19:00 |\n| Yoga | Sun | 7:30 |\n"
	sunday := "| Sunday | Trip 1 | Trip 2 |\n|---|---|---|\n| Station | 8:00 | 18:00 |\n| Mill | 8:05 | 18:05 |\n"
	stock := "| Artikel | Bestand | Mindestbestand |\n|---|---|---|\n| Nägel | 1200 | 500 |\n| Dübel | 90 | 200 |\n| Haken | 40 | 10 |\n"
	boxes := "| Thing | Box | Owner |\n|---|---|---|\n| Tent | B7 | Ada |\n| Rope | B7 | Bo |\n| Lamp | C2 | Ada |\n"
	trams := "| Harbour | Mon–Thu | Fri–Sun |\n|---|---|---|\n| First tram | 5:05 | 6:20 |\n| Last tram | 22:10 | 23:40 |\n"
	bill := "| Bezeichnung | Menge | Einzelpreis | Rabatt | Gesamt |\n|---|---|---|---|---|\n| Dachrinne | 12 | 31,50 € | 0 € | 378,00 € |\n| Rechnungsbetrag | Rechnungsbetrag | Rechnungsbetrag | Rechnungsbetrag | 1.057,91 € |\n"
	merged := "| Tag | Vormittag | Vormittag | Abend |\n|---|---|---|---|\n| Montag | Schwimmen | Schwimmen | Turnen |\n| Dienstag | Yoga | Judo | Judo |\n"
	for _, c := range []struct {
		name, question string
		passage        model.Passage
		want           string
	}{
		{"a merged name of a row", "Wie hoch ist der Rechnungsbetrag?", chunk("Rechnung", nil, bill), "Rechnungsbetrag: Gesamt 1.057,91 €."},
		{"a merged cell under a merged name", "Was ist am Montag?", chunk("Kurse", nil, merged), "Montag: Vormittag Schwimmen; Abend Turnen."},
		{"the same cell twice", "Was ist am Dienstag?", chunk("Kurse", nil, merged), "Dienstag: Vormittag Yoga; Vormittag Judo; Abend Judo."},
		{"a value of one word", "What is the nationality?", chunk("Registration", nil, "Surname: Lindqvist\nNationality: Swedish\n"), "Nationality: Swedish."},
		{"a role in parentheses", "Who is the treasurer?", chunk("Minutes", nil, "The treasurer is thanked for the accounts of the year. Present: Ines Ruiz (chair), Marc Vidal (treasurer), Pia Gomez.\n"), "Present: Ines Ruiz (chair), Marc Vidal (treasurer), Pia Gomez."},
		{"no role in a remark in parentheses", "Who is the treasurer?", chunk("Minutes", nil, "Ines Ruiz thanked the hall (mended by the treasurer, two sons and a friend of Lunden). The treasurer is Marc Vidal.\n"), "The treasurer is Marc Vidal."},
		{"a party of a contract", "Who is the provider?", chunk("Agreement", nil, "The provider sends a bill each month. It is entered into by Norvane Ltd (\"Provider\") and Baltik Freight Ltd (\"Customer\"). The provider keeps a log.\n"), "The provider sends a bill each month. It is entered into by Norvane Ltd (\"Provider\") and Baltik Freight Ltd (\"Customer\")."},
		{"a labelled line over a list", "Who is Jean Farrow?", chunk("Minutes", nil, "**Apologies:** Des Whitlock, Jean Farrow\n\n1. The tap is mended.\n2. The waiting list has 44 names.\n"), "Apologies: Des Whitlock, Jean Farrow."},
		{"all fields under the heading of the question", "Who is the next of kin?", chunk("Form", []string{"Next of kin"}, "Name: Olof Lindqvist\nRelationship: Brother\nTelephone: 07700 900100\n"),
			"Next of kin: Name: Olof Lindqvist; Relationship: Brother; Telephone: 07700 900100."},
		{"a label that says when", "When does the term end?", chunk("Dates", nil, terms), "Fri 4 Apr: Term ends."},
		{"an abbreviated month", "When is half term in February?", chunk("Dates", nil, terms), "17 - 21 Feb: Half term."},
		{"a table without names of columns", "How much is the rope?", chunk("Bill", nil, "| Lamp | £14.00 |\n| Rope | £9.50 |\n| Paint | £22.00 |\n"), "Rope: £9.50."},
		{"the first line without its indentation", "What does the rope cost?", chunk("Bill", nil, "Lamp      14,00 EUR\n  Rope       9,50 EUR\n  Paint     22,00 EUR\n"), "Rope: 9,50 EUR."},
		{"a total that stands out to the left", "How much is the rent?", chunk("Costs", nil, "Total           100\n  Rent           80\n  Gifts          20\n  Food           10\n"), "Rent: 80."},
		{"the trip with a time", "What time does the 11:40 boat get to Seal Bay?", chunk("Boats", nil, boat), "Seal Bay: 12:25."},
		{"the last trip", "When does the last boat leave the Lighthouse?", chunk("Boats", nil, boat), "Lighthouse: 16:41."},
		{"the last trip on a day", "When does the last tram leave the harbour on Tuesday?", chunk("Trams", nil, trams), "Last tram: Mon–Thu 22:10."},
		{"all rows of a day", "Which courses are on Thursday?", chunk("Courses", nil, courses), "Pottery: Day Thu; Time 18:00. Yoga: Day Tue, Thu; Time 7:30."},
		{"the row of a day and a time", "Which course is on Thursday at 18:00?", chunk("Courses", nil, courses), "Pottery: Day Thu; Time 18:00."},
		{"the first trip on a day", "When is the first tram on Sunday?", chunk("Trams", nil, trams), "First tram: Fri–Sun 6:20."},
		{"a quantity instead of a count", "How many hammers do we have?", chunk("Tools", nil, tools), "Hammer: Stock 17."},
		{"lines with amounts", "How much is the service charge?", chunk("Bill", nil, "Your bill\n\nMeals and drinks 84.50\nService charge 10 % 8.45\nSum 92.95\n"), "Service charge 10 %: 8.45."},
		{"an amount before the thing", "How many onions do I need for the soup?", chunk("Soup", []string{"Ingredients"}, "- 2 carrots\n- 3 large onions\n- 1 l stock\n"), "3 large onions."},
		{"rows are counted beside quantities", "How many tools are there?", chunk("Tools", nil, tools), "3: Saw; Hammer; Pliers."},
		{"rows that meet a condition, beside a column of amounts", "How many rooms have a projector?", chunk("Rooms", nil, rooms), "2: Hall; Attic."},
		{"two amounts", "How many carrots and onions do I need for the soup?", chunk("Soup", []string{"Ingredients"}, "- 2 carrots\n- 3 large onions\n- 1 l stock\n"), "2 carrots. 3 large onions."},
		{"a year is no amount", "How many members does the club have?", chunk("Club", nil, "In 2031 members elected a new board. The club has 214 members."), "The club has 214 members."},
		{"amounts in prose", "What does a ticket for children cost?", chunk("Tickets", nil, "A ticket for adults costs 12.50\nand a ticket for children costs 6.50\nfrom May on."),
			"A ticket for adults costs 12.50 and a ticket for children costs 6.50 from May on."},
		{"amounts with spaces", "What is the grand total?", chunk("Bill", nil, "Net total 1 234,50 €\nGrand total 1 481,40 €\n"), "Grand total: 1 481,40 €."},
		{"rows of a day and a time", "Which courses are on Thursday at 6 pm?", chunk("Courses", nil, courses), "Pottery: Day Thu; Time 18:00."},
		{"a year before the thing", "How many pupils does the school have?", chunk("School", nil, "In 1998 pupils planted the tree beside the school. Our school has 412 pupils."),
			"Our school has 412 pupils."},
		{"amounts in sentences", "What is the deposit?", chunk("Fees", nil, "The fee rose from 10.50 to 12.50\nThe deposit rose from 50.00 to 60.00"),
			"The documents do not seem to hold an answer to this question."},
		{"the column with the whole word", "Welche Artikel liegen unter dem Mindestbestand?", chunk("Lager", nil, stock), "Dübel: Bestand 90; Mindestbestand 200."},
		{"what is in a place", "What is kept in B7?", chunk("Boxes", nil, boxes), "Tent: Box B7; Owner Ada. Rope: Box B7; Owner Bo."},
		{"rows at the weekend", "Which courses are at the weekend?", chunk("Courses", nil, weekend), "Judo: Day Sat; Time 19:00. Yoga: Day Sun; Time 7:30."},
		{"a day as the first name of a column", "When does the last bus leave the mill on Sunday?", chunk("Bus", nil, sunday), "Mill: Trip 2 18:05."},
		{"only what the question says", "Are bicycles allowed?", chunk("Rules", nil, "- Bicycles are not allowed.\n- Prams stay in the hall.\n- Noise is only allowed until 10 pm.\n"), "Bicycles are not allowed."},
		{"the column of a number", "What is the price of the lamp for 20 pieces?", chunk("Prices", nil, prices), "Lamp: Price for 20 pieces (€) 11.00."},
		{"a number that bounds a range", "What is the price of the lamp for less than 20 pieces?", chunk("Prices", nil, prices), "Lamp: Price for 5 pieces (€) 14.00; Price for 20 pieces (€) 11.00."},
		{"the row of a name, and not those that mention it", "What is the extension of Ivo Marsh?", chunk("Phones", nil, phones), "Ivo Marsh: Extension 42."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.passage
			p.N, p.Score = 1, 0.8
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOtherDays asks about the days that a question excludes, and those on which something is closed. The rows of the day are neither listed nor counted.
func TestOtherDays(t *testing.T) {
	m := local.New(local.Options{})
	courses := "| Course | Day |\n|---|---|\n| Pottery | Thu |\n| Judo | Fri |\n| Yoga | Thu |\n"
	museums := "| Museum | Closed on | City |\n|---|---|---|\n| Art | Mon | Ulm |\n| Toys | Mon, Tue | Ulm |\n| Boats | Wed | Kiel |\n"
	for _, c := range []struct{ question, table, not string }{
		{"Which courses are not on Thursday?", courses, "Pottery: Day Thu. Yoga: Day Thu."},
		{"How many museums are open on Monday?", museums, "1:"},
	} {
		p := chunk("Table", nil, c.table)
		p.N, p.Score = 1, 0.8
		if got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}}); strings.Contains(got, c.not) {
			t.Errorf("%s %q", c.question, got)
		}
	}
}

// TestSeveralCellsOfRow: questions that are answered by cells of the same row get one sentence, also if only the first one names the row.
func TestSeveralCellsOfRow(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	const prices = "| Product | Price EUR | Stock | Warranty months |\n| --- | --- | --- | --- |\n| Aria 100 | 129.90 | 42 | 24 |\n| Bolt 200 | 249.00 | 7 | 36 |\n| Tacker 30 | 89.00 | 12 | 12 |\n"
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"What does the Bolt 200 cost?", "how many are in stock?"}, "Bolt 200: Price EUR 249.00; Stock 7."},
		{[]string{"What does the Bolt 200 cost?", "how long is its warranty (the Bolt 200 cost)?"}, "Bolt 200: Price EUR 249.00; Warranty months 36."},
	} {
		got, _ := answer(t, m, model.Task{Question: strings.Join(c.parts, " "), SubQuestions: c.parts, Passages: []model.Passage{{N: 1, Score: 0.8, Chunk: corpus.Chunk{ID: "c", Document: "d", Text: prices}}}})
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.parts, got, c.want)
		}
	}
}
