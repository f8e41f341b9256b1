package prompt

// Naming is what entities.md is about. Its template is given .Passage.
type Naming struct{ Passage Passage }

func (Naming) name() string { return "entities" }
func (Naming) answer() int  { return 1200 }
func (n Naming) fenced(f fence) any {
	return struct{ Passage Quote }{n.Passage.fenced(f)}
}
