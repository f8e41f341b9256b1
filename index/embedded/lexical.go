package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/util"
	bleve "github.com/blevesearch/bleve_index_api"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/lang"
)

// analysisVersion changes whenever the analysis of a text changes. Lexical indexes of another version are rebuilt.
const analysisVersion = "3"

// The fields of the lexical index. fieldText contains title, headings and text.
const (
	fieldText    = "t"
	fieldOrder   = "o" // the terms of fieldText in order, stored and not indexed; see [termOrder]
	fieldTitle   = "h"
	fieldHeading = "g" // the innermost heading, unless it is the title
	fieldNamed   = "e" // the entities that a passage mentions, one term each; see [lang.NormalizeName]
	fieldAbout   = "s" // the entities that it is about
)

var internalGeneration = []byte("generation")

// fieldGap is the distance between the positions of title, headings and text, so that their terms are not neighbours.
const fieldGap = 100

// analysed holds the terms of a chunk.
type analysed struct {
	row                  uint64
	text, title, heading analysis.TokenStream
	named, about         analysis.TokenStream // entities
}

// analyse splits a chunk into terms, as [lang.Terms] does with questions.
func analyse(c *corpus.Chunk, n *prepare.Mentions) analysed {
	var a analysed
	all, subjects := n.Keys()
	a.named, a.about = nameTokens(all), nameTokens(subjects)
	a.title = appendTerms(nil, c.Title)
	if h := c.Heading(); h != c.Title {
		a.heading = appendTerms(nil, h)
	}
	a.text = appendTerms(a.text, c.Title)
	for _, h := range c.Headings {
		if h != c.Title {
			a.text = appendTerms(a.text, h)
		}
	}
	a.text = appendTerms(a.text, c.SearchText())
	return a
}

func appendTerms(stream analysis.TokenStream, s string) analysis.TokenStream {
	position := 1
	if n := len(stream); n > 0 {
		position = stream[n-1].Position + fieldGap
	}
	terms := lang.Terms(s)
	tokens := make([]analysis.Token, len(terms))
	for i, t := range terms {
		tokens[i] = analysis.Token{Term: []byte(t), Position: position + i, Type: analysis.AlphaNumeric}
		stream = append(stream, &tokens[i])
	}
	return stream
}

// nameTokens makes each name a term.
func nameTokens(names []string) analysis.TokenStream {
	tokens := make([]analysis.Token, len(names))
	stream := make(analysis.TokenStream, len(names))
	for i, n := range names {
		tokens[i] = analysis.Token{Term: []byte(n), Position: i + 1, Type: analysis.AlphaNumeric}
		stream[i] = &tokens[i]
	}
	return stream
}

// preAnalysed is an analyzer that returns the result of analyse.
type preAnalysed struct{ stream analysis.TokenStream }

func (f preAnalysed) Analyze([]byte) analysis.TokenStream { return f.stream }

func (a analysed) document() *document.Document {
	d := document.NewDocument(string(rowKey(a.row)))
	d.AddField(document.NewTextFieldCustom(fieldText, nil, nil, bleve.IndexField, preAnalysed{a.text}))
	d.AddField(document.NewTextFieldCustom(fieldOrder, nil, termOrder(a.text), bleve.StoreField, nil))
	d.AddField(document.NewTextFieldCustom(fieldTitle, nil, nil, bleve.IndexField, preAnalysed{a.title}))
	if len(a.heading) > 0 {
		d.AddField(document.NewTextFieldCustom(fieldHeading, nil, nil, bleve.IndexField, preAnalysed{a.heading}))
	}
	if len(a.named) > 0 {
		d.AddField(document.NewTextFieldCustom(fieldNamed, nil, nil, bleve.IndexField|bleve.SkipFreqNorm, preAnalysed{a.named}))
	}
	if len(a.about) > 0 {
		d.AddField(document.NewTextFieldCustom(fieldAbout, nil, nil, bleve.IndexField|bleve.SkipFreqNorm, preAnalysed{a.about}))
	}
	return d
}

// lexical is the inverted index of one level of a collection. Only one writer may call its methods at a time. Its readers may be used
// at any time until they are closed.
type lexical struct {
	dir    string
	scorch *scorch.Scorch

	mu   sync.Mutex
	rows map[uint64][]uint64 // by id of a segment: the rows of its chunks
}

// openLexical opens or creates the index in dir. Files with a wrong checksum are an error.
func openLexical(dir string, queue *bleve.AnalysisQueue) (l *lexical, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("open %s: damaged: %v", dir, r)
		}
	}()
	if err := verifyFiles(dir); err != nil {
		return nil, err
	}
	registerAsyncErrors()
	idx, err := scorch.NewScorch(scorch.Name, map[string]any{"path": dir, "bolt_timeout": "1s", "asyncErrorCallbackName": asyncErrors}, queue)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := idx.Open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return &lexical{dir: dir, scorch: idx.(*scorch.Scorch)}, nil
}

// fileRoot is the file in which scorch lists its segments, fileRootSum the file in which close stores its checksum.
const (
	fileRoot    = "root.bolt"
	fileRootSum = "root.sum"
)

func rootSum(dir string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, fileRoot))
	if err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(b)), nil
}

// verifyFiles checks fileRoot and the segments that it lists. It removes other segment files, which an interrupted write or merge left.
func verifyFiles(dir string) error {
	listed, err := verifyRoot(dir)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
	if err != nil {
		return err
	}
	for _, path := range files {
		check := os.Remove
		if listed[filepath.Base(path)] {
			check = verifySegment
		}
		if err := check(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// verifyRoot checks fileRoot, if it exists, and returns the segments that it lists. Scorch reads the file on its own goroutines, where
// a fault ends the process, and bbolt may follow damaged pages in circles. A killed process leaves no checksum; then the whole file is
// read.
func verifyRoot(dir string) (listed map[string]bool, err error) {
	path := filepath.Join(dir, fileRoot)
	sum, err := rootSum(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	want, err := os.ReadFile(filepath.Join(dir, fileRootSum))
	if err == nil && len(want) == len(sum) && !bytes.Equal(sum, want) {
		return nil, fmt.Errorf("%s: %w", path, errChecksum)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	db, err := openBolt(path, bolt.Options{Timeout: time.Second, ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error {
			listed = listedSegments(tx)
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return readBucket(b) })
		})
	})
	if err != nil {
		return nil, err
	}
	err = os.Remove(filepath.Join(dir, fileRootSum)) // fileRoot will change
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return listed, err
}

// listedSegments returns the names of the segment files of all snapshots in fileRoot.
func listedSegments(tx *bolt.Tx) map[string]bool {
	listed := map[string]bool{}
	snapshots := tx.Bucket(util.BoltSnapshotsBucket)
	if snapshots == nil {
		return listed
	}
	for k := range bucketsIn(snapshots) {
		snapshot := snapshots.Bucket(k)
		for k := range bucketsIn(snapshot) {
			if path := snapshot.Bucket(k).Get(util.BoltPathKey); path != nil {
				listed[string(path)] = true
			}
		}
	}
	return listed
}

// bucketsIn iterates over the names of the buckets in a bucket.
func bucketsIn(b *bolt.Bucket) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		cur := b.Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			if v == nil && b.Bucket(k) != nil && !yield(k) {
				return
			}
		}
	}
}

// readBucket reads every key and value.
func readBucket(b *bolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			if inner := b.Bucket(k); inner != nil {
				return readBucket(inner)
			}
		}
		_ = crc32.Update(crc32.ChecksumIEEE(k), crc32.IEEETable, v)
		return nil
	})
}

// verifySegment checks the CRC-32 at the end of a segment file (the footer of the zap format), which scorch does not check.
func verifySegment(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < 4 {
		return errChecksum
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-4); err != nil {
		return err
	}
	var want [4]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return errChecksum
	}
	return nil
}

// generation returns the generation of the data that the index covers, or 0 if it is not usable.
func (l *lexical) generation() (uint64, error) {
	r, err := l.scorch.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	b, err := r.GetInternal(internalGeneration)
	if err != nil {
		return 0, err
	}
	if len(b) <= len(analysisVersion) || string(b[:len(analysisVersion)+1]) != analysisVersion+"/" {
		return 0, nil
	}
	g, err := strconv.ParseUint(string(b[len(analysisVersion)+1:]), 10, 64)
	if err != nil {
		return 0, nil // an unreadable generation is not usable
	}
	return g, nil
}

// change adds chunks, removes ranges of rows and sets the generation (0: keeps it) in one atomic step. It returns when the change is
// durable.
func (l *lexical) change(added []analysed, removed [][2]uint64, generation uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("change %s: %v", l.dir, r)
		}
	}()
	b := bleve.NewBatch()
	for _, a := range added {
		b.Update(a.document())
	}
	for _, r := range removed {
		for row := r[0]; row < r[1]; row++ {
			b.Delete(string(rowKey(row)))
		}
	}
	if generation > 0 {
		b.SetInternal(internalGeneration, []byte(analysisVersion+"/"+strconv.FormatUint(generation, 10)))
	}
	if err := l.scorch.Batch(b); err != nil {
		return fmt.Errorf("change %s: %w", l.dir, diskFull(err))
	}
	return nil
}

// diskFull adds syscall.ENOSPC to an error whose text reports a full disk, because scorch only keeps the text.
func diskFull(err error) error {
	if full := syscall.ENOSPC; err != nil && !errors.Is(err, full) && strings.Contains(err.Error(), full.Error()) {
		return fmt.Errorf("%w: %w", err, full)
	}
	return err
}

// filler is the row of a chunk without terms. Scorch does not merge a single segment, so prepareMerge adds one with the filler.
const filler = ^uint64(0)

// prepareMerge ensures that there is more than one segment.
func (l *lexical) prepareMerge() error { return l.change([]analysed{{row: filler}}, nil, 0) }

// mergeStop is the maximum time that merge waits for a cancelled merge to stop.
const mergeStop = 10 * time.Second

// merge merges all segments into one. Changes may happen during the merge. Scorch retries failures forever, so the first failure ends
// the merge.
func (l *lexical) merge(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	merges.Store(l.dir, cancel)
	defer merges.Delete(l.dir)
	done := make(chan error, 1)
	go func() { done <- l.scorch.ForceMerge(ctx, nil) }() // ends with the index at the latest
	select {
	case err := <-done:
		return diskFull(errors.Join(err, context.Cause(ctx)))
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return diskFull(errors.Join(err, context.Cause(ctx)))
	case <-time.After(mergeStop):
		return diskFull(context.Cause(ctx))
	}
}

// flush returns when the merged state is on disk.
func (l *lexical) flush() error { return l.change(nil, nil, 0) }

// noDeletions reports whether no segment contains a deleted chunk.
func (l *lexical) noDeletions() (bool, error) {
	r, err := l.scorch.Reader()
	if err != nil {
		return false, err
	}
	defer r.Close()
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return false, fmt.Errorf("a lexical index of another kind: %T", r)
	}
	for _, seg := range s.Segments() {
		if d := seg.Deleted(); d != nil && !d.IsEmpty() {
			return false, nil
		}
	}
	return true, nil
}

// asyncErrors is the name of the callback for errors on scorch's own goroutines. merges holds the running merges that such an error
// cancels: a context.CancelCauseFunc by folder.
const asyncErrors = "sluice"

var merges sync.Map

// asyncPause slows down scorch, which retries failures without a pause.
const asyncPause = 200 * time.Millisecond

var registerAsyncErrors = sync.OnceFunc(func() {
	scorch.RegistryAsyncErrorCallbacks[asyncErrors] = func(err error, dir string) {
		if cancel, ok := merges.Load(dir); ok {
			cancel.(context.CancelCauseFunc)(err)
		}
		time.Sleep(asyncPause)
	}
})

func (l *lexical) close() error {
	if err := l.scorch.Close(); err != nil {
		return err
	}
	sum, err := rootSum(l.dir)
	if err != nil {
		return err
	}
	path := filepath.Join(l.dir, fileRootSum)
	if err := os.WriteFile(path, sum, permFile); err != nil { // without the checksum, the next start reads the whole file
		return atomicfile.Remove(path)
	}
	return nil
}
