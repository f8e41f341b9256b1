package answer

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// abstention is what the run says instead of an answer.
type abstention struct {
	text  string
	names []int // index in job.context of the passage that it names; empty if it names none
}

// minNear is the share of the weight of the question's terms that a passage must have to be named in an abstention.
const minNear = 0.4

// abstain returns the abstention in the language of the question. It names the passage that has the most of the question's terms, by their weight, of those
// that the generator read.
func (j *job) abstain() abstention {
	question := cmp.Or(j.focus, j.q.Query)
	read := j.sourcePlaces(nil)
	texts := make([]string, len(read))
	for i, place := range read {
		c := j.context[place].Chunk
		texts[i] = strings.Join(append(slices.Clone(c.Headings), c.Title, c.Text), "\n")
	}
	m := lang.NewMatcher(question, texts, j.stats.DF)
	weights, total := make([]float64, len(m.Terms)), 0.0
	for i, t := range m.Terms {
		weights[i] = lang.IDF(j.stats.Chunks, max(1, j.stats.DF[t.Word]))
		total += weights[i]
	}
	best, most := -1, minNear*total
	var held map[int]bool
	for i := range texts {
		has, sum := map[int]bool{}, 0.0
		for _, w := range m.Words[i] {
			for _, t := range w.Matches {
				if !has[t.Term] && (t.Credit == 1 || m.Compounds) {
					has[t.Term] = true
					sum += weights[t.Term]
				}
			}
		}
		if sum > most {
			best, most, held = i, sum, has
		}
	}
	if best < 0 {
		return abstention{text: m.Abstain(nil, "")}
	}
	rarest := 0.0
	for t := range held {
		rarest = max(rarest, weights[t])
	}
	words := m.Phrases(question, texts[best], func(t int) bool { return held[t] && weights[t] >= rarest/2 })
	if len(words) == 0 {
		return abstention{text: m.Abstain(nil, "")}
	}
	return abstention{printable(m.Abstain(words, j.placeOf(j.context[read[best]]))), []int{read[best]}}
}

// maxPlace limits the name of a document and a heading in an abstention, in bytes.
const maxPlace = 80

// placeOf returns the name of a passage's file, or the title of its document, and its heading.
func (j *job) placeOf(c candidate) string {
	title := cmp.Or(j.files[c.Chunk.Document].name, c.Chunk.Title)
	parts := []string{lang.Truncate(title, maxPlace)}
	if h := c.Chunk.Heading(); h != "" && h != title && h != c.Chunk.Title {
		parts = append(parts, lang.Truncate(h, maxPlace))
	}
	return strings.Join(strings.Fields(strings.Join(parts, ", ")), " ")
}

// orAbstain returns the output of a generator. If it is [lang.NoAnswer], or if the confidence in it would be below the minimum, the abstention of the run takes its
// place. Text is only held back while it may still be replaced: that of a language model is not replaced once it is something else.
func (j *job) orAbstain(ctx context.Context, deltas iter.Seq2[model.Delta, error]) iter.Seq2[model.Delta, error] {
	judged := j.MinConfidence > 0 && !model.SupportsParameters(j.Generator)
	return func(yield func(model.Delta, error) bool) {
		var held []model.Delta
		text, open := "", true // the text so far; the output may still be replaced
		flush := func() bool {
			open = false
			for _, d := range held {
				if !yield(d, nil) {
					return false
				}
			}
			return true
		}
		for d, err := range deltas {
			if !open {
				if !yield(d, err) {
					return
				}
				continue
			}
			if err != nil {
				if flush() {
					yield(d, err)
				}
				return
			}
			if d.Reasoning != "" {
				if !yield(d, nil) {
					return
				}
				continue
			}
			held = append(held, d)
			text += d.Text
			if !judged && (d.Text == "" || !strings.HasPrefix(lang.NoAnswer, text)) && !flush() {
				return
			}
		}
		switch {
		case !open || ctx.Err() != nil:
		case text == lang.NoAnswer, judged && j.preview(held) < j.MinConfidence:
			yieldWords(j.abstain().text, yield)
		default:
			flush()
		}
	}
}

// yieldWords yields a text by word, each with the space before it.
func yieldWords(text string, yield func(model.Delta, error) bool) {
	for text != "" {
		end := strings.IndexByte(text[1:], ' ') + 1
		if end == 0 {
			end = len(text)
		}
		if !yield(model.Delta{Text: text[:end]}, nil) {
			return
		}
		text = text[end:]
	}
}

// preview returns the confidence in the output of a generator as if its claims were supported, or 1 if it cites nothing.
func (j *job) preview(deltas []model.Delta) float64 {
	s := j.rec.State()
	var text answerText
	var cited []int
	for _, d := range deltas {
		text.text.WriteString(d.Text)
		if d.Answerability > 0 {
			s.Answerability = d.Answerability
		}
		if d.Cite > 0 && d.Cite <= len(j.context) {
			text.cite(j.context[d.Cite-1].Chunk)
			cited = append(cited, d.Cite-1)
		}
	}
	if len(cited) == 0 {
		return 1
	}
	s.Check = &event.Verified{Confidence: 1}
	for _, c := range text.claims() {
		s.Check.Claims = append(s.Check.Claims, event.Claim{Text: c.Text})
	}
	s.Sources = j.sourcesRead(cited)
	return confidence.Estimate(&s)
}

// sourcesRead returns the sources of an answer, without what the confidence does not depend on.
func (j *job) sourcesRead(cited []int) (out []event.Source) {
	for _, place := range j.sourcePlaces(cited) {
		c := j.context[place]
		out = append(out, event.Source{Chunk: c.Chunk.ID, Document: c.Chunk.Document, Text: c.Chunk.Text, Score: c.grade, Cited: slices.Contains(cited, place)})
	}
	return out
}

// sourcePlaces returns the indexes in the context of the sources of an answer, each once: the cited passages, and then the others that the generator read. Parts
// of a table that it does not cite are no sources.
func (j *job) sourcePlaces(cited []int) (out []int) {
	for i, place := range slices.Concat(cited, j.read) {
		if !slices.Contains(out, place) && (i < len(cited) || !j.context[place].rest) {
			out = append(out, place)
		}
	}
	return out
}

// setClaims sets the claims of an answer that stopped for a reason. An abstention has none, and the passages that it does not name are no sources of it.
func (j *job) setClaims(text *answerText, stop string) {
	j.claims = text.claims()
	if j.listing != nil || len(text.marks) > 0 || stop != event.StopEnd {
		return
	}
	a, said := j.abstain(), text.text.String()
	j.read = nil
	switch said {
	case a.text:
		j.claims, j.read = nil, a.names
	case lang.NoAnswer:
		j.claims = nil
	}
}
