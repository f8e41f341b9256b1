package parse_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// outlineOf returns the headings of a file with their levels, each on a line.
func outlineOf(t *testing.T, name, text string) string {
	t.Helper()
	p, err := parse.Parse(t.Context(), name, []byte(text), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, block := range p.Blocks {
		if block.Kind == parse.Heading {
			fmt.Fprintf(&b, "%d %s\n", block.Level, block.Text)
		}
	}
	return b.String()
}

// TestOutline has lines with numbers that are headings, and such that are not.
func TestOutline(t *testing.T) {
	t.Parallel()
	const text = "The club was founded in 1921 by the pilots of the harbour.\n\n"
	for name, c := range map[string]struct{ in, want string }{
		"text under each number":       {"1. Purpose\n   To row. The keeper of the house has the whole list of it.\n\n2. Members\n   All are welcome. The keeper of the house has the whole list of it.\n", "2 1. Purpose\n2 2. Members\n"},
		"numbers without a mark":       {"1 The lift\n  It has six stops. The keeper of the house has the whole list of it.\n2 Term\n  Three years. The keeper of the house has the whole list of it.\n", "2 1 The lift\n2 2 Term\n"},
		"a word before the number":     {"TOP 1  Kasse\nStand 40 Euro.\n\nTOP 2  Verschiedenes\nKeines.\n", "2 TOP 1 Kasse\n2 TOP 2 Verschiedenes\n"},
		"Roman numbers":                {"I. OBJET\nLe local.\n\nII. DURÉE\nTrois ans.\n\nIII. LOYER\nCent euros.\n\nIV. CAUTION\nUn mois.\n\nV. CONGÉ\nSix mois.\n", "2 I. OBJET\n2 II. DURÉE\n2 III. LOYER\n2 IV. CAUTION\n2 V. CONGÉ\n"},
		"paragraph signs in parts":     {"PART A\n\n§ 1 Scope\nAll boats.\n\n§ 2 Fees\nNone.\n\nPART B\n\n§ 3 Law\nOurs.\n", "2 PART A\n3 § 1 Scope\n3 § 2 Fees\n2 PART B\n3 § 3 Law\n"},
		"sections of sections":         {"1 Place\n\n1.1 Room\nDry. The keeper of the house has the whole list of it.\n\n1.2 Floor\nEven. The keeper of the house has the whole list of it.\n\n2 Use\n\n2.1 Start\nPress. The keeper of the house has the whole list of it.\n\n2.2 Stop\nPress. The keeper of the house has the whole list of it.\n", "2 1 Place\n3 1.1 Room\n3 1.2 Floor\n2 2 Use\n3 2.1 Start\n3 2.2 Stop\n"},
		"questions":                    {"1. Who may join?\nAll. The keeper of the house has the whole list of it.\n\n2. What does it cost?\nNothing. The keeper of the house has the whole list of it.\n", "2 1. Who may join?\n2 2. What does it cost?\n"},
		"a list under each":            {"1. Scope\n - boats and all their sails\n - ropes of the harbour\n\n2. Approval\n a) of the board of the club\n b) of the chair\n", "2 1. Scope\n2 2. Approval\n"},
		"a table under each":           {"1. Dues\n   adults        40\n   juniors       20\n\n2. Hours\n   summer       9-18\n   winter       9-16\n", "2 1. Dues\n2 2. Hours\n"},
		"a list within a section":      {"1. Start\n   1. Pull the plug out of the socket of the wall.\n   2. Wait.\n\n2. Stop\n   Press. The keeper of the house has the whole list of it.\n", "2 1. Start\n2 2. Stop\n"},
		"the contents are not":         {"  1. Start\n  2. Stop\n\n1. Start\nPress. The keeper of the house has the whole list of it.\n\n2. Stop\nPress. The keeper of the house has the whole list of it.\n", "2 1. Start\n2 2. Stop\n"},
		"numbers up to two digits":     {"8. Oil\nYes. The keeper of the house has the whole list of it.\n\n9. Gas\nNo. The keeper of the house has the whole list of it.\n\n10. Air\nYes. The keeper of the house has the whole list of it.\n", "2 8. Oil\n2 9. Gas\n2 10. Air\n"},
		"steps with a remark":          {text + "1. Mix the flour\n   Sieve it.\n2. Fry in butter for two minutes\n   Turn once.\n", ""},
		"steps with long remarks":      {text + "1. Pull the plug.\n   Press. The keeper of the house has the whole list of it.\n2. Wait a minute.\n   Press. The keeper of the house has the whole list of it.\n", ""},
		"rules":                        {text + "1. Boats must be cleaned after use\n   The brushes are in the shed behind the house of the keeper.\n2. Children wear a vest\n   They are in the locker beside the door of the boat house.\n", ""},
		"underlined":                   {"1. Start\n--------\nPress. The keeper of the house has the whole list of it.\n\n2. Stop\n-------\nPress. The keeper of the house has the whole list of it.\n", "1 1. Start\n1 2. Stop\n"},
		"steps":                        {text + "1. Pull the plug.\n2. Wait for a minute.\n3. Push it in.\n", ""},
		"items":                        {text + "1. Flour\n2. Butter\n3. Eggs\n", ""},
		"items with blank lines":       {text + "1. Flour\n\n2. Butter\n\n3. Eggs\n", ""},
		"clauses":                      {"4.1 You may choose a morning or an afternoon for the visit of our\n    people.\n4.2 Roof\n    Gutters.\n4.3 Our people carry a card with a picture.\n", ""},
		"a title that goes on":         {"5.1 Baths and toilets, unless they were\n    damaged by the tenant.\n5.2 Alarms, which we test once in each\n    year.\n", ""},
		"amounts":                      {"2 cups of flour\nsifted\n3 eggs\nbeaten\n", ""},
		"initials":                     {"A. Smith\nchair\nB. Jones\ntreasurer, since the spring of last year and until the next meeting of all\n", ""},
		"dates":                        {"12.3. Opening\nAll day.\n13.3. Closing\nAll day.\n", ""},
		"one number":                   {text + "3. Approved\n   " + text, ""},
		"capitals with a note":         {"PASSES (valid for a year)\n  Adults    30 €\n", "2 PASSES (valid for a year)\n"},
		"titles without numbers":       {"Opening hours\n\nDaily from nine to five, except on the first Monday.\n\nParking\n\n- in front of the hall\n\nLost things\n\nAsk the keeper of the house, who has the whole list.\n", "2 Opening hours\n2 Parking\n2 Lost things\n"},
		"titles over paragraphs":       {"Opening hours\nDaily from nine to five, except on the first Monday.\n\nParking\nIn front of the hall, and behind it in the summer.\n\nLost things\nAsk the keeper of the house, who has the whole list.\n", "2 Opening hours\n2 Parking\n2 Lost things\n"},
		"ordinals of a contract":       {"PRIMERA. Objeto\nEl arrendador cede el local al arrendatario para una tienda.\n\nSEGUNDA. Duración\nEl contrato dura tres años desde la firma de las partes.\n\nTERCERA. Renta\nLa renta es de cien euros al mes, pagados por adelantado.\n", "2 PRIMERA. Objeto\n2 SEGUNDA. Duración\n2 TERCERA. Renta\n"},
		"titles in Chinese":            {"一、开放时间\n\n每天九点到十七点开放，每月第一个星期一除外。\n\n二、停车\n\n大厅前面可以停车，夏天也可以停在后面。\n\n三、失物\n\n请向管理员询问，他有完整的清单。\n", "2 一、开放时间\n2 二、停车\n2 三、失物\n"},
		"speakers":                     {"Ada Vale\n\n" + text + "Bo Lind\n\n" + text + "Ada Vale\n\n" + text + "Bo Lind\n\n" + text + "Cy Moss\n\n" + text, ""},
		"a title over titles":          {"Apple cake\n\nIngredients\n\n" + text + "Method\n\n" + text + "Baking\n\n" + text, "1 Apple cake\n2 Ingredients\n2 Method\n2 Baking\n"},
		"names without text":           {"Ada Vale\n\nBo Lind\n\nCy Moss\n\nDi Nash\n\n" + text + "Ed Orr\n\n" + text + "Flo Pym\n\n" + text, ""},
		"after numbered sections":      {"1. Purpose\nTo row. The keeper of the house has the whole list of it.\n\n2. Members\n" + text + "Appendix\n\n" + text + "Glossary\n\n" + text + "Imprint\n\n" + text, "2 1. Purpose\n2 2. Members\n2 Appendix\n2 Glossary\n2 Imprint\n"},
		"two titles are too few":       {"Opening hours\n\nDaily from nine to five, except on the first Monday.\n\nParking\n\nIn front of the hall, and behind it in the summer.\n", ""},
		"addresses and signatures":     {"Ada Vale\n\nLime Street\n\nOsterby\n\nDear Bo,\n\n" + text + "Kind regards\n\nAda\n\n" + text, ""},
		"lines that state something":   {"The pump is broken\n\n" + text + "Nobody was there\n\n" + text + "We have no key\n\n" + text, ""},
		"lines with a date":            {"Lunden, 3 June 2024\n\n" + text + "Lunden, 4 June 2024\n\n" + text + "Lunden, 5 June 2024\n\n" + text, ""},
		"page numbers between":         {"1. Purpose\nTo row. The keeper of the house has the whole list of it.\n\nBoat Club Rules      Page 1\n\n2. Members\nAll.\n\nBoat Club Rules      Page 2\n", "2 1. Purpose\n2 2. Members\n"},
		"the rule of a table is none":  {"1. Prices\n\nName      Day       Week\n------------------------\nBoat      10 €      50 €\nOar        1 €       5 €\n\n2. Hours\nAll day.\n", "2 1. Prices\n2 2. Hours\n"},
		"Chinese and Japanese clauses": {"1. 总则\n本规定适用于全体业主。\n\n2. 停车\n每户一个车位。\n", "2 1. 总则\n2 2. 停车\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, outlineOf(t, "a.txt", c.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOutlineOfManyNumbers has more numbers than an outline has, and each begins a series.
func TestOutlineOfManyNumbers(t *testing.T) {
	t.Parallel()
	if got := outlineOf(t, "a.txt", strings.Repeat("1. Foo\nbar\n2. Baz\nbar\n", 12_000)); got != "" {
		t.Errorf("got %d bytes of headings of data", len(got))
	}
}

// TestStrongHeadings has paragraphs in bold, and numbered ones of formats that mark headings.
func TestStrongHeadings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, in, want string }{
		"Markdown":                    {"a.md", "# Club\n\n**Opening hours**\n\nAll day.\n\n**Dues:**\n\n- 40 €\n", "1 Club\n6 Opening hours\n6 Dues:\n"},
		"a statement":                 {"a.md", "# Club\n\n**Dues: 40 €**\n\nThank you.\n", "1 Club\n"},
		"a sentence":                  {"a.md", "# Club\n\n**We are closed.**\n\nThank you.\n", "1 Club\n"},
		"a statement without figures": {"a.md", "# Club\n\n**Dogs are not allowed**\n\nThe garden is open.\n\n**Payment in cash**\n\n# Hours\n\nAll day.\n", "1 Club\n1 Hours\n"},
		"nothing follows in HTML":     {"a.html", "<h1>Club</h1><p>Thanks.</p><p><b>Payment in cash</b></p>", "1 Club\n"},
		"part of a paragraph":         {"a.md", "# Club\n\n**Hours** all day\n\nThank you.\n", "1 Club\n"},
		"nothing follows":             {"a.md", "# Club\n\nThank you.\n\n**The board**\n", "1 Club\n"},
		"a number":                    {"a.md", "**1. Scope**\n\nAll boats.\n\n**2. Fees**\n\nNone.\n", "6 1. Scope\n6 2. Fees\n"},
		"HTML":                        {"a.html", "<h1>Club</h1><p><b>Hours</b></p><p>All day.</p><p><strong>Dues: 40 €</strong></p><p>a <b>b</b></p>", "1 Club\n6 Hours\n"},
		"numbered paragraphs":         {"a.html", "<h1>Rules</h1><p>1. Scope</p><p>All boats of the club, and all that belongs to them.</p><p>2. Fees</p><p>None at all.</p>", "1 Rules\n2 1. Scope\n2 2. Fees\n"},
		"those of marked headings":    {"a.html", "<h1>Rules</h1><h2>Fees</h2><p>1. Scope</p><p>All boats of the club, and all that belongs to them.</p><p>2. Fees</p><p>None at all.</p>", "1 Rules\n2 Fees\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, outlineOf(t, c.file, c.in)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestPlainText checks the text that is left of plain texts.
func TestPlainText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"page numbers":                  {"Rules      Page 1 of 2\n\nOars are ours.\n\nRules      Page 2 of 2\n\nBoats are not.\n", "Rules|Oars are ours.|Boats are not."},
		"running heads":                 {"Boats of 1921    Seite 4\n\nOars.\n\nBoats of 1921    Seite 5\n\nRopes.\n", "Boats of 1921|Oars.|Ropes."},
		"pages of an index":             {"Apple pie   page 12\nBean soup   page 17\nCarp        page 18\n", "Apple pie   page 12\nBean soup   page 17\nCarp        page 18"},
		"names with numbers":            {"Landing page 1\nfor dogs.\n\nLanding page 2\nfor cats.\n\nNocturnes Op. 9\n\nNocturnes Op. 10\n", "Landing page 1 for dogs.|Landing page 2 for cats.|Nocturnes Op. 9|Nocturnes Op. 10"},
		"scores between dashes":         {"- 3 -\n\nAda\n\n- 12 -\n\nBo\n", "- 3 -|Ada|- 12 -|Bo"},
		"decimals are no times":         {"The fee for all who come to the harbour on a day of the summer is for grown people\nabout 12.50 euros, and for all who come with the boat of the pilots is the fee then\nabout 7.25 euros.\n", "The fee for all who come to the harbour on a day of the summer is for grown people about 12.50 euros, and for all who come with the boat of the pilots is the fee then about 7.25 euros."},
		"numbers between dashes":        {"Oars.\n\n- 2 -\n\nRopes.\n\n- 3 -\n\nSails.\n", "Oars.|Ropes.|Sails."},
		"other ends with numbers stay":  {"The oars are shown on page 12\nand the ropes on page 3\n", "The oars are shown on page 12 and the ropes on page 3"},
		"a number of rows is no page":   {"- 2 -\nOars.\n", "- 2 -\nOars."},
		"times":                         {"Saturday\n  ore 7.05 meeting at the station below the large board of the departures\n  ore 7.25 train\n", "Saturday\n  ore 7.05 meeting at the station below the large board of the departures\n  ore 7.25 train"},
		"rules of tables":               {"Name      Day       Week\n------------------------\nBoat      10 €      50 €\n------------------------\nOar        1 €       5 €\n", "Name      Day       Week\nBoat      10 €      50 €\nOar        1 €       5 €"},
		"the group under the names":     {"Code   Item     Price\n---------------------\nMEAT\nM1     Ham       4.90\nFISH\nF1     Cod       5.90\n", "Code   Item     Price\nMEAT\nM1     Ham       4.90\nFISH\nF1     Cod       5.90"},
		"text below a table":            {"Day         Hours\nMonday      9 to 12 and 14 to 18, also in the summer\nThe office is closed in the first week of September.\n", "Day         Hours\nMonday      9 to 12 and 14 to 18, also in the summer\nThe office is closed in the first week of September."},
		"a cell that goes on":           {"Deposit         200 euros, to be paid to the account of the\nclub not later than June\nPets            not in the house, but welcome on the\nterrace\n", "Deposit         200 euros, to be paid to the account of the club not later than June\nPets            not in the house, but welcome on the terrace"},
		"rows that begin like items":    {"Flat           Day         Hours\nGround         Monday      7 to 20\n1. left        Tuesday     7 to 20\n2. right       Friday      7 to 20\nK. Nowak       Sunday      never\n", "Flat           Day         Hours\nGround         Monday      7 to 20\n1. left        Tuesday     7 to 20\n2. right       Friday      7 to 20\nK. Nowak       Sunday      never"},
		"items with gaps":               {"1. Apples      2 kg\n2. Flour       1 kg\n", "1. Apples      2 kg|2. Flour       1 kg"},
		"messages of a chat":            {"12.10.24, 18:03 - Ada: When do you come to see us all in the new house by the sea?\n12.10.24, 18:20 - Bo: on the 5th\n[12.10.24, 18:22:10] Cy: fine\n", "12.10.24, 18:03 - Ada: When do you come to see us all in the new house by the sea?\n12.10.24, 18:20 - Bo: on the 5th\n[12.10.24, 18:22:10] Cy: fine"},
		"wrapped cells":                 {"  P1      gas smell, flood,      4 hours\n          no power\n  P2      no heating             24 hours\n", "P1      gas smell, flood,      4 hours\n        no power\nP2      no heating             24 hours"},
		"the wrapped value of a label":  {"Place:    the hall\nPresent:  Ada Vale, Bo Lind, Cy Moss of the board of the club,\n          Di Nash\n", "Place:    the hall\nPresent:  Ada Vale, Bo Lind, Cy Moss of the board of the club, Di Nash"},
		"indentation that all have":     {"1. Boats\n    Name      Price      Persons\n    Kit        10 €            4\n\n2. Oars\n    None.\n", "1. Boats|Name      Price      Persons\nKit        10 €            4|2. Oars|None."},
		"a heading is not in its table": {"PRICES     Day       Week\nBoat      10 €      50 €\nOar        1 €       5 €\n", "PRICES     Day       Week\nBoat      10 €      50 €\nOar        1 €       5 €"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Parse(t.Context(), "a.txt", []byte(c.in), parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, b := range p.Blocks {
				texts = append(texts, b.Text)
			}
			if d := cmp.Diff(c.want, strings.Join(texts, "|")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTitleOfText: the title is a heading among the first blocks, or else the name of the file.
func TestTitleOfText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"BOAT CLUB\n\n1. Purpose\nTo row.\n\n2. Members\nAll.\n":                                "BOAT CLUB",
		"Rules of the club.\n\nBOAT CLUB\n\nOars are ours.\n":                                   "BOAT CLUB",
		"1. Purpose\nTo row.\n\n2. Members\nAll.\n":                                             "a.txt",
		"Name   Price\n" + strings.Repeat("Boat   10\n", 60) + "\nEXTRAS\n\nOars.\n":            "a.txt",
		"One.\n\nTwo.\n\nThree.\n\nEXTRAS\n\nOars.\n":                                           "a.txt",
		"From: Ada\nTo: Bo\nDate: 3 May\nSubject: Oil\n\nForty.\n":                              "Oil",
		"The last mail.\n\nFrom: Ada\nTo: Bo\nDate: 3 May\nSubject: Oil\n\nForty.\n\nThanks.\n": "a.txt",
	} {
		p, err := parse.Parse(t.Context(), "a.txt", []byte(in), parse.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Title != want {
			t.Errorf("%q: title %q, want %q", in, p.Title, want)
		}
	}
}
