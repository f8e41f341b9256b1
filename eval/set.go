package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Question is a query of a collection, with what the set tells of it.
type Question struct {
	ID         string   `json:"_id"`
	Text       string   `json:"text"`
	Answers    []string `json:"answers,omitempty"`
	Answerable bool     `json:"answerable,omitempty"` // false too where the set does not say
	MultiHop   bool     `json:"multihop,omitempty"`   // no single passage answers it
	Type       string   `json:"type,omitempty"`

	Unanswerable bool `json:"-"` // the set says that the documents hold no answer
}

// Set is a collection with its queries and judgements. Every judged query and document exists; ids are unique.
type Set struct {
	Name      string
	Docs      []Doc
	Questions []Question
	Judged    map[string]map[string]int // query id → document id → grade, 0 being not relevant
	Claims    []Pair                    // empty where the set has none
	// Folder holds the documents as files where the set is a person's own; empty: the documents hold their text. The id of a
	// document is then its path below the folder, with slashes, and it has neither title nor text here.
	Folder string
}

// Files are the paths of a set's files.
type Files struct {
	Corpus     string // a document a line
	Documents  string // a folder of files, in place of Corpus
	Questions  string // a question a line
	Judgements string // query id, document id and grade, parted by tabs; the first line may be a header; empty: none
	Claims     string // a claim with evidence a line; empty: none
}

// FilesOf gives the paths of a set in a folder in the layout of BEIR (Thakur et al. 2021,
// https://github.com/beir-cellar/beir): corpus.jsonl, queries.jsonl and qrels.tsv, or, where that is not there,
// qrels/test.tsv; and claims.jsonl where there is one. A person's own set may have a folder named documents in place of
// corpus.jsonl, and no judgements.
func FilesOf(dir string) Files {
	f := Files{Corpus: filepath.Join(dir, "corpus.jsonl"), Questions: filepath.Join(dir, "queries.jsonl")}
	if own := filepath.Join(dir, "documents"); !isFile(f.Corpus) && isFolder(own) {
		f.Corpus, f.Documents = "", own
	}
	for _, path := range []string{filepath.Join(dir, "qrels.tsv"), filepath.Join(dir, "qrels", "test.tsv")} {
		if isFile(path) {
			f.Judgements = path
			break
		}
	}
	if claims := filepath.Join(dir, "claims.jsonl"); isFile(claims) {
		f.Claims = claims
	}
	return f
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Find gives the folders of sets that dir holds: dir itself, or else those directly below it, by name. A folder with a
// corpus.jsonl is one, or with documents and a queries.jsonl. It is an error if there are none.
func Find(dir string) ([]string, error) {
	if isSet(dir) {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("find sets: %w", err)
	}
	var found []string
	for _, e := range entries {
		if below := filepath.Join(dir, e.Name()); isSet(below) {
			found = append(found, below)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find sets: %s holds no corpus.jsonl, nor does a folder in it", dir)
	}
	return found, nil
}

func isSet(dir string) bool {
	f := FilesOf(dir)
	return isFile(f.Corpus) || f.Documents != "" && isFile(f.Questions)
}

// Load reads the set of a folder, whose name it takes. Errors name the file and the line.
func Load(dir string) (*Set, error) { return LoadFiles(filepath.Base(dir), FilesOf(dir)) }

// LoadFiles is [Load] with the name and the files told.
func LoadFiles(name string, files Files) (*Set, error) {
	s := &Set{Name: name, Judged: map[string]map[string]int{}}
	err := s.readDocuments(files)
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	questions, err := jsonLines(files.Questions, func(q *questionLine) string { return q.ID })
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	for _, q := range questions {
		q.Question.Answerable = q.Answerable != nil && *q.Answerable
		q.Unanswerable = q.Answerable != nil && !*q.Answerable
		s.Questions = append(s.Questions, q.Question)
	}
	if files.Judgements != "" {
		if err := s.readJudgements(files.Judgements); err != nil {
			return nil, fmt.Errorf("load set: %w", err)
		}
	}
	if files.Claims != "" {
		if s.Claims, err = readClaims(files.Claims); err != nil {
			return nil, fmt.Errorf("load set: %w", err)
		}
	}
	return s, nil
}

// maxFiles bounds how many files the folder of a set may hold.
const maxFiles = 1_000_000

func (s *Set) readDocuments(files Files) (err error) {
	if files.Documents == "" {
		s.Docs, err = jsonLines(files.Corpus, func(d *Doc) string { return d.ID })
		return err
	}
	if s.Folder, err = filepath.Abs(files.Documents); err != nil {
		return err
	}
	return filepath.WalkDir(s.Folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		below, err := filepath.Rel(s.Folder, path)
		if err != nil {
			return err
		}
		if len(s.Docs) == maxFiles {
			return fmt.Errorf("%s holds more than %d files", s.Folder, maxFiles)
		}
		s.Docs = append(s.Docs, Doc{ID: filepath.ToSlash(below)})
		return nil
	})
}

// uri says where a document came from, as its index knows it.
func (s *Set) uri(d Doc) string {
	if s.Folder == "" {
		return d.ID
	}
	return strings.TrimSuffix(filepath.ToSlash(s.Folder), "/") + "/" + d.ID
}

// questionLine tells a question that has no answer from one of which nothing is said.
type questionLine struct {
	Question
	Answerable *bool `json:"answerable"`
}

func readClaims(path string) (pairs []Pair, err error) {
	err = lines(path, func(_ int, line []byte) error {
		var p Pair
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		switch {
		case p.Claim == "" || len(p.Evidence) == 0:
			return errors.New("no claim, or no evidence")
		case p.Label != Supports && p.Label != Contradicts:
			return fmt.Errorf("the label is neither %s nor %s: %.100q", Supports, Contradicts, p.Label)
		}
		pairs = append(pairs, p)
		return nil
	})
	return pairs, err
}

// Relevant counts the documents judged relevant to a query.
func (s *Set) Relevant(query string) int {
	return relevant(s.Judged[query])
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
			return nil //nolint:nilerr // the header
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
