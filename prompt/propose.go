package prompt

// Proposing is the data of propose.md: .Before and the list .Sentences, with ids from 1.
type Proposing struct {
	Before    string // the title and headings above the sentences
	Preceding string // the text before the first of them, if it is in the same section
	Sentences []string
}

type proposingView struct {
	Before    Quote
	Sentences []Quote
}

func (Proposing) name() string { return "propose" }

// answer allows about twice the length of each sentence.
func (p Proposing) answer() int {
	n := 64
	for _, s := range p.Sentences {
		n += 64 + len(s)/2
	}
	return n
}

func (p Proposing) fenced(f fence) any {
	view := proposingView{Before: Passage{ID: 0, Heading: p.Before, Text: p.Preceding}.fenced(f)}
	for i, s := range p.Sentences {
		view.Sentences = append(view.Sentences, Passage{ID: i + 1, Text: s}.fenced(f))
	}
	return view
}
