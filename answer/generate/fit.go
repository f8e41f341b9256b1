package generate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

const (
	unknownContext   = 8192     // tokens; assumed for models that do not report it
	maxRead          = 64 << 10 // bytes of a passage, the limit of prompts
	maxBytesPerToken = 16       // bytes per token, on average; longer texts need not be counted
	minCut           = 200      // minimum bytes of a shortened passage, unless it is the only one
	tagSlack         = 8        // tokens by which the tags of a passage may exceed those used for measuring
	measuringTag     = "5a3b1e0f5a3b1e0f"
)

// plan is what a model reads for a task.
type plan struct {
	passages []prompt.Passage // best first
	kept     []int            // their indexes in the task
	tokens   int              // of the passages with their fences
	output   int              // maximum tokens of the answer
	prompt   prompt.Answer    // the question with the conversation and instructions
}

// Fit implements [model.Generator]: it selects the best passages that fit into the context beside the prompt, the answer
// and a margin. A passage that does not fit is shortened to the sentences with the question's terms; if that is not
// possible it is left out, and lower ranked ones that fit may be used. The best one is always used, shortened if
// necessary. The task keeps complete chunks; the same rules shorten them when the answer is written, so that a citation
// names a passage that can be found by its id, text and position.
func (m *Model) Fit(ctx context.Context, t model.Task) (model.Task, int) {
	if len(t.Passages) == 0 {
		return t, 0
	}
	p := m.plan(ctx, t)
	if len(p.kept) < len(t.Passages) {
		kept := make([]model.Passage, len(p.kept))
		for i, at := range p.kept {
			kept[i] = t.Passages[at]
		}
		t.Passages = kept
	}
	return t, p.tokens
}

// plan selects the passages. Prompts are measured with the same tag each time, so that a fitted task fits again.
func (m *Model) plan(ctx context.Context, t model.Task) plan {
	limits := m.chat.Limits(ctx)
	size := cmp.Or(limit(m.opts.Context, limits.Context), unknownContext)
	k := packer{Model: m, task: t, set: &prompt.Set{}}
	if m.prompts != nil {
		set := *m.prompts
		k.set = &set
	}
	k.set.NewTag = func() string { return measuringTag }
	output := max(1, min(limit(limit(m.opts.MaxTokens, limits.Output), max(0, t.MaxTokens)), size/4))
	k.prompt = questionPrompt(t, size)
	k.base = k.measure(ctx, nil)
	k.budget = size - output - k.base - 64 - size/64 // servers add tokens of their own
	p := k.pack(ctx)
	p.output, p.prompt = output, k.prompt
	return p
}

const (
	maxInstructions = 8 << 10 // bytes
	bytesPerToken   = 3       // approximate bytes
)

// questionPrompt returns the question with the conversation and the user's instructions. The pipeline keeps the conversation within its budget;
// here it takes at most a quarter of a context of the given size: the summary, and as many of the last messages as fit. The instructions take an
// eighth. Citations of earlier answers are removed.
func questionPrompt(t model.Task, size int) prompt.Answer {
	left := size / 4 * bytesPerToken
	a := prompt.Answer{Question: t.Question, Instructions: lang.Truncate(t.Instructions, min(left/2, maxInstructions)), Summary: lang.Truncate(t.Earlier, left/2)}
	left -= len(a.Summary)
	for _, m := range slices.Backward(t.History) {
		s := strings.TrimSpace(unmarked(lang.Clean(lang.Truncate(m.Text, left+1))))
		if left -= len(s); left < 0 {
			break
		}
		if s != "" {
			a.History = append(a.History, prompt.Message{Role: string(m.Role), Text: s})
		}
	}
	slices.Reverse(a.History)
	return a
}

// packer fills a context with the passages of a task.
type packer struct {
	*Model
	task   model.Task
	set    *prompt.Set
	fence  int            // tokens of an empty passage
	chunks []corpus.Chunk // prepared for prompts
	base   int            // tokens of a prompt without passages
	budget int            // tokens for passages
	prompt prompt.Answer
}

// measure counts the tokens of a prompt. It returns 0 if the prompt cannot be rendered; the error occurs again when it is
// sent.
func (k *packer) measure(ctx context.Context, ps []prompt.Passage) int {
	shown := k.prompt
	shown.Passages = ps
	messages, err := k.set.Render(shown)
	if err != nil {
		return 0
	}
	all := make([]string, len(messages))
	for i, msg := range messages {
		all[i] = msg.Text
	}
	return k.chat.Count(ctx, strings.Join(all, "\n"))
}

// added returns the tokens that passages add to a prompt.
func (k *packer) added(ctx context.Context, ps []prompt.Passage) int {
	return max(0, k.measure(ctx, ps)-k.base)
}

// shown returns a passage as shown in the prompt, with at most the given number of bytes of text.
func (k *packer) shown(i, most int) prompt.Passage {
	return prompt.PassageOf(k.task.Passages[i].N, k.chunks[i], k.task.Question, most)
}

// readable returns a chunk without citation marks.
func readable(c corpus.Chunk) corpus.Chunk {
	clean := func(s string) string { return unmarked(lang.Clean(lang.Truncate(s, 4*maxRead))) }
	c.Text, c.Title = clean(c.Text), clean(c.Title)
	c.Headings = slices.Clone(c.Headings)
	for i, h := range c.Headings {
		c.Headings[i] = clean(h)
	}
	return c
}

// pack selects the passages. It makes few requests to servers that count tokens: one if all passages fit.
func (k *packer) pack(ctx context.Context) plan {
	var p plan
	size := 0
	for i, q := range k.task.Passages {
		k.chunks = append(k.chunks, readable(q.Chunk))
		p.passages, p.kept = append(p.passages, k.shown(i, maxRead)), append(p.kept, i)
		size += len(p.passages[i].Text)
	}
	if size/maxBytesPerToken <= k.budget {
		if k.fit(ctx, &p) {
			return p
		}
	}
	whole := p.passages
	p.passages, p.kept = nil, nil
	left := k.budget
	k.fence = k.added(ctx, []prompt.Passage{{ID: 1}}) + tagSlack
	for i, shown := range whole {
		if left <= k.fence && i > 0 {
			break
		}
		n := k.cost(ctx, shown)
		if n > left {
			var ok bool
			if shown, n, ok = k.cut(ctx, i, n, left); !ok {
				continue
			}
		}
		p.passages, p.kept = append(p.passages, shown), append(p.kept, i)
		left -= n
	}
	for !k.fit(ctx, &p) && len(p.passages) > 1 {
		p.passages, p.kept = p.passages[:len(p.passages)-1], p.kept[:len(p.kept)-1]
	}
	return p
}

// fit counts the tokens of a plan and reports whether it fits.
func (k *packer) fit(ctx context.Context, p *plan) bool {
	p.tokens = k.added(ctx, p.passages)
	return p.tokens+tagSlack*len(p.passages) <= k.budget
}

// cost estimates the tokens that a passage adds to a prompt.
func (k *packer) cost(ctx context.Context, p prompt.Passage) int {
	return k.fence + k.chat.Count(ctx, p.Heading+"\n\n"+p.Text)
}

// cut shortens the passage at i, which has n tokens, to at most left tokens, and returns the part and its tokens. ok is
// false if the part would be too short to be useful, except for the best passage.
func (k *packer) cut(ctx context.Context, i, n, left int) (part prompt.Passage, tokens int, ok bool) {
	whole := float64(len(k.shown(i, maxRead).Text))
	best := i == 0
	for share := 0.95; share > 0.1; share *= 0.75 {
		most := int(share * whole * float64(max(left-k.fence, 0)) / float64(max(n-k.fence, 1)))
		if most < minCut && !best {
			return part, 0, false
		}
		if part = k.shown(i, max(most, minCut/4)); !best && !k.hasQuestionTerm(part.Text) {
			return part, 0, false
		}
		if tokens = k.cost(ctx, part); tokens <= left {
			return part, tokens, true
		}
	}
	return part, tokens, best
}

// hasQuestionTerm reports whether a text contains a term of the question.
func (k *packer) hasQuestionTerm(s string) bool {
	held := lang.TermSet(s)
	return slices.ContainsFunc(lang.Terms(lang.Truncate(k.task.Question, 8<<10)), func(t string) bool {
		_, ok := held[t]
		return ok
	})
}

// bestAtEnds orders passages so that the best are at both ends, because models overlook the middle: ranks 1, 3, 5 … 6, 4, 2 (N.
// Liu et al., Lost in the Middle: How Language Models Use Long Contexts, 2023).
func bestAtEnds(best []prompt.Passage) []prompt.Passage {
	out := make([]prompt.Passage, len(best))
	for i, p := range best {
		if i%2 == 0 {
			out[i/2] = p
		} else {
			out[len(best)-1-i/2] = p
		}
	}
	return out
}
