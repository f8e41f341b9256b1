package parse_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// drawn is a text on a page, at a place in millimetres from the top left corner. A tab separates the font from the text: b is bold, m is monospaced, and
// h is large.
type drawn struct {
	x, y float64
	text string
}

// column returns lines of text one below the other.
func column(x, y float64, lines ...string) (out []drawn) {
	for i, s := range lines {
		out = append(out, drawn{x, y + 5*float64(i), s})
	}
	return out
}

func draw(t testing.TB, pages ...[]drawn) []byte {
	t.Helper()
	f := fpdf.New("P", "mm", "A4", "")
	for _, page := range pages {
		f.AddPage()
		for _, d := range page {
			family, style, size := "Helvetica", "", 10.0
			font, text, ok := strings.Cut(d.text, "\t")
			if !ok {
				text = font
			} else {
				switch font {
				case "b":
					style = "B"
				case "m":
					family = "Courier"
				case "h":
					size = 16
				}
			}
			f.SetFont(family, style, size)
			f.Text(d.x, d.y, text)
		}
	}
	var out bytes.Buffer
	if err := f.Output(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func together(parts ...[]drawn) (out []drawn) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// TestPDFTables reads tables whose cells are drawn one after another, as word processors do, and texts that only look like tables.
func TestPDFTables(t *testing.T) {
	before := column(20, 30, "The prices of this year are below. They hold from May on, and")
	cells := func(y float64, texts ...string) (out []drawn) {
		for i, s := range texts {
			if s != "" {
				out = append(out, drawn{20 + 50*float64(i), y, s})
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		pages [][]drawn
		want  string
	}{
		"three columns": {
			[][]drawn{together(before, cells(45, "Boat", "Day", "Week"), cells(50, "Canoe", "12", "60"), cells(55, "Dinghy", "", "90"),
				column(20, 70, "All boats have a roof, which keeps the rain away from the passengers."))},
			"paragraph The prices of this year are below. They hold from May on, and|row Boat | Day | Week|row Canoe | 12 | 60|row Dinghy |  | 90|" +
				"paragraph All boats have a roof, which keeps the rain away from the passengers.",
		},
		"cells of several lines": {
			[][]drawn{together(cells(45, "Boat", "Day", "Week"), column(20, 52, "Canoe for", "two persons"), cells(52, "", "12", "60"),
				cells(66, "Dinghy"), column(70, 66, "19 on", "working", "days"), cells(66, "", "", "90"))},
			"row Boat | Day | Week|row Canoe for two persons | 12 | 60|row Dinghy | 19 on working days | 90",
		},
		"cells at the bottom of their row": {
			[][]drawn{together(cells(55, "Boat", "Day"), column(120, 45, "Week, from", "Saturday", "on"), cells(62, "Canoe", "12", "60"), cells(67, "Dinghy", "19", "90"))},
			"row Boat | Day | Week, from Saturday on|row Canoe | 12 | 60|row Dinghy | 19 | 90",
		},
		"a row with one cell only": {
			[][]drawn{together(cells(45, "Boat", "Day", "Week"), cells(50, "Sailing boats"), cells(55, "Dinghy", "19", "90"), cells(60, "Yawl", "40", "200"))},
			"row Boat | Day | Week|row Sailing boats |  ||row Dinghy | 19 | 90|row Yawl | 40 | 200",
		},
		"on two pages, with its head again": {
			[][]drawn{together(cells(45, "Boat", "Day", "Week"), cells(50, "Canoe", "12", "60")), together(cells(20, "Boat", "Day", "Week"), cells(25, "Dinghy", "19", "90"))},
			"row Boat | Day | Week|row Canoe | 12 | 60|row Dinghy | 19 | 90",
		},
		"labels": {
			[][]drawn{together(cells(45, "Length:", "7 m"), cells(50, "Built in", "1993"), cells(55, "Owner", "the club, since May"))},
			"paragraph Length: 7 m|paragraph Built in: 1993|paragraph Owner: the club, since May",
		},
		"two columns with names": {
			[][]drawn{together(cells(45, "b\tBoat", "b\tPlace"), cells(50, "Canoe", "shed"), cells(55, "Dinghy", "quay"))},
			"row Boat | Place|row Canoe | shed|row Dinghy | quay",
		},
		"two columns, the second with numbers": {
			[][]drawn{together(cells(45, "Boat", "Price"), cells(50, "Canoe", "$12"), cells(55, "Dinghy", "19"))},
			"row Boat | Price|row Canoe | $12|row Dinghy | 19",
		},
		"a heading between two tables": {
			[][]drawn{together(cells(45, "Boat", "Day", "Week"), cells(50, "Canoe", "12", "60"), column(20, 62, "b\tBerths"), cells(72, "Berth", "Metres", "Year"), cells(77, "A1", "7", "300"))},
			"row Boat | Day | Week|row Canoe | 12 | 60|heading Berths|row Berth | Metres | Year|row A1 | 7 | 300",
		},
		"groups of rows": {
			[][]drawn{together(cells(45, "Type", "Boat", "Price"), cells(50, "Sail", "Dinghy", "19"), cells(54, "", "Yawl", "40"), cells(58, "Row", "Canoe", "12"))},
			"row Type | Boat | Price|row Sail | Dinghy | 19|row | Yawl | 40|row Row | Canoe | 12",
		},
		"a group that goes on on the next page": {
			[][]drawn{together(cells(45, "Type", "Boat", "Price"), cells(50, "Sail", "Dinghy", "19")), together(cells(20, "", "Yawl", "40"), cells(25, "Row", "Canoe", "12"))},
			"row Type | Boat | Price|row Sail | Dinghy | 19|row | Yawl | 40|row Row | Canoe | 12",
		},
		"a row that goes on on the next page": {
			[][]drawn{together(cells(45, "Boat", "Place", "Price"), cells(50, "Canoe", "in the shed at", "19")),
				together(cells(20, "Boat", "Place", "Price"), cells(25, "", "the quay"), cells(30, "Dinghy", "quay", "12"))},
			"row Boat | Place | Price|row Canoe | in the shed at the quay | 19|row Dinghy | quay | 12",
		},
		"text close below, and a table with other names": {
			[][]drawn{together(cells(45, "b\tBoat", "b\tDay", "b\tWeek"), cells(50, "Canoe", "12", "60"), cells(55, "Dinghy", "19", "90"), cells(62, "Deposit: 20 per boat."),
				cells(68, "b\tBerth", "b\tMetres", "b\tYear"), cells(73, "A1", "7", "300"))},
			"row Boat | Day | Week|row Canoe | 12 | 60|row Dinghy | 19 | 90|paragraph Deposit: 20 per boat.|row Berth | Metres | Year|row A1 | 7 | 300",
		},
		"a cell that fills its column": {
			[][]drawn{{{20, 45, "Name of the boat"}, {70, 45, "Day"}, {120, 45, "Week"}, {20, 50, "Canoe for two or three persons"}, {70.6, 50, "12"}, {120, 50, "60"}, {20, 55, "Dinghy"}, {70, 55, "19"}, {120, 55, "90"}}},
			"row Name of the boat | Day | Week|row Canoe for two or three persons | 12 | 60|row Dinghy | 19 | 90",
		},
		"formulas and bullets beside each other": {
			[][]drawn{together(cells(45, "Q = A v", "(1)"), cells(50, "h = Q : b", "(2)"))},
			"paragraph Q = A v (1)|paragraph h = Q : b (2)",
		},
		"numbered items": {
			[][]drawn{together([]drawn{{20, 45, "1."}, {30, 45, "Open the valve."}, {20, 50, "2."}, {30, 50, "Close the lid."}})},
			"item 1. Open the valve.|item 2. Close the lid.",
		},
		"a table of contents": {
			[][]drawn{together([]drawn{{20, 45, "Boats . . . . . . . . . ."}, {180, 45, "3"}, {20, 50, "Berths . . . . . . . . ."}, {180, 50, "7"}})},
			"paragraph Boats . . . . . . . . . . 3 Berths . . . . . . . . . 7",
		},
		"two columns of text": {
			[][]drawn{together(column(20, 45, "The river comes from the hills in", "the north. It is short and has", "much water, also in summer, so", "that boats can go up to the town."),
				column(110, 45, "Below the town it is wide. There", "are two bridges and a ferry, and", "the harbour is at its mouth, which", "is two kilometres wide."))},
			"paragraph The river comes from the hills in the north. It is short and has much water, also in summer, so that boats can go up to the town.|" +
				"paragraph Below the town it is wide. There are two bridges and a ferry, and the harbour is at its mouth, which is two kilometres wide.",
		},
		"one line with a gap": {
			[][]drawn{together(before, []drawn{{20, 45, "Harbour office"}, {150, 45, "5 May 2025"}})},
			"paragraph The prices of this year are below. They hold from May on, and|paragraph Harbour office 5 May 2025",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, blocksOf(t, draw(t, c.pages...))); d != "" {
				t.Errorf("blocks (-want +got):\n%s", d)
			}
		})
	}
}

func blocksOf(t testing.TB, data []byte) string {
	t.Helper()
	p, err := parse.Parse(t.Context(), "a.pdf", data, parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range p.Blocks {
		out = append(out, fmt.Sprintf("%s %s", b.Kind, b.Text))
	}
	return strings.Join(out, "|")
}

// TestPDFCode reads code, which has a monospaced font.
func TestPDFCode(t *testing.T) {
	prose := column(20, 30, "Start the service before you open the harbour. It reads the file at its start, and", "writes the state of the lock into it every minute. To start it:")
	for name, c := range map[string]struct {
		page []drawn
		want string
	}{
		"lines": {
			together(prose, []drawn{{25, 45, "m\tif lock then"}, {33.5, 49, "m\tstart --now"}, {25, 53, "m\tend"}}, column(20, 65, "Then wait for a minute, and look at the state.")),
			"paragraph Start the service before you open the harbour. It reads the file at its start, and writes the state of the lock into it every minute. To start it:|" +
				"code if lock then\n    start --now\nend|paragraph Then wait for a minute, and look at the state.",
		},
		"a term": {
			together(prose[:1], []drawn{{20, 45, "m\t--now"}, {30, 50, "starts at once."}, {20, 55, "m\t--later"}, {30, 60, "waits."}}),
			"paragraph Start the service before you open the harbour. It reads the file at its start, and|paragraph --now: starts at once.|paragraph --later: waits.",
		},
		"a path in a paragraph": {
			column(20, 30, "The state is in the file that the service writes into its own folder, which is", "m\t/var/lib/lock/state", "and may be read by everybody."),
			"paragraph The state is in the file that the service writes into its own folder, which is /var/lib/lock/state and may be read by everybody.",
		},
		"nothing else": {
			column(20, 30, "m\tDear members,", "m\tthe harbour opens on Monday."),
			"paragraph Dear members, the harbour opens on Monday.",
		},
		"aligned": {
			together(prose, []drawn{{25, 45, "m\topen"}, {60, 45, "m\t# the lock"}, {25, 49, "m\tclose"}, {60, 49, "m\t# the gate"}}),
			"paragraph Start the service before you open the harbour. It reads the file at its start, and writes the state of the lock into it every minute. To start it:|" +
				"code open # the lock\nclose # the gate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, blocksOf(t, draw(t, c.page))); d != "" {
				t.Errorf("blocks (-want +got):\n%s", d)
			}
		})
	}
}

// FuzzPDFLayout draws words at any places of a page, and checks that all of them are read.
func FuzzPDFLayout(f *testing.F) {
	f.Add([]byte{20, 45, 0, 70, 45, 0, 120, 45, 0, 20, 50, 0, 70, 50, 0, 120, 50, 0})
	f.Add([]byte{20, 45, 1, 20, 50, 1, 30, 55, 2, 70, 45, 1, 20, 60, 0})
	f.Add([]byte{20, 45, 2, 60, 45, 2, 20, 50, 3, 150, 20, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		var page []drawn
		var words []string
		for i := 0; i+2 < len(data) && len(words) < 60; i += 3 {
			word := fmt.Sprintf("w%03d", len(words))
			words = append(words, word)
			text := [...]string{word, "b\t" + word, "m\t" + word, "h\t" + word, "to " + word + " from", "• " + word, word + ":", "12 " + word}[data[i+2]%8]
			page = append(page, drawn{float64(data[i]) * 0.8, 10 + float64(data[i+1]), text})
		}
		if len(words) == 0 {
			return
		}
		pdf := draw(t, page)
		check(t, "a.pdf", pdf)
		read := blocksOf(t, pdf)
		for _, w := range words {
			if !strings.Contains(read, w) {
				t.Errorf("%s is missing in %q", w, read)
			}
		}
	})
}
