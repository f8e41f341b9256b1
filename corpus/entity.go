package corpus

// MentionKind says how a chunk names an entity.
type MentionKind int

// The kinds, the strongest first.
const (
	Subject MentionKind = iota + 1 // the chunk is about it: its title or a heading above it
	Link                           // the text links to it
	Named                          // a name in the text: a capitalised phrase
	Phrase                         // a noun phrase that the document repeats: only in passages that earlier versions indexed
)

// Mention is an entity that a chunk names.
type Mention struct {
	Name string // as the text writes it
	Kind MentionKind
}

// Relation is a statement of a chunk about two entities that it mentions.
type Relation struct {
	From, To  string // names of mentions
	Predicate string // the words between them, such as "was directed by"
}
