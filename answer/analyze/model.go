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
	Timeout time.Duration // for a reply; default 8 s, and at most an eighth of the run's remaining time
}

const (
	maxParts = 4
	maxPart  = 300 // bytes
)

// modelAnalyzer is the [Analyzer] that asks a model.
type modelAnalyzer struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Analyzer
	Options
}

// NewModel returns the [Analyzer] that asks a model for the complexity of a question and for two to four self-contained
// sub-questions, or none. The model is only asked if the analyzer then finds the question more than simple, so that simple
// questions cost no time and no tokens. If the model fails or is late, the result of then is used and the failure is
// reported to the trace.
func NewModel(chat model.Chat, prompts *prompt.Set, then Analyzer, o Options) Analyzer {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	return &modelAnalyzer{chat, prompts, then, o}
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
func (m *modelAnalyzer) Analyze(ctx context.Context, question string) (Analysis, error) {
	judged, err := m.fallback.Analyze(ctx, question)
	if err != nil || judged.Complexity == event.Simple {
		return judged, err
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 8)
	defer cancel()
	own, by := model.TrackModel(share)
	r, err := prompt.Ask(own, m.chat, m.prompts, prompt.Analysis{Question: question}, (*reply).check)
	if err != nil {
		err = prompt.ShareError(ctx, share, m.chat.Name(), err)
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

// parts returns the usable sub-questions: clean, on one line, not too long, distinct and different from the question. It
// returns nil if only one is left.
func parts(question string, all []string) []string {
	key := func(s string) string { return strings.Join(lang.Terms(s), " ") }
	seen := map[string]bool{"": true, key(lang.Truncate(question, 4096)): true}
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
