package answer

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
)

// rerankWeight is the weight of the late interaction score against the search score, both scaled to 0..1 over the candidates.
const rerankWeight = 0.25

// sentenceWeight is the weight of a passage's best sentence against the search score.
const sentenceWeight = 0.5

// maxRanked is the number of passages that are reranked, or four times the number to read if that is more.
const maxRanked = 60

// definitionBonus is added to the score of a passage that defines what the question asks to define. In a document about a thing, most passages name it, and
// few say what it is.
var definitionBonus = map[grade.Definition]float64{grade.InTable: 0.5, grade.Stated: 1}

// nameBonus is added to the score of a passage that has an option, a variable, a function or a file that the question names literally, and entryBonus if an
// entry of a list or a table begins with it.
const nameBonus, entryBonus = 0.5, 0.5

// taskBonus is added to the score of a passage that serves a question how to do something; see [servesTask].
const taskBonus = 0.5

// laterPart is how well a later passage of a section serves a task that the heading names, compared with the first one.
const laterPart = 0.7

// servesTask returns how well a passage serves a question how to do something, 0..1: its headings name the task, or a line of its fenced code has the verb
// near its object.
func servesTask(c corpus.Chunk, task *lang.Task) float64 {
	if task == nil {
		return 0
	}
	named := namedBy(c, task)
	if h := c.Heading(); !strings.Contains(c.Text, h) && c.Start > 0 {
		named *= laterPart
	}
	return max(named, commands(c.Text, task))
}

// namedBy returns how well the headings of a passage name a task, 0..1.
func namedBy(c corpus.Chunk, task *lang.Task) float64 {
	headings := slices.Clone(c.Headings)
	slices.Reverse(headings)
	if h := c.Heading(); h != c.Title && c.Title != "" {
		headings = append(headings, c.Title)
	}
	if len(headings) == 0 {
		headings = []string{c.Title}
	}
	return task.NamedBy(c.Text, headings...)
}

// commands returns how well a line of fenced code of a text, or a line that leads to code, says to do a task.
func commands(text string, task *lang.Task) float64 {
	if !strings.Contains(text, "```") {
		return 0
	}
	in, most := false, 0.0
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, "```"):
			in = !in
		case in, strings.HasSuffix(bare, ":"):
			most = max(most, task.In(bare[max(0, strings.LastIndex(bare, ". ")):]))
		}
	}
	return most
}

// titleBonus is added, in agentic mode, to the score of a passage about something that the question names.
const titleBonus = 0.2

// rerank orders the pool and keeps as many passages as the question asks for. Of those that are graded incorrect, only
// the first are read.
func (j *job) rerank(ctx context.Context) error {
	if j.resumed.Seq > 0 && j.resumed.Rerank == nil && j.resumed.Generation == nil {
		if err := j.closeCalls(ctx); err != nil {
			return err
		}
	}
	if j.listing != nil || j.summary {
		j.keepOrder()
		return nil
	}
	if j.resumed.Rerank != nil {
		var kept []candidate
		for _, f := range j.resumed.Rerank.Outputs {
			if i, ok := j.poolIndex[f.Chunk]; ok {
				c := j.pool[i]
				c.also = f.Also
				kept = append(kept, c)
			}
		}
		j.context = withoutIncorrect(kept)
		j.limitPool() // as before the restart
		return j.addParts(ctx)
	}
	began := j.Now()
	j.limitPool()
	chunks := make([]corpus.Chunk, len(j.pool))
	for i, c := range j.pool {
		chunks[i] = c.Chunk
	}
	ranking, err := j.Reranker.Rerank(ctx, strings.Join(j.questions(), "\n"), chunks, j.stats)
	if err != nil {
		return err
	}
	rank := j.rank(ranking.Scores)
	order := make([]int, len(rank))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	r := event.Reranked{Method: ranking.Method, Inputs: len(chunks)}
	var kept []candidate
	kept, r.Outputs = j.choose(ctx, order, ranking.Scores)
	for _, f := range r.Outputs {
		r.TopScore = math.Max(r.TopScore, f.Score)
	}
	j.context = withoutIncorrect(kept)
	if err := j.addParts(ctx); err != nil {
		return err
	}
	r.Duration = j.elapsed(began)
	return j.rec.Emit(ctx, r)
}

// choose returns the passages of the pool that are read, and their outputs: the first ones in the order that repeat no other.
func (j *job) choose(ctx context.Context, order []int, scores []float64) (read []candidate, outputs []event.Found) {
	outputs = []event.Found{}
	var kept []int // indexes in the pool
	repeats := &duplicates{job: j}
	output := func(i int) event.Found {
		c := j.pool[i].Chunk
		return event.Found{Chunk: c.ID, Level: c.Level, Score: scores[i]}
	}
	for _, i := range order {
		if at, newer := repeats.of(ctx, i, kept, outputs); at >= 0 {
			also, left := outputs[at].Also, j.pool[i].Chunk.Document
			if newer {
				left = j.pool[kept[at]].Chunk.Document
				kept[at], outputs[at] = i, output(i)
			}
			if left != j.pool[kept[at]].Chunk.Document && !slices.Contains(also, left) {
				also = append(also, left)
			}
			outputs[at].Also = also
			continue
		}
		if len(kept) >= j.q.TopK && !j.pool[i].pinned || len(kept) == max(j.q.TopK, maxSummaryPassages) {
			continue
		}
		if !j.covered(j.pool[i].Chunk, kept) {
			kept, outputs = append(kept, i), append(outputs, output(i))
		}
	}
	for at, i := range kept {
		c := j.pool[i]
		c.also = outputs[at].Also
		read = append(read, c)
	}
	return read, outputs
}

// minRead is the number of passages that are read, however they are graded.
const minRead = 3

// withoutIncorrect returns the candidates that are not graded incorrect, and the first ones, since a grade judges words and not meaning.
func withoutIncorrect(kept []candidate) []candidate {
	var out []candidate
	for i, c := range kept {
		if i < minRead || c.grade >= grade.AmbiguousFrom || c.pinned {
			out = append(out, c)
		}
	}
	return out
}

// keepOrder keeps the order of passages that were requested by name.
func (j *job) keepOrder() {
	if j.listing == nil {
		j.context = j.pool[:min(len(j.pool), max(j.q.TopK, maxSummaryPassages))]
	}
}

// limitPool limits the pool before reranking: many searches find many passages, and reranking each takes time.
func (j *job) limitPool() {
	slices.SortStableFunc(j.pool, func(a, b candidate) int { return cmp.Compare(b.place, a.place) })
	j.pool = j.pool[:min(len(j.pool), max(maxRanked, 4*j.q.TopK))]
	j.poolIndex = nil
}

// rank returns the combined score of each candidate in the pool.
func (j *job) rank(rerankScores []float64) []float64 {
	searchScores := make([]float64, len(j.pool))
	named := j.namedByTitle()
	for i, c := range j.pool {
		searchScores[i] = c.place
		if named[i] {
			searchScores[i] += titleBonus
		}
	}
	subject, names := lang.DefinitionSubject(j.q.Query), lang.Identifiers(j.q.Query)
	task := lang.OfQuestion(j.q.Query).TaskOf(j.q.Query)
	scaleSearch, scaleRerank := scale(searchScores), scale(rerankScores)
	out := make([]float64, len(j.pool))
	for i, c := range j.pool {
		out[i] = (1-rerankWeight)*scaleSearch(searchScores[i]) + rerankWeight*scaleRerank(rerankScores[i])
		out[i] += definitionBonus[grade.Defines(c.Chunk.Text, subject)]
		out[i] += taskBonus * servesTask(c.Chunk, task)
		if lang.HoldsIdentifier(c.Chunk.WithHeadings(), names) {
			out[i] += nameBonus
			if lang.HasEntry(c.Chunk.Text, names) {
				out[i] += entryBonus
			}
		}
	}
	return out
}

// namedByTitle reports, in agentic mode, which candidates are about something that the question names, by their titles without a
// suffix in parentheses. A name within a longer name of another title does not count.
func (j *job) namedByTitle() []bool {
	out := make([]bool, len(j.pool))
	if j.q.Mode != event.Agentic {
		return out
	}
	asked := " " + lang.NormalizeName(lang.Truncate(j.q.Query, maxQuery)) + " "
	names := make([]string, len(j.pool))
	for i, c := range j.pool {
		base, _, _ := strings.Cut(c.Chunk.Title, " (")
		if name := " " + lang.NormalizeName(base) + " "; len(name) > 2 && strings.Contains(asked, name) {
			names[i] = name
		}
	}
	for i, name := range names {
		out[i] = name != "" && !slices.ContainsFunc(names, func(o string) bool { return o != name && strings.Contains(o, name) })
	}
	return out
}

// scale returns a function that maps the range of v to 0..1.
func scale(v []float64) func(float64) float64 {
	if len(v) == 0 || slices.Max(v) == slices.Min(v) {
		return func(float64) float64 { return 0 }
	}
	low, high := slices.Min(v), slices.Max(v)
	return func(x float64) float64 { return (x - low) / (high - low) }
}

// covered reports whether a chunk's text is part of one that is kept already. The elements of kept are indexes in the pool.
func (j *job) covered(c corpus.Chunk, kept []int) bool {
	return slices.ContainsFunc(kept, func(i int) bool {
		o := j.pool[i].Chunk
		return o.Document == c.Document && o.Start <= c.Start && c.End <= o.End
	})
}

// searchRanks returns the ranks of the hits of a search, 0..1: by its scores and the best sentence of each and, if the search was not for
// the question itself, by the grades too.
func (j *job) searchRanks(s *search, grades []float64) []float64 {
	out := make([]float64, len(s.hits))
	asked := j.termWeights(s)
	best := 1e-9
	for i, h := range s.hits {
		out[i] = asked.bestSentence(h.Chunk, asked.Words[i])
		best = max(best, out[i])
	}
	for i, h := range s.hits {
		out[i] = (h.Score + sentenceWeight*out[i]/best) / (1 + sentenceWeight)
		if s.asked != j.q.Query {
			out[i] = (out[i] + grades[i]) / 2
		}
		out[i] *= s.weight
	}
	return out
}

// termWeights are the terms of a question with their weights.
type termWeights struct {
	*lang.Matcher
	weights []float64
}

// termWeights returns the terms of the question of a search, weighted by idf. Terms that most results have in title or text have less weight, since
// they do not distinguish the results.
func (j *job) termWeights(s *search) termWeights {
	texts := make([]string, len(s.hits))
	for i, h := range s.hits {
		texts[i] = h.Chunk.Title + "\n" + h.Chunk.Text
	}
	m := lang.NewMatcher(lang.Truncate(s.asked, maxQuery), texts, j.stats.DF)
	out := termWeights{m, make([]float64, len(m.Terms))}
	rarest := lang.IDF(len(texts), 1)
	for i, t := range m.Terms {
		df, ok := j.stats.DF[t.Word]
		if !ok {
			df = j.stats.Chunks / 100
		}
		common := commonTermShare + (1-commonTermShare)*min(1, lang.IDF(len(texts), max(m.Held[i], 1))/rarest)
		out.weights[i] = lang.IDF(j.stats.Chunks, max(df, m.Held[i])) * common
	}
	return out
}

// commonTermShare is the remaining share of the weight of a term that all passages have.
const commonTermShare = 0.3

// credit raises the credits of the terms for which words stand, and returns the number of the words that are not stop words.
func credit(credits []float64, of []lang.Word) (words int) {
	for _, w := range of {
		if w.Stop {
			continue
		}
		words++
		for _, m := range w.Matches {
			credits[m.Term] = max(credits[m.Term], m.Credit)
		}
	}
	return words
}

// bestSentence returns the BM25 score of the passage's best sentence, in which the words of the title count as present. words are those of the title and of the
// text in the next line.
func (t termWeights) bestSentence(c corpus.Chunk, words []lang.Word) float64 {
	next := 0 // the first word that was not read
	until := func(end int) []lang.Word {
		from := next
		for next < len(words) && words[next].Start < end {
			next++
		}
		return words[from:next]
	}
	title, credits := make([]float64, len(t.weights)), make([]float64, len(t.weights))
	text := len(c.Title) + 1
	credit(title, until(text))
	base := 0.0
	for i, x := range title {
		base += 0.7 * x * t.weights[i]
	}
	best := 0.0
	for _, span := range lang.Sentences(c.Text) {
		clear(credits)
		n := credit(credits, until(text+span.End))
		norm := 1.9 / (1 + 0.9*(0.6+0.4*float64(n)/typicalSentence))
		sum := base
		for i, x := range credits {
			if title[i] == 0 {
				sum += x * t.weights[i] * norm
			}
		}
		best = max(best, sum)
	}
	return best
}

// typicalSentence is the typical number of terms in a sentence.
const typicalSentence = 14
