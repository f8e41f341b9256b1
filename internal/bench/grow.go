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

// perFile is how many documents a file of grown documents holds, each below a heading of its own.
const perFile = 50

// Grown is a folder of documents made from sets, and their questions.
type Grown struct {
	Dir       string
	Questions []string
}

// Grow writes the documents of the sets in dir to a temporary folder, and after them as many more as make up passages in
// all. Those are put together from sentences of the real ones, drawn at random, below titles of real ones with a number: so
// words and names are as frequent as they are in the sets, and the names that many passages hold are held by more. The seed
// is fixed. The questions are those of all sets, in an order that mixes them. Remove the folder when done.
func Grow(ctx context.Context, dir string, passages int) (g *Grown, err error) {
	sets, err := readSets(dir)
	if err != nil {
		return nil, err
	}
	to, err := os.MkdirTemp("", "sluice-grown-")
	if err != nil {
		return nil, fmt.Errorf("grow: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	g = &Grown{Dir: to}
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same documents each time
	w := &sections{dir: to}
	var titles, sentences []string
	for _, set := range sets {
		for _, q := range set.Questions {
			g.Questions = append(g.Questions, q.Text)
		}
		for _, d := range set.Docs {
			if err := w.put(d.Title, d.Text); err != nil {
				return nil, err
			}
			titles = append(titles, d.Title)
			for _, s := range lang.Sentences(d.Text) {
				sentences = append(sentences, d.Text[s.Start:s.End])
			}
		}
	}
	rnd.Shuffle(len(g.Questions), func(i, j int) { g.Questions[i], g.Questions[j] = g.Questions[j], g.Questions[i] })
	for n := len(titles); n < passages && len(sentences) > 0; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var b strings.Builder
		for range 3 + rnd.IntN(4) {
			b.WriteString(sentences[rnd.IntN(len(sentences))] + " ")
		}
		if err := w.put(fmt.Sprintf("%s %d", titles[rnd.IntN(len(titles))], n), b.String()); err != nil {
			return nil, err
		}
	}
	return g, w.close()
}

func readSets(dir string) ([]*eval.Set, error) {
	dirs, err := eval.Find(dir)
	if err != nil {
		return nil, fmt.Errorf("grow: %w", err)
	}
	var sets []*eval.Set
	for _, d := range dirs {
		set, err := eval.Load(d)
		if err != nil {
			return nil, fmt.Errorf("grow: %w", err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// sections writes documents as sections of Markdown files.
type sections struct {
	dir  string
	n    int
	file *os.File
	w    *bufio.Writer
}

func (s *sections) put(title, body string) error {
	if s.n%perFile == 0 {
		if err := s.close(); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%06d.md", s.n/perFile)))
		if err != nil {
			return fmt.Errorf("grow: %w", err)
		}
		s.file, s.w = f, bufio.NewWriter(f)
	}
	s.n++
	line := strings.Join(strings.Fields(body), " ")
	if _, err := fmt.Fprintf(s.w, "# %s\n\n%s\n\n", strings.Join(strings.Fields(title), " "), line); err != nil {
		return fmt.Errorf("grow: %w", err)
	}
	return nil
}

func (s *sections) close() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.w.Flush(), s.file.Close())
	s.file = nil
	if err != nil {
		return fmt.Errorf("grow: %w", err)
	}
	return nil
}
