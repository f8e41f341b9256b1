package rerank

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/viterin/vek/vek32"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewContextual]. The zero value works.
type Options struct {
	Timeout  time.Duration // for all passages of a call; default 8 s, and at most a quarter of the run's remaining time
	Parallel int           // concurrent requests; default 4
	Batch    int           // passages per request; default 8, as each has some hundred vectors
}

// Limits of what is read. ColBERT's own are 32 and 180 tokens.
const (
	maxAsked  = 2000 // bytes of a question
	maxShown  = 2000 // bytes of a passage
	maxTokens = 1024 // of a passage
)

// contextual is late interaction over contextual token vectors of a model.
type contextual struct {
	tokens   model.TokenEmbedder
	name     string
	fallback Reranker
	Options
}

// NewContextual returns the [Reranker] of late interaction over contextual vectors, as in ColBERT: the score of a passage
// is the mean, over the question's tokens, of the highest cosine with a token of the passage. Tokens without letters and
// digits, and special tokens of a model such as [CLS], do not count. Of a long passage the part with most of the
// question's words is read. name is the embedding model's; the method is "colbert:" and the name. If the embedder fails,
// is late or returns vectors that cannot be compared, then ranks all passages, and the failure is reported to the trace.
func NewContextual(e model.TokenEmbedder, name string, then Reranker, o Options) Reranker {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	o.Parallel = cmp.Or(max(o.Parallel, 0), 4)
	o.Batch = cmp.Or(max(o.Batch, 0), 8)
	return &contextual{e, name, then, o}
}

// Rerank implements [Reranker].
func (m *contextual) Rerank(ctx context.Context, question string, chunks []corpus.Chunk, stats index.TermStats) (Ranking, error) {
	if len(chunks) == 0 {
		return m.fallback.Rerank(ctx, question, chunks, stats)
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 4)
	defer cancel()
	scores, err := m.scores(share, question, chunks)
	if err == nil {
		return Ranking{scores, "colbert:" + m.name}, nil
	}
	err = prompt.ShareError(ctx, share, m.name, err)
	if ctx.Err() != nil {
		return Ranking{}, err
	}
	ranking, other := m.fallback.Rerank(ctx, question, chunks, stats)
	if other != nil {
		return Ranking{}, other
	}
	model.Failed(ctx, err, m.name, ranking.Method)
	return ranking, nil
}

// scores embeds the question and the passages concurrently. The first request that fails cancels the others, because
// scores of two rerankers cannot be compared.
func (m *contextual) scores(ctx context.Context, question string, chunks []corpus.Chunk) ([]float64, error) {
	question = lang.Truncate(lang.Clean(question), maxAsked)
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		c.Text = prompt.Clip(c.Text, question, maxShown)
		texts[i] = c.WithHeadings()
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.Parallel)
	var asked [][][]float32
	read := make([][][]float32, len(texts))
	group.Go(func() (err error) {
		asked, err = m.embed(ctx, []string{question}, model.ForQuery, maxQuestion)
		return err
	})
	for from := 0; from < len(texts); from += m.Batch {
		to := min(from+m.Batch, len(texts))
		group.Go(func() error {
			vectors, err := m.embed(ctx, texts[from:to], model.ForPassage, maxTokens)
			copy(read[from:to], vectors)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(asked[0]) == 0 {
		return nil, m.malformed("the question has no vectors")
	}
	dim := len(asked[0][0])
	out := make([]float64, len(read))
	for i, vectors := range append(read, asked[0]) {
		for _, v := range vectors {
			if len(v) != dim {
				return nil, m.malformed("vectors differ in their dimensions")
			}
		}
		if i < len(out) {
			if out[i] = lateInteraction(asked[0], vectors); math.IsNaN(out[i]) || math.IsInf(out[i], 0) {
				return nil, m.malformed("a vector holds what is no number")
			}
		}
	}
	return out, nil
}

func (m *contextual) malformed(what string) error {
	return &model.Error{Model: m.name, Failure: model.Malformed, Cause: errors.New(what)}
}

// embed returns the vectors of the counted tokens of each text, at most the given number.
func (m *contextual) embed(ctx context.Context, texts []string, p model.Purpose, most int) ([][][]float32, error) {
	all, err := m.tokens.EmbedTokens(ctx, texts, p)
	if err != nil {
		return nil, err
	}
	if len(all) != len(texts) {
		return nil, m.malformed("there are more or fewer lists of vectors than texts")
	}
	out := make([][][]float32, len(all))
	for i, tokens := range all {
		for _, t := range tokens {
			if len(t.Vector) > 0 && isContent(t.Token) && len(out[i]) < most {
				out[i] = append(out[i], t.Vector)
			}
		}
	}
	return out, nil
}

// isContent reports whether a token is part of a word and not a special token of the model.
func isContent(token string) bool {
	token = strings.TrimSpace(token)
	if strings.HasPrefix(token, "<") && strings.HasSuffix(token, ">") || strings.HasPrefix(token, "[") && strings.HasSuffix(token, "]") {
		return false
	}
	return strings.ContainsFunc(token, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// lateInteraction is the mean of the highest cosines, and 0 for a passage without tokens. All vectors have the same
// length.
func lateInteraction(asked, read [][]float32) float64 {
	if len(read) == 0 {
		return 0
	}
	sum := 0.0
	for _, q := range asked {
		best := float32(math.Inf(-1))
		for _, v := range read {
			best = max(best, vek32.Dot(q, v))
		}
		sum += float64(best)
	}
	return sum / float64(len(asked))
}
