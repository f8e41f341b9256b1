package parse_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestHeadingPaths checks in which section texts are, for formats that are read as structure. A path is headings from the outermost.
func TestHeadingPaths(t *testing.T) {
	for file, want := range map[string]map[string]string{
		"guide.rst":      {"North | 4 | all day": "Harbour guide › Depths", "- slowly": "Harbour guide › Depths › Boats", "Not even at noon.": "Harbour guide › Depths › Boats", "tide --pier 4": "Harbour guide › Depths › Boats"},
		"guide.adoc":     {"South | 5 m": "Harbour guide › Depths", "- Ferry: A large boat.": "Harbour guide › Depths › Boats", "- and at night": "Harbour guide › Depths › Boats", "Press Ctrl+C": "Harbour guide › Old title"},
		"tide.1":         {"- -v, --verbose": "DESCRIPTION › Options", "- south": "DESCRIPTION › Options", "tide reads /etc/tide.conf, and ~/.tide.": "FILES", "Both of north south: .": "FILES", "North | 4 metres": "EXAMPLES", "ebb(1)": "SEE ALSO"},
		"turn.3":         {"- -p pier": "DESCRIPTION", "North | 4": "DESCRIPTION", "turn(4,": "DESCRIPTION", "FreeBSD": "STANDARDS"},
		"config.json":    {"- staging.database.port: 5433": "", "Ferry | 12": "boats", "- all.wind: 1": "rules › Tides › if › if 2 › all", "- if.level.above.north: 7": "rules › rules 2"},
		"servers.xml":    {"- staging.database.port": "", "a | 1": "servers › server"},
		"news.rss":       {"The pier is closed.": "channel › Storm", "- description: The pier is open.": "channel › Calm"},
		"book.docbook":   {"- south": "Harbour guide › Tides", "North | 4 m": "Harbour guide › Tides › Depths", "turn 4": "Harbour guide › Tides › Depths", "The ferry.": "Harbour guide › Boats"},
		"plain.json":     {"- b: 2": ""},
		"repeated.jsonl": {"x | 1": ""},
	} {
		data, err := os.ReadFile("testdata/" + file)
		switch file {
		case "plain.json":
			data, err = []byte(`{"a": 1, "b": 2}`), nil
		case "repeated.jsonl":
			data, err = []byte("{\"a\":\"x\",\"b\":1}\n{\"a\":\"y\",\"b\":2}\n"), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse.Parse(t.Context(), file, data, parse.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for text, path := range want {
			if got, found := pathOf(p.Blocks, text); !found || got != path {
				t.Errorf("%s: %q is under %q, want %q (found: %v)", file, text, got, path, found)
			}
		}
	}
}

// pathOf returns the headings above the first block that begins with a text.
func pathOf(blocks []parse.Block, text string) (string, bool) {
	var path []parse.Block
	for _, b := range blocks {
		if b.Kind == parse.Heading {
			for len(path) > 0 && path[len(path)-1].Level >= b.Level {
				path = path[:len(path)-1]
			}
			path = append(path, b)
		} else if strings.HasPrefix(b.Text, text) {
			names := make([]string, len(path))
			for i, h := range path {
				names[i] = h.Text
			}
			return strings.Join(names, " › "), true
		}
	}
	return "", false
}

// TestRecognised checks which format is chosen by the content, and by the name.
// TestPermalinks: the signs that documentation has after headings and terms are no text, and other links are.
func TestPermalinks(t *testing.T) {
	t.Parallel()
	doc, err := parse.Parse(t.Context(), "json.html", []byte(`<h1>json<a class="headerlink" href="#json" title="Permalink">¶</a></h1><dl><dt>dump(obj)<a href="#dump"><span> # </span></a></dt><dd>Writes obj<a href="#n1">1</a>.</dd></dl>`+
		`<p>See <a href="#top"><img alt="a picture"></a>, <a href="https://example.com/">→</a> and <a href="#up">up</a>.</p>`), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, b := range doc.Blocks {
		texts = append(texts, b.Text)
	}
	if got, want := strings.Join(texts, "|"), "json|- dump(obj): Writes obj1.|See a picture , → and up."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRecognised(t *testing.T) {
	page := ".\\\" comment\n.TH LS 1\n.SH NAME\nls \\- list\n"
	for _, tt := range []struct{ name, data, media, title string }{
		{"ls.1", page, "text/troff", "ls(1)"},
		{"ls", page, "text/troff", "ls(1)"},
		{"LS.3pm", page, "text/troff", "LS(1)"},
		{"ls.1.gz", string(gzipped(page)), "text/troff", "ls(1)"},
		{"server.log.1", "started\nstopped\n", "text/plain", ""},
		{"ls.md", page, "text/markdown", ""},
		{"dir.1", ".so man1/ls.1\n", "text/troff", "dir(1)"},
		{"page.rst", "Ti\n==\n\nx\n", "text/x-rst", "Ti"},
		{"page.adoc", "= T\n\nx\n", "text/asciidoc", "T"},
		{"feed", "<?xml version=\"1.0\"?><rss><channel><title>T</title></channel></rss>", "application/xml", "T"},
		{"wide.xml", string(utf16LE("<?xml version=\"1.0\" encoding=\"UTF-16\"?><a><b>käse</b></a>")), "application/xml", ""},
		{"latin.xml", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a><b>k\xe4se</b></a>", "application/xml", ""},
		{"wide.json", string(utf16LE(`{"a": "käse"}`)), "application/json", ""},
		{"comments.json", "// a comment\n{\"käse\": 1}\n", "application/json", ""}, // not valid: read as code
		{"broken.xml", "<a><b>käse</a", "application/xml", ""},
		{"deep.json", strings.Repeat("[", 200) + `"käse"` + strings.Repeat("]", 200), "application/json", ""},
	} {
		p, err := parse.Parse(t.Context(), tt.name, []byte(tt.data), parse.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if p.MediaType != tt.media || tt.title != "" && p.Title != tt.title {
			t.Errorf("%s: %s %q, want %s %q", tt.name, p.MediaType, p.Title, tt.media, tt.title)
		}
		if strings.Contains(tt.data, "k") && strings.Contains(tt.data, "se") && strings.HasSuffix(tt.name, "xml") && !strings.Contains(shown(p), "käse") {
			t.Errorf("%s: %s", tt.name, shown(p))
		}
	}
}

// TestQuadratic parses markup whose parts refer to each other, begin without an end, or are nested, in a time that grows with its size.
func TestQuadratic(t *testing.T) {
	const n = 400_000
	for name, data := range map[string]string{
		"open.rst": strings.Repeat("*a **b `c ``d |e ", n/16), "nested.rst": strings.Repeat("- ", n/2) + "x", "quotes.rst": nested(" ", 2000),
		"substituted.rst": ".. |a| replace:: " + strings.Repeat("x", 4000) + "\n\n" + strings.Repeat("|a| ", n/4), "grid.rst": strings.Repeat("+-", 1000) + "+\n" + strings.Repeat("|x\n", n/3),
		"simple.rst": strings.Repeat("== ", 1000) + "\n" + strings.Repeat("x\n", n/2), "rules.rst": strings.Repeat("== ==\nx y\n", n/10), "literal.rst": strings.Repeat("a::\n\n b\n\n", n/8),
		"roles.rst": strings.Repeat(":a:`", n/4), "terms.rst": nested("a\n ", 500), "fields.rst": strings.Repeat(":a: ", n/4),
		"open.adoc": strings.Repeat("*a _b `c #d +e ^f ~g <<h ((i [[j [k] http://l[m ", n/50), "nested.adoc": strings.Repeat("*_", n/2) + "x" + strings.Repeat("_*", n/2),
		"attributes.adoc": ":a: " + strings.Repeat("x", 4000) + "\n:b: {a}{a}\n:c: {b}{b}\n\n" + strings.Repeat("{a}{c} ", n/8), "blocks.adoc": strings.Repeat("====\n=====\n======\n", n/17),
		"cells.adoc": "[cols=99]\n|===\n" + strings.Repeat("|", n) + "\n|===\n", "repeated.adoc": "|===\n" + strings.Repeat("999*|a ", n/8) + "\n|===\n", "terms.adoc": strings.Repeat("a::\n", n/4),
		"lists.adoc": strings.Repeat("* a\n** b\n. c\n.. d\n", n/20),
		"cells.1":    ".TH A 1\n.TS\nl.\n" + strings.Repeat("T{\n", n/3), "conditions.1": ".TH A 1\n" + strings.Repeat(".if n \\{\\\n", n/10), "escapes.1": ".TH A 1\n" + strings.Repeat(`\[a\*(b\h'`, n/10),
		"strings.1": ".TH A 1\n.ds a x\n" + strings.Repeat(".as a \\*a\\*a\n", n/14) + "\\*a\n", "joined.1": ".TH A 1\n" + strings.Repeat("a\\\n", n/3), "indents.1": ".TH A 1\n" + strings.Repeat(".RS\n.IP a\n", n/10),
		"macros.1": ".Dd x\n.Dt A 1\n" + strings.Repeat(".Op Op Op Op Op Op\n", n/20), "items.1": ".Dd x\n.Bl -tag\n" + strings.Repeat(".It Xo\n", n/7), "lists.1": ".Dd x\n" + strings.Repeat(".Bl -enum\n.It\n", n/14),
		"objects.json": strings.Repeat(`{"a":[`, 30) + "1" + strings.Repeat("]}", 30), "records.json": "[" + strings.Repeat(`{"a":1},`, n/8) + `{"b":1}]`, "keys.json": "[" + keys(20_000) + "]",
		"comments.xml": "<a>" + strings.Repeat("b<!---->", 1<<20) + "</a>", "texts.xml": "<a>" + strings.Repeat("<b/>"+strings.Repeat("c", 200), 30_000) + "</a>",
		"elements.xml": "<a>" + strings.Repeat("<b c='d'>e</b>", n/14) + "</a>", "mixed.xml": "<article>" + strings.Repeat("x<para>", 60) + strings.Repeat("</para>", 60) + "</article>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse.Parse(t.Context(), name, []byte(data), parse.Limits{Time: 20 * time.Second}); err != nil && strings.Contains(err.Error(), "took longer") {
				t.Error(err)
			}
		})
	}
}

// TestAuthorsOfManual checks that addresses in pages that asciidoctor has made are read.
func TestAuthorsOfManual(t *testing.T) {
	p, err := parse.Parse(t.Context(), "a.1", []byte(".TH A 1\n.SH AUTHORS\n.MTO \"ada\\(atexample.org\" \"Ada Lovelace\" \",\"\n"), parse.Limits{})
	if err != nil || !strings.Contains(shown(p), "Ada Lovelace (ada@example.org),") {
		t.Errorf("%v, %s", err, shown(p))
	}
}

// TestXMLKeeps checks that elements that are not shown in documents are kept elsewhere, and so are the attributes of elements with few texts.
func TestXMLKeeps(t *testing.T) {
	for data, want := range map[string]string{
		strings.Repeat("<post>A <b>post</b>.</post><comment>The <i>northern</i> pier.</comment>", 3):                   "The northern pier.",
		"<index>" + strings.Repeat("<para>The <b>northern</b> pier.</para>", 3) + "</index>":                           "The northern pier.",
		strings.Repeat(`<rule pattern="the northern pier"> // comment <token type="Operator"/></rule>`, 5) + "<rule/>": "the northern pier",
	} {
		p, err := parse.Parse(t.Context(), "a.xml", []byte("<all>"+data+"</all>"), parse.Limits{})
		if strings.HasPrefix(data, "<index>") {
			p, err = parse.Parse(t.Context(), "a.xml", []byte(data), parse.Limits{})
		}
		if err != nil || !strings.Contains(shown(p), want) {
			t.Errorf("%.40s: %v, %s", data, err, shown(p))
		}
	}
}

// nested returns lines that are each indented by more than the one before.
func nested(s string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + strings.TrimSuffix(s, " ") + "a\n")
	}
	return b.String()
}

// keys returns objects without a common key.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"k` + strings.Repeat("x", i%50) + `":{"a":{"b":1}}}`)
	}
	return b.String()
}

func FuzzRST(f *testing.F) {
	fuzz(f, "a.rst", "+-+-+\n|a|b|\n+=+=+\n|c  |\n+-+-+", "=== ==\na   b\n=== ==\nc   d\n    e\n=== ==", ".. |a| replace:: b\n\n|a| *b* ``c`` :d:`e <f>` g_ `h`__ [1]_", "- a\n\n  1. b::\n\n      c\n\n:d: e\n  f\n\n-g  h",
		".. list-table::\n\n   * - a\n     - b", ".. csv-table:: a\n   :delim: ;\n\n   b;\"c", "..\n\n  a\n\n__ b\n| c\n  d")
}

func FuzzAsciiDoc(f *testing.F) {
	fuzz(f, "a.adoc", "|===\n2+|a 3*|b\n.2+^.>s|c|d\n|===", ":a: b\n{a} {c} *d _e `f`_* <<g,h>> i:j[k] https://l[m] \"`n`\"", "* a\n+\n--\nb\n--\n. c\nd:: e\n;;", "[NOTE]\n====\na\n====\n\n,===\nb,c\n,===", "ifdef::a[b]\n////\nc\n")
}

func FuzzManual(f *testing.F) {
	fuzz(f, "a.1", ".TH a 1\n.TP\n.B b\nc \\(bu \\[u20AC] \\*(lq \\f(CWx\\fP \\s-2y\\s0 \\h'1'\\N'65'", ".Dd a\n.Dt B 1\n.Bl -column a b\n.It c Ta d\n.El\n.Op Fl a Ns Ar b .\n.It Xo\n.Xc",
		".TH a 1\n.TS\ntab(;);\nl l.\na;T{\nb\nT}\n.TE\n.ie n \\{\\\n.el b\\}\n.de c\n..\n.ds d e\n\\*d\n.so f")
}

func FuzzJSON(f *testing.F) {
	fuzz(f, "a.json", `[{"a":1,"b":{"c":[1,2]}},{"a":null}]`, "{\"a\":1}\n{\"b\":[[1,2],[3,4]]}", `{"a":"\ud800","b":[{"name":"c","d":[[]]}]}`)
}

func FuzzXML(f *testing.F) {
	fuzz(f, "a.xml", "<a b='c'><d>e</d><d/>f</a>", "<article><title>a</title><para>b<b>c</b><itemizedlist><listitem>d</listitem></itemizedlist></para></article>", "<rss><channel><item><title>a</title><description>&lt;p>b&lt;/p></description></item></channel></rss>",
		"<plist><dict><key>a</key><true/><key>b</key><array><string>c</string></array></dict></plist>", "<?xml version='1.0' encoding='utf-16'?><a/>")
}
