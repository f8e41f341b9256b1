package verify_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
)

// What the claims of [TestPairs] are held against.
const (
	bridge  = "The Harlow Bridge was opened in 1932 by Mayor Edith Crane. It is 412 metres long and carries four lanes. Ferries no longer cross the river. The bridge may be widened in the next decade."
	results = "Revenue of Acme rose by 12.5 percent to 1,234,000 dollars in 2021, after falling in 2020. Costs did not change. Profits were higher in Asia than in Europe. Most employees work in Berlin. The board approved the merger on 3 May 2021."
	trial   = "Of 400 patients, 100 received the vaccine. The vaccine reduced the risk of infection but did not prevent death. Side effects were rare. Patients older than 65 benefited more than younger ones. A quarter of the patients reported headaches."
	handy   = "To restart the server, stop the service first and then run the start script. Backups are made every night at 02:00 and kept for 30 days. Logs are not encrypted. The free plan allows up to 5 users. Only administrators can delete projects."
	history = "Marie Curie was born in Warsaw on 7 November 1867. She won the Nobel Prize in Physics in 1903 together with Pierre Curie and Henri Becquerel, and the prize in Chemistry in 1911. She was the first woman to win a Nobel Prize. She died in 1934."
	castle  = "Norwich Castle was built by the Normans. William the Conqueror ordered it in 1067. France defeated Spain in the final. The keep survived the fire of 1839. The museum is closed on Mondays and is free for children."
	climate = "Average temperatures have increased by about 1.2 degrees since 1880. The ice sheet is losing mass. Scientists disagree about the cause of the pause. Sea levels rose by nearly 20 centimetres. Emissions in 2019 were lower than in 2018."
)

// pairs are claims with what is to be found about them: S that they are supported, N that they are not, C that they are contradicted.
var pairs = []struct{ want, claim, source string }{
	// As it stands, in other words, or in part.
	{"S", "The Harlow Bridge was opened in 1932 by Mayor Edith Crane.", bridge},
	{"S", "Mayor Edith Crane opened the Harlow Bridge in 1932.", bridge},
	{"S", "The bridge opened in 1932.", bridge},
	{"S", "The bridge is 412 metres long.", bridge},
	{"S", "It has four lanes.", bridge},
	{"S", "Ferries no longer cross the river.", bridge},
	{"S", "The bridge may be widened.", bridge},
	{"S", "In 2021, Acme's revenue increased by 12.5%.", results},
	{"S", "Revenue rose to about 1.2 million dollars.", results},
	{"S", "Revenue grew 13 percent in 2021.", results},
	{"S", "The merger was approved by the board on May 3, 2021.", results},
	{"S", "Costs didn't change.", results},
	{"S", "Profits in Europe were lower than in Asia.", results},
	{"S", "Most of the employees work in Berlin.", results},
	{"S", "The vaccine lowered the risk of infection.", trial},
	{"S", "The vaccine did not prevent death.", trial},
	{"S", "100 of 400 patients received the vaccine.", trial},
	{"S", "25% of the patients reported headaches.", trial},
	{"S", "A quarter of patients had headaches.", trial},
	{"S", "Older patients benefited more.", trial},
	{"S", "Backups are kept for 30 days.", handy},
	{"S", "Backups run every night.", handy},
	{"S", "Logs aren't encrypted.", handy},
	{"S", "Up to five users are allowed on the free plan.", handy},
	{"S", "Only administrators can delete projects.", handy},
	{"S", "Stop the service before you run the start script.", handy},
	{"S", "Marie Curie was born in 1867 in Warsaw.", history},
	{"S", "Curie won the Nobel Prize in Chemistry in 1911.", history},
	{"S", "She was the first woman to win the Nobel Prize.", history},
	{"S", "Marie Curie shared the 1903 Nobel Prize in Physics with Pierre Curie and Henri Becquerel.", history},
	{"S", "She was born on November 7, 1867.", history},
	{"S", "The Normans built Norwich Castle.", castle},
	{"S", "The keep survived the fire.", castle},
	{"S", "The museum is closed on Mondays.", castle},
	{"S", "Temperatures have risen by 1.2 degrees since 1880.", climate},
	{"S", "Sea levels rose by almost 20 centimetres.", climate},
	{"S", "The ice sheet loses mass.", climate},
	{"S", "Emissions were lower in 2019 than in 2018.", climate},

	// Numbers and dates.
	{"C", "The Harlow Bridge was opened in 1935 by Mayor Edith Crane.", bridge},
	{"C", "The bridge is 512 metres long.", bridge},
	{"C", "It carries six lanes.", bridge},
	{"C", "Revenue of Acme rose by 15 percent in 2021.", results},
	{"C", "Revenue rose to 2.1 million dollars.", results},
	{"C", "The board approved the merger on 3 June 2021.", results},
	{"C", "The board approved the merger on 13 May 2021.", results},
	{"C", "Half of the patients reported headaches.", trial},
	{"C", "Of 500 patients, 100 received the vaccine.", trial},
	{"C", "Backups are kept for 90 days.", handy},
	{"C", "The free plan allows up to 50 users.", handy},
	{"C", "Marie Curie was born on 7 November 1876.", history},
	{"C", "The museum is closed on Tuesdays.", castle},
	{"C", "Sea levels rose by 35 centimetres.", climate},
	{"C", "Temperatures have increased by about 3 degrees since 1880.", climate},

	// Negation.
	{"C", "Ferries cross the river.", bridge},
	{"C", "The bridge was not opened in 1932.", bridge},
	{"C", "Costs changed.", results},
	{"C", "The board did not approve the merger.", results},
	{"C", "The vaccine prevented death.", trial},
	{"C", "The vaccine never reduced the risk of infection.", trial},
	{"C", "Logs are encrypted.", handy},
	{"C", "The keep did not survive the fire.", castle},
	{"C", "Nobody ordered Norwich Castle in 1067.", castle},
	{"C", "The device is ineffective.", "The device is effective."},
	{"C", "The drug is safe without supervision.", "The drug is not safe without supervision."},

	// Opposites and comparisons.
	{"C", "Revenue of Acme fell by 12.5 percent in 2021.", results},
	{"C", "Profits were lower in Asia than in Europe.", results},
	{"C", "Profits were higher in Europe than in Asia.", results},
	{"C", "The board rejected the merger.", results},
	{"C", "The vaccine increased the risk of infection.", trial},
	{"C", "Younger patients benefited more than those older than 65.", trial},
	{"C", "Start the service first.", "Stop the service first."},
	{"C", "The museum is open on Mondays.", "The museum is closed on Mondays."},
	{"C", "Scientists agree about the cause of the pause.", climate},
	{"C", "Emissions in 2019 were higher than in 2018.", climate},
	{"C", "Sea levels fell by nearly 20 centimetres.", climate},

	// Names.
	{"C", "Most employees work in Hamburg.", results},
	{"C", "Profits were higher in Africa than in Europe.", results},
	{"C", "Marie Curie was born in Krakow on 7 November 1867.", history},
	{"C", "She won the Nobel Prize in Literature in 1911.", history},
	{"C", "Mayor Edith Brown opened the Harlow Bridge.", bridge},
	{"N", "The Harlow Bridge was designed by Thomas Telford.", bridge},
	{"N", "Norwich Castle was restored by Anthony Salvin.", castle},

	// More than the source says.
	{"N", "Costs did not change and pensions exploded wildly everywhere.", results},
	{"N", "The bridge was painted red.", bridge},
	{"N", "The firm sponsors a football team.", results},
	{"N", "The vaccine was developed in a university laboratory.", trial},
	{"N", "The museum sells postcards and guidebooks.", castle},
	{"N", "Emissions doubled in 1990.", climate},
	{"N", "Bread is baked in an oven.", handy},
}

// Passages in other languages, and some with a structure.
const (
	verein  = "Die Mitgliedsbeiträge betragen für Erwachsene 84,50 Euro im Jahr. Der Verein hat 1.240 Mitglieder. Die Halle wurde am 3. März 2019 eröffnet. Hunde sind auf dem Platz nicht erlaubt."
	garage  = "Le portail du parking ferme à minuit. Les vélos ne sont pas admis dans l'ascenseur. L'ascenseur a été réparé le 12 février 2024. Les travaux ont coûté 3.450,80 euros."
	prices  = "The prices hold from May.\n\n| Part | Stock | Price |\n| --- | --- | --- |\n| Door seal | 4 | 19 |\n| Fan | 12 | 75 |\n| Lamp | 3 | 8 |\n| Hinge | 30 | 5 |\n| Grill | 6 | 41 |"
	packing = "# Packing list\n\nChildren bring to the summer camp:\n\n- a raincoat\n- two towels\n- a torch\n- a water bottle\n- sun cream\n- a hat\n- wellingtons\n- a sleeping bag\n- a book\n- a mug"
)

var otherPairs = []struct{ want, claim, source string }{
	{"S", "Der Mitgliedsbeitrag für Erwachsene beträgt 84,50 Euro.", verein},
	{"S", "Der Beitrag für Erwachsene beträgt 84,50 Euro im Jahr.", verein},
	{"S", "Der Verein hat 1240 Mitglieder.", verein},
	{"S", "Die Eröffnung der Halle war am 3. März 2019.", verein},
	{"N", "Der Beitrag für Erwachsene beträgt 8450 Euro.", verein},
	{"N", "Der Verein hat 1,24 Mitglieder.", verein},
	{"C", "Die Halle wurde am 3. Mai 2019 eröffnet.", verein},
	{"C", "Hunde sind auf dem Platz erlaubt.", verein},
	{"S", "Hunde sind auf dem Platz nicht erlaubt.", verein},
	{"S", "Le parking a un portail, qui ferme à minuit.", garage},
	{"S", "Les travaux ont coûté 3450,80 euros.", garage},
	{"S", "Les vélos ne sont pas admis dans l'ascenseur.", garage},
	{"C", "Les vélos sont admis dans l'ascenseur.", garage},
	{"C", "L'ascenseur a été réparé le 12 mars 2024.", garage},
	{"S", "Part: Grill, Stock: 6, Price: 41", prices},
	{"N", "Part: Grill, Stock: 6, Price: 42", prices},
	{"S", "Packing list: children bring a mug to the summer camp.", packing},
	{"N", "The list asks for a tent and a stove.", packing},
}

// TestPairs holds verdicts on claims of everyday kinds, without vectors and with those of the local model.
func TestPairs(t *testing.T) {
	for name, v := range map[string]verify.Overlap{"words": {}, "vectors": {Tokens: local.New(local.Options{})}} {
		wrong := 0
		for _, p := range slices.Concat(pairs, otherPairs) {
			got, err := v.Verify(context.Background(), "", []verify.Claim{{Text: p.claim, Cited: cited(p.source)}})
			require.NoError(t, err)
			d := got.Verdicts[0]
			said := "N"
			switch {
			case d.Verdict == event.Supported:
				said = "S"
			case d.Contradicted:
				said = "C"
			}
			if said != p.want && !(p.want == "N" && said == "C") {
				wrong++
				t.Logf("%s: %s %s (%.2f), want %s: %s", name, said, d.Verdict, d.Score, p.want, p.claim)
			}
		}
		t.Logf("%s: %d of %d wrong", name, wrong, len(pairs)+len(otherPairs))
		if wrong > 3 {
			t.Errorf("%s: verdicts got worse", name)
		}
	}
}
