package agent

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

const (
	maxHops            = 3    // rounds that follow names found in earlier rounds
	maxFirstPassages   = 3    // passages of the question's own search whose names are followed
	maxLaterPassages   = 2    // the same for other searches
	maxBridges         = 4    // names followed per round
	minTrust           = 0.25 // minimum trust in a name relative to the best one
	maxOpenWords       = 48   // words of a question that are looked for in passages, the rarest first
	maxNamesPerPassage = 48   // names of a passage that are weighed, the most central first
	maxOccurrences     = 16   // occurrences of a word or name in a passage that are examined
	followedWeight     = 0.9  // weight of a search relative to the one that it follows from
)

// word is a word of a question.
type word struct {
	text, stem string
	weight     float64
}

// bridge is a name that leads from one passage to another.
type bridge struct {
	name   string
	trust  float64
	asks   []string // words of the question that the passage does not cover
	title  string   // of the passage
	weight float64
}

// hops returns searches for the names in the best evidence of the last round: each for a name and the words of the
// question that are not covered yet.
func (r Rules) hops(ctx context.Context, v View) ([]Action, error) {
	outcomes := lastOutcomes(v)
	asked, err := r.weightedWords(ctx, v)
	if err != nil {
		return nil, err
	}
	var found [][]bridge
	parted := slices.ContainsFunc(outcomes, func(o Outcome) bool { return slices.Contains(v.Parts, o.Asked) })
	for _, o := range outcomes {
		if !Searches(o.Tool) || len(o.Found) == 0 || parted && o.Asked == v.Question {
			continue // sub-questions are followed separately
		}
		most := maxLaterPassages
		if o.Asked == v.Question {
			most = maxFirstPassages
		}
		more, err := r.bridges(ctx, v, o, asked, most)
		if err != nil {
			return nil, err
		}
		if len(more) > 0 {
			found = append(found, more)
		}
	}
	return choose(found), nil
}

// lastOutcomes returns the outcomes of the last round or, before any name was followed, of all rounds.
func lastOutcomes(v View) []Outcome {
	var out []Outcome
	for i := len(v.Rounds) - 1; i >= 0; i-- {
		out = append(slices.Clone(v.Rounds[i].Outcomes), out...)
		if slices.ContainsFunc(v.Rounds[i].Outcomes, func(o Outcome) bool { return o.Follows != "" }) {
			break
		}
	}
	return out
}

// weightedWords returns the question's words with their weights.
func (r Rules) weightedWords(ctx context.Context, v View) ([]word, error) {
	l := lang.OfQuestion(v.Question)
	terms := lang.UniqueTerms(lang.Truncate(v.Question, maxQuery))
	terms = slices.DeleteFunc(terms, func(t lang.Term) bool {
		return compares[t.Word] || l.IsStopWord(t.Word) || l.Has(lang.QuestionWords, t.Word)
	})
	terms = terms[:min(len(terms), maxWords)]
	texts := make([]string, len(terms))
	for i, t := range terms {
		texts[i] = t.Word
	}
	var stats index.TermStats
	if r.Index != nil {
		var err error
		if stats, err = r.Index.Terms(ctx, v.Collection, texts); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			v.reportFailure(err)
			stats = index.TermStats{} // without statistics all words have the same weight
		}
	}
	out := make([]word, len(terms))
	for i, t := range terms {
		out[i] = word{strings.TrimSuffix(t.Word, "'s"), t.Stem, lang.IDF(stats.Chunks, stats.DF[t.Word])}
		if stats.DF[t.Word] == 0 {
			out[i].weight = lang.IDF(stats.Chunks, stats.Chunks/100)
		}
	}
	if len(out) > maxOpenWords {
		slices.SortStableFunc(out, func(a, b word) int { return cmp.Compare(b.weight, a.weight) })
		out = out[:maxOpenWords]
	}
	return out, nil
}

// reading is a tokenized passage, compared with a question.
type reading struct {
	folded []string // its words, folded as in names
	title  map[string]struct{}
	open   []word  // of the question
	at     [][]int // by word of open: the positions of it or of a synonym
}

func readPassage(c corpus.Chunk, open []word) reading {
	r := reading{title: lang.TermSet(c.Title), open: open, at: make([][]int, len(open))}
	for k, w := range lang.Words(lang.Truncate(c.Text, maxQuery)) {
		r.folded = append(r.folded, lang.FoldWord(w.Text))
		if lang.IsStopWord(w.Text) {
			continue
		}
		stem := lang.Stem(w.Text)
		for i, o := range open {
			if len(r.at[i]) < maxOccurrences && sameMeaning(stem, o.stem) {
				r.at[i] = append(r.at[i], k)
			}
		}
	}
	return r
}

// bridges returns the names in the best passages of a search that may lead to further passages.
func (r Rules) bridges(ctx context.Context, v View, o Outcome, asked []word, most int) ([]bridge, error) {
	line := map[string]bool{}
	for t := range lang.TermSet(o.Asked) {
		line[t] = true
	}
	var open []word // of the question and of this search
	for _, w := range asked {
		if line[w.stem] || o.Asked == v.Question {
			open = append(open, w)
		}
	}
	top := o.Found[:min(most, len(o.Found))]
	ids := make([]corpus.ChunkID, len(top))
	for i, e := range top {
		ids[i] = e.Chunk.ID
	}
	var named [][]index.Entity
	if r.Graph != nil {
		var err error
		if named, err = r.Graph.EntitiesOf(ctx, v.Collection, ids); err != nil {
			v.reportFailure(err)
			return nil, ctx.Err() // without names there is nothing to follow
		}
	}
	weight := cmp.Or(o.Weight, 1)
	question := " " + lang.NormalizeName(lang.Truncate(v.Question, maxQuery)) + " "
	others := slices.ContainsFunc(top, func(e Evidence) bool { return namesTitle(e.Chunk.Title, question) })
	var out []bridge
	for i, e := range top {
		if i >= len(named) {
			break
		}
		p := readPassage(e.Chunk, open)
		if o.Follows != "" && !p.names(o.Follows) {
			continue // the followed name did not lead to this passage
		}
		missing := p.missing()
		about := namesTitle(e.Chunk.Title, question)
		if single := o.Follows == "" && !v.Chained && len(v.Parts) == 0; !about && (single || !useful(v)) {
			continue // most names in a manual or a contract lead away from a question that takes one search
		}
		if len(missing) == 0 {
			if o.Follows != "" || !about {
				continue
			}
			// The passage may be about the answer for another name.
			if missing = p.missingInTitle(); len(missing) == 0 {
				continue
			}
		}
		near := weight * (0.3 + 0.7*e.Score) * math.Pow(0.8, float64(i))
		if o.Follows == "" && !about {
			near *= 0.6
			if others {
				near *= 0.6
			}
		}
		for _, n := range named[i][:min(len(named[i]), maxNamesPerPassage)] {
			if inQuestion(n.Name, question) || lang.NormalizeName(n.Name) == lang.NormalizeName(e.Chunk.Title) {
				continue
			}
			out = append(out, bridge{name: n.Name, trust: near * p.linkScore(n), asks: missing, title: e.Chunk.Title, weight: weight})
		}
	}
	return out, nil
}

// namesTitle reports whether a question contains the subject of a passage: its title, with or without the disambiguation.
func namesTitle(title, question string) bool {
	if inQuestion(title, question) {
		return true
	}
	base, _, cut := strings.Cut(title, " (")
	if !cut {
		base, _, cut = strings.Cut(title, ", ")
	}
	return cut && lang.NormalizeName(base) != "" && inQuestion(base, question)
}

// inQuestion reports whether a name occurs in a question, which is given in normalized form between spaces.
func inQuestion(name, question string) bool {
	return strings.Contains(question, " "+lang.NormalizeName(name)+" ")
}

// missing returns the open words that the passage does not contain.
func (p reading) missing() []string {
	var out []string
	for i, w := range p.open {
		if _, titled := p.title[w.stem]; !titled && len(p.at[i]) == 0 {
			out = append(out, w.text)
		}
	}
	return out
}

// missingInTitle returns the open words that the passage's title does not contain.
func (p reading) missingInTitle() []string {
	var out []string
	for _, w := range p.open {
		if _, titled := p.title[w.stem]; !titled {
			out = append(out, w.text)
		}
	}
	return out
}

// compares are words that ask for a comparison and do not occur in passages.
var compares = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("first last later earlier earliest latest older oldest younger youngest longer longest shorter more most less " +
		"fewer larger largest smaller smallest bigger biggest higher highest taller tallest better worse best same different similar " +
		"both either share common difference differences compare compared comparison versus vs") {
		m[w] = true
	}
	return m
}()

// relatedStems are groups of stems with related meaning.
var relatedStems = func() map[string]string {
	m := map[string]string{}
	for _, group := range []string{"birth birthplace born bear nativ", "death die dead", "husband wife spous marri marriag wed",
		"father mother parent son daughter child children", "brother sister sibl", "nation countri citizen citizenship",
		"studi educ attend graduat alumnus", "author write wrote written writer", "direct director filmmak", "compos compos music score",
		"found founder establish creat creator", "locat situat"} {
		words := strings.Fields(group)
		for _, w := range words {
			m[w] = words[0]
		}
	}
	return m
}()

// sameMeaning reports whether stems are equal, related, or equal except for a short ending, as direct and director.
func sameMeaning(a, b string) bool {
	if a == b {
		return true
	}
	if g, ok := relatedStems[a]; ok && g == relatedStems[b] {
		return true
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return len(short) >= 4 && len(long)-len(short) <= 4 && strings.HasPrefix(long, short)
}

// linkScore scores how closely a name is related to the question: by words of the question, other than those of the passage's
// title, near the name.
func (p reading) linkScore(n index.Entity) float64 {
	places := p.places(n.Name)
	prox := 0.0
	for i, w := range p.open {
		if _, ok := p.title[w.stem]; ok {
			continue
		}
		best := 0.0
		for _, k := range p.at[i] {
			for _, a := range places {
				best = max(best, 1/(1+float64(max(a[0]-k, k-a[1]+1, 0))/4))
			}
		}
		prox += w.weight * best
	}
	known := 1.0
	if n.About == 0 {
		known = 0.4
	}
	return known / (1 + math.Log(float64(max(n.Chunks, 1)))/4) * (0.5 + prox)
}

// names reports whether a passage is about a name or mentions it.
func (p reading) names(name string) bool {
	if len(p.places(name)) > 0 {
		return true
	}
	words := lang.TermSet(name)
	for w := range words {
		if _, ok := p.title[w]; !ok {
			return false
		}
	}
	return len(words) > 0
}

// places returns the positions of a name as half-open ranges of words.
func (p reading) places(name string) (out [][2]int) {
	words := strings.Fields(lang.NormalizeName(name))
	if len(words) == 0 {
		return nil
	}
	for i := 0; i+len(words) <= len(p.folded) && len(out) < maxOccurrences; i++ {
		if slices.Equal(p.folded[i:i+len(words)], words) {
			out = append(out, [2]int{i, i + len(words)})
		}
	}
	return out
}

// choose returns searches for the most trusted names, taking those of each search in turn, each name once.
func choose(lines [][]bridge) []Action {
	best := 0.0
	for _, found := range lines {
		slices.SortStableFunc(found, func(a, b bridge) int { return cmp.Compare(b.trust, a.trust) })
		best = max(best, found[0].trust)
	}
	slices.SortStableFunc(lines, func(a, b []bridge) int { return cmp.Compare(b[0].trust, a[0].trust) })
	var out []Action
	for turn := 0; turn < longest(lines); turn++ {
		for _, found := range lines {
			if turn >= len(found) || len(out) == maxBridges {
				continue
			}
			b := found[turn]
			trust := math.Sqrt(b.trust / found[0].trust)
			if b.trust < minTrust*found[0].trust || b.trust < minTrust/4*best || slices.ContainsFunc(out, func(a Action) bool { return isPartOfName(b.name, a.Follows) }) {
				continue
			}
			asks := strings.Join(b.asks, " ")
			out = append(out, Action{Tool: event.ToolHybridSearch, Query: b.name + " " + asks, Follows: b.name, Weight: b.weight * followedWeight * trust,
				Reason: fmt.Sprintf("%s mentions %s; not found yet: %s", b.title, b.name, strings.Join(b.asks, ", "))})
		}
	}
	return out
}

func longest(lines [][]bridge) int {
	n := 0
	for _, l := range lines {
		n = max(n, len(l))
	}
	return n
}

// isPartOfName reports whether the words of a name are among those of another.
func isPartOfName(name, other string) bool {
	have := strings.Fields(lang.NormalizeName(other))
	for w := range strings.FieldsSeq(lang.NormalizeName(name)) {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
