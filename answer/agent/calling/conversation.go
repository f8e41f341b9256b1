package calling

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

const (
	unknownContext = 8192 // tokens; assumed for models that do not report it
	mostRead       = 6000 // tokens of a request with earlier rounds, because each request repeats all of them
	mostWritten    = 1424 // tokens of a plan: reasoning and calls
	leastWritten   = 128
	maxShown       = 12 // passages per round; leastShown and mostShown are the limits per call
	leastShown     = 2
	mostShown      = 5
	mostListed     = 20       // documents
	maxPassage     = 320      // bytes of a passage
	maxClipped     = 16 << 10 // bytes of a passage that are searched for the excerpt
	maxRounds      = 12       // rounds that are shown
	perMessage     = 8        // tokens that servers add to a message
	uneven         = 4        // tokens by which a tag may exceed the one used for measuring
	measuringTag   = "5a3b1e0f5a3b1e0f"
)

// detail says how much of a round the model is shown.
type detail int

const (
	absent  detail = iota // nothing
	counted               // the number of results
	listed                // the titles of the results
	quoted                // titles and text
)

// request returns the request to the model. If the rounds do not fit, the oldest are shortened first. The error is
// errSpent if too few tokens are left, and a [*model.Error] if the model's context is too small.
func (m *planner) request(ctx context.Context, v agent.View, tokens int, complaint string, plain bool) (model.Request, error) {
	limits := m.judge.Limits(ctx)
	size := cmp.Or(limits.Context, unknownContext)
	output := min(mostWritten, cmp.Or(limits.Output, mostWritten), size/4, tokens/2)
	if output < leastWritten && output < size/4 {
		return model.Request{}, errSpent
	}
	room := size - output - 64 - size/64
	p := prompt.Planning{Question: v.Question, Parts: v.Parts, Rounds: max(1, v.Left.Iterations), Complaint: complaint, Plain: plain}
	w := newWriter(v)
	tools := m.tools.offered(v)
	measuring := prompt.Set{}
	if m.prompts != nil {
		measuring = *m.prompts
	}
	measuring.NewTag = func() string { return measuringTag }
	for _, shown := range steps(len(w.rounds)) {
		p.Turns = w.turns(shown)
		n, err := m.measure(ctx, &measuring, p, tools)
		if err != nil {
			return model.Request{}, err
		}
		if n > min(room, tokens-output) || n > mostRead && len(p.Turns) > 0 {
			continue
		}
		messages, err := m.prompts.Converse(p)
		if err != nil {
			return model.Request{}, err
		}
		return model.Request{Messages: messages, Tools: tools, MaxTokens: output, Temperature: new(float64)}, nil
	}
	if tokens-output < room {
		return model.Request{}, errSpent
	}
	return model.Request{}, &model.Error{Model: m.judge.Name(), Failure: model.TooLong, Cause: errRoom}
}

// steps returns the ways to show n rounds, from full to short: all complete, then older rounds with less detail, then
// without the oldest.
func steps(n int) [][]detail {
	now := make([]detail, n)
	for i := range now {
		now[i] = quoted
	}
	out := [][]detail{append([]detail(nil), now...)}
	shorten := func(i int, d detail) {
		now[i] = d
		out = append(out, append([]detail(nil), now...))
	}
	for _, d := range []detail{listed, counted} {
		for i := range n - 1 {
			shorten(i, d)
		}
	}
	if n > 0 {
		shorten(n-1, listed)
		shorten(n-1, counted)
	}
	for i := range n {
		shorten(i, absent)
	}
	return out
}

// measure returns an upper estimate of the tokens of a request.
func (m *planner) measure(ctx context.Context, set *prompt.Set, p prompt.Planning, tools []model.Tool) (int, error) {
	messages, err := set.Converse(p)
	if err != nil {
		return 0, err
	}
	var b strings.Builder
	b.WriteString(size(tools))
	n := perMessage * (len(messages) + len(tools))
	for _, msg := range messages {
		b.WriteString(msg.Text + "\n")
		n += uneven * strings.Count(msg.Text, measuringTag)
		for _, c := range msg.ToolCalls {
			b.WriteString(c.ID + c.Name + string(c.Input) + "\n")
			n += perMessage
		}
	}
	return n + m.judge.Count(ctx, b.String()), nil
}

// writer describes the results of rounds with different detail.
type writer struct {
	question string
	rounds   []agent.Round
	ids      map[corpus.ChunkID]int  // of passages, in the order of retrieval
	clipped  map[excerptOf]string    // cache of excerpts
	quoted   map[corpus.ChunkID]bool // already shown
}

// excerptOf identifies an excerpt: a passage and the query it was cut for.
type excerptOf struct {
	chunk corpus.ChunkID
	query string
}

func newWriter(v agent.View) *writer {
	w := &writer{v.Question, v.Rounds[max(0, len(v.Rounds)-maxRounds):], map[corpus.ChunkID]int{}, map[excerptOf]string{}, nil}
	for _, r := range w.rounds {
		for _, o := range r.Outcomes {
			for _, e := range o.Found {
				if _, ok := w.ids[e.Chunk.ID]; !ok {
					w.ids[e.Chunk.ID] = len(w.ids) + 1
				}
			}
		}
	}
	return w
}

// turns returns the rounds in the given detail. A passage found by several calls is quoted at the last one.
func (w *writer) turns(shown []detail) []prompt.ToolRound {
	w.quoted = map[corpus.ChunkID]bool{}
	var out []prompt.ToolRound
	for i := len(w.rounds) - 1; i >= 0; i-- {
		if shown[i] == absent {
			continue
		}
		if t := w.turn(i, w.rounds[i], shown[i]); len(t) > 0 {
			out = append(out, t)
		}
	}
	slices.Reverse(out)
	return out
}

func (w *writer) turn(round int, r agent.Round, d detail) prompt.ToolRound {
	var t prompt.ToolRound
	for i, o := range r.Outcomes[:min(len(r.Outcomes), maxCalls)] {
		if o.Tool == event.ToolRerank || o.Tool == event.ToolGenerate {
			continue
		}
		// Nine letters and digits: some chat templates accept no other ids.
		reply := prompt.ToolResult{ID: fmt.Sprintf("call%02d%03d", round+1, i+1), Tool: o.Tool, Input: input(o), Note: note(o)}
		if o.Tool == event.ToolDecomposeQuery {
			reply.Parts = o.Parts
		}
		if d > counted {
			most, d := min(max(maxShown/len(r.Outcomes), leastShown), mostShown), d
			if o.Tool == event.ToolListDocuments {
				most, d = mostListed, listed
			}
			reply.Findings = w.findings(o, most, d)
		}
		t = append(t, reply)
	}
	return t
}

// input returns the arguments of the action's call.
func input(o agent.Outcome) map[string]any {
	in := map[string]any{}
	if o.Reason != "" {
		in["reason"] = o.Reason
	}
	if o.Tool == event.ToolDecomposeQuery {
		in["sub_queries"] = o.Parts
		return in
	}
	if o.Tool == event.ToolReadPages {
		in["document"], in["start_page"], in["end_page"] = o.Document, o.From, o.To
		return in
	}
	in["query"] = o.Query
	if len(o.Action.Entities) > 0 {
		in["entities"] = o.Action.Entities
	}
	return in
}

// note describes the result of an action.
func note(o agent.Outcome) string {
	switch {
	case o.Failed != "":
		return "It failed: " + o.Failed
	case o.Tool == event.ToolDecomposeQuery && len(o.Parts) == 0:
		return "The question was not taken apart."
	case o.Tool == event.ToolDecomposeQuery:
		return "The question is made of these. Search for them, each by itself."
	case len(o.Found) == 0:
		return "Nothing was found."
	}
	if o.Tool == event.ToolListDocuments {
		return fmt.Sprintf("There are %d documents. These are their titles, the first %d.", o.Count, len(o.Found))
	}
	n := map[event.Class]int{}
	for _, e := range o.Found {
		n[e.Class]++
	}
	return fmt.Sprintf("Found: %d passages, of which %d are CORRECT, %d AMBIGUOUS and %d INCORRECT.",
		len(o.Found), n[event.Correct], n[event.Ambiguous], n[event.Incorrect])
}

// findings returns the best results, at most the given number.
func (w *writer) findings(o agent.Outcome, most int, d detail) []prompt.Finding {
	var out []prompt.Finding
	for _, e := range o.Found[:min(len(o.Found), most)] {
		c := e.Chunk
		if d < quoted || w.quoted[c.ID] || e.Class == event.Incorrect {
			c.Text = ""
		} else {
			w.quoted[c.ID] = true
			c.Text = w.excerpt(c, o.Query)
		}
		f := prompt.Finding{Passage: prompt.PassageOf(w.ids[c.ID], c, "", 0), Grade: string(e.Class)}
		if d == quoted {
			f.Path = e.Path
		}
		out = append(out, f)
	}
	return out
}

// excerpt returns the part of a passage that matches the query best.
func (w *writer) excerpt(c corpus.Chunk, query string) string {
	of := excerptOf{c.ID, query}
	s, ok := w.clipped[of]
	if !ok {
		s = prompt.Clip(lang.Truncate(c.SearchText(), maxClipped), w.question+"\n"+query, maxPassage)
		w.clipped[of] = s
	}
	return s
}
