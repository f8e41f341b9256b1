package client

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/wire/forge"
)

// Limits of a fold, so that a server cannot exhaust the memory. Texts are limited in bytes, and lists in entries. The rest
// is dropped.
const (
	maxText      = 16 << 20
	maxField     = 64 << 10 // a question, a reasoning's summary
	maxLine      = 2000
	maxSnippet   = 4 << 10
	maxPages     = 100
	maxSteps     = 500
	maxCitations = 1000
	maxClaims    = 1000
	maxWarnings  = 100
	maxNames     = 50
)

// Fold folds the events of a run to a [Snapshot]. It understands the forge and knowledge protocols and ignores the events of others. The
// zero value is the state before the first event. It is not safe for concurrent use, unlike [Stream].
type Fold struct {
	s         Snapshot
	text      strings.Builder
	reasoning strings.Builder
	knowledge knowledgeFold
}

// Snapshot is what the events so far add up to.
func (f *Fold) Snapshot() Snapshot {
	s := f.s
	if s.Status == "" {
		s.Status = Waiting
	}
	if s.Answer == "" {
		s.Answer = Waiting
	}
	s.Text, s.Reasoning = f.text.String(), f.reasoning.String()
	return s
}

// Add applies the next event. Unknown events change nothing. Invalid data is an error and changes nothing either.
func (f *Fold) Add(ev Event) error {
	if f.s.Run == "" {
		f.s.Run = clip(ev.Run, maxLine)
	}
	f.s.Events++
	switch ev.Protocol {
	case protocolKnowledge:
		return f.addKnowledge(ev)
	case "", forge.Name:
		return f.addForge(ev)
	}
	return nil
}

// open reports whether the run has started and not ended.
func (f *Fold) open() bool { return f.s.Status != "" && !f.s.Status.Final() }

// ended sets the final status of the run and of its open steps.
func (f *Fold) ended(status Status) {
	f.s.Status = status
	if f.s.Answer == Running {
		f.s.Answer = status
	}
	for i := range f.s.Steps {
		if !f.s.Steps[i].Status.Final() {
			f.changeStep(i, func(s *Step) { s.Status = status })
		}
	}
}

// addText appends text to the answer.
func (f *Fold) addText(s string) {
	f.s.Answer = Running
	f.text.WriteString(fitting(s, maxText-f.text.Len()))
}

func (f *Fold) addStep(s Step) {
	if len(f.s.Steps) >= maxSteps {
		return
	}
	s.Name, s.Tool, s.Detail = clip(s.Name, 60), clip(s.Tool, 200), clip(s.Detail, maxLine)
	s.Query, s.ID = clip(s.Query, maxLine), clip(s.ID, 200)
	f.s.Steps = append(f.s.Steps, s)
}

// changeStep changes a step in a copy of the list, since earlier snapshots share the list.
func (f *Fold) changeStep(i int, change func(*Step)) {
	steps := make([]Step, len(f.s.Steps), len(f.s.Steps)+8)
	copy(steps, f.s.Steps)
	change(&steps[i])
	steps[i].Detail = clip(steps[i].Detail, maxLine)
	f.s.Steps = steps
}

func (f *Fold) warn(code, message string) {
	if len(f.s.Warnings) < maxWarnings {
		f.s.Warnings = append(f.s.Warnings, Warning{Code: clip(code, 60), Message: clip(message, maxLine)})
	}
}

// clip converts s to one line of at most limit bytes. White space becomes a single space, and control characters are
// removed.
func clip(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= limit {
		return s
	}
	return fitting(s, limit-len("…")) + "…"
}

// fenceLine matches the lines that enclose code in Markdown.
var fenceLine = regexp.MustCompile("(?m)^[ \t]*`{3,}[^`\n]*$")

// excerpt converts a quote or passage to one line of at most maxSnippet bytes. The fences of code would stand in the middle of it.
func excerpt(s string) string {
	return clip(fenceLine.ReplaceAllString(s[:min(len(s), 8*maxSnippet)], ""), maxSnippet)
}

// fitting returns the beginning of s, at most limit bytes, cut between characters.
func fitting(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Event is one event of a run's stream.
type Event struct {
	Run      string // id of the run
	Protocol string // forge or knowledge; empty: forge
	ID       string // cursor after the event
	Name     string // for example token
	Data     json.RawMessage
}

// Last reports whether this is the last event of the stream.
func (e Event) Last() bool {
	switch {
	case e.Name == "done":
		return true
	case e.Name == "error" && e.Protocol == protocolKnowledge:
		return true
	case e.Name == "error":
		var p forge.Error
		return json.Unmarshal(e.Data, &p) != nil || !p.Recoverable
	}
	return false
}
