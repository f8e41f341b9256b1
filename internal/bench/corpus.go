package bench

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/sqldb"
)

// Names in the folder of a measured collection.
const (
	folderDocuments = "documents" // the files of the collection
	folderLater     = "later"     // files that are added while questions are asked
	folderData      = "data"      // the data folder of Sluice
	fileFTS         = "fts.db"
	fileCollection  = "collection.json"
)

// collectionInfo describes the documents of a measured collection. Sizes are in bytes, times in seconds.
type collectionInfo struct {
	Files     int             `json:"files"`
	FileBytes int64           `json:"file_bytes"`
	Text      int64           `json:"text_bytes"` // of the sections
	Passages  int             `json:"passages"`
	Parse     float64         `json:"parse_cpu_s"` // parsing and splitting in this process
	FTSLoad   float64         `json:"fts_load_s"`
	FTSSize   int64           `json:"fts_bytes"`
	Questions []knownQuestion `json:"questions"`
}

// knownQuestion is a question whose words are those of a sentence of a passage.
type knownQuestion struct {
	Text    string         `json:"text"`
	Words   []string       `json:"words"`
	Passage corpus.ChunkID `json:"passage"`
}

// questionWords is the maximum number of words of a passage in a question.
const questionWords = 6

// questionAbout returns a question with words of the passage's sentence that has the most terms: at most questionWords, at equal distances.
func questionAbout(c corpus.Chunk) (q knownQuestion, ok bool) {
	language := cmp.Or(lang.Detect(c.Text), lang.English)
	var terms []lang.Term
	for _, s := range lang.Sentences(c.Text) {
		if t := language.UniqueTerms(c.Text[s.Start:s.End]); len(t) > len(terms) {
			terms = t
		}
	}
	if len(terms) < questionWords {
		return q, false
	}
	for i := range questionWords {
		q.Words = append(q.Words, terms[i*len(terms)/questionWords].Word)
	}
	q.Text = "What about " + strings.Join(q.Words, " ") + "?"
	q.Passage = c.ID
	return q, true
}

// collector chooses the files of a collection and makes what the measurement needs of them.
type collector struct {
	dir       string // the folder of the collection
	passages  int    // wanted
	questions int    // wanted
	fts       *sqlitedb.DB
	info      collectionInfo
	next      int            // the passage that the next question is about
	waiting   []corpus.Chunk // passages that are not in SQLite yet
	documents string
	show      func(passages int)
}

// collect puts files of the paths into dir, in the order of the hashes of their paths, until they have the passages, and loads the
// passages into SQLite. Further files with a hundredth as many passages are put into another folder.
func collect(ctx context.Context, dir string, paths []string, passages, questions int, show func(int)) (info collectionInfo, err error) {
	files, err := listFiles(paths)
	if err != nil {
		return info, fmt.Errorf("collect documents: %w", err)
	}
	documents, err := filepath.Abs(filepath.Join(dir, folderDocuments))
	if err != nil {
		return info, fmt.Errorf("collect documents: %w", err)
	}
	c := &collector{dir: dir, passages: passages, questions: questions, documents: documents, show: show}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return info, fmt.Errorf("collect documents: %w", err)
	}
	if c.fts, err = createFTS(ctx, filepath.Join(dir, fileFTS)); err != nil {
		return info, err
	}
	err = errors.Join(c.collect(ctx, files), c.fts.Close())
	if err != nil {
		return info, fmt.Errorf("collect documents: %w", err)
	}
	if c.info.FTSSize, err = sizeOf(filepath.Join(dir, fileFTS)); err != nil {
		return info, err
	}
	data, err := json.Marshal(c.info)
	if err != nil {
		return info, err
	}
	return c.info, os.WriteFile(filepath.Join(dir, fileCollection), data, 0o600)
}

func (c *collector) collect(ctx context.Context, files []source) error {
	later := 0
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		more := c.info.Passages >= c.passages
		if more && later == 0 {
			if err := c.load(ctx); err != nil {
				return err
			}
		}
		if more && later >= c.passages/100 {
			return nil
		}
		folder := folderDocuments
		if more {
			folder = folderLater
		}
		chunks, err := c.read(ctx, f)
		if err != nil || len(chunks) == 0 {
			continue // the collection has no files that cannot be read
		}
		if err := linkFile(f.path, filepath.Join(c.dir, folder, f.name)); err != nil {
			return err
		}
		if more {
			later += len(chunks)
			continue
		}
		c.add(chunks)
		if len(c.waiting) >= ftsBatch {
			if err := c.load(ctx); err != nil {
				return err
			}
		}
	}
	if c.info.Passages < c.passages {
		return fmt.Errorf("the files have only %d passages", c.info.Passages)
	}
	return nil
}

// read parses and splits a file and returns its passages.
func (c *collector) read(ctx context.Context, f source) ([]corpus.Chunk, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	began := cpuTime()
	p, err := parse.Parse(ctx, f.name, data, parse.Limits{})
	if err != nil {
		return nil, err
	}
	uri := filepath.ToSlash(filepath.Join(c.documents, f.name))
	_, chunks := ingest.Cut(ingest.DocumentID(corpus.DefaultCollection, uri), p)
	if len(chunks) > ingest.MaxChunks {
		return nil, nil // it would not be indexed
	}
	took := cpuTime() - began
	var passages []corpus.Chunk
	text := int64(0)
	for _, chunk := range chunks {
		switch chunk.Level {
		case corpus.Section:
			text += int64(len(chunk.Text))
		case corpus.Passage:
			passages = append(passages, chunk)
		}
	}
	if c.info.Passages < c.passages && len(passages) > 0 {
		c.info.Files++
		c.info.FileBytes += int64(len(data))
		c.info.Text += text
		c.info.Parse += took.Seconds()
	}
	return passages, nil
}

// add counts passages and makes questions of some.
func (c *collector) add(passages []corpus.Chunk) {
	for _, p := range passages {
		if c.info.Passages >= c.next && len(c.info.Questions) < c.questions {
			if q, ok := questionAbout(p); ok {
				c.info.Questions = append(c.info.Questions, q)
				c.next += c.passages / c.questions
			}
		}
		c.info.Passages++
	}
	c.waiting = append(c.waiting, passages...)
	c.show(c.info.Passages)
}

// ftsBatch is about the number of passages in a transaction.
const ftsBatch = 2000

// load puts the waiting passages into SQLite.
func (c *collector) load(ctx context.Context) error {
	began := time.Now()
	err := c.fts.Change(ctx, func(q sqldb.Querier) error {
		for _, p := range c.waiting {
			if _, err := q.Do(ctx, "INSERT INTO passages (id, text) VALUES (?, ?)", string(p.ID), p.WithHeadings()); err != nil {
				return err
			}
		}
		return nil
	})
	c.info.FTSLoad += time.Since(began).Seconds()
	c.waiting = nil
	return err
}

// source is a file that a collection may have. Its name is its path below the parent of the named folder.
type source struct {
	path, name string
	order      [sha256.Size]byte
}

// listFiles lists the files that an ingestion of the paths reads, in the order of the hashes of their names.
func listFiles(paths []string) (files []source, err error) {
	for _, root := range paths {
		root, err := filepath.Abs(root)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(filepath.Dir(root), path)
			if err == nil && !ingest.Skipped(filepath.ToSlash(name)) && !ingest.Ignored(path, nil) {
				files = append(files, source{path, name, sha256.Sum256([]byte(filepath.ToSlash(name)))})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b source) int { return bytes.Compare(a.order[:], b.order[:]) })
	return files, nil
}

// linkFile links a file, or copies it if it is on another disk.
func linkFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// sizeOf returns the size of a file, or of the files in a folder, in bytes.
func sizeOf(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
