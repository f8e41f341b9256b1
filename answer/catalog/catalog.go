// Package catalog recognizes questions about documents as such: which ones exist, what some of their pages say, or a
// summary. It matches documents by the names that people use.
package catalog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// Request is a recognized question about documents as such. At most one of its fields is set.
type Request struct {
	Pages   *Pages
	List    *List
	Summary *Summary
}

// Pages asks about pages of a document.
type Pages struct {
	From, To int // from 1; -1 is the last page
	// Rest is the question with the words that name the pages replaced by "this text"; empty if all of the text is wanted.
	Rest  string
	Names string // the question without the words that name the pages: it may name the document
}

// List asks which documents exist.
type List struct {
	About  string // their subject; empty: any
	German bool   // the question is in German
}

// Summary asks for a summary of one document, or of all, or what is new in one.
type Summary struct {
	Names string // text that may name or describe the document, or a section by a number; empty: none
}

// MaxPages is the maximum number of pages that are read for one question.
const MaxPages = 20

const maxQuestion = 1000 // maximum length of a recognized question, in bytes

const (
	things = `(?:documents?|files?|docs|texts?|papers?|reports?|pdfs?)`
	ofWhat = `(?:\s+(?:about|on|regarding|concerning|related to|that (?:mention|discuss|cover|deal with)|mentioning|covering)\s+(.+?))?`
)

var (
	pageRE    = regexp.MustCompile(`(?i)\b(?:on |at |from |of |in |auf |von )?(?:the )?(?:pages?|pp?\.|seiten?)\s*([0-9]{1,6})(?:\s*(?:-|–|—|to|and|through|until|bis|und)\s*(?:pages?\s*)?([0-9]{1,6}))?\b`)
	nthRE     = regexp.MustCompile(`(?i)\b(?:on |at |from |of |in |auf )?(?:the |der |die )?(first|last|second|third|[0-9]{1,4}(?:st|nd|rd|th)|erste[nr]?|letzte[nr]?)\s+(?:page|seite)\b`)
	placeRE   = regexp.MustCompile(`(?i)^\s*(?:of|in|from|von|aus|des)\s+(?:the )?(?:(?:this |that )?(?:document|file|report|pdf)\s+)?`)
	bareRE    = regexp.MustCompile(`(?i)^\W*(?:please\s+|bitte\s+)?(?:(?:can|could|would) you\s+(?:please\s+)?)?(?:(?:what(?:['’]s| is| stands| does| do| are| was)?|show|read|open|give|tell|quote|print|display|summari[sz]e|describe|was|zeige?|lies)\b)?(?:\s+(?:me|us|to me|steht|ist|there|say|says|stand|written|said|contain|the contents?|the text|all|of|is|about|aloud|out|mir))*\W*$`)
	listRE    = regexp.MustCompile(`(?i)^(?:please\s+)?(?:(?:can|could) you\s+(?:please\s+)?)?(?:list|show(?: me)?|name|give me(?: a list of)?|enumerate)\s+(?:(?:all|the|of|my|our|your|available|indexed|uploaded)\s+)*(?:documents|files|docs)(?:\s+(?:(?:that\s+)?(?:you|we|i) have|(?:that|which) (?:there are|are there|exist)|(?:in|of) (?:the|this|my) (?:collection|library|store|vector store|folder|index)|available|uploaded))?` + ofWhat + `$`)
	whichRE   = regexp.MustCompile(`(?i)^(?:which|what|how many)\s+(?:documents|files|docs)\s+(?:do (?:you|we|i) have|are there|are (?:available|indexed|uploaded|stored|here|in (?:the|this|my) (?:collection|library|store|vector store|folder|index))|have i uploaded|did i upload|exist|can you (?:see|search|access|use|read))(?:\s+access to)?` + ofWhat + `$`)
	coverRE   = regexp.MustCompile(`(?i)^(?:which|what)\s+(?:of (?:the|my|your) )?(?:documents|files|docs)\s+(?:mention|talk about|speak of|are about|discuss|deal with|cover)\s+(.+)$`)
	germanRE  = regexp.MustCompile(`(?i)^(?:welche|was für)\s+(?:dokumente|dateien)\s+(?:gibt es|hast du|haben wir|habe ich|sind (?:da|vorhanden))(?:\s+(?:über|zu|zum thema)\s+(.+))?$|^(?:liste|nenne|zeige?)(?: mir)?\s+(?:alle |die )*(?:dokumente|dateien)(?: auf)?$`)
	accountRE = regexp.MustCompile(`(?i)^(?:what (?:is|are) (this|these|it|(?:this|these|the) ` + things + `|.+\.[a-z0-9]{2,5}) about` +
		`|what (?:does|do) ((?:this|these|the) ` + things + `) (?:say|cover|contain)|(?:what are )?the main (?:points|ideas|findings|topics) (?:of|in) (.+?))$`)
)

// Read recognizes a question about documents as such. It returns the zero Request for other questions.
func Read(question string) Request {
	q := strings.TrimRight(strings.Join(strings.Fields(lang.Clean(question)), " "), " ?.!")
	if q == "" || len(q) > maxQuestion {
		return Request{}
	}
	if l := list(q); l != nil {
		return Request{List: l}
	}
	if p := pages(q); p != nil {
		return Request{Pages: p}
	}
	return Request{Summary: summary(q)}
}

func list(q string) *List {
	for _, re := range []*regexp.Regexp{listRE, whichRE, coverRE, germanRE} {
		if m := re.FindStringSubmatch(q); m != nil {
			return &List{About: strings.TrimSpace(m[1]), German: re == germanRE}
		}
	}
	return nil
}

func pages(q string) *Pages {
	p := &Pages{}
	at := pageRE.FindStringSubmatchIndex(q)
	switch {
	case at != nil:
		p.From, _ = strconv.Atoi(q[at[2]:at[3]])
		if p.To = p.From; at[4] >= 0 {
			p.To, _ = strconv.Atoi(q[at[4]:at[5]])
		}
	default:
		if at = nthRE.FindStringSubmatchIndex(q); at == nil {
			return nil
		}
		p.From = ordinal(strings.ToLower(q[at[2]:at[3]]))
		p.To = p.From
	}
	if p.From == 0 || p.To < p.From {
		return nil
	}
	p.To = min(p.To, p.From+MaxPages-1)
	before, after := strings.TrimSpace(q[:at[0]]), q[at[1]:]
	name := ""
	if m := placeRE.FindString(after); m != "" {
		name, after = named(after[len(m):])
	}
	p.Names = strings.Join(strings.Fields(before+" "+name+" "+after), " ")
	if rest := strings.TrimSpace(before + " " + strings.TrimSpace(after)); !bareRE.MatchString(rest) {
		p.Rest = strings.Join(strings.Fields(before+" "+about(before)+"this text "+after), " ") + "?"
	}
	return p
}

// about joins the text before the words that name pages to their replacement.
func about(before string) string {
	w := lang.Words(before)
	if len(w) == 0 {
		return ""
	}
	switch w[len(w)-1].Text {
	case "does", "do", "did", "say", "of", "in", "on", "from", "summarize", "summarise", "is", "are":
		return ""
	}
	return "in "
}

// named splits the name of a document off a text: up to a file extension, the end of a quotation, or a verb.
func named(s string) (name, rest string) {
	if m := fileRE.FindString(s); m != "" {
		return m, s[len(m):]
	}
	if m := verbRE.FindStringIndex(s); m != nil {
		return s[:m[0]], s[m[0]:]
	}
	return s, ""
}

var (
	fileRE = regexp.MustCompile(`^["“'‘]?[^?"”]{1,200}?\.[A-Za-z][A-Za-z0-9]{1,4}\b["”'’]?|^["“][^"”]{1,200}["”]`)
	verbRE = regexp.MustCompile(`(?i)\s(?:says?|tells?|is|are|was|were|means?|contains?|mentions?|about|regarding)\b`)
)

func ordinal(s string) int {
	switch {
	case s == "first", strings.HasPrefix(s, "erste"):
		return 1
	case s == "second":
		return 2
	case s == "third":
		return 3
	case s == "last", strings.HasPrefix(s, "letzte"):
		return -1
	}
	n, _ := strconv.Atoi(strings.TrimRight(s, "stndrh"))
	return n
}
