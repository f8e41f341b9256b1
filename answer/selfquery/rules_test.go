package selfquery_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/selfquery"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/corpus/filter"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]selfquery.Filter{
		"What do papers by Ada Brook from 2021 say about spring tides?":             {Creator: "Ada Brook", From: "2021-01-01", To: "2021-12-31", Query: "What do papers say about spring tides?"},
		"Which reports published before March 2020 mention the sluice?":             {To: "2020-02-29", Query: "Which reports published mention the sluice?"},
		"What do notes written after 6 May 2024 say about gold?":                    {From: "2024-05-07", Query: "What do notes written say about gold?"},
		"Which articles between 2019 and 2021 describe bridges?":                    {From: "2019-01-01", To: "2021-12-31", Query: "Which articles describe bridges?"},
		"What do documents since 2022-03 say about tolls?":                          {From: "2022-03-01", Query: "What do documents say about tolls?"},
		"How high is the tide according to Ada Brook?":                              {Creator: "Ada Brook", Query: "How high is the tide?"},
		"What is said of salt in the report \"The Lower Ponds\"?":                   {Title: "The Lower Ponds", Query: "What is said of salt?"},
		"How deep is the harbour? author: Ed Brook after:2020 type:pdf language:de": {Creator: "Ed Brook", From: "2021-01-01", Type: "pdf", Language: "de", Query: "How deep is the harbour?"},
		"Wie tief ist der Hafen? author:\"Brook, Ed\" date:2021..2022":              {Creator: "Brook, Ed", From: "2021-01-01", To: "2022-12-31", Query: "Wie tief ist der Hafen?"},
		"What do the PDF files say about gravel?":                                   {Type: "pdf", Query: "What do the files say about gravel?"},
		"What is said in the PDFs about gravel?":                                    {Type: "pdf", Query: "What is said about gravel?"},
		"What do German documents say about bread?":                                 {Language: "de", Query: "What do documents say about bread?"},
		"How is bread baked in documents in French?":                                {Language: "fr", Query: "How is bread baked?"},
		"What do Ada Brook's notes say about the lamp?":                             {Creator: "Ada Brook", Query: "What do notes say about the lamp?"},
		"Which guides published by Acme Press explain sluices?":                     {Publisher: "Acme Press", Query: "Which guides explain sluices?"},
		"What do books from the 1990s say about lamps?":                             {From: "1990-01-01", To: "1999-12-31", Query: "What do books say about lamps?"},
		"documents by Ada Brook":                                                    {Creator: "Ada Brook", Query: "documents by Ada Brook"},
		// Names and dates that are about the subject.
		"Which bridge was built by Ada Vale in 1898?":          {Query: "Which bridge was built by Ada Vale in 1898?"},
		"Who kept the light before 1900?":                      {Query: "Who kept the light before 1900?"},
		"What happened in May 2024?":                           {Query: "What happened in May 2024?"},
		"What do documents from February 30, 2024 say of ice?": {Query: "What do documents from February 30, 2024 say of ice?"},
		"": {},
	} {
		got, err := selfquery.Rules{}.Extract(t.Context(), question)
		want.By = "rules"
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q, %v (-want +got):\n%s", question, err, d)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	d := corpus.Document{Title: "Of Tides", URI: "/notes/spring-tides.pdf", MediaType: "application/pdf",
		Meta:  corpus.DublinCore{Creator: "Brook, Ada; Ed Mill", Language: "en-GB", Date: "2021-05-06T10:00:00Z", Publisher: "Acme Press Ltd."},
		Given: corpus.DublinCore{Title: "Tides, revised"}}
	for name, c := range map[string]struct {
		f    selfquery.Filter
		want bool
	}{
		"creator": {selfquery.Filter{Creator: "ada brook"}, true}, "another": {selfquery.Filter{Creator: "Ada Vale"}, false},
		"publisher": {selfquery.Filter{Publisher: "Acme Press"}, true}, "title": {selfquery.Filter{Title: "of tides"}, true},
		"given title": {selfquery.Filter{Title: "tides revised"}, true}, "file name": {selfquery.Filter{Title: "spring-tides.pdf"}, true}, "part of a word": {selfquery.Filter{Title: "tide"}, false},
		"type": {selfquery.Filter{Type: "pdf"}, true}, "other type": {selfquery.Filter{Type: "html"}, false},
		"language": {selfquery.Filter{Language: "en"}, true}, "other language": {selfquery.Filter{Language: "de"}, false},
		"that day": {selfquery.Filter{From: "2021-05-06", To: "2021-05-06"}, true}, "later": {selfquery.Filter{From: "2021-05-07"}, false}, "earlier": {selfquery.Filter{To: "2021-05-05"}, false},
		"all": {selfquery.Filter{Creator: "Mill", Type: "pdf", To: "2021-12-31"}, true}, "all but one": {selfquery.Filter{Creator: "Mill", Type: "html", To: "2021-12-31"}, false},
	} {
		if got := c.f.Where().Matches(filter.OfDocument(d)) == filter.Yes; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for date, want := range map[string]bool{"2021": true, "May 2021": true, "6 May 2021": true, "May 6th, 2021": true, "2021/05/06": true, "c. 2021": true, "2021-05": true,
		"2021-06": false, "7 May 2021": false, "": false, "long ago": false, "2021-13-01": false, "2020s": true, "1890s": false} {
		d := corpus.Document{Meta: corpus.DublinCore{Date: date}}
		if got := (selfquery.Filter{From: "2021-05-06", To: "2021-05-06"}).Where().Matches(filter.OfDocument(d)) == filter.Yes; got != want {
			t.Errorf("%q: %v", date, got)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, s := range []string{"papers by Ada Brook from 2021", "title: \"a\" before:2020", "notes from 0000-99-99", "документы от 2020"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) {
		got, err := selfquery.Rules{}.Extract(t.Context(), question)
		if err != nil || len(got.Query) > len(question) || got.Query == "" && question != "" || got.From > got.To && got.To != "" {
			t.Errorf("%q: %+v, %v", question, got, err)
		}
		got.Where().Matches(filter.OfDocument(corpus.Document{Title: question, URI: question, Meta: corpus.DublinCore{Creator: question, Date: question, Language: question}}))
	})
}
