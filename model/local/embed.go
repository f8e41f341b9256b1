package local

import (
	"context"
	"math"
	"strings"

	"github.com/viterin/vek/vek32"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// sif is the parameter a of the smooth inverse frequency a/(a+p), the weight of a word of probability p. S. Arora, Y. Liang and
// T. Ma, A Simple but Tough-to-Beat Baseline for Sentence Embeddings, 2017.
const sif = 1e-4

// maxTokens is the maximum number of words of a text: more would not change the average and would slow down late interaction.
const maxTokens = 4096

// probability returns the probability of the word of a rank, from 0, in English: the Zipf-Mandelbrot law, normalized over the
// 400,000 words of the vocabulary.
func probability(rank int) float64 { return 1 / ((float64(rank) + 2.7) * 12.5) }

// rarity returns -ln p of a rank relative to that of the rarest known word, about 0..1: an inverse document frequency without
// documents.
func rarity(rank int) float64 { return math.Log(probability(rank)) / math.Log(probability(60000)) }

// Space returns the name of the vector space.
func (m *Model) Space() string { return "glove-6b-100-abtt2-sif" }

func (m *Model) dim() int {
	if m.table == nil {
		return 0
	}
	return m.table.dim
}

// Embed returns the weighted average of the word vectors of each text at unit length; nil without a known word. Unknown words
// have a vector derived from their hash. The purpose is ignored.
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

// wordVectors are what a word adds to the vector of a text.
type wordVectors struct {
	vectors [][]float32
	known   bool // they are from the table
}

func (m *Model) vectorsOf(word string) (out wordVectors) {
	parts := m.find(word)
	if len(parts) == 0 && !lang.IsStopWord(word) {
		v := make([]float32, m.dim())
		addHashed(v, lang.Stem(word))
		out.vectors = append(out.vectors, v)
	}
	for _, p := range parts {
		v := make([]float32, m.dim())
		m.table.add(v, p.row, p.share*float32(sif/(sif+probability(m.table.rank(p.row)))))
		out.vectors, out.known = append(out.vectors, v), true
	}
	return out
}

// wordVectorsOf has what recent words add to a vector, at most some 8 MB. It is of the embedded table, so all models share it.
var wordVectorsOf = lang.NewRecent[wordVectors](maxKept)

const (
	maxKept = 1 << 14
	maxWord = 64 // length of a word that is kept, in bytes
)

// embed returns the vector of a text.
func (m *Model) embed(s string) []float32 {
	v := make([]float32, m.dim())
	known, words, vectorsOf := false, 0, m.vectorsOf
	for w := range lang.AllWords(s) {
		if words++; words > maxTokens {
			break
		}
		of := wordVectorsOf.Get(w.Text, maxWord, vectorsOf)
		known = known || of.known
		for _, x := range of.vectors {
			vek32.Add_Inplace(v, x)
		}
	}
	if !known {
		return nil
	}
	return unit(v)
}

// addHashed adds a unit vector that is derived from the hash of a word, so that an unknown name matches itself. Two such
// vectors are almost orthogonal. On claims against scientific abstracts, nDCG@10 of the vectors alone rises from 0.16 to 0.27;
// on encyclopaedia paragraphs it does not change.
func addHashed(v []float32, word string) {
	h := uint64(14695981039346656037) // FNV-1a, then a xorshift step for each dimension
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	cell := math.Float32bits(float32(1 / math.Sqrt(float64(len(v)))))
	for i := range v {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		v[i] += math.Float32frombits(cell | uint32(h>>10)<<31) // bit 10 is the sign, without a branch
	}
}

// EmbedTokens returns a unit vector for each word of each text, in order. Repeated words share their vector, which the caller must not change.
// The weight is 0.1 for a stop word and otherwise grows to 1 with the rarity of the word. A word without a vector has weight 1.
func (m *Model) EmbedTokens(ctx context.Context, texts []string, _ model.Purpose) ([][]model.TokenVector, error) {
	out := make([][]model.TokenVector, len(texts))
	known := make(map[string]model.TokenVector, len(texts))
	all := make([]model.TokenVector, 0, len(texts)) // most texts of late interaction are single words
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		from := len(all)
		all = m.appendTokens(all, s, known)
		out[i] = all[from:len(all):len(all)]
	}
	return out, nil
}

// appendTokens appends the tokens of a text. It adds new ones to known.
func (m *Model) appendTokens(out []model.TokenVector, s string, known map[string]model.TokenVector) []model.TokenVector {
	n := 0
	for w := range lang.AllWords(s) {
		if n++; n > maxTokens {
			break
		}
		t, ok := known[w.Text]
		if !ok {
			word := strings.Clone(w.Text) // it may be a part of a long text
			t = model.TokenVector{Token: word, Weight: m.weight(word), Vector: m.vector(word)}
			known[word] = t
		}
		out = append(out, t)
	}
	return out
}

func (m *Model) weight(word string) float64 {
	if lang.IsStopWord(word) {
		return 0.1
	}
	if m.table != nil {
		if row, ok := m.table.row(word); ok {
			return min(1, rarity(m.table.rank(row)))
		}
	}
	return 1
}

// unit scales v to unit length in place. It returns nil for a zero vector.
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

// rowShare is a row of the table with its weight for a word.
type rowShare struct {
	row   int
	share float32
}

// endings are taken off an unknown word, and what is put in their place, the likeliest first.
var suffixes = [...][2]string{{"'s", ""}, {"s'", "s"}, {"ies", "y"}, {"es", ""}, {"es", "e"}, {"s", ""}, {"ing", ""}, {"ing", "e"},
	{"ed", ""}, {"ed", "e"}, {"ly", ""}, {"ness", ""}, {"iser", "izer"}, {"ised", "ized"}, {"ise", "ize"}, {"isation", "ization"},
	{"ically", "ic"}, {"ility", "le"}, {"ation", "e"}, {"al", ""}, {"ment", ""}, {"able", ""}, {"less", ""}}

// find returns the rows for a word: its own, or that of a form without a suffix, or those of the two known words that it is
// composed of.
func (m *Model) find(word string) []rowShare {
	if m.table == nil {
		return nil
	}
	if row, ok := m.table.row(word); ok {
		return []rowShare{{row, 1}}
	}
	if len(word) < 4 || len(word) > 40 || word[0] >= '0' && word[0] <= '9' {
		return nil
	}
	for _, e := range suffixes {
		if base, ok := strings.CutSuffix(word, e[0]); ok && len(base) >= 3 {
			if row, ok := m.table.row(base + e[1]); ok {
				return []rowShare{{row, 0.9}}
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
			if a, ok := m.table.row(word[:cut]); ok {
				if b, ok := m.table.row(word[cut:]); ok {
					return []rowShare{{a, 0.4}, {b, 0.4}}
				}
			}
		}
	}
	return nil
}
