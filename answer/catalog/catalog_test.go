package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/catalog"
	"github.com/sluice-rag/sluice/corpus"
)

func TestRead(t *testing.T) {
	t.Parallel()
	type (
		w = catalog.Request
		p = catalog.Pages
		l = catalog.List
		a = catalog.Summary
	)
	for q, want := range map[string]w{
		"What is on page 3 of report.pdf?":                         {Pages: &p{3, 3, "", "What is report.pdf"}},
		"Show me pages 3-5 of the Annual Report":                   {Pages: &p{3, 5, "", "Show me Annual Report"}},
		"Read page 2":                                              {Pages: &p{2, 2, "", "Read"}},
		"What does page 3 of report.pdf say about fees?":           {Pages: &p{3, 3, "What does this text say about fees?", "What does report.pdf say about fees"}},
		"Which fee is named on page 12 of report.pdf?":             {Pages: &p{12, 12, "Which fee is named in this text?", "Which fee is named report.pdf"}},
		"Summarize pages 1 to 400 of report.pdf":                   {Pages: &p{1, 20, "", "Summarize report.pdf"}},
		"What is on the last page of report.pdf?":                  {Pages: &p{-1, -1, "", "What is report.pdf"}},
		"What is on the first page?":                               {Pages: &p{1, 1, "", "What is"}},
		"Was steht auf Seite 4 von bericht.pdf?":                   {Pages: &p{4, 4, "", "Was steht bericht.pdf"}},
		"What is on page 0 of report.pdf?":                         {},
		"What is on page 5-3 of report.pdf?":                       {},
		"List the documents":                                       {List: &l{}},
		"list all files.":                                          {List: &l{}},
		"Which documents do you have about bread?":                 {List: &l{About: "bread"}},
		"Which documents do you have?":                             {List: &l{}},
		"How many files are there?":                                {List: &l{}},
		"What files are in this collection?":                       {List: &l{}},
		"Show me all documents that mention rye flour":             {List: &l{About: "rye flour"}},
		"Which documents mention Ada Vale?":                        {List: &l{About: "Ada Vale"}},
		"Welche Dokumente gibt es über Brot?":                      {List: &l{About: "Brot", German: true}},
		"Liste alle Dokumente auf":                                 {List: &l{German: true}},
		"Which documents are required for a visa?":                 {},
		"What documents do I need to apply?":                       {},
		"List the documents that a keeper signs":                   {},
		"Which files does the program write?":                      {},
		"Summarize this document":                                  {Summary: &a{}},
		"Please summarise the uploaded file.":                      {Summary: &a{}},
		"Give me a short summary":                                  {Summary: &a{}},
		"What is this document about?":                             {Summary: &a{}},
		"What is this about?":                                      {Summary: &a{}},
		"What is report.pdf about?":                                {Summary: &a{Names: "report.pdf"}},
		"Summarize report.pdf in three sentences":                  {Summary: &a{Names: "report.pdf"}},
		"Can you summarize the document Lighthouses?":              {Summary: &a{Names: "Lighthouses"}},
		"Summarize everything":                                     {Summary: &a{}},
		"Fasse das Dokument zusammen":                              {Summary: &a{}},
		"Worum geht es?":                                           {Summary: &a{}},
		"tl;dr":                                                    {Summary: &a{}},
		"What is the lamp about to do?":                            {},
		"Fass mir bitte die Sitzung vom Mai zusammen.":             {Summary: &a{Names: "Sitzung vom Mai"}},
		"Kannst du den Vertrag kurz zusammenfassen?":               {Summary: &a{Names: "Vertrag"}},
		"Résume-moi la réunion de mai.":                            {Summary: &a{Names: "réunion de mai"}},
		"Résumez ce document s'il vous plaît":                      {Summary: &a{}},
		"Hazme un resumen del contrato":                            {Summary: &a{Names: "contrato"}},
		"Riassumi il verbale di marzo":                             {Summary: &a{Names: "verbale di marzo"}},
		"Resuma o regulamento da piscina":                          {Summary: &a{Names: "regulamento da piscina"}},
		"Kun je de brief aan de leden kort samenvatten?":           {Summary: &a{Names: "brief aan de leden"}},
		"Кратко изложи протокол за май":                            {Summary: &a{Names: "протокол за май"}},
		"Yönetmeliği kısaca özetler misin?":                        {Summary: &a{Names: "Yönetmeliği"}},
		"请总结一下员工手册":                                                {Summary: &a{Names: "员工手册"}},
		"总结这个文档":                                                   {Summary: &a{}},
		"社内報を要約してください":                                             {Summary: &a{Names: "社内報"}},
		"What's new in Lumo 3.1?":                                  {Summary: &a{Names: "Lumo 3.1"}},
		"Was ist neu in Lumo 3.1?":                                 {Summary: &a{Names: "Lumo 3.1"}},
		"Lumo 3.1'de neler yeni?":                                  {Summary: &a{Names: "Lumo 3.1'de"}},
		"Lumo3.1の新機能は？":                                            {Summary: &a{Names: "Lumo3.1"}},
		"What is new?":                                             {},
		"Does the contract include an overview?":                   {},
		"Who wrote the summary?":                                   {},
		"Who is the keeper?":                                       {},
		"How many pages does the report have?":                     {},
		"":                                                         {},
		strings.Repeat("page 3 of ", 4000):                         {},
		"Which documents do you have about bread and who wrote it": {List: &l{About: "bread and who wrote it"}},
	} {
		if d := cmp.Diff(want, catalog.Read(q)); d != "" {
			t.Errorf("%.80q: %s", q, d)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	docs := []struct {
		corpus.Document
		name string
	}{
		{corpus.Document{ID: "doc_00000001", Title: "Annual Report"}, "annual_report-2021.pdf"},
		{corpus.Document{ID: "doc_00000002", Title: "Report"}, "report.pdf"},
		{corpus.Document{ID: "doc_00000003", Title: "Żuławskis' Notes"}, "notes.v2.md"},
		{corpus.Document{ID: "doc_00000004", Title: ""}, ""},
	}
	for q, want := range map[string]int{
		"What is in annual report 2021?": 0, "What is in ANNUAL_REPORT-2021.PDF?": 0, "What is in the Annual Report?": 0, "the report": 1, "report.pdf": 1, "REPORT PDF": 1,
		"What do Zulawskis' notes say?": 2, "notes.v2": 2, "reports": -1, "doc_00000002 what is it?": 1, "": -1, "port": -1,
	} {
		best, at := 0, -1
		for i, d := range docs {
			if n := catalog.Match(q, d.Document, d.name); n > best {
				best, at = n, i
			}
		}
		if at != want {
			t.Errorf("%q: %d", q, at)
		}
	}
	if !catalog.IsName("annual report", docs[0].Document, docs[0].name) || catalog.IsName("report", docs[0].Document, docs[0].name) {
		t.Error("a name is not told from a part of it")
	}
}
