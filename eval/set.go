package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MaxLine is the longest line, in bytes, that a file of a set may have.
const MaxLine = 16 << 20

// Doc is a document of a collection.
type Doc struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Question is a query of a collection. Answers may be empty.
type Question struct {
	ID      string   `json:"_id"`
	Text    string   `json:"text"`
	Answers []string `json:"answers,omitempty"`
}

// Set is a collection with its queries and judgements. Every judged query and document exists; ids are unique.
type Set struct {
	Name      string
	Docs      []Doc
	Questions []Question
	Judged    map[string]map[string]int // query id → document id → grade, 0 being not relevant
}

// Load reads a set from a folder in the layout of BEIR (Thakur et al. 2021, https://github.com/beir-cellar/beir):
// corpus.jsonl, queries.jsonl and qrels.tsv, whose first line is a header. The name of the set is that of the folder.
// Errors name the file and the line.
func Load(dir string) (*Set, error) {
	s := &Set{Name: filepath.Base(dir), Judged: map[string]map[string]int{}}
	docs, err := jsonLines(filepath.Join(dir, "corpus.jsonl"), func(d *Doc) string { return d.ID })
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	questions, err := jsonLines(filepath.Join(dir, "queries.jsonl"), func(q *Question) string { return q.ID })
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	s.Docs, s.Questions = docs, questions
	if err := s.readJudgements(filepath.Join(dir, "qrels.tsv")); err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	return s, nil
}

// Relevant counts the documents judged relevant to a query.
func (s *Set) Relevant(query string) int {
	n := 0
	for _, g := range s.Judged[query] {
		if g > 0 {
			n++
		}
	}
	return n
}

func jsonLines[T any](path string, id func(*T) string) ([]T, error) {
	var out []T
	seen := map[string]bool{}
	err := lines(path, func(_ int, line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		k := id(&v)
		switch {
		case k == "":
			return errors.New("no _id")
		case seen[k]:
			return fmt.Errorf("_id %.100q stands here for the second time", k)
		}
		seen[k] = true
		out = append(out, v)
		return nil
	})
	return out, err
}

func (s *Set) readJudgements(path string) error {
	docs, questions := map[string]bool{}, map[string]bool{}
	for _, d := range s.Docs {
		docs[d.ID] = true
	}
	for _, q := range s.Questions {
		questions[q.ID] = true
	}
	return lines(path, func(n int, line []byte) error {
		cols := strings.Split(string(line), "\t")
		if len(cols) != 3 {
			return fmt.Errorf("%d columns where three were expected", len(cols))
		}
		grade, err := strconv.Atoi(strings.TrimSpace(cols[2]))
		switch {
		case n == 1 && err != nil:
			return nil // the header
		case err != nil:
			return fmt.Errorf("the score is no whole number: %.100q", cols[2])
		case !questions[cols[0]]:
			return fmt.Errorf("unknown query %.100q", cols[0])
		case !docs[cols[1]]:
			return fmt.Errorf("unknown document %.100q", cols[1])
		}
		if s.Judged[cols[0]] == nil {
			s.Judged[cols[0]] = map[string]int{}
		}
		s.Judged[cols[0]][cols[1]] = grade
		return nil
	})
}

// lines calls do with each line of a file that is not blank; the first is 1.
func lines(path string, do func(n int, line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	var buf []byte
	for n := 1; ; n++ {
		buf = buf[:0]
		for {
			part, err := r.ReadSlice('\n')
			if len(buf)+len(part) > MaxLine {
				return fmt.Errorf("%s:%d: line longer than %d bytes", path, n, MaxLine)
			}
			buf = append(buf, part...)
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
			if len(buf) == 0 {
				return nil
			}
			break
		}
		line := bytes.TrimRight(buf, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := do(n, line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
}
