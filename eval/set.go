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
	"slices"
	"strconv"
	"strings"
)

// MaxLine is the maximum length in bytes of a line in a file of a set.
const MaxLine = 16 << 20

// Doc is a document of a collection.
type Doc struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Question is a query of a collection, with its data in the set.
type Question struct {
	ID         string   `json:"_id"`
	Text       string   `json:"text"`
	Answers    []string `json:"answers,omitempty"`
	Answerable bool     `json:"answerable,omitempty"` // also false if the set has no such data
	MultiHop   bool     `json:"multihop,omitempty"`   // no single passage answers it
	Type       string   `json:"type,omitempty"`
	Language   string   `json:"lang,omitempty"`      // ISO 639-1
	Before     []string `json:"before,omitempty"`    // the earlier questions of the conversation, in order
	Documents  []string `json:"documents,omitempty"` // ids of the documents that hold the answer, the main one first
	Accept     Patterns `json:"accept,omitempty"`    // all of them match a right answer
	Reject     Patterns `json:"reject,omitempty"`    // none of them matches a right answer

	Unanswerable bool `json:"-"` // the documents contain no answer, according to the set
}

// Set is a collection with its queries and relevance judgements. Every judged query and document exists; ids are unique.
type Set struct {
	Name      string
	Docs      []Doc
	Questions []Question
	Qrels     map[string]map[string]int // query id → document id → grade, 0 being not relevant
	Claims    []LabelledClaim           // empty where the set has none
	// Folder contains the documents as files, if they are not in Docs. Then Docs has no titles and texts, and the id of a document
	// is its slash-separated path below the folder.
	Folder string

	Part  string     // the name of the part after [Set.Half] or [Set.Split]
	Whole []Question // the questions of all parts, after these
}

// Files are the paths of a set's files.
type Files struct {
	Corpus    string // one document per line
	Documents string // a folder of files, instead of Corpus
	Questions string // one question per line
	Qrels     string // relevance judgements: query id, document id and grade, separated by tabs; the first line may be a header; may be empty
	Claims    string // one claim with evidence per line; may be empty
}

// FilesOf returns the paths of a set in a folder in the layout of BEIR (Thakur et al. 2021, https://github.com/beir-cellar/beir):
// corpus.jsonl, queries.jsonl and qrels.tsv or qrels/test.tsv, and claims.jsonl if it exists. Users' own sets may have a folder
// named documents instead of corpus.jsonl, and no relevance judgements.
func FilesOf(dir string) Files {
	f := Files{Corpus: filepath.Join(dir, "corpus.jsonl"), Questions: filepath.Join(dir, "queries.jsonl")}
	if own := filepath.Join(dir, "documents"); !isFile(f.Corpus) && isFolder(own) {
		f.Corpus, f.Documents = "", own
	}
	for _, path := range []string{filepath.Join(dir, "qrels.tsv"), filepath.Join(dir, "qrels", "test.tsv")} {
		if isFile(path) {
			f.Qrels = path
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

// Find returns the folders of sets in dir: dir itself, or the sets directly below it, by name. A set has a corpus.jsonl, or a folder
// named documents and a queries.jsonl. It is an error if there is no set.
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
		return nil, fmt.Errorf("find sets: neither %s nor a folder in it has a corpus.jsonl, or a folder documents and a queries.jsonl", dir)
	}
	return found, nil
}

func isSet(dir string) bool {
	f := FilesOf(dir)
	return isFile(f.Corpus) || f.Documents != "" && isFile(f.Questions)
}

// Load reads the set in a folder, and names it after the folder. Errors contain the file and the line.
func Load(dir string) (*Set, error) { return LoadFiles(filepath.Base(dir), FilesOf(dir)) }

// LoadFiles is [Load] with an explicit name and files.
func LoadFiles(name string, files Files) (*Set, error) {
	s := &Set{Name: name, Qrels: map[string]map[string]int{}}
	err := s.readDocuments(files)
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	questions, err := jsonLines(files.Questions, func(q *questionLine) (string, error) { return q.ID, q.check() })
	if err != nil {
		return nil, fmt.Errorf("load set: %w", err)
	}
	for _, q := range questions {
		q.Question.Answerable = q.Answerable != nil && *q.Answerable
		q.Unanswerable = q.Answerable != nil && !*q.Answerable
		if err := s.judge(q.Question); err != nil {
			return nil, fmt.Errorf("load set: %s: query %.100q: %w", files.Questions, q.ID, err)
		}
		s.Questions = append(s.Questions, q.Question)
	}
	if files.Qrels != "" {
		if err := s.readJudgements(files.Qrels); err != nil {
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

// judge makes the documents of an answerable question relevant.
func (s *Set) judge(q Question) error {
	if q.Unanswerable || len(q.Documents) == 0 {
		return nil
	}
	s.Qrels[q.ID] = map[string]int{}
	for _, id := range q.Documents {
		if !slices.ContainsFunc(s.Docs, func(d Doc) bool { return d.ID == id }) {
			return fmt.Errorf("unknown document %.100q", id)
		}
		s.Qrels[q.ID][id] = 1
	}
	return nil
}

// maxFiles is the maximum number of files in the folder of a set.
const maxFiles = 1_000_000

func (s *Set) readDocuments(files Files) (err error) {
	if files.Documents == "" {
		s.Docs, err = jsonLines(files.Corpus, func(d *Doc) (string, error) { return d.ID, nil })
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

// uri returns the URI of a document in the index.
func (s *Set) uri(d Doc) string {
	if s.Folder == "" {
		return d.ID
	}
	return strings.TrimSuffix(filepath.ToSlash(s.Folder), "/") + "/" + d.ID
}

// questionLine is a line of the questions. Answerable is nil if the line does not have it.
type questionLine struct {
	Question
	Answerable *bool `json:"answerable"`
}

// check checks that a question and those before it have text.
func (q *questionLine) check() error {
	if strings.TrimSpace(q.Text) == "" {
		return fmt.Errorf("text: required, but query %.100q has none", q.ID)
	}
	for i, before := range q.Before {
		if strings.TrimSpace(before) == "" {
			return fmt.Errorf("before[%d]: must not be empty, in query %.100q", i, q.ID)
		}
	}
	return nil
}

func readClaims(path string) (pairs []LabelledClaim, err error) {
	err = lines(path, func(_ int, line []byte) error {
		var p LabelledClaim
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

// Relevant returns the number of documents that are relevant to a query.
func (s *Set) Relevant(query string) int {
	return relevant(s.Qrels[query])
}

// jsonLines reads a file with one JSON object per line. check returns the id of an object, or an error if it is not valid.
func jsonLines[T any](path string, check func(*T) (id string, err error)) ([]T, error) {
	var out []T
	seen := map[string]bool{}
	err := lines(path, func(_ int, line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		k, err := check(&v)
		switch {
		case k == "":
			return errors.New("no _id")
		case err != nil:
			return err
		case seen[k]:
			return fmt.Errorf("duplicate _id %.100q", k)
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
		if s.Qrels[cols[0]] == nil {
			s.Qrels[cols[0]] = map[string]int{}
		}
		s.Qrels[cols[0]][cols[1]] = grade
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
