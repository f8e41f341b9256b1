package client

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/wire/forge"
)

// Bounds of a fold, so that no server can fill the memory: texts in bytes, lists in entries. What is over them is left out.
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

// Fold adds a run's events up to a [Snapshot], in the forge or the knowledge protocol; those of others say nothing to it. The zero value stands before the first event. It is for one
// goroutine; a [Stream] has one that is safe to look at.
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

// Add takes up the next event. Events of names that it does not know change nothing; data that is not what its name says is an error, and
// changes nothing either.
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

// open tells whether the run was told of, and its end was not.
func (f *Fold) open() bool { return f.s.Status != "" && !f.s.Status.Final() }

// ended marks the run's end. Steps that are open end with it.
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

// addText puts more of the answer behind what is there.
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

// changeStep changes a copy, since snapshots that were given out hold the list.
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

// clip gives at most so many bytes of a text that is one line: white space is one blank, and what controls a terminal is left out.
func clip(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= most {
		return s
	}
	return fitting(s, most-len("…")) + "…"
}

// fitting gives as much of a text as fits so many bytes, cut at a character.
func fitting(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Event is one event of a run's stream.
type Event struct {
	Run      string // the run's id
	Protocol string // that it is of: forge or knowledge; empty: forge
	ID       string // the cursor behind the event
	Name     string // such as token
	Data     json.RawMessage
}

// Last tells whether no event follows.
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
