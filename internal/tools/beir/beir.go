// Package beir reads public test collections in the layout of BEIR and searches them with a plain BM25, so that tests can
// measure one step of answering without an index. The folder that holds the collections is named by SLUICE_DATA.
package beir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/text"
)

// Query is a question with what the collection tells about it.
type Query struct {
	ID         string   `json:"_id"`
	Text       string   `json:"text"`
	Answers    []string `json:"answers"`
	Answerable bool     `json:"answerable"`
	Relevant   map[string]int
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
	s := &Set{byID: map[string]int{}, postings: map[string][]posting{}}
	err := lines(filepath.Join(dir, "corpus.jsonl"), func(line []byte) error {
		var d struct {
			ID    string `json:"_id"`
			Title string
			Text  string
		}
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		s.add(corpus.Chunk{ID: corpus.ChunkID(d.ID), Document: corpus.DocumentID(d.ID), Level: corpus.Passage,
			Title: text.Clean(d.Title), Text: text.Clean(d.Text), End: len(d.Text)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read corpus: %w", err)
	}
	queries := map[string]int{}
	err = lines(filepath.Join(dir, "queries.jsonl"), func(line []byte) error {
		q := Query{Relevant: map[string]int{}}
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		queries[q.ID] = len(s.Queries)
		s.Queries = append(s.Queries, q)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read queries: %w", err)
	}
	err = lines(filepath.Join(dir, "qrels.tsv"), func(line []byte) error {
		f := strings.Split(string(line), "\t")
		if i, ok := queries[f[0]]; ok && len(f) == 3 {
			n, err := strconv.Atoi(strings.TrimSpace(f[2]))
			s.Queries[i].Relevant[f[1]] = n
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read qrels: %w", err)
	}
	return s, nil
}

func lines(path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sc := bufio.NewScanner(file)
	sc.Buffer(make([]byte, 1<<20), 1<<24)
	for sc.Scan() {
		if err := f(sc.Bytes()); err != nil {
			return err
		}
	}
	return sc.Err()
}

func (s *Set) add(c corpus.Chunk) {
	doc := len(s.Docs)
	s.byID[string(c.ID)] = doc
	s.Docs = append(s.Docs, c)
	tf := map[string]int{}
	terms := text.Terms(c.Title + "\n" + c.Text)
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
	for _, t := range text.Unique(question) {
		ps := s.postings[t.Stem]
		idf := text.IDF(len(s.Docs), len(ps))
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
		for _, t := range text.Unique(x) {
			st.DF[t.Stem] = len(s.postings[t.Stem])
			st.DF[t.Word] = st.DF[t.Stem]
		}
	}
	return st
}

// NDCG is the normalised discounted cumulative gain at 10 of passages in their order.
func NDCG(ids []corpus.ChunkID, relevant map[string]int) float64 {
	var dcg, ideal float64
	for i, id := range ids[:min(10, len(ids))] {
		dcg += float64(relevant[string(id)]) / math.Log2(float64(i+2))
	}
	grades := make([]int, 0, len(relevant))
	for _, g := range relevant {
		grades = append(grades, g)
	}
	sort.Sort(sort.Reverse(sort.IntSlice(grades)))
	for i, g := range grades[:min(10, len(grades))] {
		ideal += float64(g) / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return dcg / ideal
}
