package calling

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// toolsJSON describes the tools to the model. The schemas contain no length limits, because grammars generated from them
// slow small servers down; the limits are checked here.
//
//go:embed tools.json
var toolsJSON []byte

const (
	maxCalls    = 8    // per turn; further ones are ignored
	maxQuery    = 1000 // bytes
	maxPart     = 300
	maxEntity   = 200
	maxEntities = 8
	maxReason   = 300
	minParts    = 2
	maxParts    = 4
	maxFaults   = 4 // reported to the model
)

// toolbox holds the tools that a model may call.
type toolbox struct {
	all   []model.Tool // in the order shown to the model
	forms map[string]*prompt.Form
}

// newToolbox parses the built-in tools. It panics if they are invalid; tests check that they are valid.
func newToolbox() toolbox {
	var described []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	if err := json.Unmarshal(toolsJSON, &described); err != nil {
		panic(err)
	}
	b := toolbox{forms: map[string]*prompt.Form{}}
	for _, t := range described {
		var compact bytes.Buffer
		if err := json.Compact(&compact, t.Parameters); err != nil {
			panic(err)
		}
		form, err := prompt.NewForm(t.Parameters)
		if err != nil {
			panic(err)
		}
		b.all = append(b.all, model.Tool{Name: t.Name, Description: t.Description, Parameters: compact.Bytes()})
		b.forms[t.Name] = form
	}
	return b
}

// offered returns the tools that a run may use.
func (b toolbox) offered(v agent.View) []model.Tool {
	return slices.DeleteFunc(slices.Clone(b.all), func(t model.Tool) bool { return agent.ReadsDocuments(t.Name) && !slices.Contains(v.Tools, t.Name) })
}

// size returns the text that tools add to a request, for counting tokens.
func size(tools []model.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s %s %s\n", t.Name, t.Description, t.Parameters)
	}
	return b.String()
}

// read converts a reply to actions; none end the loop. Invalid calls are ignored if there are valid ones. The complaint
// describes to the model why nothing in the reply was usable, and is empty otherwise.
func (b toolbox) read(v agent.View, s said) (actions []agent.Action, complaint string) {
	done := map[string]bool{}
	for _, r := range v.Rounds {
		for _, o := range r.Outcomes {
			done[key(o.Action)] = true
		}
	}
	var faults []string
	var ends []agent.Action
	for _, c := range s.calls {
		a, fault := b.action(v, c)
		switch k := key(a); {
		case fault != "":
			faults = append(faults, fault)
		case a.Tool == event.ToolRerank || a.Tool == event.ToolGenerate:
			ends = append(ends, a)
		case done[k]:
			faults = append(faults, fmt.Sprintf("%s did this before, with the same arguments: that finds nothing new.", a.Tool))
		default:
			done[k] = true
			actions = append(actions, a)
		}
	}
	switch {
	case len(actions) > 0: // a call to finish is ignored: the model has not seen the results
		return actions, ""
	case len(ends) > 0 && searched(v):
		return ends[:1], ""
	case len(ends) > 0:
		return nil, "nothing was searched for yet, so there is nothing to answer from."
	case len(faults) > 0:
		return nil, strings.Join(faults[:min(len(faults), maxFaults)], " ")
	case s.broken:
		return nil, "a call of a tool could not be read: arguments are one JSON object."
	case len(v.Evidence) > 0:
		return nil, "" // the model finished
	}
	return nil, "you called no tool, and nothing was found yet."
}

// searched reports whether any search was made.
func searched(v agent.View) bool {
	for _, r := range v.Rounds {
		for _, o := range r.Outcomes {
			if o.Tool != event.ToolDecomposeQuery {
				return true
			}
		}
	}
	return len(v.Evidence) > 0
}

// action converts a call to an action. The fault describes to the model why that failed.
func (b toolbox) action(v agent.View, c model.ToolCall) (a agent.Action, fault string) {
	form := b.forms[c.Name]
	if form == nil || agent.ReadsDocuments(c.Name) && !slices.Contains(v.Tools, c.Name) {
		return a, fmt.Sprintf("there is no tool named %q.", lang.Truncate(c.Name, 64))
	}
	object, fault := form.Read(c.Input)
	if fault != "" {
		return a, "the arguments of " + c.Name + ": " + fault
	}
	a = agent.Action{Tool: c.Name, Query: v.Question, Reason: line(object["reason"], maxReason)}
	if s, ok := object["query"].(string); ok {
		if len(s) > 4*maxQuery {
			return a, fmt.Sprintf("the query of %s is too long.", c.Name)
		}
		if a.Query = line(s, maxQuery); a.Query == "" && c.Name != event.ToolListDocuments {
			return a, fmt.Sprintf("the query of %s is empty.", c.Name)
		}
	}
	if c.Name == event.ToolReadPages {
		a.Query, a.Document = "", line(object["document"], maxEntity)
		a.From, a.To = number(object["start_page"]), number(object["end_page"])
		if a.Document == "" || a.From < 1 || a.To < a.From {
			return a, "page_reader wants a document, and pages from 1 of which the last is not before the first."
		}
	}
	a.Entities = lines(object["entities"], maxEntities, maxEntity, "")
	if c.Name == event.ToolDecomposeQuery {
		if a.Parts = lines(object["sub_queries"], maxParts, maxPart, v.Question); len(a.Parts) < minParts {
			return a, "sub_queries are to be two to four different questions, each smaller than the whole."
		}
	}
	return a, ""
}

// number returns an integer, or 0 for a value that is not a page number.
func number(v any) int {
	if f, ok := v.(float64); ok && f >= 1 && f <= 1e9 {
		return int(f)
	}
	return 0
}

// line returns a clean text on one line of at most the given number of bytes.
func line(v any, most int) string {
	s, _ := v.(string)
	return strings.TrimSpace(lang.Truncate(strings.Join(strings.Fields(lang.Clean(lang.Truncate(s, 4*most))), " "), most))
}

// lines returns the distinct texts of a list other than but.
func lines(v any, most, length int, but string) []string {
	list, _ := v.([]any)
	seen := map[string]bool{"": true, sense(line(but, maxQuery)): true}
	var out []string
	for _, x := range list[:min(len(list), most)] {
		s := line(x, length)
		if k := sense(s); s != "" && !seen[k] {
			seen[k] = true
			out = append(out, s)
		}
	}
	return out
}

// sense is equal for texts that are equal for a search.
func sense(s string) string {
	s = lang.Truncate(s, maxQuery)
	if terms := lang.Terms(s); len(terms) > 0 {
		return strings.Join(terms, " ")
	}
	return strings.ToLower(s)
}

// key is equal for equivalent actions. A question is decomposed once.
func key(a agent.Action) string {
	if a.Tool == event.ToolDecomposeQuery {
		return a.Tool
	}
	k := a.Tool + "\x00" + sense(a.Query)
	if a.Tool == event.ToolReadPages {
		k += fmt.Sprintf("%s\x00%d\x00%d", strings.ToLower(a.Document), a.From, a.To)
	}
	for _, e := range a.Entities {
		k += "\x00" + strings.ToLower(lang.Truncate(e, maxEntity))
	}
	return k
}
