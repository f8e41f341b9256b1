package parse_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/ingest/parse"
)

// TestHTMLOfManuals reads what generators of manuals write: acronyms, links to other pages and to places in the same one, and paragraphs of code.
func TestHTMLOfManuals(t *testing.T) {
	t.Parallel()
	const page = `<html><body><div class="navheader"><p>Prev Next</p></div><ul id="toc"><li><img alt="" src="x.gif"> <a href="#stop">Stop the tide</a></li><li><a href="#start">Start it</a></li></ul>
<h2 id="stop">Stop <a class="permalink" href="#stop">&para;</a></h2><p>The <acronym>TLS</acronym> gate stops it:</p><p><code>tidectl -k stop<br>tidectl wait</code></p>
<ul><li><a href="#start">Start</a> it first.</li><li>Then wait.</li></ul><p><code>tide</code></p><ul class="docnav"><li>Prev</li></ul></body></html>`
	p, err := parse.Parse(t.Context(), "page.html", []byte(page), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range p.Blocks {
		got = append(got, b.Text)
	}
	want := []string{"Stop", "The TLS gate stops it:", "tidectl -k stop\ntidectl wait", "- Start it first.", "- Then wait.", "tide"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.Blocks[2].Kind != parse.Code || p.Blocks[5].Kind == parse.Code {
		t.Error("kinds")
	}
}

// TestPreformattedPage: a page of preformatted prose is read as text, with its titles and its code. A page of code stays code.
func TestPreformattedPage(t *testing.T) {
	t.Parallel()
	rule := strings.Repeat("=", 60)
	text := "This chapter is about how to change the tide with the tide table. It is for those\nwho have read the first chapter, and who want to know more than that.\n\n" + rule +
		"\n\n*02.1*\tStopping the tide\n\nTo stop the tide at the gate, use this command:\n\n\ttide stop\n\nThe gate is closed after that, and the boats have to wait until it is open.\n\nTHE GATE\n\nIt is a door.\n"
	p, err := parse.Parse(t.Context(), "page.html", []byte("<html><head><title>T</title></head><body><h1>Tides</h1><pre>"+text+"</pre></body></html>"), parse.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for begin, want := range map[string]string{"\ttide stop": "Tides › *02.1* Stopping the tide", "The gate is closed": "Tides › *02.1* Stopping the tide", "It is a door": "Tides › *02.1* Stopping the tide › THE GATE"} {
		if got, found := pathOf(p.Blocks, begin); !found || got != want {
			t.Errorf("%q is under %q, want %q (found: %v)", begin, got, want, found)
		}
	}
	for _, b := range p.Blocks {
		if code := b.Kind == parse.Code; code != strings.Contains(b.Text, "tide stop") {
			t.Errorf("%q: code %v", b.Text, code)
		}
	}
	code := strings.Repeat("func tide(level int) int {\n\treturn level*gate + pier // in metres\n}\n\n", 8)
	p, err = parse.Parse(t.Context(), "page.html", []byte("<html><body><pre>"+code+"</pre></body></html>"), parse.Limits{})
	if err != nil || len(p.Blocks) == 0 {
		t.Fatal(err, p.Blocks)
	}
	for _, b := range p.Blocks {
		if b.Kind != parse.Code {
			t.Errorf("%q is no code", b.Text)
		}
	}
}

// TestContentIsKept reads pages that look like navigation, a table of contents or code, and are not.
func TestContentIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"body.html", `<html><body class="navigation fixed"><p>The pool is open on Monday.</p></body></html>`, "The pool is open on Monday."},
		{"section.html", `<html><body><div class="section navigation"><h2>Pool</h2><p>It is open on Monday.</p></div></body></html>`, "It is open on Monday."},
		{"words.html", `<html><body><div class="navigation"><p>The pool is open on Monday.</p></div></body></html>`, "The pool is open on Monday."},
		{"faq.html", `<html><body><ul><li><a href="#">Fee: 5 euros</a></li><li><a href="#">Dogs are welcome</a></li></ul></body></html>`, "Fee: 5 euros"},
		{"pool.txt", "Opening hours of the pool:\n\n    The pool is open from Monday to Friday.\n    On Sundays it is closed.\n", "The pool is open"},
	} {
		p, err := parse.Parse(t.Context(), c.name, []byte(c.text), parse.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := false
		for _, b := range p.Blocks {
			found = found || strings.Contains(b.Text, c.want) && b.Kind != parse.Code
		}
		if !found {
			t.Errorf("%s: %+v", c.name, p.Blocks)
		}
	}
}

// TestNavigation reads pages whose navigation has many links, marked links and a heading.
func TestNavigation(t *testing.T) {
	t.Parallel()
	for name, navigation := range map[string]string{
		"long":    strings.Repeat(`<li><a href="x.html">Chapter of the manual</a></li>`, 900),
		"marked":  strings.Repeat(`<a href="x.html"><span>Chapter of the manual</span></a> `, 30),
		"heading": `<h3>Contents</h3>` + strings.Repeat(`<a href="x.html">Chapter of the manual</a> `, 30),
	} {
		page := `<html><body><div class="navigation"><ul>` + navigation + `</ul></div><h2>Pool</h2><p>It is open on Monday.</p></body></html>`
		p, err := parse.Parse(t.Context(), "page.html", []byte(page), parse.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range p.Blocks {
			if strings.Contains(b.Text, "Chapter") {
				t.Errorf("%s: %q", name, b.Text[:min(80, len(b.Text))])
				break
			}
		}
	}
}
