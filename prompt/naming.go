package prompt

// Entities is the data of entities.md: .Passage.
type Entities struct{ Passage Passage }

func (Entities) name() string { return "entities" }
func (Entities) answer() int  { return 1200 }
func (n Entities) fenced(f fence) any {
	return struct{ Passage Quote }{n.Passage.fenced(f)}
}
