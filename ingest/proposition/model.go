package proposition

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// modelGenerator is the [Generator] of [NewModel].
type modelGenerator struct {
	reader   *prompt.PassageReader
	prompts  *prompt.Set
	fallback Rules
}

// NewModel returns a [Generator] that calls a model once for each passage. It only uses a statement that keeps the content of its sentence
// and adds nothing that the passage, the passage before and their headings do not contain (see check). Otherwise, or if the model fails, it
// uses the proposition of fallback. Reasons of failures are reported to the trace of the context, each once per document.
func NewModel(chat model.Chat, prompts *prompt.Set, fallback Rules, o prompt.PassageOptions) Generator {
	return &modelGenerator{reader: prompt.NewPassageReader(chat, fallback.Name(), o), prompts: prompts, fallback: fallback}
}

// Name implements [Generator]. The name does not contain that of the model: a server may change it, and all documents would be ingested again.
func (m *modelGenerator) Name() string { return "model-1 + " + m.fallback.Name() }

// passage is the subject of one request.
type passage struct {
	label, before, body string
	sentences           []*corpus.Chunk
}

// Generate implements [Generator].
func (m *modelGenerator) Generate(ctx context.Context, chunks []corpus.Chunk) error {
	if err := m.fallback.Generate(ctx, chunks); err != nil {
		return err
	}
	all := passages(chunks)
	all = all[:min(m.reader.MaxPassages, len(all))]
	return m.reader.ForEach(ctx, len(all), func(ctx context.Context, i int) error { return m.ask(ctx, all[i]) })
}

// passages returns the passages with the sentences for the model, without code and table rows.
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
		if c.Level != corpus.Sentence || isCode(c.Text) || lang.IsTableRow(c.Text) {
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

// labelOf returns the title and all headings above a chunk.
func labelOf(c *corpus.Chunk) string { return prompt.PassageOf(0, *c, "", 0).Heading }

type reply struct {
	Statements []struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
	} `json:"statements"`
}

// ask requests statements for the sentences of a passage, and uses those that pass the check.
func (m *modelGenerator) ask(ctx context.Context, p passage) error {
	d := prompt.Proposing{Before: p.label, Preceding: p.before}
	for _, c := range p.sentences {
		d.Sentences = append(d.Sentences, c.Text)
	}
	r, err := prompt.Ask(ctx, m.reader.Judge, m.prompts, d, func(r *reply) error { return r.check(len(p.sentences)) })
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

// check returns an error unless each of n sentences has one statement.
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
