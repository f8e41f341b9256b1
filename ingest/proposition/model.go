package proposition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout  time.Duration // for the sentences of a passage; default 60 s
	Parallel int           // requests at once for one document; default 2
	Most     int           // passages of a document that a model reads, the first ones; default 500
	Rest     time.Duration // for which a model that failed is not asked; default 1 min
	Logger   *slog.Logger
}

// asking is the form that asks a model.
type asking struct {
	chat    model.Chat
	prompts *prompt.Set
	then    Rules
	Options

	mu    sync.Mutex
	until time.Time // when the model is asked again
}

// NewModel returns the [Generator] that asks a model, once for each passage. What the model says of a sentence is taken only where it
// keeps what the sentence says and adds nothing that its passage, the one before and their headings do not hold (see check);
// else, and where the model fails, the form of the rules stands. The trace of the context is told each reason of failures once a
// document.
func NewModel(chat model.Chat, prompts *prompt.Set, then Rules, o Options) Generator {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Parallel = cmp.Or(max(o.Parallel, 0), 2)
	o.Most = cmp.Or(max(o.Most, 0), 500)
	o.Rest = cmp.Or(o.Rest, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &asking{chat: chat, prompts: prompts, then: then, Options: o}
}

// Name implements [Generator]. The model's name is no part of it: servers change theirs, and documents would be ingested anew.
func (m *asking) Name() string { return "model-1 + " + m.then.Name() }

// passage is what one request is about.
type passage struct {
	label, before, body string
	sentences           []*corpus.Chunk
}

// Generate implements [Generator].
func (m *asking) Generate(ctx context.Context, chunks []corpus.Chunk) error {
	if err := m.then.Generate(ctx, chunks); err != nil {
		return err
	}
	all := passages(chunks)
	all = all[:min(m.Most, len(all))]
	errs := prompt.Each(len(all), m.Parallel, func(i int) error {
		if ctx.Err() != nil || m.rests() {
			return nil
		}
		share, cancel := prompt.Share(ctx, m.Timeout, 1)
		defer cancel()
		err := prompt.Late(ctx, share, m.chat.Name(), m.ask(share, all[i]))
		if err != nil && ctx.Err() == nil {
			m.failed(err)
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	prompt.Failed(ctx, errs, m.chat.Name(), m.then.Name())
	return nil
}

func (m *asking) rests() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.until)
}

// failed lets the model rest, unless the failure lies in the passage.
func (m *asking) failed(err error) {
	if e, ok := errors.AsType[*model.Error](err); ok {
		switch e.Failure {
		case model.Malformed, model.Truncated, model.Rejected, model.TooLong:
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.until) {
		m.until = now.Add(m.Rest)
		m.Logger.Warn("sentences are made to stand alone by rules for now: the model failed", "model", m.chat.Name(), "error", err)
	}
}

// passages gathers the sentences of each passage that a model may read: no code, and no rows.
func passages(chunks []corpus.Chunk) []passage {
	bodies := map[corpus.ChunkID]*corpus.Chunk{}
	var out []passage
	var last corpus.ChunkID
	var before, headings string
	for i := range chunks {
		c := &chunks[i]
		if c.Level == corpus.Passage {
			bodies[c.ID] = c
		}
		if c.Level != corpus.Sentence || isCode(c.Text) || lang.Row(c.Text) {
			continue
		}
		if len(out) == 0 || c.Parent != last {
			over := labelOf(c)
			if over != headings {
				before = ""
			}
			headings, last = over, c.Parent
			p := passage{label: over, before: before, body: c.Text}
			if b := bodies[c.Parent]; b != nil {
				p.body = b.Text
			}
			out = append(out, p)
		}
		p := &out[len(out)-1]
		p.sentences = append(p.sentences, c)
		before = c.SearchText()
	}
	return out
}

// labelOf gives the title and all headings over a chunk.
func labelOf(c *corpus.Chunk) string { return prompt.PassageOf(0, *c, "", 0).Heading }

type reply struct {
	Statements []struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
	} `json:"statements"`
}

// ask asks for the sentences of a passage and keeps what passes.
func (m *asking) ask(ctx context.Context, p passage) error {
	d := prompt.Proposing{Before: p.label, Preceding: p.before}
	for _, c := range p.sentences {
		d.Sentences = append(d.Sentences, c.Text)
	}
	r, err := prompt.Ask(ctx, m.chat, m.prompts, d, func(r *reply) error { return r.check(len(p.sentences)) })
	if err != nil {
		return err
	}
	known := contextOf(p.label + "\n" + p.before + "\n" + p.body)
	for _, s := range r.Statements {
		c := p.sentences[s.ID-1]
		said := strings.Join(strings.Fields(lang.Clean(s.Text)), " ")
		if said == "" || said == strings.Join(strings.Fields(c.Text), " ") || !check(said, c.Text, known) {
			continue
		}
		c.Proposition = said
	}
	return nil
}

// check holds that each of n sentences has one statement.
func (r *reply) check(n int) error {
	seen := map[int]bool{}
	for _, s := range r.Statements {
		switch {
		case s.ID < 1 || s.ID > n:
			return fmt.Errorf("there is no sentence with the id %d: they are 1 to %d", s.ID, n)
		case seen[s.ID]:
			return fmt.Errorf("sentence %d has two texts", s.ID)
		}
		seen[s.ID] = true
	}
	if len(seen) != n {
		return fmt.Errorf("%d of the %d sentences have no text", n-len(seen), n)
	}
	return nil
}
