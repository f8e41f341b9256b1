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
	unknownContext = 8192     // tokens, of a model that does not tell: what current ones have at least
	maxRead        = 64 << 10 // bytes of a passage, as prompts quote no more
	mostBytes      = 16       // of a token, on average: what has more tokens need not be counted
	leastCut       = 200      // bytes that the cut of a passage has at least, unless it is the only one
	uneven         = 8        // tokens that the tags of a passage may have more than the one it is measured with
	measuringTag   = "5a3b1e0f5a3b1e0f"
)

// plan is what a model reads of a task.
type plan struct {
	passages []prompt.Passage // best first
	kept     []int            // where they stand in the task
	tokens   int              // of the passages with their fences
	output   int              // tokens that the answer may have
	talk     prompt.Answer    // the question with what was said before, and how it is to be answered
}

// Fit implements [model.Generator]: the best passages until the context ends that the prompt, the answer and a margin leave.
// A passage that does not fit is read in part, around the sentences that hold the question's terms, if some fit; else it is
// left out, and worse ones that fit may go in. The best is always read, in part if need be. The task keeps the chunks whole:
// what is read of them is decided by the same rules when the answer is written, so that a citation names a passage that
// can be found by its id, text and place.
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

// plan chooses what is read. Prompts are measured with one tag, so that a task which was fitted fits.
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
	k.talk = talk(t, size)
	k.base = k.measure(ctx, nil)
	k.room = size - output - k.base - 64 - size/64 // servers add marks of their own
	p := k.pack(ctx)
	p.output, p.talk = output, k.talk
	return p
}

const (
	maxTurns = 8       // of what was said before that are shown
	maxTurn  = 2000    // bytes of one
	maxSaid  = 8 << 10 // bytes of them together, and of how the asker wants to be answered
	perToken = 3       // bytes, about
)

// talk gives the question with the last turns before it and what its asker wishes, each in an eighth of a context of so many
// tokens at most. What an answer cited counts for nothing by now.
func talk(t model.Task, size int) prompt.Answer {
	most := min(size/8*perToken, maxSaid)
	a := prompt.Answer{Question: t.Question, Wishes: lang.Head(t.Instructions, most)}
	left := most
	for _, m := range slices.Backward(t.History[max(0, len(t.History)-maxTurns):]) {
		s := strings.TrimSpace(unmarked(lang.Clean(lang.Head(m.Text, maxTurn))))
		if left -= len(s); left < 0 {
			break
		}
		if s != "" {
			a.History = append(a.History, prompt.Said{Role: string(m.Role), Text: s})
		}
	}
	slices.Reverse(a.History)
	return a
}

// packer fills a context with a task's passages.
type packer struct {
	*Model
	task  model.Task
	set   *prompt.Set
	fence int            // tokens of a passage without text
	read  []corpus.Chunk // of the passages, fit to be read
	base  int            // tokens of a prompt without passages
	room  int            // tokens for passages
	talk  prompt.Answer
}

// measure counts the tokens of a prompt. One that cannot be written has none: writing it again tells why.
func (k *packer) measure(ctx context.Context, ps []prompt.Passage) int {
	shown := k.talk
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

// added counts what passages add to a prompt.
func (k *packer) added(ctx context.Context, ps []prompt.Passage) int {
	return max(0, k.measure(ctx, ps)-k.base)
}

// shown gives a passage as the prompt shows it, of its text at most so many bytes.
func (k *packer) shown(i, most int) prompt.Passage {
	return prompt.PassageOf(k.task.Passages[i].N, k.read[i], k.task.Question, most)
}

// readable is a chunk in which nothing cites.
func readable(c corpus.Chunk) corpus.Chunk {
	clean := func(s string) string { return unmarked(lang.Clean(lang.Head(s, 4*maxRead))) }
	c.Text, c.Title = clean(c.Text), clean(c.Title)
	c.Headings = slices.Clone(c.Headings)
	for i, h := range c.Headings {
		c.Headings[i] = clean(h)
	}
	return c
}

// pack chooses the passages. Servers that count are asked little: where all fit, once.
func (k *packer) pack(ctx context.Context) plan {
	var p plan
	size := 0
	for i, q := range k.task.Passages {
		k.read = append(k.read, readable(q.Chunk))
		p.passages, p.kept = append(p.passages, k.shown(i, maxRead)), append(p.kept, i)
		size += len(p.passages[i].Text)
	}
	if size/mostBytes <= k.room {
		if k.fit(ctx, &p) {
			return p
		}
	}
	whole := p.passages
	p.passages, p.kept = nil, nil
	left := k.room
	k.fence = k.added(ctx, []prompt.Passage{{ID: 1}}) + uneven
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

// fit counts the tokens of a plan and says whether there is room for them.
func (k *packer) fit(ctx context.Context, p *plan) bool {
	p.tokens = k.added(ctx, p.passages)
	return p.tokens+uneven*len(p.passages) <= k.room
}

// cost is about what a passage adds to a prompt.
func (k *packer) cost(ctx context.Context, p prompt.Passage) int {
	return k.fence + k.chat.Count(ctx, p.Heading+"\n\n"+p.Text)
}

// cut gives the part of the passage at i that fits into so many tokens, where the whole has n, and the tokens of the part. Ok
// is false if that would be of no use; of the best passage there is always a part.
func (k *packer) cut(ctx context.Context, i, n, left int) (part prompt.Passage, tokens int, ok bool) {
	whole := float64(len(k.shown(i, maxRead).Text))
	best := i == 0
	for share := 0.95; share > 0.1; share *= 0.75 {
		most := int(share * whole * float64(max(left-k.fence, 0)) / float64(max(n-k.fence, 1)))
		if most < leastCut && !best {
			return part, 0, false
		}
		if part = k.shown(i, max(most, leastCut/4)); !best && !k.asked(part.Text) {
			return part, 0, false
		}
		if tokens = k.cost(ctx, part); tokens <= left {
			return part, tokens, true
		}
	}
	return part, tokens, best
}

// asked tells whether a text holds a term of the question.
func (k *packer) asked(s string) bool {
	held := lang.Set(s)
	return slices.ContainsFunc(lang.Terms(lang.Head(k.task.Question, 8<<10)), func(t string) bool {
		_, ok := held[t]
		return ok
	})
}

// ends puts the best at both ends, as models overlook what stands in the middle: ranks 1, 3, 5 … 6, 4, 2 (N. Liu et al.,
// Lost in the Middle: How Language Models Use Long Contexts, 2023).
func ends(best []prompt.Passage) []prompt.Passage {
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
