package local

import (
	"context"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// sif is a of the smooth inverse frequency a/(a+p) that weighs a word in an average; p is how probable the word is.
// S. Arora, Y. Liang and T. Ma, A Simple but Tough-to-Beat Baseline for Sentence Embeddings, 2017.
const sif = 1e-4

// maxTokens is how many words of one text are read; what follows adds nothing to an average and would make late
// interaction costly.
const maxTokens = 4096

// probability is how probable the word of a rank, from 0, is in English text: Zipf's law in Mandelbrot's form, normalised
// over the 400,000 words of the vectors' vocabulary.
func probability(rank int) float64 { return 1 / ((float64(rank) + 2.7) * 12.5) }

// rarity is -ln p of a rank over that of the rarest word known, which is about 0..1: an inverse document frequency that
// needs no documents.
func rarity(rank int) float64 { return math.Log(probability(rank)) / math.Log(probability(60000)) }

// Space names that of the static vectors.
func (m *Model) Space() string { return "glove-6b-100-abtt2-sif" }

func (m *Model) dim() int {
	if m.table == nil {
		return 0
	}
	return m.table.dim
}

// Embed gives each text the weighted average of its words' vectors at unit length; nil where no word is known. Words that
// are not known count as vectors drawn from their hash. Questions and passages are placed alike.
func (m *Model) Embed(ctx context.Context, texts []string, _ model.Purpose) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = m.embed(s)
	}
	return out, nil
}

func (m *Model) embed(s string) []float32 {
	words := lang.Words(s)
	if len(words) > maxTokens {
		words = words[:maxTokens]
	}
	v := make([]float32, m.dim())
	known := false
	for _, w := range words {
		parts := m.find(w.Text)
		if len(parts) == 0 && !lang.Stop(w.Text) {
			addHashed(v, lang.Stem(w.Text))
		}
		for _, p := range parts {
			m.table.add(v, p.row, p.share*float32(sif/(sif+probability(m.table.rank(p.row)))))
			known = true
		}
	}
	if !known {
		return nil
	}
	return unit(v)
}

// addHashed adds a vector of unit length that is drawn from the hash of a word: the same word always has the same one, and
// two of them are almost at right angles. So a name or a gene that the table does not know matches itself. Measured on
// claims against scientific abstracts, nDCG@10 of the vectors alone goes from 0.16 to 0.27; on encyclopaedia paragraphs
// it stays the same.
func addHashed(v []float32, word string) {
	h := uint64(14695981039346656037) // FNV-1a, then a xorshift step for each dimension
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	cell := float32(1 / math.Sqrt(float64(len(v))))
	for i := range v {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		if h&1024 == 0 {
			v[i] += cell
		} else {
			v[i] -= cell
		}
	}
}

// EmbedTokens gives each word of each text its vector of unit length, in order. Weight is 0.1 for a stop word, and
// otherwise grows with the word's rarity to 1, which is also the weight of a word without vector.
func (m *Model) EmbedTokens(ctx context.Context, texts []string, _ model.Purpose) ([][]model.TokenVector, error) {
	out := make([][]model.TokenVector, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = m.embedTokens(s)
	}
	return out, nil
}

func (m *Model) embedTokens(s string) []model.TokenVector {
	words := lang.Words(s)
	if len(words) > maxTokens {
		words = words[:maxTokens]
	}
	out := make([]model.TokenVector, len(words))
	cells := make([]float32, len(words)*m.dim())
	for i, w := range words {
		out[i] = model.TokenVector{Token: w.Text, Weight: m.weight(w.Text)}
		parts := m.find(w.Text)
		if len(parts) == 0 {
			continue
		}
		v := cells[i*m.dim() : (i+1)*m.dim() : (i+1)*m.dim()]
		for _, p := range parts {
			m.table.add(v, p.row, p.share)
		}
		out[i].Vector = unit(v)
	}
	return out
}

func (m *Model) weight(word string) float64 {
	if lang.Stop(word) {
		return 0.1
	}
	if m.table != nil {
		if row, ok := m.table.row(word); ok {
			return min(1, rarity(m.table.rank(row)))
		}
	}
	return 1
}

// unit brings v to unit length in place; nil if it has none.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum < 1e-12 {
		return nil
	}
	k := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= k
	}
	return v
}

// part is a row of the table that stands for a word or for a share of it.
type part struct {
	row   int
	share float32
}

// endings are taken off an unknown word, and what is put in their place, the likeliest first.
var endings = [...][2]string{{"'s", ""}, {"s'", "s"}, {"ies", "y"}, {"es", ""}, {"es", "e"}, {"s", ""}, {"ing", ""}, {"ing", "e"},
	{"ed", ""}, {"ed", "e"}, {"ly", ""}, {"ness", ""}, {"iser", "izer"}, {"ised", "ized"}, {"ise", "ize"}, {"isation", "ization"},
	{"ically", "ic"}, {"ility", "le"}, {"ation", "e"}, {"al", ""}, {"ment", ""}, {"able", ""}, {"less", ""}}

// find gives the rows that stand for a word: its own; else that of a form of it without an ending; else those of the two
// known words that it is made of, the most balanced pair.
func (m *Model) find(word string) []part {
	if m.table == nil {
		return nil
	}
	if row, ok := m.table.row(word); ok {
		return []part{{row, 1}}
	}
	if len(word) < 4 || len(word) > 40 || word[0] >= '0' && word[0] <= '9' {
		return nil
	}
	for _, e := range endings {
		if base, ok := strings.CutSuffix(word, e[0]); ok && len(base) >= 3 {
			if row, ok := m.table.row(base + e[1]); ok {
				return []part{{row, 0.9}}
			}
		}
	}
	if len(word) < 8 {
		return nil
	}
	for d := 0; len(word)/2-d >= 4; d++ {
		for _, cut := range [...]int{len(word)/2 - d, len(word)/2 + d} {
			if len(word)-cut < 4 {
				continue
			}
			a, ok := m.table.row(word[:cut])
			b, ok2 := m.table.row(word[cut:])
			if ok && ok2 {
				return []part{{a, 0.4}, {b, 0.4}}
			}
		}
	}
	return nil
}
