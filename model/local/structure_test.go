package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

const tariffs = "Code | Name | Ages | Price per month (€) | Places\nT1 | Adult | 25 to 59 | 48.00 | 14\nT2 | Young adult | 18 to 24 | 31.00 | 9\n" +
	"T3 | Senior | 60 and over | 36.00 | 0\n"

func TestStructure(t *testing.T) {
	m := local.New(local.Options{})
	release := chunk("Release notes", []string{"Release notes", "7.4 – 2 May 2031", "Removed"}, "- Import of floppy disks\n- The old calendar\n")
	for _, c := range []struct {
		name, question string
		passage        model.Passage
		want           string
	}{
		{"the row whose cell is exactly what is asked about", "What does an adult pay per month?", chunk("tariffs.csv", nil, tariffs),
			"T1: Name Adult; Price per month (€) 48.00."},
		{"the column that holds the requested quantity", "What does the tariff for a senior cost?", chunk("tariffs.csv", nil, tariffs),
			"T3: Name Senior; Price per month (€) 36.00."},
		{"the row with the range that holds a number", "What is the price per month at the age of 21 years?", chunk("tariffs.csv", nil, tariffs),
			"T2: Name Young adult; Ages 18 to 24; Price per month (€) 31.00."},
		{"the heading over the heading", "In which version was the import of floppy disks removed?", release,
			"7.4 – 2 May 2031: Import of floppy disks."},
		{"the sentence after", "What did the new roof of the barn cost?", chunk("Minutes", nil, "The new roof of the barn is finished. It cost 12,400 €; the town paid 5,000 € of it. Thanks to all helpers!"),
			"The new roof of the barn is finished. It cost 12,400 €; the town paid 5,000 € of it."},
		{"the reason in the sentence after", "Why is the lift out of order?", chunk("Notice", nil, "The lift is out of order. A rope has been damaged by rust. The stairs are open."),
			"The lift is out of order. A rope has been damaged by rust."},
		{"the code after the sentence", "Wie sichere ich die Datenbank von Hand?", chunk("Handbuch", nil, "Die Datenbank wird nachts gesichert.\n\nDie Datenbank von Hand sichern:\n\n```\nlagerctl dump --all\n```\n"),
			"Die Datenbank wird nachts gesichert. Die Datenbank von Hand sichern:\n\n```\nlagerctl dump --all\n```\n"},
		{"the command, in French", "Avec quelle commande relance-t-on le serveur ?", chunk("Procédure", []string{"Procédure", "Étape 3 : redémarrer"}, "Patienter deux minutes avant de prévenir le chef du serveur.\n\n```\nsudo systemctl restart postfix\n```\n"),
			"```\nsudo systemctl restart postfix\n```\n"},
		{"lines with a dash", "What is in room 3 of the museum?", chunk("The museum", nil, "Room 1 – Bottles and flasks\nRoom 2 – Glass of the 18th century\nRoom 3 – Lamps and mirrors\nRoom 4 – Windows\n"),
			"Room 3 – Lamps and mirrors."},
		{"the number of a section is no amount", "How long does the cleaning of the blade take?", chunk("Manual", nil, "5.1 Clean the blade with oil after each day. The cleaning takes about twenty minutes."),
			"The cleaning takes about twenty minutes."},
		{"the day of the heading", "When is the flea market?", chunk("Programme", []string{"Programme", "Saturday, 26 July"}, "Saturday, 26 July\n\n- 09:00 Service in the tent\n- 10:00 Flea market in School Lane\n- 14:00 Music\n"),
			"Saturday, 26 July: 10:00 Flea market in School Lane."},
		{"the rest of a clause", "What does rule 7.2 say about phone calls?", chunk("Rules", nil, "7.1 Shouting leads to a warning.\n\n7.2 Phone calls are recorded. The recordings are kept for three years.\n\n7.3 Visitors sign the book.\n"),
			"7.2 Phone calls are recorded. The recordings are kept for three years."},
		{"the next line is another clause", "What does error E40 mean?", chunk("Manual", nil, "E30 - the door is open.\nE40 - too much foam: rinse without detergent.\nE90 - a fault of the control: call a technician.\n"),
			"E40 - too much foam: rinse without detergent."},
		{"the column with the number, and not others with the same word", "What do 3 hours cost at Westquay?", chunk("Parking", nil, "Car park | 1 hour (€) | 3 hours (€) | Longest stay\nOld Market | 1.80 | 4.50 | 3 hours\nWestquay | 2.20 | 5.00 | 24 hours\n"),
			"Westquay: 3 hours (€) 5.00; Longest stay 24 hours."},
		{"a list whose lead is asked about", "Which papers must I show at registration?", chunk("Enrolment", nil, "At registration you must show these papers:\n\n- the form, signed\n- a photograph\n- the receipt of the bank\n"),
			"At registration you must show these papers: the form, signed; a photograph; the receipt of the bank."},
		{"the sentence after a short one", "What should one do at a flood warning?", chunk("Leaflet", nil, "Flood alert – be prepared. Pack a bag.\n\nFlood warning – act now. Turn off the gas and carry valuables upstairs.\n"),
			"Flood warning – act now. Turn off the gas and carry valuables upstairs."},
		{"items of several sentences", "What is new in the boathouse?", chunk("News", nil, "New in the boathouse:\n\n- A rack for oars. It holds twelve\n- A second key; ask Ada\n"),
			"New in the boathouse: A rack for oars. It holds twelve. A second key; ask Ada."},
		{"items of one or two words under a heading", "What are the rare reactions to Velopan?", chunk("Velopan", []string{"Velopan", "Reactions", "Rare reactions"}, "Rare reactions\n\n- skin rash\n- cough\n- racing heart\n"),
			"Rare reactions: skin rash; cough; racing heart."},
		{"a label with a short value", "What is the pH of the cleaner?", chunk("Cleaner", []string{"Cleaner"}, "Form: liquid\npH: 8.5\nColour: green\n"),
			"Cleaner: pH: 8.5."},
		{"a heading over two fields, which is said once", "How should I treat eyes or skin after contact with Velopan?", chunk("Velopan", []string{"First aid after contact"}, "Eyes: rinse for 15 minutes with Velopan wash.\nSkin: wash with soap and Velopan wash.\nStorage: at 8 °C.\n"),
			"First aid after contact: Eyes: rinse for 15 minutes with Velopan wash. Skin: wash with soap and Velopan wash."},
		{"lists of an account, with their headings", "Tell me about Lampkeeper 4.2", chunk("Lampkeeper 4.2", nil, "## New\n\n- The lamp can be dimmed\n- A timer for holidays\n\n## Mended\n\n- A crash at midnight\n- The clock is no longer late\n"),
			"New: The lamp can be dimmed; A timer for holidays. Mended: A crash at midnight; The clock is no longer late."},
		{"things in a line of their own", "Which languages does Ada Vale speak?", chunk("Ada Vale", []string{"Ada Vale", "Languages"}, "Languages\n\nItalian, Slovene, Danish; some Georgian\n\n"),
			"Italian, Slovene, Danish; some Georgian."},
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

func TestContents(t *testing.T) {
	m := local.New(local.Options{})
	numbered := "1 First steps ........................ 3\n1.1 Cleaning the water filter . . . . . . . . . . . 4\n1.2 Descaling the boiler . . . . . . . . . . . . . 7\n"
	unnumbered := "Foreword ........ ii\nSafety ........ 1\nCleaning the water filter ........ 4\nDescaling the boiler ........ 7\nWarranty ........ 9\n"
	joined := "1 First steps . . . . . . 3 1.1 Cleaning the water filter . . . . . . 4 1.2 Descaling the boiler . . . . . . 7\n"
	body := "The water filter is cleaned under the tap and put back wet.\n"
	for _, contents := range []string{numbered, unnumbered, joined} {
		for _, question := range []string{"How do I start cleaning the water filter?", "What is said of cleaning the water filter?"} {
			passages := []model.Passage{chunk("Manual", nil, contents), chunk("Manual", nil, body)}
			for i := range passages {
				passages[i].N, passages[i].Score = i+1, 0.8
			}
			if got, _ := answer(t, m, model.Task{Question: question, Passages: passages}); got != "The water filter is cleaned under the tap and put back wet." {
				t.Errorf("%q with the contents %q: %q", question, contents, got)
			}
		}
	}
	menu := chunk("Menu", nil, "Tomato soup ........ 6.50\nOmelette ........ 9.00 €\nGreen salad ........ 5\n")
	menu.N, menu.Score = 1, 0.8
	if got, _ := answer(t, m, model.Task{Question: "What does a green salad cost?", Passages: []model.Passage{menu}}); got != "Green salad: 5." {
		t.Errorf("price list: %q", got)
	}
}

func TestAligned(t *testing.T) {
	m := local.New(local.Options{})
	hire := "CHARGES per hour        Mon-Thu      Fri-Sun\nMarket Hall             41 pounds    66 pounds\nLoft                                 19 pounds\nCellar                  23 pounds    37 pounds\n"
	sheet := "2. MEASURES\n   Width:        61 cm\n   Weight:       38 kg\n   Noise         44 dB\n3. FIRST AID\n   Eyes:         rinse with water for 15 minutes\n   Skin:         wash with soap\n"
	for _, c := range []struct{ name, question, text, want string }{
		{"a table with the names of its columns", "What is the charge per hour for the cellar?", hire, "Cellar: Mon-Thu 23 pounds; Fri-Sun 37 pounds."},
		{"an empty cell", "What is the charge per hour for the loft?", hire, "Loft: Fri-Sun 19 pounds."},
		{"a table without the names of its columns", "What does the offer of Fennwick cost?", "Fennwick      £58,000   5 years\nOddmore       £52,000   3 years\n",
			"Fennwick: £58,000; 5 years."},
		{"figures in the names of the columns", "Quanto costano le fragole di 2a scelta?", "  Prodotto      1a scelta    2a scelta\n  Asparagi        3,40 €       2,10 €\n  Fragole         2,90 €       1,60 €\n",
			"Fragole: 2a scelta 1,60 €."},
		{"the mark of a footnote and a long label", "How long is the guarantee on the tank?", "Boiler                 3 years\n      Pump                   7 years  ¹)\n      Tank                   5 years\n      Controller             2 years\n      Filters, seals and lamps   none\n",
			"Tank: 5 years."},
		{"labels", "What is the weight?", sheet, "Weight: 38 kg."},
		{"an empty first cell", "In which room is the weaving course?", "Day        Course        Room\nMonday     Pottery       12\n           Weaving       14\nTuesday    Spanish       12\n           Chess         15\n", "Weaving: Room 14."},
		{"cells of several lines", "How fast do you come if the heating is broken?", "Priority        Examples                      Target\nP1 Emergency    gas smell, flood, no power    4 hours\n                at all\nP2 Urgent       no hot water, broken          24 working\n                heating                       hours\nP3 Soon         leaking tap                   5 days\n",
			"P2 Urgent: Examples no hot water, broken heating; Target 24 working hours."},
		{"two spaces after a sentence", "When does the harbour office open?", "The harbour office opens at nine.  The pilots come at ten.\nThe harbour office has a flag.  The pilots have none.\n",
			"The harbour office opens at nine."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := chunk("Sheet", nil, c.text)
			p.N, p.Score = 1, 0.8
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
