// Package beir searches public test collections with a plain BM25, so that tests can measure one step of answering without
// an index. The folder that holds the collections is named by SLUICE_DATA.
package beir

import (
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
)

// Query is a question with the grades of the documents that were judged.
type Query struct {
	eval.Question
	Relevant map[string]int
}

// Set is a collection with an inverted index over it.
type Set struct {
	Docs     []corpus.Chunk
	Queries  []Query
	byID     map[string]int
	postings map[string][]posting
	length   []float64
	mean     float64
}

type posting struct{ doc, tf int }

// Load reads the collection of the name, and skips the test where SLUICE_DATA names no folder or holds no such collection.
func Load(tb testing.TB, name string) *Set {
	tb.Helper()
	root := os.Getenv("SLUICE_DATA")
	if root == "" {
		tb.Skip("SLUICE_DATA names no folder of public data sets: nothing to measure on")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		tb.Skipf("SLUICE_DATA holds no %s: nothing to measure on", name)
	}
	s, err := open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func open(dir string) (*Set, error) {
	set, err := eval.Load(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{byID: map[string]int{}, postings: map[string][]posting{}}
	for _, d := range set.Docs {
		s.add(corpus.Chunk{ID: corpus.ChunkID(d.ID), Document: corpus.DocumentID(d.ID), Level: corpus.Passage,
			Title: lang.Clean(d.Title), Text: lang.Clean(d.Text), End: len(d.Text)})
	}
	for _, q := range set.Questions {
		s.Queries = append(s.Queries, Query{Question: q, Relevant: set.Judged[q.ID]})
	}
	return s, nil
}

// Sample gives the queries to measure with, by their number in the set: all, but where time is short (under the race detector,
// or with -short) n of them, the same each time.
func (s *Set) Sample(n int) iter.Seq2[int, Query] {
	at := rand.New(rand.NewPCG(1, 2)).Perm(len(s.Queries))
	if (Race || testing.Short()) && n < len(at) {
		at = at[:n]
	}
	slices.Sort(at)
	return func(yield func(int, Query) bool) {
		for _, i := range at {
			if !yield(i, s.Queries[i]) {
				return
			}
		}
	}
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

// Doc gives the passage of the id.
func (s *Set) Doc(id string) corpus.Chunk { return s.Docs[s.byID[id]] }

// Search gives the k best passages by BM25 (k1 0.9, b 0.4), Score being Lexical over the best one's.
func (s *Set) Search(question string, k int) []index.Hit {
	scores := map[int]float64{}
	for _, t := range lang.Unique(question) {
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

// Stats gives the document frequencies of the terms of the texts, by word and by stem.
func (s *Set) Stats(texts ...string) index.TermStats {
	st := index.TermStats{Chunks: len(s.Docs), DF: map[string]int{}}
	for _, x := range texts {
		for _, t := range lang.Unique(x) {
			st.DF[t.Stem] = len(s.postings[t.Stem])
			st.DF[t.Word] = st.DF[t.Stem]
		}
	}
	return st
}
