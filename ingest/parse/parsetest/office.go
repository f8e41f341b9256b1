package parsetest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Zip returns a ZIP file with pairs of names and contents, in their order.
func Zip(pairs ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		h := &zip.FileHeader{Name: pairs[i], Method: zip.Deflate}
		if pairs[i+1] == "" {
			h.Method = zip.Store // to start a compressor for nothing is slow with the race detector
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			panic(err) // names and a buffer cannot fail
		}
		if _, err := w.Write([]byte(pairs[i+1])); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const core = `<cp:coreProperties xmlns:cp="c" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="t"><dc:title>Harbour guide</dc:title>` +
	`<dc:creator>Ada Quill</dc:creator><cp:keywords>boats, tides</cp:keywords><dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified></cp:coreProperties>`

const wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

// DOCX returns a document with a body, which may use the styles H1, H2 and Code, the lists 1 (bullets) and 2 (numbers), the link rId9
// and the footnote 2.
func DOCX(body string) []byte {
	return Zip("[Content_Types].xml", `<Types/>`,
		"_rels/.rels", `<Relationships><Relationship Id="rId1" Type="http://x/officeDocument" Target="word/document.xml"/></Relationships>`,
		"docProps/core.xml", core,
		"word/_rels/document.xml.rels", `<Relationships><Relationship Id="rId9" Type="http://x/hyperlink" Target="https://example.org/tides" TargetMode="External"/></Relationships>`,
		"word/styles.xml", `<w:styles `+wordSpace+`><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>`+
			`<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="Chapter"/><w:basedOn w:val="H1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>`+
			`<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style></w:styles>`,
		"word/numbering.xml", `<w:numbering `+wordSpace+`><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>`+
			`<w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>`+
			`<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num></w:numbering>`,
		"word/footnotes.xml", `<w:footnotes `+wordSpace+`><w:footnote w:id="0" w:type="separator"><w:p/></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>Measured in 1999.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
		"word/document.xml", `<?xml version="1.0"?><w:document `+wordSpace+`><w:body>`+body+`</w:body></w:document>`)
}

// WordParagraph returns a paragraph for [DOCX]. Style may be empty.
func WordParagraph(style, text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text)
	return fmt.Sprintf(`<w:p><w:pPr><w:pStyle w:val="%s"/></w:pPr><w:r><w:t xml:space="preserve">%s</w:t></w:r></w:p>`, style, text)
}

// PPTX returns slides. Each is the content of its shapes; notes may be empty.
func PPTX(slides []string, notes string) []byte {
	const space = `xmlns:p="p" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="r"`
	ids, rels := "", ""
	pairs := []string{"docProps/core.xml", core}
	for i, s := range slides {
		ids += fmt.Sprintf(`<p:sldId id="%d" r:id="rId%d"/>`, 256+i, i+1)
		rels = fmt.Sprintf(`<Relationship Id="rId%d" Type="http://x/slide" Target="slides/s%d.xml"/>`, i+1, i+1) + rels
		pairs = append(pairs, fmt.Sprintf("ppt/slides/s%d.xml", i+1), `<p:sld `+space+`><p:cSld><p:spTree>`+s+`</p:spTree></p:cSld></p:sld>`)
	}
	if notes != "" {
		pairs = append(pairs, "ppt/slides/_rels/s1.xml.rels", `<Relationships><Relationship Id="rId1" Type="http://x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>`,
			"ppt/notesSlides/n.xml", `<p:notes `+space+`>`+notes+`</p:notes>`)
	}
	return Zip(append(pairs, "ppt/presentation.xml", `<p:presentation `+space+`><p:sldIdLst>`+ids+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships>`+rels+`</Relationships>`)...)
}

// ODF returns an OpenDocument file of a type: text, presentation or spreadsheet. Body is the content of its element.
func ODF(kind, styles, body string) []byte {
	const space = `xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d" xmlns:style="s" xmlns:presentation="p" xmlns:xlink="x" xmlns:dc="dc" xmlns:meta="m"`
	return Zip("mimetype", "application/vnd.oasis.opendocument."+kind,
		"content.xml", `<office:document-content `+space+`><office:automatic-styles>`+styles+`</office:automatic-styles><office:body><office:`+kind+`>`+body+
			`</office:`+kind+`></office:body></office:document-content>`,
		"meta.xml", `<office:document-meta `+space+`><office:meta><dc:title>Harbour guide</dc:title><meta:initial-creator>Ada Quill</meta:initial-creator>`+
			`<meta:keyword>boats</meta:keyword><meta:keyword>tides</meta:keyword><dc:date>2024-05-06T07:08:09</dc:date></office:meta></office:document-meta>`)
}

// ZipWith returns a ZIP file with members that replace those with the same names, or are added.
func ZipWith(data []byte, pairs ...string) []byte {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err) // it is one that this package has made
	}
	for _, f := range z.File {
		if slices.Contains(pairs, f.Name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			panic(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			panic(err)
		}
		pairs = append(pairs, f.Name, string(content))
	}
	return Zip(pairs...)
}
