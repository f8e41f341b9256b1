package knowledge

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// summarizer is reported as the model of a summary. Summaries are made without a model.
const summarizer = "extractive"

// Limits of the passages that a summary is made from: the first ones of the first documents.
const (
	maxSummarized = 64    // documents
	maxSample     = 400   // passages of all documents
	maxSentence   = 600   // bytes; longer text is not a sentence
	perToken      = 4     // approximate bytes of a token
	maxCandidates = 1_000 // sentences
	tooAlike      = 0.5   // share of words that two sentences may have in common
)

type summaryParams struct {
	idParam
	Model     string `query:"model" description:"Ignored. The summary consists of sentences of the documents."`
	MaxTokens int    `query:"max_tokens" minimum:"1" maximum:"8000" default:"1000"`
}

func (s *routes) summary(w http.ResponseWriter, r *http.Request) error {
	begun := s.o.Now()
	tokens, err := server.IntParam(r.URL.Query(), "max_tokens", 1000, 1, 8000)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	info, err := s.o.Files.Store(r.Context(), id)
	if err != nil {
		return notFound(err, "vector store")
	}
	sample, err := s.sample(r.Context(), id)
	if err != nil {
		return err
	}
	out := knowledge.VectorStoreSummary{VectorStoreID: id, SummaryText: summarize(sample, perToken*tokens), ModelUsed: summarizer, CreatedAt: s.o.Now().Unix()}
	if out.SummaryText == "" {
		out.SummaryText = info.Description
	}
	out.TokenCount = (len(out.SummaryText) + perToken - 1) / perToken
	out.DurationMS = s.o.Now().Sub(begun).Milliseconds()
	server.ReplyJSON(w, http.StatusOK, out)
	return nil
}

// sample returns passages of the documents of a vector store, the same number for each document.
func (s *routes) sample(ctx context.Context, collection string) ([]corpus.Chunk, error) {
	docs, err := s.o.Index.Documents(ctx, collection, "", maxSummarized)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	var out []corpus.Chunk
	for _, d := range docs {
		chunks, err := s.o.Index.DocumentChunks(ctx, collection, d.ID, corpus.Passage, 0, max(1, maxSample/len(docs)))
		if err != nil {
			return nil, err
		}
		out = append(out, chunks...)
	}
	return out, nil
}

// sentence is a candidate for a summary.
type sentence struct {
	text  string
	terms []string
	score float64
	place int
}

// summarize selects the sentences that are closest to the centroid of the passages (Radev et al. 2004, MEAD). The weight of
// a term is its value over all passages; the weight of a sentence is that of its terms, normalized by length. Sentences
// that are too similar to a selected one are skipped. The result is in the order of the text and has at most limit bytes.
func summarize(passages []corpus.Chunk, limit int) string {
	candidates, weight := candidatesOf(passages)
	for i := range candidates {
		c := &candidates[i]
		for _, t := range c.terms {
			c.score += weight[t]
		}
		c.score /= math.Sqrt(float64(len(c.terms)))
	}
	slices.SortStableFunc(candidates, func(a, b sentence) int { return cmp.Compare(b.score, a.score) })
	said := map[string]bool{}
	var picked []sentence
	size := 0
	for _, c := range candidates {
		if size+len(c.text)+1 > limit && len(picked) > 0 {
			break
		}
		again := 0
		for _, t := range c.terms {
			if said[t] {
				again++
			}
		}
		if float64(again) > tooAlike*float64(len(c.terms)) && len(picked) > 0 {
			continue
		}
		for _, t := range c.terms {
			said[t] = true
		}
		picked = append(picked, c)
		size += len(c.text) + 1
	}
	slices.SortFunc(picked, func(a, b sentence) int { return cmp.Compare(a.place, b.place) })
	var b strings.Builder
	for i, c := range picked {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.text)
	}
	return lang.Truncate(b.String(), limit)
}

// candidatesOf returns the sentences of the passages, and the weight of each term: its frequency times its inverse passage
// frequency.
func candidatesOf(passages []corpus.Chunk) ([]sentence, map[string]float64) {
	tf, df := map[string]float64{}, map[string]int{}
	var out []sentence
	for _, p := range passages {
		in := map[string]bool{}
		for _, span := range lang.Sentences(p.Text) {
			said := strings.Join(strings.Fields(p.Text[span.Start:span.End]), " ")
			if len(said) < 20 || len(said) > maxSentence || len(out) == maxCandidates {
				continue
			}
			seen := map[string]bool{}
			var terms []string
			for _, t := range lang.Terms(said) {
				tf[t]++
				if !in[t] {
					in[t] = true
					df[t]++
				}
				if !seen[t] {
					seen[t] = true
					terms = append(terms, t)
				}
			}
			if len(terms) >= 3 {
				out = append(out, sentence{text: said, terms: terms, place: len(out)})
			}
		}
	}
	weight := make(map[string]float64, len(tf))
	for t, n := range tf {
		weight[t] = (1 + math.Log(n)) * lang.IDF(len(passages), df[t])
	}
	return out, weight
}
