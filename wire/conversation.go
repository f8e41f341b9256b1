package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/event"
)

// The models that select how questions are answered, for protocols whose requests name a model. Requests may name any other model: an unknown name
// selects the default model.
const (
	ModelDefault = "sluice"         // as agentic
	ModelAgentic = "sluice-agentic" // tools are chosen until the evidence suffices
	ModelDirect  = "sluice-direct"  // one search
	ModelTask    = "sluice-task"    // titles, tags and follow-up questions of a conversation: no answer from documents
)

// Models returns the models that select how questions are answered, the default one first, and [ModelTask].
func Models() []string { return []string{ModelDefault, ModelAgentic, ModelDirect, ModelTask} }

// SetModel sets the mode, the model and the collection of a question by the name of a model. The collection may follow the name of a model that selects
// how questions are answered, after a slash; the parameter collection replaces it unless it is empty.
func SetModel(q *event.Question, name, collection string) {
	base, below, _ := strings.Cut(name, "/")
	switch base {
	case ModelDefault, "":
	case ModelAgentic:
		q.Mode = event.Agentic
	case ModelDirect:
		q.Mode = event.Direct
	default:
		q.Model, below = name, ""
	}
	q.Collection = cmp.Or(collection, below)
}

// History returns the messages of the user and the assistant, oldest first, without those that are white space. If they exceed the limits of a question, the oldest
// ones are dropped.
func History(messages []event.Message) (out []event.Message) {
	size := 0
	for _, m := range slices.Backward(messages) {
		m.Text = strings.TrimSpace(m.Text)
		if m.Role != event.RoleUser && m.Role != event.RoleAssistant || m.Text == "" {
			continue
		}
		if size += len(m.Text); size > event.MaxHistory || len(out) == event.MaxMessages {
			break
		}
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

// SourceOf returns the source of a run with a number, or nil if it is not known yet.
func SourceOf(s *event.State, n int) *event.Source {
	if n > 0 && n <= len(s.Quoted) && s.Quoted[n-1].N == n {
		return &s.Quoted[n-1]
	}
	for i := range s.Sources {
		if s.Sources[i].N == n {
			return &s.Sources[i]
		}
	}
	return nil
}
