package parse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

const letter = "From: =?utf-8?q?Ada_Qu=C3=AFll?= <ada@example.org>\r\nTo: bob@example.org\r\nSubject: Tides\r\nDate: Mon, 06 May 2024 07:08:09 +0000\r\n" +
	"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n" +
	"--m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n" +
	"--a\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nThe caf=E9 floods.\r\n" +
	"--a\r\nContent-Type: text/html\r\n\r\n<p>The café floods.</p>\r\n--a--\r\n" +
	"--m\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=depths.csv\r\nContent-Transfer-Encoding: base64\r\n\r\nUGllcixEZXB0aApOb3J0aCw0Cg==\r\n" +
	"--m\r\nContent-Type: message/rfc822\r\n\r\nFrom: c@example.org\r\nSubject: Before\r\n\r\nEarlier text.\r\n" +
	"--m\r\nContent-Type: image/png; name=a.png\r\n\r\n\x89PNG\r\n\r\n--m--\r\n"

// TestAlternatives parses messages with a text in plain and in HTML. A text that only stands for the other one is left out.
func TestAlternatives(t *testing.T) {
	message := func(plain, page string) []byte {
		return []byte("Subject: News\nContent-Type: multipart/alternative; boundary=a\n\n--a\nContent-Type: text/plain\n\n" + plain + "\n--a\nContent-Type: text/html\n\n" + page + "\n--a--\n")
	}
	const long = "<p>The ferry sails again on 5 April, daily at nine and at noon.</p><p>The harbour office is closed on Mondays until the end of May.</p>"
	parsed(t, "a.eml", message("Open this letter in a browser.", long), `heading1: News
		paragraph: The ferry sails again on 5 April, daily at nine and at noon.
		paragraph: The harbour office is closed on Mondays until the end of May.`)
	parsed(t, "b.eml", message("The ferry sails again on 5 April, daily at nine and at noon.", long), `heading1: News
		paragraph: The ferry sails again on 5 April, daily at nine and at noon.`)
}

func TestMail(t *testing.T) {
	const want = `heading1: Tides
		paragraph: From: Adaï <ada@example.org>⏎To: bob@example.org⏎Date: Mon, 06 May 2024 07:08:09 +0000
		paragraph: The café floods.
		heading2: depths.csv
		row: Pier | Depth
		row: North | 4
		heading2: message.eml
		heading3: Before
		paragraph: From: c@example.org
		paragraph: Earlier text.`
	text := strings.ReplaceAll(want, "Adaï", "Ada Quïll")
	for _, name := range []string{"a.eml", "letter"} {
		p := parsed(t, name, []byte(letter), text)
		if p.Title != "Tides" || p.Meta.Creator != "Ada Quïll <ada@example.org>" || p.Meta.Date != "2024-05-06" || p.MediaType != "message/rfc822" {
			t.Errorf("%+v", p)
		}
	}
	parsed(t, "inbox", []byte("From ada Mon\nFrom: a@b\nSubject: One\nMessage-ID: <1@b>\n\nfirst\n>From quoted\n\nFrom bob Mon\nFrom: c@d\nSubject: Two\n\nsecond\n"), `heading1: One
		paragraph: From: a@b
		paragraph: first⏎From quoted
		heading1: Two
		paragraph: From: c@d
		paragraph: second`)
	// Messages in messages: the depth is limited.
	inner := "Subject: x\n\nend\n"
	for range 40 {
		inner = "Subject: x\nContent-Type: message/rfc822\n\n" + inner
	}
	if _, err := parse.Parse(t.Context(), "deep.eml", []byte(inner), parse.Limits{}); err == nil || !strings.Contains(err.Error(), "nested more than") {
		t.Errorf("deep: %v", err)
	}
}

func epub(chapter string) []byte {
	return parsetest.Zip("mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>`,
		"OPS/book.opf", `<package xmlns:dc="d"><metadata><dc:title>Harbour guide</dc:title><dc:creator>Ada Quill</dc:creator><dc:language>en</dc:language></metadata>
		<manifest><item id="n" href="nav.xhtml" properties="nav"/><item id="b" href="two%20b.xhtml"/><item id="a" href="text/one.xhtml"/></manifest>
		<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>`,
		"OPS/nav.xhtml", "<html><body><p>Contents</p></body></html>", "OPS/text/one.xhtml", "<html><body><h1>One</h1><p>First chapter.</p></body></html>", "OPS/two b.xhtml", chapter)
}

func TestEPUB(t *testing.T) {
	p := parsed(t, "a.epub", epub("<html><body><h1>Two</h1><p>Second chapter.</p></body></html>"), `heading1: One
		paragraph: First chapter.
		heading1: Two
		paragraph: Second chapter.`)
	if p.Title != "Harbour guide" || p.Meta.Creator != "Ada Quill" || p.Meta.Language != "en" {
		t.Errorf("%+v", p.Meta)
	}
}

const cells = `{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "markdown", "source": ["# Tides\n", "\n", "They turn."]},
	{"cell_type": "code", "source": "print(4)", "outputs": [{"text": ["4\n"]}, {"data": {"text/plain": "5", "image/png": "AAAA"}}]}]}`

func TestNotebook(t *testing.T) {
	parsed(t, "a.ipynb", []byte(cells), `heading1: Tides
		paragraph: They turn.
		code: print(4)
		code: 4
		code: 5`)
}

const cues = "WEBVTT\n\nNOTE made by hand\n\n1\n00:01.000 --> 00:03.000 align:start\n<v Ada>The tide\nturns.\n\n00:03.000 --> 00:04.000\nturns.\nAt noon.\n"

func TestSubtitles(t *testing.T) {
	parsed(t, "a.vtt", []byte(cues), "paragraph: [00:01] The tide turns. At noon.")
	parsed(t, "a.srt", []byte("1\r\n01:02:03,500 --> 01:02:04,000\r\n<i>Hello</i>\r\n"), "paragraph: [01:02:03] Hello")
}

func FuzzMail(f *testing.F) {
	fuzz(f, "a.eml", letter, "Subject: x\nContent-Type: message/rfc822\n\nSubject: y\n\nz")
}
func FuzzMbox(f *testing.F)     { fuzz(f, "a.mbox", "From a\n"+letter+"\nFrom b\nSubject: c\n\nd\n") }
func FuzzNotebook(f *testing.F) { fuzz(f, "a.ipynb", cells) }
func FuzzSubtitle(f *testing.F) { fuzz(f, "a.vtt", cues) }

func FuzzEPUB(f *testing.F) {
	f.Add("<html><body><h1>Two</h1>")
	f.Fuzz(func(t *testing.T, chapter string) { check(t, "a.epub", epub(chapter)) })
}

// TestMarkupWithoutName checks that reStructuredText and AsciiDoc are recognised in files whose names say no more than that they are texts, and that texts that only resemble them are not.
func TestMarkupWithoutName(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct{ name, text, media string }{
		{"guide.txt", read("guide.rst"), "text/x-rst"},
		{"quickstart.rst.txt", read("guide.rst"), "text/x-rst"},
		{"README", read("guide.rst"), "text/x-rst"},
		{"guide.txt", read("guide.adoc"), "text/asciidoc"},
		{"NEWS", "Tides\n=====\n\nSee :ref:`piers` and :doc:`boats`.\n", "text/x-rst"},
		{"git-tide.txt", "git-tide(1)\n===========\n\nNAME\n----\ngit-tide - turn\n\n[verse]\n'git tide' [--pier]\n\nSee linkgit:git-log[1] and <<piers>>.\n", "text/asciidoc"},
		{"guide.log", read("guide.rst"), "text/plain"},
		{"notes.txt", read("notes.txt"), "text/plain"},
		{"notes.txt", "Tides\n=====\n\nNOTE: the pier is closed.\n\nBoats\n-----\n\n.. and so on, ::\n", "text/plain"},
		{"run.txt", "[source]\nurl = https://example.org\n\n[NOTE]\n:a: b\n", "text/plain"},
		{"sums.txt", "= total of 4\n\na:: b\nlink: x\n", "text/plain"},
		{"code.txt", "template <T> std::vector<T>\n==========\nstd::string a[4];\n", "text/plain"},
	} {
		p, err := parse.Parse(t.Context(), c.name, []byte(c.text), parse.Limits{})
		if err != nil || p.MediaType != c.media {
			t.Errorf("%s: %s, %v, want %s: %.80q", c.name, p.MediaType, err, c.media, c.text)
		}
	}
}
