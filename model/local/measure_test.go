package local_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/local"
)

// TestStatesWhatIsAsked asks for an age, a number of a telephone, an e-mail address and a price of what passages mention, with and without these.
func TestStatesWhatIsAsked(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{})
	for _, c := range []struct{ question, text, holds string }{
		{"How old is Anna Berg?", "Room 3: Anna Berg has taught the choir since Monday. The choir has 14 singers.", ""},
		{"How old is Anna Berg?", "The choir has 14 singers. Anna Berg, aged 41, has taught the choir since Monday.", "aged 41"},
		{"How old is Anna Berg?", "Anna Berg was born on the 5th of May 1971. The choir has 14 singers.", "1971"},
		{"How old is Anna Berg?", "The mill has 14 wheels. Anna Berg (41) has taught the choir for long.", "(41)"},
		{"Wie alt ist Anna Berg?", "Anna Berg leitet den Chor ab 15. Oktober. Der Chor hat 14 Stimmen.", ""},
		{"Wie alt ist Anna Berg?", "Anna Berg leitet den Chor seit Oktober. Anna Berg ist 41 Jahre alt.", "41 Jahre"},
		{"Quanti anni ha Anna Berg?", "Anna Berg dirige il coro dal 15 ottobre. Il coro canta in sala 4.", ""},
		{"How old is Anna Berg?", "Anna Berg keeps the old songbooks for 12 years. The choir has 14 singers.", ""},
		{"How old is Anna Berg?", "Anna Berg leads the choir. The mill beside the hall was built in 1712.", ""},
		{"Сколько лет Анне Берг?", "Хором руководит Анна Берг. Хору шестьдесят лет.", ""},
		{"Сколько лет Анне Берг?", "Анне Берг 41 год. Хор поёт по понедельникам.", "41"},
		{"How much is a hot meal?", "Hot food is kept at 65 °C. A hot meal is 6.20 €.", "6.20"},
		{"When must the membership fee be paid?", "The fee for membership is 62 €. Due date of the membership fee: 14 May.", "14 May"},
		{"How far in advance must the boat be booked?", "A boat must be booked by members. The boat must be booked at least nine days before the trip.", "nine days"},
		{"プールの長さは何メートルですか", "プールの長さは２５メートルです。休館日は火曜日です。", "２５"},
		{"What is the telephone number of Anna Berg?", "Anna Berg teaches the choir on 2031-05-14. Anna Berg has written 12 songs.", ""},
		{"What is the telephone number of Anna Berg?", "Anna Berg teaches the choir. Telephone of Anna Berg: 0555 014 22.", "0555 014 22"},
		{"What is the e-mail address of Anna Berg?", "Anna Berg teaches the choir in room 12. Letters to Anna Berg go to 3 Mill Lane.", ""},
		{"What is the e-mail address of Anna Berg?", "Anna Berg teaches the choir. The e-mail address of Anna Berg: anna.berg@choir.example.", "anna.berg@choir.example"},
		{"What is the price of the songbook?", "The songbook has 48 pages, first edition. The choir sings on Monday.", ""},
		{"What is the price of the songbook?", "Item | Pages | Per copy\nSongbook | 48 | 12.50\nMusic stand | 0 | 30.00\n", "12.50"},
	} {
		got, cites := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, "The choir", c.text)}})
		if c.holds == "" && len(cites) > 0 || !strings.Contains(got, c.holds) {
			t.Errorf("%s (%s): got %q, want one with %q", c.question, c.text, got, c.holds)
		}
	}
}

// TestNumberOfAnother: the telephone number in another passage is not that of the person in the question.
func TestNumberOfAnother(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{Patience: 0.1})
	house := titled(1, "The house", "Caretaker of the house: Ida Holm, telephone number 0555 014 22 33.")
	task := model.Task{Question: "What is the telephone number of Anna Berg?", Passages: []model.Passage{house}}
	if got, _ := answer(t, m, task); !strings.Contains(got, "0555") {
		t.Errorf("a name that no passage has: got %q", got)
	}
	task.Passages = append(task.Passages, titled(2, "The choir", "Anna Berg teaches the choir."))
	if got, cites := answer(t, m, task); len(cites) > 0 {
		t.Errorf("got %q", got)
	}
}

// TestLacksPrice asks for prices of what passages mention, with and without them. Nearly any other sentence is trusted.
func TestLacksPrice(t *testing.T) {
	t.Parallel()
	m := local.New(local.Options{Patience: 0.1})
	for _, c := range []struct{ question, text, holds string }{
		{"What does the lamp cost?", "The lamp is sold with a cable. The lamp has 3 arms and a shade.", ""},
		{"What does the lamp cost?", "The lamp is sold with a cable. The lamp is included.", "included"},
		{"What does the lamp cost?", "Members get the lamp for 50 % of it.", "50 %"},
		{"What does the lamp cost?", "The lamp is 12.50 in the shop.", "12.50"},
		{"What does the lamp cost?", "Table: 80\nLamp: 50\n", "50"},
		{"What does the lamp cost?", "Cost of the lamp: on request\nPlace: hall\n", "on request"},
		{"What does the lamp cost?", "Item | Watts | Arms\nLamp | 40 | 3\nBell | 8 | 0\n", ""},
		{"¿Cuántos puntos vale la memoria?", "La memoria de la oferta tiene 30 puntos.", "30 puntos"},
		{"Is the lamp paid?", "The lamp is sold with a cable.", "cable"},
		{"Was kostet die Lampe?", "Die Lampe hat 3 Arme und einen Schirm. Die Lampe wird mit einem Kabel verkauft.", ""},
		{"Was kostet die Lampe?", "Die Lampe ist für Mitglieder kostenlos.", "kostenlos"},
		{"这盏灯多少钱？", "这盏灯有三个灯头。", ""},
		{"这盏灯多少钱？", "这盏灯免费。", "免费"},
	} {
		got, _ := answer(t, m, model.Task{Question: c.question, Passages: []model.Passage{titled(1, "Shop", c.text)}})
		if abstains := strings.Contains(got, "seem") || strings.Contains(got, "scheinen") || strings.Contains(got, "似乎"); abstains != (c.holds == "") || !strings.Contains(got, c.holds) {
			t.Errorf("%s %s: %q", c.question, c.text, got)
		}
	}
}
