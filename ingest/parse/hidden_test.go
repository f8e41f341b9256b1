package parse_test

import (
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
)

// hiding are documents in which "secret" cannot be seen, and "seen" can. In each format, the text is hidden in another way.
func hiding(t testing.TB) map[string][]byte {
	run := func(properties, text string) string {
		return `<w:r><w:rPr>` + properties + `</w:rPr><w:t xml:space="preserve">` + text + ` </w:t></w:r>`
	}
	word := `<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>` + run("", "seen1") + run(`<w:vanish/>`, "secret") + run(`<w:vanish w:val="0"/>`, "seen2") +
		run(`<w:sz w:val="0"/>`, "secret") + run(`<w:color w:val="FFFFFF"/><w:sz w:val="2"/>`, "pale") + run(`<w:rStyle w:val="Ghost"/>`, "secret") +
		`<w:del><w:r><w:delText>secret</w:delText></w:r></w:del><w:moveFrom>` + run("", "secret") + `</w:moveFrom>` + run("", "seen3") + `</w:p>` +
		parsetest.WordParagraph("Ghosts", "secret") + parsetest.WordParagraph("", "seen4")
	docx := parsetest.ZipWith(parsetest.DOCX(word), "word/styles.xml", `<w:styles xmlns:w="w"><w:style w:type="character" w:styleId="Ghost"><w:rPr><w:vanish/></w:rPr></w:style>`+
		`<w:style w:type="paragraph" w:styleId="Ghosts"><w:basedOn w:val="Ghost"/></w:style></w:styles>`, "word/comments.xml", `<w:comments xmlns:w="w"><w:comment><w:p><w:r><w:t>secret</w:t></w:r></w:p></w:comment></w:comments>`)
	shape := func(attributes, text string) string {
		return `<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"` + attributes + `/></p:nvSpPr><p:txBody><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></p:txBody></p:sp>`
	}
	pptx := parsetest.PPTX([]string{shape("", "seen1 pale") + shape(` hidden="1"`, "secret") + shape("", "seen2"), "secret"}, "")
	pptx = parsetest.ZipWith(pptx, "ppt/slides/s2.xml", `<p:sld xmlns:p="p" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" show="0"><p:cSld><p:spTree>`+shape("", "secret")+`</p:spTree></p:cSld></p:sld>`)
	odt := parsetest.ODF("text", `<style:style style:name="G"><style:text-properties text:display="none"/></style:style><style:style style:name="H" style:parent-style-name="G"/>`+
		`<style:style style:name="Z"><style:text-properties fo:font-size="0pt"/></style:style><style:style style:name="W"><style:text-properties fo:color="#ffffff"/></style:style>`,
		`<text:tracked-changes><text:changed-region><text:deletion><text:p>secret</text:p></text:deletion></text:changed-region></text:tracked-changes>`+
			`<text:p>seen1 <text:span text:style-name="G">secret</text:span><text:span text:style-name="Z">secret</text:span><text:span text:style-name="W">pale</text:span>`+
			`<office:annotation><text:p>secret</text:p></office:annotation><text:hidden-text>secret</text:hidden-text> seen2</text:p>`+
			`<text:p text:style-name="H">secret</text:p><text:section text:display="none"><text:p>secret</text:p></text:section><text:p>seen3</text:p>`)
	odp := parsetest.ODF("presentation", `<style:style style:name="G"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>`,
		`<draw:page><draw:frame><draw:text-box><text:p>seen1 pale</text:p></draw:text-box></draw:frame></draw:page>`+
			`<draw:page draw:style-name="G"><draw:frame><draw:text-box><text:p>secret</text:p></draw:text-box></draw:frame></draw:page>`)
	book := excelize.NewFile()
	defer book.Close()
	_, err := book.NewSheet("secret")
	if err == nil {
		err = book.SetSheetVisible("secret", false)
	}
	for at, text := range map[string]string{"Sheet1!A1": "seen1", "Sheet1!A2": "pale", "secret!A1": "secret"} {
		sheet, at, _ := strings.Cut(at, "!")
		if err == nil {
			err = book.SetCellValue(sheet, at, text)
		}
	}
	if err == nil {
		err = book.AddComment("Sheet1", excelize.Comment{Cell: "A1", Text: "secret"})
	}
	xlsx, failed := book.WriteToBuffer()
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	const page = `<p>seen1</p><!-- secret --><p hidden>secret</p><p style="display : none">secret</p><div style="VISIBILITY:
 hidden">secret</div><span style="font-size:0">secret</span><span style="color:red; font-size: 0.0px!important">secret</span><p style="opacity:0/**/;color:red">secret</p>` +
		`<div aria-hidden="true">secret</div><template>secret</template><input type=hidden value=secret><p style="color:#fff;font-size:1px">pale</p><p style="font-size:0.9em;opacity:0.5">seen2</p>`
	return map[string][]byte{
		"a.docx": docx, "a.pptx": pptx, "a.odt": odt, "a.odp": odp, "a.xlsx": xlsx.Bytes(), "a.html": []byte("<html><body>" + page), "a.md": []byte("# seen0\n\n" + page + "\n"),
		"a.epub": epub("<html><body>" + page), "a.eml": []byte("Subject: seen0\nX-Note: secret\nContent-Type: text/html\n\n<html><body>" + page),
		"a.rtf":     []byte(`{\rtf1 seen1 {\v secret}{\deleted secret}{\fs0 secret}{\cf8\fs1 pale} \v secret\v0 seen2 {\*\annotation secret}{\header secret}}`),
		"a.rst":     []byte("seen1 pale\n\n.. secret\n   secret\n\n.. only:: html\n\n   seen2\n\n.. raw:: html\n\n   <b>secret</b>\n"),
		"a.adoc":    []byte("seen1 pale\n\n// secret\n\n////\nsecret\n////\n\n[comment]\nsecret\n\n++++\n<b>secret</b>\n++++\n\nseen2 (((secret)))\n"),
		"a.1":       []byte(".TH A 1\n.\\\" secret\n.ig\nsecret\n..\n.SH NAME\nseen1 pale\\\" secret\n"),
		"a.xml":     []byte("<a><!-- secret --><b>seen1 pale</b><?secret secret?></a>"),
		"a.docbook": []byte("<article><para>seen1 pale</para><!-- secret --><remark>secret</remark><para>seen2</para></article>"),
		"a.ipynb":   []byte(`{"cells":[{"cell_type":"markdown","source":"seen1 <p hidden>secret</p> pale","metadata":{"secret":"secret"}}]}`),
	}
}

// TestHiddenText checks the rule of all formats: what cannot be seen is left out, and what is only hard to see, such as white text, is read.
func TestHiddenText(t *testing.T) {
	for name, data := range hiding(t) {
		t.Run(name, func(t *testing.T) {
			p, err := parse.Parse(t.Context(), name, data, parse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			text := shown(p)
			if strings.Contains(text, "secret") {
				t.Errorf("hidden text is read: %s", text)
			}
			for _, want := range []string{"seen1", "seen2", "seen3", "seen4", "pale"} {
				if strings.Contains(string(data), want) && !strings.Contains(text, want) || want == "pale" && !strings.Contains(text, want) {
					t.Errorf("%s is not read: %s", want, text)
				}
			}
		})
	}
}

// TestNewsletter checks that text is read in frames without a size of text, as newsletters have them, and with variables that end like the name of a property.
func TestNewsletter(t *testing.T) {
	const page = `<table><tr><td style="direction:ltr;font-size:0px;padding:20px 0;"><div style="font-size:0px;display:inline-block"><div style="font-family:serif;font-size:20px">The northern pier.</div></div></td></tr></table>` +
		`<p style="--bg-opacity: 0; color: red">The southern pier.</p>`
	p, err := parse.Parse(t.Context(), "a.html", []byte("<html><body>"+page), parse.Limits{})
	if text := shown(p); err != nil || !strings.Contains(text, "northern") || !strings.Contains(text, "southern") {
		t.Errorf("%v, %s", err, text)
	}
}
