package parse

import "testing"

func TestSymbolsOfAnotherFont(t *testing.T) {
	at := func(text string, x, end, y float64) pdfRun { return pdfRun{text: text, x: x, end: end, y: y, size: 10} }
	lines := gatherLines([]pdfRun{
		at("Pay by:", 0, 34, 700), at("Cheque", 50, 84, 700), at("Cash", 110, 132, 700),
		at("☐", 39, 47, 700.5), at("☒", 98, 107, 700.5), // written last
		at("Date: 3 March", 0, 70, 680),
	})
	if len(lines) != 2 || lines[0].text != "Pay by: ☐ Cheque ☒ Cash" || lines[1].text != "Date: 3 March" {
		t.Errorf("lines: %+v", lines)
	}
}
