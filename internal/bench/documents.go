package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/lang"
)

// sectionsPerFile is the number of documents in a file, each below its own heading.
const sectionsPerFile = 50

// testCorpus is a folder of documents and questions about them.
type testCorpus struct {
	dir       string
	questions []string
}

// grow writes the documents of the sets in dir to a temporary folder, and adds synthetic documents until there are at least
// the given number of passages. A synthetic document is composed of random sentences of the real ones, below a real title with
// a number, so that words and names are as frequent as in the sets. The seed is fixed. The questions are those of all sets,
// shuffled. The caller removes the folder.
func grow(ctx context.Context, dir string, passages int) (g *testCorpus, err error) {
	sets, err := readSets(dir)
	if err != nil {
		return nil, err
	}
	to, err := os.MkdirTemp("", "sluice-bench-docs-")
	if err != nil {
		return nil, fmt.Errorf("create documents: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	g = &testCorpus{dir: to}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same documents each time
	w := &sectionWriter{dir: to}
	var titles, sentences []string
	for _, set := range sets {
		for _, q := range set.Questions {
			g.questions = append(g.questions, q.Text)
		}
		for _, d := range set.Docs {
			if err := w.write(d.Title, d.Text); err != nil {
				return nil, err
			}
			titles = append(titles, d.Title)
			for _, s := range lang.Sentences(d.Text) {
				sentences = append(sentences, d.Text[s.Start:s.End])
			}
		}
	}
	rnd.Shuffle(len(g.questions), func(i, j int) { g.questions[i], g.questions[j] = g.questions[j], g.questions[i] })
	for n := len(titles); n < passages && len(sentences) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var b strings.Builder
		for range 3 + rnd.IntN(4) {
			b.WriteString(sentences[rnd.IntN(len(sentences))] + " ")
		}
		if err := w.write(fmt.Sprintf("%s %d", titles[rnd.IntN(len(titles))], n), b.String()); err != nil {
			return nil, err
		}
	}
	return g, w.close()
}

func readSets(dir string) ([]*eval.Set, error) {
	dirs, err := eval.Find(dir)
	if err != nil {
		return nil, fmt.Errorf("create documents: %w", err)
	}
	var sets []*eval.Set
	for _, d := range dirs {
		set, err := eval.Load(d)
		if err != nil {
			return nil, fmt.Errorf("create documents: %w", err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// sectionWriter writes documents as sections of Markdown files.
type sectionWriter struct {
	dir  string
	n    int
	file *os.File
	w    *bufio.Writer
}

func (s *sectionWriter) write(title, body string) error {
	if s.n%sectionsPerFile == 0 {
		if err := s.close(); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%06d.md", s.n/sectionsPerFile)))
		if err != nil {
			return fmt.Errorf("create documents: %w", err)
		}
		s.file, s.w = f, bufio.NewWriter(f)
	}
	s.n++
	line := strings.Join(strings.Fields(body), " ")
	if _, err := fmt.Fprintf(s.w, "# %s\n\n%s\n\n", strings.Join(strings.Fields(title), " "), line); err != nil {
		return fmt.Errorf("create documents: %w", err)
	}
	return nil
}

func (s *sectionWriter) close() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.w.Flush(), s.file.Close())
	s.file = nil
	if err != nil {
		return fmt.Errorf("create documents: %w", err)
	}
	return nil
}
