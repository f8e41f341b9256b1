package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

const (
	stores = "Bin | Material | Thickness (mm) | Stock (kg) | Minimum (kg) | Checked\nB1 | Copper wire | 2 | 40 | 25 | 2031-03-01\nB2 | Brass rod | 8 | 6 | 12 | 2031-02-10\n" +
		"B3 | Zinc sheet | 1 | 3 | 5 | 2031-04-22\nB4 | Tin solder | 1 | 0 | 0 | 2030-11-30\nTotal |  |  | 49 | 42 |\n"
	huts  = "Hut | Built | Beds | Stove | Price (€)\nEagle | 1931 | 12 | yes | 24.00\nMarmot | 1987 | 30 | no | 19.00\nIbex | 2014 | 22 | yes | 31.00\n"
	boats = "Boat | Type | Length (m) | Licence\nB1 | sail boat | 5 | no\nB2 | sail boat | 7 | yes\nB3 | motor boat | 8 | yes\nB4 | rowing boat | 5 | yes\nB5 | sail boat | 4 | no\nB6 | rowing boat | 6 | no\n"
	duty  = "Date | Shift | Who\n2031-06-04 | early | Ida Holm\n2031-06-05 | early | Per Lund\n2031-06-05 | late | Nils Dahl\n2031-07-05 | early | Eva Krog\n"
	hall  = "Day | Begin | Group\nTuesday | 18:30 | Judo\nTuesday | 20:00 | Fencing\nFriday | 20:00 | Rowing\n"
)

func TestConditions(t *testing.T) {
	m := local.New(local.Options{})
	for _, c := range []struct{ name, question, title, table, want string }{
		{"less in one column than in another", "Which materials are below the minimum stock?", "stores.csv", stores,
			"B2: Material Brass rod; Stock (kg) 6; Minimum (kg) 12. B3: Material Zinc sheet; Stock (kg) 3; Minimum (kg) 5."},
		{"a cell that says no", "Which materials are out of stock?", "stores.csv", stores, "B4: Material Tin solder; Stock (kg) 0."},
		{"the smallest value, without the sums", "Which material has the lowest minimum?", "stores.csv", stores, "B4: Material Tin solder; Minimum (kg) 0."},
		{"a cell that says yes", "Which huts have a stove?", "huts.csv", huts, "Eagle: Built 1931; Beds 12; Stove yes; Price (€) 24.00. Ibex: Built 2014; Beds 22; Stove yes; Price (€) 31.00."},
		{"a negated question", "Which hut has no stove?", "huts.csv", huts, "Marmot: Built 1987; Beds 30; Stove no; Price (€) 19.00."},
		{"the oldest by the year", "Which is the oldest hut?", "huts.csv", huts, "Eagle: Built 1931; Beds 12; Stove yes; Price (€) 24.00."},
		{"the newest by the year", "Which is the newest hut?", "huts.csv", huts, "Ibex: Built 2014; Beds 22; Stove yes; Price (€) 31.00."},
		{"the cheapest", "What is the cheapest hut?", "huts.csv", huts, "Marmot: Built 1987; Beds 30; Stove no; Price (€) 19.00."},
		{"less in one column, with numbers below zero", "Which regions are lower in actual than planned?", "balance.csv", "Region | Planned | Actual\nNorth | 10 | -20\nSouth | 10 | 30\nWest | 5 | 2\n",
			"North: Planned 10; Actual -20. West: Planned 5; Actual 2."},
		{"the lowest below zero", "Which city has the lowest temperature?", "cities.csv", "City | Temperature (°C)\nOslo | −15\nRome | 3\nLagos | 29\n", "Oslo: Temperature (°C) −15."},
		{"below zero, as accounts write it", "Which account has the lowest balance?", "accounts.csv", "Account | Balance\nA | (€ 50.00)\nB | € 3.00\nC | -€ 5\n", "A: Balance (€ 50.00)."},
		{"three decimals", "What is the smallest dose?", "doses.csv", "Age | Dose (mg)\nChild | 0.125\nTeenager | 0.5\nAdult | 2.5\n", "Child: Dose (mg) 0.125."},
		{"less than a number", "Which huts cost less than 25 euros?", "huts.csv", huts, "Eagle: Built 1931; Beds 12; Stove yes; Price (€) 24.00. Marmot: Built 1987; Beds 30; Stove no; Price (€) 19.00."},
		{"at least a number that a cell has", "Which huts have at least 22 beds?", "huts.csv", huts, "Marmot: Built 1987; Beds 30; Stove no; Price (€) 19.00. Ibex: Built 2014; Beds 22; Stove yes; Price (€) 31.00."},
		{"a number of rows", "How many huts have a stove?", "huts.csv", huts, "2: Eagle; Ibex."},
		{"a number of rows with less than a number", "How many huts cost less than 25 euros?", "huts.csv", huts, "2: Eagle; Marmot."},
		{"a number of rows of one kind", "How many sail boats need a licence?", "boats.csv", boats, "1: B2."},
		{"a number of rows of one kind, without something", "How many sail boats are there without a licence?", "boats.csv", boats, "2: B1; B5."},
		{"a number of rows above a number that a cell has", "How many rowing boats are longer than 5 m?", "boats.csv", boats, "1: B6."},
		{"a number that a cell has", "How many beds does the Ibex hut have?", "huts.csv", huts, "Ibex: Beds 22."},
		{"the rows that are named", "What do Marmot and Ibex cost?", "huts.csv", huts, "Marmot: Price (€) 19.00. Ibex: Price (€) 31.00."},
		{"a number of rows, in German", "Wie viele Hütten haben keinen Ofen?", "huetten.csv", "Hütte | Plätze | Ofen\nAdler | 12 | ja\nGemse | 9 | nein\nDachs | 8 | nein\n", "2: Gemse; Dachs."},
		{"a date in another form", "Who is on the late shift on 5 June?", "duty.csv", duty, "2031-06-05: Shift late; Who Nils Dahl."},
		{"a time in another form", "Which group meets on Tuesday at 8 p.m.?", "hall.csv", hall, "Tuesday: Begin 20:00; Group Fencing."},
		{"a date in German", "Wer hat am 5. Juli die Frühschicht?", "dienste.csv", "Datum | Schicht | Name\n05.06.2031 | Frühschicht | Per Lund\n05.07.2031 | Frühschicht | Eva Krog\n",
			"05.07.2031: Schicht Frühschicht; Name Eva Krog."},
		{"the cheapest one with something", "What is the cheapest hut with a stove?", "huts.csv", huts, "Eagle: Built 1931; Beds 12; Stove yes; Price (€) 24.00."},
		{"what takes longest", "Which tour takes the most time?", "tours.csv", "Tour | Price (€) | Time (min)\nMill | 30 | 90\nPier | 50 | 45\nDyke | 10 | 60\n", "Mill: Price (€) 30; Time (min) 90."},
		{"the adjective of a superlative is no key", "Quelle randonnée a le plus grand dénivelé ?", "randonnées.csv", "Nom | Dénivelé | Durée\nGrand Berc | 920 m | 6 h\nAilettes | 1 280 m | 8 h\nThuet | 310 m | 2 h 30\n",
			"Ailettes: Dénivelé 1 280 m; Durée 8 h."},
		{"hours with and without minutes", "Quelle randonnée dure le plus longtemps ?", "randonnées.csv", "Nom | Dénivelé | Durée\nBerc | 920 m | 4 h 15\nAilettes | 280 m | 8 h\nThuet | 310 m | 2 h 30\n",
			"Ailettes: Dénivelé 280 m; Durée 8 h."},
		{"the smallest in French", "Quelle randonnée a la durée la plus courte ?", "randonnées.csv", "Nom | Dénivelé | Durée\nBerc | 920 m | 4 h 15\nAilettes | 280 m | 8 h\nThuet | 310 m | 2 h 30\n",
			"Thuet: Dénivelé 310 m; Durée 2 h 30."},
		{"the cheapest in Spanish", "¿Cuál es la cabaña más barata?", "cabañas.csv", "Cabaña | Precio (€)\nAmapola | 42\nTrébol | 31\nJara | 55\n", "Trébol: Precio (€) 31."},
		{"the cheapest in Russian", "Какая самая дешёвая лицензия?", "лицензии.csv", "Лицензия | Цена в год\nЛичная | 1 790 ₽\nСемейная | 990 ₽\nМастер | 3 900 ₽\n", "Семейная: Цена в год 990 ₽."},
		{"the dearest in Russian", "Какая самая дорогая лицензия?", "лицензии.csv", "Лицензия | Цена в год\nЛичная | 1 790 ₽\nСемейная | 990 ₽\nМастер | 3 900 ₽\n", "Мастер: Цена в год 3 900 ₽."},
		{"a row that nothing distinguishes", "When does the French course begin in autumn?", "autumn courses.csv", "Course | Begin | Room\nYoga | 18:30 | 1\nPottery | 20:00 | 2\nBread | 9:00 | 3\n",
			local.NoAnswer},
		{"less in one column, in Spanish", "¿Qué metales tienen menos existencias que el mínimo?", "almacen.csv", "Metal | Existencias | Mínimo\nCobre | 40 | 25\nZinc | 3 | 5\nLatón | 9 | 5\n",
			"Zinc: Existencias 3; Mínimo 5."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := chunk(c.title, nil, c.table)
			p.N, p.Score = 1, 0.8
			got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// asked is a question about one passage.
type asked struct {
	question string
	passage  model.Passage
	want     string
}

func wantAnswers(t *testing.T, all []asked) {
	t.Helper()
	m := local.New(local.Options{Patience: 1})
	for _, c := range all {
		c.passage.N, c.passage.Score = 1, 0.8
		if got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{c.passage}}); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.question, got, c.want)
		}
	}
}

// TestSameCondition: a number of the question with a bound is not in a range on the other side of it.
func TestSameCondition(t *testing.T) {
	switching := chunk("Switching the pump", nil, "1. Ring the bell twice.\n2. Check the oil pressure; it must be above 3 bar for 10 minutes.\n3. Close the valve.\n4. Start the second pump.\n\nIf the pressure is below 3 bar for 10 minutes, do not switch; call the engineer.\n")
	tiers := chunk("Gifts for members", []string{"Gifts for members"}, "Membership | Gift\nup to 5 years | a badge\n5 to 10 years | a scarf\nover 10 years | a coat\n")
	wantAnswers(t, []asked{
		{"What do I do if the oil pressure is below 3 bar for 10 minutes?", switching, "If the pressure is below 3 bar for 10 minutes, do not switch; call the engineer."},
		{"Which gift do members get after more than 5 years?", tiers, "Gifts for members: 5 to 10 years: Gift a scarf."},
		{"Which gift do members get after less than 5 years?", tiers, "Gifts for members: up to 5 years: Gift a badge."},
	})
}

// TestLenientQuestions are questions that answers seldom repeat the words of.
func TestLenientQuestions(t *testing.T) {
	rules := chunk("House rules", []string{"House rules", "Animals"}, "Animals stay outside. Guide dogs are welcome.\n")
	list := chunk("Course in the mountains", []string{"Course in the mountains", "Equipment"}, "Participants of the course meet at the hut.\n\nPlease bring:\n\n- sturdy boots\n- a map at 1 : 25,000\n- a whistle\n")
	wantAnswers(t, []asked{
		{"May I bring my poodle into the house?", rules, "Animals stay outside. Guide dogs are welcome."},
		{"What do participants need to bring to the course in the mountains?", list, "Please bring: sturdy boots; a map at 1 : 25,000; a whistle."},
	})
}

// TestCommandsOfOtherKinds are questions with words that are also those for commands of a computer.
func TestCommandsOfOtherKinds(t *testing.T) {
	m := local.New(local.Options{})
	const code = "\n\n```\nmeeting --list\n```\n"
	for _, c := range []struct{ question, prose string }{
		{"¿Cuál es el orden del día de la reunión?", "El orden del día de la reunión es el presupuesto."},
		{"Quelle est la commande du client Dupont ?", "La commande du client Dupont est de douze chaises."},
		{"Wat is de opdracht van de commissie?", "De opdracht van de commissie is het toezicht op de haven."},
		{"What is the chain of command of the ship?", "The chain of command of the ship begins with the captain."},
	} {
		p := chunk("Notes", nil, c.prose+code)
		p.N, p.Score = 1, 0.8
		if got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{p}}); got != c.prose {
			t.Errorf("%s: %q", c.question, got)
		}
	}
}
