package entities

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
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
	Timeout  time.Duration // for a passage; default 60 s
	Parallel int           // requests at once for one document; default 2
	Most     int           // passages of a document that a model reads, the first ones; default 500
	Rest     time.Duration // for which a model that failed is not asked; default 1 min
	Logger   *slog.Logger  // nil: none
}

const (
	maxRead  = 16 << 10 // bytes of a passage that a model reads
	rulesAre = "rules"  // the name of the form behind the model's
)

// asking is the form that asks a model.
type asking struct {
	judge   *prompt.Judge
	prompts *prompt.Set
	then    Extractor
	Options

	mu    sync.Mutex
	until time.Time // when the model is asked again
}

// NewModel returns the [Extractor] that asks a model besides, once for each passage: that costs a request a passage, so it is for
// collections that are worth it. What the model names is taken only where the passage holds it, and what it says of two names
// only where both are known; it joins what then finds, which stands alone where the model fails. The trace of the context is told
// each reason of failures once a document.
func NewModel(chat model.Chat, prompts *prompt.Set, then Extractor, o Options) Extractor {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Parallel = cmp.Or(max(o.Parallel, 0), 2)
	o.Most = cmp.Or(max(o.Most, 0), 500)
	o.Rest = cmp.Or(o.Rest, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &asking{judge: prompt.NewJudge(chat), prompts: prompts, then: then, Options: o}
}

// Name implements [Extractor]. The model has no part in it: the names that servers give change, and a folder would be read anew.
func (m *asking) Name() string { return "model-1 " + m.then.Name() }

// Extract implements [Extractor]. Its errors are those of then, and that of the context.
func (m *asking) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error) {
	out, err := m.then.Extract(ctx, chunks, links)
	if err != nil {
		return nil, err
	}
	var asked []int
	for i := range chunks {
		c := &chunks[i]
		if _, code := lang.Unfence(c.Text); c.Level == corpus.Passage && !code && strings.TrimSpace(c.Text) != "" && len(asked) < m.Most {
			asked = append(asked, i)
		}
	}
	errs := prompt.Each(len(asked), m.Parallel, func(i int) error {
		if ctx.Err() != nil || m.rests() {
			return nil
		}
		share, cancel := prompt.Share(ctx, m.Timeout, 1)
		defer cancel()
		c := &chunks[asked[i]]
		r, err := prompt.Ask[reply](share, m.judge, m.prompts, prompt.Naming{Passage: passageOf(c)}, nil)
		if err = prompt.Late(ctx, share, m.judge.Name(), err); err == nil {
			out[asked[i]] = merge(out[asked[i]], r, c)
		} else if ctx.Err() == nil {
			m.failed(err)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	prompt.Failed(ctx, errs, m.judge.Name(), rulesAre)
	return out, nil
}

func passageOf(c *corpus.Chunk) prompt.Passage {
	short := *c
	short.Text = lang.Head(c.Text, maxRead)
	return prompt.PassageOf(1, short, "", 0)
}

func (m *asking) rests() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.until)
}

// failed lets the model rest, unless the failure lies in the passage or the judge sees to it.
func (m *asking) failed(err error) {
	if e, ok := errors.AsType[*model.Error](err); ok {
		switch e.Failure {
		case model.Malformed, model.Skipped, model.Empty, model.Truncated, model.Rejected, model.TooLong:
			return
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); !now.Before(m.until) {
		m.until = now.Add(m.Rest)
		m.Logger.Warn("names are found by rules for now: the model failed", "model", m.judge.Name(), "error", err)
	}
}

type reply struct {
	Names     []string `json:"names"`
	Relations []struct {
		From string `json:"from"`
		Says string `json:"says"`
		To   string `json:"to"`
	} `json:"relations"`
}

// merge joins what a model found to what the rules did. The model's names come before the rules' guesses where room ends.
func merge(ruled Extraction, r reply, c *corpus.Chunk) Extraction {
	out := &collector{place: map[string]int{}}
	for _, m := range ruled.Mentions {
		if m.Kind <= corpus.Link {
			out.add(m.Name, m.Kind)
		}
	}
	held := newHolder(c.Text)
	for _, name := range r.Names[:min(len(r.Names), maxMentions)] {
		if written := held.find(name); written != "" {
			out.add(written, corpus.Named)
		}
	}
	for _, m := range ruled.Mentions {
		out.add(m.Name, m.Kind)
	}
	known := func(name string) string {
		if i, ok := out.place[lang.Name(lang.Head(name, maxName))]; ok {
			return out.Mentions[i].Name
		}
		return ""
	}
	pairs := map[[2]string]bool{}
	for _, x := range r.Relations[:min(len(r.Relations), maxRelations)] {
		from, to := known(x.From), known(x.To)
		if pair := [2]string{from, to}; !pairs[pair] {
			before := len(out.Relations)
			out.relate(from, to, lang.Clean(lang.Head(x.Says, 4*maxSays)))
			pairs[pair] = len(out.Relations) > before
		}
	}
	for _, x := range ruled.Relations {
		from, to := known(x.From), known(x.To)
		if !pairs[[2]string{from, to}] && !pairs[[2]string{to, from}] {
			out.relate(from, to, x.Predicate)
		}
	}
	return out.Extraction
}

// holder finds names in a passage, whatever their accents, letters' size and punctuation.
type holder struct {
	text   string
	words  []lang.Token
	folded []string
	at     map[string][]int // where a word stands, the first maxPlaces times
}

// maxPlaces bounds the work that a passage of one word again and again makes.
const maxPlaces = 256

func newHolder(s string) holder {
	s = lang.Head(s, maxRead)
	h := holder{text: s, words: lang.Words(s), at: map[string][]int{}}
	for i, w := range h.words {
		f := lang.FoldWord(w.Text)
		h.folded = append(h.folded, f)
		if len(h.at[f]) < maxPlaces {
			h.at[f] = append(h.at[f], i)
		}
	}
	return h
}

// find gives a name as the passage writes it, "" where that does not hold it.
func (h holder) find(name string) string {
	if len(name) > maxName {
		return ""
	}
	words := strings.Fields(lang.Name(name))
	if len(words) == 0 || len(words) > maxWords {
		return ""
	}
	for _, i := range h.at[words[0]] {
		if end := i + len(words); end <= len(h.words) && slices.Equal(h.folded[i:end], words) {
			return h.text[h.words[i].Start:h.words[end-1].End]
		}
	}
	return ""
}
