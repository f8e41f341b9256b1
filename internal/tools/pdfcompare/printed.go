package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sentences are about the same in each language. {n} is replaced by a number, so that no two paragraphs are the same.
var sentences = map[string]string{
	"en": "The ferry number {n} leaves the northern quay when the tide allows. Its passengers wait in the small hall beside the lighthouse, where a notice says how long the crossing takes. In winter the captain decides alone whether the wind is too strong.",
	"de": "Die Fähre Nummer {n} verlässt den nördlichen Anleger, wenn die Gezeiten es erlauben. Ihre Fahrgäste warten in der kleinen Halle neben dem Leuchtturm. Im Winter entscheidet die Kapitänin allein, ob der Wind zu stark ist.",
	"ar": "تغادر العبارة رقم {n} الرصيف الشمالي عندما يسمح المد. ينتظر الركاب في القاعة الصغيرة بجانب المنارة. في الشتاء يقرر القبطان وحده.",
	"he": "המעבורת מספר {n} יוצאת מהרציף הצפוני כאשר הגאות מאפשרת. הנוסעים ממתינים באולם הקטן ליד המגדלור. בחורף הקברניט מחליט לבדו.",
	"ja": "第{n}便のフェリーは潮の具合がよければ北の桟橋を出ます。乗客は灯台の横の小さな待合室で待ちます。冬は船長が一人で決めます。",
	"zh": "第{n}号渡轮在潮水允许时离开北码头。乘客在灯塔旁边的小厅里等候。冬天由船长一个人决定风是否太大。",
	"ko": "{n}번 여객선은 물때가 맞으면 북쪽 부두를 떠납니다. 승객들은 등대 옆의 작은 대합실에서 기다립니다. 겨울에는 선장이 혼자 결정합니다.",
	"ru": "Паром номер {n} отходит от северного причала, когда позволяет прилив. Пассажиры ждут в маленьком зале рядом с маяком. Зимой капитан решает сам.",
}

// paragraphs returns n paragraphs, the first with the number from.
func paragraphs(language string, from, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<p>%s</p>\n", strings.ReplaceAll(sentences[language], "{n}", fmt.Sprint(from+i)))
	}
	return b.String()
}

// table returns a table of n rows as HTML, and its rows.
func table(n int) (string, [][]string) {
	head := []string{"Port", "Departures", "Longest delay", "Remarks"}
	rows := [][]string{head}
	for i := range n {
		rows = append(rows, []string{fmt.Sprintf("Harbour %d", i+1), fmt.Sprint(7 * (i + 3)), fmt.Sprintf("%d minutes", 3+i*i%50), []string{"none", "new pier", "closed in winter"}[i%3]})
	}
	var b strings.Builder
	b.WriteString("<table>")
	for i, r := range rows {
		switch i {
		case 0:
			b.WriteString("<thead>")
		case 1:
			b.WriteString("</thead><tbody>")
		}
		b.WriteString("<tr>")
		for _, c := range r {
			fmt.Fprintf(&b, "<td>%s</td>\n", c)
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table>")
	return b.String(), rows
}

// page is a page that Chromium prints.
type page struct {
	name, style, body string
	rows              [][]string
}

func pages() []page {
	short, shortRows := table(8)
	long, longRows := table(90)
	out := []page{
		{"two columns", "main{columns:2}", "<main>" + paragraphs("en", 1, 40) + "</main>", nil},
		{"three columns", "main{columns:3;font-size:9pt}", "<main>" + paragraphs("de", 1, 60) + "</main>", nil},
		{"table with borders", "td{border:1px solid}", paragraphs("en", 1, 2) + short + paragraphs("en", 3, 2), shortRows},
		{"table without borders", "td{padding:0 2em}", paragraphs("en", 1, 2) + short + paragraphs("en", 3, 2), shortRows},
		{"table over several pages", "td{border:1px solid}", paragraphs("en", 1, 2) + long + paragraphs("en", 3, 2), longRows},
		{"text turned by 90 degrees", "main{writing-mode:vertical-rl;height:16cm}", paragraphs("en", 1, 2) + "<main>" + paragraphs("en", 3, 3) + "</main>", nil},
		{"footnotes", "sup{font-size:60%}hr{width:5cm;margin-left:0}small{font-size:70%}", paragraphs("en", 1, 4) +
			"<p>The toll was abolished.<sup>1</sup> Nobody asked why.<sup>2</sup></p><hr><small><p>1 By the council of the islands.</p><p>2 The minutes are lost.</p></small>", nil},
		{"form with values", "", paragraphs("en", 1, 2) + `<p>Name <input value="Ada Vale"></p><p>Port <input value="Lunden Creek"></p><p>Tickets <input value="12"></p>`, nil},
		{"narrow and hyphenated", "main{width:5cm;hyphens:auto;text-align:justify}", "<main>" + paragraphs("de", 1, 12) + "</main>", nil},
		{"running heads and page numbers", `@page{@top-center{content:"The islands and their ferries"}@bottom-center{content:"Page " counter(page)}}`, paragraphs("en", 1, 60), nil},
		{"box beside the text", "aside{float:right;width:5cm;border:1px solid;font-size:80%}", "<aside><p>Ferries need no ticket on Sunday.</p></aside>" + paragraphs("en", 1, 6), nil},
		{"letters set apart", "h1{letter-spacing:.4em}", "<h1>Harbours</h1>" + paragraphs("en", 1, 6), nil},
	}
	for _, l := range []string{"ar", "he"} {
		out = append(out, page{"right to left: " + l, "main{direction:rtl}", "<main>" + paragraphs(l, 1, 12) + "</main>", nil})
	}
	for _, l := range []string{"ja", "zh", "ko", "ru"} {
		out = append(out, page{"language: " + l, "", paragraphs(l, 1, 12), nil})
	}
	return append(out, page{"vertical Japanese", "main{writing-mode:vertical-rl;height:20cm}", "<main>" + paragraphs("ja", 1, 8) + "</main>", nil})
}

// printed returns the pages that Chromium prints, in the folder dir.
func printed(dir string) ([]sample, error) {
	var out []sample
	for _, p := range pages() {
		source, target := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.pdf")
		language := "en"
		if strings.Contains(p.body, "Fähre") {
			language = "de"
		}
		text := fmt.Sprintf(`<!doctype html><html lang="%s"><head><meta charset="utf-8"><title>.</title><style>%s</style></head><body>%s</body></html>`, language, p.style, p.body)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			return nil, err
		}
		c := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--print-to-pdf="+target, "file://"+source)
		if err := c.Run(); err != nil {
			return nil, fmt.Errorf("chromium: %w", err)
		}
		pdf, err := os.ReadFile(target)
		if err != nil {
			return nil, err
		}
		group := "printed by Chromium"
		out = append(out, sample{group: group, name: p.name, pdf: pdf, words: wordsOf(plain(text)), rows: p.rows})
	}
	return out, nil
}
