package entities

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

const maxRead = 16 << 10 // bytes of a passage that a model reads

// modelExtractor is the [Extractor] of [NewModel].
type modelExtractor struct {
	reader   *prompt.PassageReader
	prompts  *prompt.Set
	fallback Extractor
}

// NewModel returns an [Extractor] that adds the results of a model, with one request per passage, to those of fallback. It ignores names that
// the passage does not contain, and relations between unknown names. If the model fails, it uses the results of fallback alone. Reasons of
// failures are reported to the trace of the context, each once per document.
func NewModel(chat model.Chat, prompts *prompt.Set, fallback Extractor, o prompt.PassageOptions) Extractor {
	return &modelExtractor{reader: prompt.NewPassageReader(chat, "rules", o), prompts: prompts, fallback: fallback}
}

// Name implements [Extractor]. The name does not contain that of the model: a server may change it, and all documents would be ingested again.
func (m *modelExtractor) Name() string { return "model-1 " + m.fallback.Name() }

// Extract implements [Extractor]. Its errors are those of the fallback and of ctx.
func (m *modelExtractor) Extract(ctx context.Context, chunks []corpus.Chunk, links [][]Link) ([]Extraction, error) {
	out, err := m.fallback.Extract(ctx, chunks, links)
	if err != nil {
		return nil, err
	}
	var asked []int
	for i := range chunks {
		c := &chunks[i]
		if _, code := lang.Unfence(c.Text); c.Level == corpus.Passage && !code && strings.TrimSpace(c.Text) != "" && len(asked) < m.reader.MaxPassages {
			asked = append(asked, i)
		}
	}
	err = m.reader.ForEach(ctx, len(asked), func(ctx context.Context, i int) error {
		c := &chunks[asked[i]]
		r, err := prompt.Ask[reply](ctx, m.reader.Judge, m.prompts, prompt.Entities{Passage: passageOf(c)}, nil)
		if err == nil {
			out[asked[i]] = merge(out[asked[i]], r, c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func passageOf(c *corpus.Chunk) prompt.Passage {
	short := *c
	short.Text = lang.Truncate(c.Text, maxRead)
	return prompt.PassageOf(1, short, "", 0)
}

type reply struct {
	Names     []string `json:"names"`
	Relations []struct {
		From string `json:"from"`
		Says string `json:"says"`
		To   string `json:"to"`
	} `json:"relations"`
}

// merge merges the results of a model and of the rules. If there are too many names, those of the model precede the rules' guesses.
func merge(ruled Extraction, r reply, c *corpus.Chunk) Extraction {
	out := &collector{index: map[string]int{}}
	for _, m := range ruled.Mentions {
		if m.Kind <= corpus.Link {
			out.add(m.Name, m.Kind)
		}
	}
	finder := newFinder(c.Text)
	for _, name := range r.Names[:min(len(r.Names), maxMentions)] {
		if written := finder.find(name); written != "" {
			out.add(written, corpus.Named)
		}
	}
	for _, m := range ruled.Mentions {
		out.add(m.Name, m.Kind)
	}
	known := func(name string) string {
		if i, ok := out.index[lang.NormalizeName(lang.Truncate(name, maxName))]; ok {
			return out.Mentions[i].Name
		}
		return ""
	}
	pairs := map[[2]string]bool{}
	for _, x := range r.Relations[:min(len(r.Relations), maxRelations)] {
		from, to := known(x.From), known(x.To)
		if pair := [2]string{from, to}; !pairs[pair] {
			before := len(out.Relations)
			out.relate(from, to, lang.Clean(lang.Truncate(x.Says, 4*maxPredicate)))
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

// nameFinder finds names in a passage, regardless of case, accents and punctuation.
type nameFinder struct {
	text   string
	words  []lang.Token
	folded []string
	at     map[string][]int // indexes of the first maxPlaces occurrences of a word
}

// maxPlaces limits the work for a passage that repeats one word.
const maxPlaces = 256

func newFinder(s string) nameFinder {
	s = lang.Truncate(s, maxRead)
	h := nameFinder{text: s, words: lang.Words(s), at: map[string][]int{}}
	for i, w := range h.words {
		f := lang.FoldWord(w.Text)
		h.folded = append(h.folded, f)
		if len(h.at[f]) < maxPlaces {
			h.at[f] = append(h.at[f], i)
		}
	}
	return h
}

// find returns a name as the passage writes it, or "" if the passage does not contain it.
func (h nameFinder) find(name string) string {
	if len(name) > maxName {
		return ""
	}
	words := strings.Fields(lang.NormalizeName(name))
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
