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

// toolsJSON is what a model is told of the tools. Lengths are not in the schemas, as grammars that are made of them slow
// small servers down: they are held here.
//
//go:embed tools.json
var toolsJSON []byte

const (
	maxCalls    = 8    // in a turn, of which those behind are passed over
	maxQuery    = 1000 // bytes
	maxPart     = 300
	maxEntity   = 200
	maxEntities = 8
	maxReason   = 300
	minParts    = 2
	maxParts    = 4
	maxFaults   = 4 // that are told
)

// toolbox is the tools that a model may call.
type toolbox struct {
	all   []model.Tool // in the order in which they are told
	forms map[string]*prompt.Form
}

// newToolbox reads the tools of the program. It panics where they are none, which tests hold that they are.
func newToolbox() toolbox {
	var told []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	if err := json.Unmarshal(toolsJSON, &told); err != nil {
		panic(err)
	}
	b := toolbox{forms: map[string]*prompt.Form{}}
	for _, t := range told {
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

// offered gives the tools that a run may use.
func (b toolbox) offered(v agent.View) []model.Tool {
	return slices.DeleteFunc(slices.Clone(b.all), func(t model.Tool) bool { return agent.AsSuch(t.Name) && !slices.Contains(v.Tools, t.Name) })
}

// size is what tools add to a request, to be counted.
func size(tools []model.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		fmt.Fprintf(&b, "%s %s %s\n", t.Name, t.Description, t.Parameters)
	}
	return b.String()
}

// read makes actions of what a model did: none where the loop is to end. Calls that cannot be used are passed over as long as
// others can. The complaint is empty, or tells the model why nothing it did is of use.
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
	case len(actions) > 0: // what it asked to end besides, it cannot have known to suffice
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
		return nil, "" // it says that it is done
	}
	return nil, "you called no tool, and nothing was found yet."
}

// searched tells whether anything was looked for.
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

// action makes an action of a call. The fault tells the model why it is none.
func (b toolbox) action(v agent.View, c model.ToolCall) (a agent.Action, fault string) {
	form := b.forms[c.Name]
	if form == nil || agent.AsSuch(c.Name) && !slices.Contains(v.Tools, c.Name) {
		return a, fmt.Sprintf("there is no tool named %q.", lang.Head(c.Name, 64))
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

// number gives a whole number of JSON, 0 for what is none that a page has.
func number(v any) int {
	if f, ok := v.(float64); ok && f >= 1 && f <= 1e9 {
		return int(f)
	}
	return 0
}

// line gives a text of one line, clean and of at most so many bytes.
func line(v any, most int) string {
	s, _ := v.(string)
	return strings.TrimSpace(lang.Head(strings.Join(strings.Fields(lang.Clean(lang.Head(s, 4*most))), " "), most))
}

// lines gives the texts of a list, each once and none the same as but.
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

// sense is the same for texts that a search takes for the same.
func sense(s string) string {
	s = lang.Head(s, maxQuery)
	if terms := lang.Terms(s); len(terms) > 0 {
		return strings.Join(terms, " ")
	}
	return strings.ToLower(s)
}

// key is the same for actions that do the same. A question is taken apart once.
func key(a agent.Action) string {
	if a.Tool == event.ToolDecomposeQuery {
		return a.Tool
	}
	k := a.Tool + "\x00" + sense(a.Query)
	if a.Tool == event.ToolReadPages {
		k += fmt.Sprintf("%s\x00%d\x00%d", strings.ToLower(a.Document), a.From, a.To)
	}
	for _, e := range a.Entities {
		k += "\x00" + strings.ToLower(lang.Head(e, maxEntity))
	}
	return k
}
