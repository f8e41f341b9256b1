package analyze

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout time.Duration // for an answer; default 8 s, and never more than an eighth of what is left of the run's time
}

const (
	maxParts = 4
	maxPart  = 300 // bytes
)

// asking is the form that asks a model.
type asking struct {
	chat    model.Chat
	prompts *prompt.Set
	then    Analyzer
	Options
}

// NewModel returns the [Analyzer] that asks a model how much work a question is and which questions it is made of: none, or
// two to four that stand alone. The model is asked only where then finds more than a simple question: a simple one costs
// no time and no tokens. Where the model fails or is late, then's judgement stands, and the trace is told.
func NewModel(chat model.Chat, prompts *prompt.Set, then Analyzer, o Options) Analyzer {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &asking{chat, prompts, then, o}
}

type reply struct {
	Complexity event.Complexity `json:"complexity"`
	Questions  []string         `json:"questions"`
}

func (r *reply) check() error {
	switch r.Complexity {
	case event.Simple, event.Moderate, event.Complex:
		return nil
	}
	return errors.New("the complexity is none of simple, moderate and complex")
}

// Analyze implements [Analyzer].
func (m *asking) Analyze(ctx context.Context, question string) (Analysis, error) {
	judged, err := m.then.Analyze(ctx, question)
	if err != nil || judged.Complexity == event.Simple {
		return judged, err
	}
	share, cancel := prompt.Share(ctx, m.Timeout, 8)
	defer cancel()
	own, by := model.TrackModel(share)
	r, err := prompt.Ask(own, m.chat, m.prompts, prompt.Analysis{Question: question}, (*reply).check)
	if err != nil {
		err = prompt.Late(ctx, share, m.chat.Name(), err)
		if ctx.Err() != nil {
			return Analysis{}, err
		}
		model.Failed(ctx, err, m.chat.Name(), judged.By)
		return judged, nil
	}
	a := Analysis{Complexity: r.Complexity, Chained: judged.Chained, By: by(m.chat.Name())}
	if a.Complexity != event.Simple {
		a.Parts = parts(question, r.Questions)
	}
	return a, nil
}

var counterRE = regexp.MustCompile(`^(?:[-*•]|[0-9]{1,2}[.)])\s+`)

// parts gives the questions that are of use: clean, of one line, not too long, each once and none the question itself. A
// single one takes nothing apart.
func parts(question string, all []string) []string {
	key := func(s string) string { return strings.Join(lang.Terms(s), " ") }
	seen := map[string]bool{"": true, key(lang.Head(question, 4096)): true}
	var out []string
	for _, s := range all {
		if len(s) > 4*maxPart {
			continue
		}
		s = strings.Join(strings.Fields(lang.Clean(s)), " ")
		s = strings.TrimSpace(counterRE.ReplaceAllString(s, ""))
		if k := key(s); len(s) <= maxPart && !seen[k] && len(out) < maxParts {
			seen[k] = true
			out = append(out, s)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}
