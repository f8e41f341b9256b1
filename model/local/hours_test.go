package local_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

func TestHours(t *testing.T) {
	m := local.New(local.Options{Patience: 1})
	pool := parts("Lido Farland", []string{"Lido Farland", "Opening hours"}, "| Days | Hours |\n| --- | --- |\n| Mon–Thu | 9:00–19:00 |\n| Fri | 9:00–21:00 |\n| Sat & Sun | 10:00–14:00 |\n\nThe kiosk sells ice cream.\n")
	praxis := parts("Praxis Krüss", []string{"Praxis Krüss"}, "Sprechzeiten\n\nMo–Do 8–12 Uhr und 15–18 Uhr\nFr 8–13 Uhr\nSa nach Vereinbarung\n\nDas Labor ist täglich besetzt.\n")
	mairie := parts("Mairie", []string{"Mairie de Mérac", "Concerts"}, "Dimanche 20 octobre – concert du quatuor\nSamedi 26 octobre – fanfare\n")
	hall := parts("Hall", []string{"Hall", "Hire"}, "- Saturday: 72 pounds\n- Sunday: 80 pounds\n- Monday: 20 pounds\n- Tables: 5 pounds\n")
	tours := parts("Mill", []string{"Mill"}, "| What | Price |\n| --- | --- |\n| Guided tour, not on Monday | 8 pounds |\n| Workshop on Saturday | 30 pounds |\n")
	wrapped := parts("Pool", []string{"Pool"}, "The pool behind the school is open in summer every\nSaturday 10 a.m. to 2 p.m. and closed on all\nother days of the week until the autumn comes.\n")
	museum := append(parts("Museum", []string{"Museum of the lake"}, "| Day | Hours |\n| --- | --- |\n| Tue–Fri | 10:00–18:00 |\n"), parts("Visas", []string{"Visas for a visit to the museum town"},
		"The consulate is open on Monday and Thursday from 9 to 12. Bring two photographs.\n")...)
	for _, c := range []struct {
		question string
		passages []model.Passage
		want     string
	}{
		{"When does the lido close on Wednesday?", pool, "Mon–Thu: Hours 9:00–19:00."},
		{"When is the lido open on Sundays?", pool, "Opening hours: Sat & Sun: Hours 10:00–14:00."},
		{"Until when is the lido open on Friday?", pool, "Opening hours: Fri: Hours 9:00–21:00."},
		{"Wann hat die Praxis mittwochs Sprechzeit?", praxis, "Sprechzeiten: Mo–Do: 8–12 Uhr und 15–18 Uhr."},
		{"How much is the hall on Sunday?", hall, "Sunday: 80 pounds."},
		{"How much is the guided tour on Saturday?", tours, "Guided tour, not on Monday: Price 8 pounds."},
		{"When is the pool open on Saturday?", wrapped, "The pool behind the school is open in summer every Saturday 10 a.m. to 2 p.m. and closed on all other days of the week until the autumn comes."},
		{"When is the museum open on Wednesday?", museum, "Museum of the lake: Tue–Fri: Hours 10:00–18:00."},
		{"When is the consulate open on Wednesday?", museum, "The consulate is open on Monday and Thursday from 9 to 12."},
		{"Quand est le concert du quatuor ?", mairie, "Dimanche 20 octobre – concert du quatuor."},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: c.passages})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s", c.question, d)
		}
	}
}
