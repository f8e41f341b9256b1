// Package beir searches public test collections with plain BM25, so that tests can measure one step of answering without
// an index. SLUICE_DATA names the folder of the collections.
package beir

import (
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/lang"
)

// Query is a question with the relevance grades of the judged documents.
type Query struct {
	eval.Question
	Relevant map[string]int
}

// Set is a collection with an inverted index.
type Set struct {
	Docs     []corpus.Chunk
	Queries  []Query
	byID     map[string]int
	postings map[string][]posting
	length   []float64
	mean     float64
}

type posting struct{ doc, tf int }

// Dir returns the folder of the named collection. It skips the test if the environment has no such folder.
func Dir(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("SLUICE_DATA")
	if root == "" {
		tb.Skip("SLUICE_DATA is not set to a folder of public data sets (docs/testing.md)")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(filepath.Join(dir, "corpus.jsonl")); err != nil {
		tb.Skipf("the folder in SLUICE_DATA has no data set %s (docs/testing.md)", name)
	}
	return dir
}

// LoadSet reads the named collection without indexing it. It skips the test if the environment has no such collection.
func LoadSet(tb testing.TB, name string) *eval.Set {
	tb.Helper()
	set, err := eval.Load(Dir(tb, name))
	require.NoError(tb, err)
	return set
}

// Load reads and indexes the named collection. It skips the test if the environment has no such collection.
func Load(tb testing.TB, name string) *Set {
	tb.Helper()
	return build(LoadSet(tb, name))
}

// LoadHalf is [Load] with half of the questions, a or b; see [eval.Set.Half].
func LoadHalf(tb testing.TB, name, half string) *Set {
	tb.Helper()
	set, err := LoadSet(tb, name).Half(half)
	require.NoError(tb, err)
	return build(set)
}

func build(set *eval.Set) *Set {
	s := &Set{byID: map[string]int{}, postings: map[string][]posting{}}
	for _, d := range set.Docs {
		s.add(corpus.Chunk{ID: corpus.ChunkID(d.ID), Document: corpus.DocumentID(d.ID), Level: corpus.Passage,
			Title: lang.Clean(d.Title), Text: lang.Clean(d.Text), End: len(d.Text)})
	}
	for _, q := range set.Questions {
		s.Queries = append(s.Queries, Query{Question: q, Relevant: set.Qrels[q.ID]})
	}
	return s
}

func (s *Set) add(c corpus.Chunk) {
	doc := len(s.Docs)
	s.byID[string(c.ID)] = doc
	s.Docs = append(s.Docs, c)
	tf := map[string]int{}
	terms := lang.Terms(c.Title + "\n" + c.Text)
	for _, t := range terms {
		tf[t]++
	}
	for t, n := range tf {
		s.postings[t] = append(s.postings[t], posting{doc, n})
	}
	s.length = append(s.length, float64(len(terms)))
	s.mean += (float64(len(terms)) - s.mean) / float64(len(s.length))
}

// Doc returns the passage with the id.
func (s *Set) Doc(id string) corpus.Chunk { return s.Docs[s.byID[id]] }

// Search returns the k best passages by BM25 (k1 0.9, b 0.4). Score is Lexical divided by the best Lexical.
func (s *Set) Search(question string, k int) []index.Hit {
	scores := map[int]float64{}
	for _, t := range lang.UniqueTerms(question) {
		ps := s.postings[t.Stem]
		idf := lang.IDF(len(s.Docs), len(ps))
		for _, p := range ps {
			tf := float64(p.tf)
			scores[p.doc] += idf * tf * 1.9 / (tf + 0.9*(0.6+0.4*s.length[p.doc]/s.mean))
		}
	}
	hits := make([]index.Hit, 0, len(scores))
	for d, x := range scores {
		hits = append(hits, index.Hit{Chunk: s.Docs[d], Lexical: x})
	}
	sort.Slice(hits, func(i, j int) bool {
		if hits[i].Lexical != hits[j].Lexical {
			return hits[i].Lexical > hits[j].Lexical
		}
		return hits[i].Chunk.ID < hits[j].Chunk.ID
	})
	hits = hits[:min(k, len(hits))]
	for i := range hits {
		hits[i].Score = hits[i].Lexical / hits[0].Lexical
	}
	return hits
}

// Stats returns the document frequencies of the terms of the texts, by word and by stem.
func (s *Set) Stats(texts ...string) index.TermStats {
	st := index.TermStats{Chunks: len(s.Docs), DF: map[string]int{}}
	for _, x := range texts {
		for _, t := range lang.UniqueTerms(x) {
			st.DF[t.Stem] = len(s.postings[t.Stem])
			st.DF[t.Word] = st.DF[t.Stem]
		}
	}
	return st
}
