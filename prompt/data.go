package prompt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
)

// Data is the content of a prompt. Its texts need not be clean: [Set.Render] quotes them.
type Data interface {
	name() string       // of the prompt
	answer() int        // tokens that a reply may take
	fenced(f fence) any // the value for the template
}

// Analysis is the data of analyze.md: .Question.
type Analysis struct{ Question string }

// Conditions is the data of conditions.md: .Question and .Today, a date.
type Conditions struct{ Question, Today string }

// Hypothesis is the data of hyde.md: .Question.
type Hypothesis struct{ Question string }

// Grading is the data of grade.md: .Question and the list .Passages.
type Grading struct {
	Question string
	Passages []Passage
}

// Verification is the data of verify.md: .Question and the lists .Claims and .Passages.
type Verification struct {
	Question string
	Claims   []Claim
	Passages []Passage
}

// Answer is the data of answer.md: .Question, the lists .Passages and .History, and .Summary and .Instructions, which may be empty.
type Answer struct {
	Question     string
	Passages     []Passage
	History      []Message
	Instructions string // the user's instructions for the answer
	Summary      string // of the conversation before the history
}

// Passage is a part of a document in a prompt.
type Passage struct {
	ID      int // in citations and grades
	Heading string
	Text    string
}

// Claim is a statement of an answer in a prompt.
type Claim struct {
	ID    int
	Text  string
	Cites []int // ids of passages
}

// PassageOf returns a chunk with its title and headings. Its text is cut to the given number of bytes that contain most of
// the words of about (see [Clip]), or complete if most is 0.
func PassageOf(id int, c corpus.Chunk, about string, most int) Passage {
	above := make([]string, 0, len(c.Headings)+1)
	for _, h := range append([]string{c.Title}, c.Headings...) {
		if h = strings.TrimSpace(h); h != "" {
			above = append(above, h)
		}
	}
	s := c.Text
	if most > 0 {
		s = Clip(s, about, most)
	}
	return Passage{id, strings.Join(above, " › "), s}
}

func (p Passage) fenced(f fence) Quote { return p.quoted(f, "") }

// quoted returns the passage in its fence, with attributes in addition to its id.
func (p Passage) quoted(f fence, attributes string) Quote {
	s := sanitize(p.Text, maxPassage)
	switch h := oneLine(sanitize(p.Heading, maxHeading)); {
	case s == "":
		s = h
	case h != "":
		s = h + "\n\n" + s
	}
	return f.quote("passage", fmt.Sprintf(" id=%q", strconv.Itoa(p.ID))+attributes, s, len(s))
}

func (c Claim) fenced(f fence) Quote {
	ids := make([]string, len(c.Cites))
	for i, n := range c.Cites {
		ids[i] = strconv.Itoa(n)
	}
	return f.quote("claim", fmt.Sprintf(" id=%q cites=%q", strconv.Itoa(c.ID), strings.Join(ids, " ")), c.Text, maxClaim)
}

func (f fence) question(s string) Quote { return f.quote("question", "", s, maxQuestion) }

func (f fence) passages(ps []Passage) []Quote {
	out := make([]Quote, len(ps))
	for i, p := range ps {
		out[i] = p.fenced(f)
	}
	return out
}

// instructions quotes the user's instructions. A template may leave them out.
func (f fence) instructions(s string) Quote {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return f.optional("wishes", "", s, maxInstructions)
}

type (
	answerView struct {
		Question          Quote
		Passages, History []Quote
		Instructions      Quote
		Summary           Quote
	}
	questionView   struct{ Question Quote }
	conditionsView struct {
		Question Quote
		Today    string
	}
	passagesView struct {
		Question Quote
		Passages []Quote
	}
	claimsView struct {
		Question         Quote
		Claims, Passages []Quote
	}
	fenceView  struct{ Tag string }
	repairView struct{ Complaint, Schema string }
)

func (Analysis) name() string     { return "analyze" }
func (Conditions) name() string   { return "conditions" }
func (Hypothesis) name() string   { return "hyde" }
func (Grading) name() string      { return "grade" }
func (Verification) name() string { return "verify" }
func (Answer) name() string       { return "answer" }

func (Analysis) answer() int       { return 400 }
func (Conditions) answer() int     { return 400 }
func (Hypothesis) answer() int     { return 300 }
func (g Grading) answer() int      { return 64 + 24*len(g.Passages) }
func (v Verification) answer() int { return 64 + 64*len(v.Claims) }
func (Answer) answer() int         { return 0 }

func (a Analysis) fenced(f fence) any { return questionView{f.question(a.Question)} }
func (c Conditions) fenced(f fence) any {
	return conditionsView{f.question(c.Question), c.Today}
}
func (h Hypothesis) fenced(f fence) any { return questionView{f.question(h.Question)} }
func (g Grading) fenced(f fence) any {
	return passagesView{f.question(g.Question), f.passages(g.Passages)}
}
func (a Answer) fenced(f fence) any {
	return answerView{f.question(a.Question), f.passages(a.Passages), f.history(a.History), f.instructions(a.Instructions), f.summary(a.Summary)}
}
func (v Verification) fenced(f fence) any {
	view := claimsView{Question: f.question(v.Question), Passages: f.passages(v.Passages)}
	for _, c := range v.Claims {
		view.Claims = append(view.Claims, c.fenced(f))
	}
	return view
}

// samples are data that prompts are tried with when they are loaded: large and empty.
func samples() map[string][]Data {
	ps := []Passage{{ID: 1, Heading: "A heading", Text: "One passage."}, {ID: 2, Text: "Another passage."}}
	cs := []Claim{{ID: 1, Text: "One claim.", Cites: []int{1, 2}}, {ID: 2, Text: "Another claim."}}
	said := []Message{{"user", "What was asked before?"}, {"assistant", "What was answered."}}
	const q = "What is asked?"
	return map[string][]Data{
		"analyze":           {Analysis{q}, Analysis{}},
		"conditions":        {Conditions{q, "2026-01-02"}, Conditions{}},
		"hyde":              {Hypothesis{q}, Hypothesis{}},
		"grade":             {Grading{q, ps}, Grading{}},
		"verify":            {Verification{q, cs, ps}, Verification{}},
		"answer":            {Answer{q, ps, said, "Briefly.", "Earlier."}, Answer{Question: q, Passages: ps}, Answer{}},
		"condense":          {Condensing{q, said, "Earlier."}, Condensing{}},
		"title":             {Titling{q, "What was answered."}, Titling{}},
		"summarize_history": {Summarizing{said, "Earlier.", 100}, Summarizing{}},
		"propose":           {Proposing{"A heading", "One sentence.", []string{"Another sentence.", "A third one."}}, Proposing{}},
		"entities":          {Entities{ps[0]}, Entities{}},
		"plan":              {Planning{Question: q, Parts: []string{"One part?", "Another part?"}, Rounds: 3}, Planning{}},
	}
}
