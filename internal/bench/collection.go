package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/disk/sqlitedb"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/config"
)

type collectionCmd struct {
	Passages  int      `default:"100000" help:"Number of passages. Files are added in the order of the hashes of their paths until they have that many."`
	Questions int      `default:"300" help:"Number of questions. Each has words of a sentence of one passage; the passages are at equal distances."`
	Mode      []string `default:"direct,agentic" enum:"direct,agentic" help:"Modes of the answers: direct, agentic or both."`
	Data      string   `required:"" type:"path" placeholder:"DIR" help:"Folder for the documents and the index. What it already contains is used again. To start over, delete it."`
	Profile   string   `placeholder:"PREFIX" help:"Write the CPU profiles of ingestion and server to files whose names begin with PREFIX."`
	JSON      bool     `name:"json" help:"Print JSON."`
	Path      []string `arg:"" optional:"" help:"Folders of documents. Needed if the folder has no documents yet."`
}

// collectionReport is the result of the command collection. Sizes are in bytes.
type collectionReport struct {
	collectionInfo
	Ingest    *ingestFigures  `json:"ingest"`
	Start     startFigures    `json:"start"`
	Retrieval []searchFigures `json:"retrieval"`
	Answers   latencyReport   `json:"answers"`
}

// ingestFigures are the figures of the command ingest.
type ingestFigures struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_s"`      // with the child processes that parse
	Memory  int64   `json:"peak_bytes"` // resident, of the largest process
	Index   int64   `json:"index_bytes"`
}

// startFigures are the figures of a server over the collection. Memory is resident.
type startFigures struct {
	Listening float64 `json:"listening_ms"`
	Ready     float64 `json:"ready_ms"`
	Anonymous int64   `json:"anonymous_bytes"` // after the questions; the memory of the process itself
	Idle      int64   `json:"idle_bytes"`      // the same after a pause, in which the server collects its garbage
	Mapped    int64   `json:"mapped_bytes"`    // after the questions; pages of files, which the system can take back
}

// searchFigures are the figures of one kind of search.
type searchFigures struct {
	Search string `json:"search"`
	distribution
	Found float64 `json:"found"` // share of the questions whose passage is among the first ten
	Count int     `json:"count"`
}

// Run measures and prints the result.
func (c *collectionCmd) Run(e *env) error {
	if c.Passages < 1 || c.Questions < 1 || c.Questions > c.Passages {
		return errors.New("passages and questions must be positive, and no more questions than passages")
	}
	r := &collectionReport{}
	var err error
	for _, step := range []func(*env, *collectionReport) error{c.collect, c.ingest, c.serve, c.search} {
		if err = step(e, r); err != nil {
			return err
		}
	}
	return printResult(e, c.JSON, r)
}

// collect makes the documents, unless the folder has them.
func (c *collectionCmd) collect(e *env, r *collectionReport) error {
	data, err := os.ReadFile(filepath.Join(c.Data, fileCollection))
	if err == nil {
		return json.Unmarshal(data, &r.collectionInfo)
	}
	if len(c.Path) == 0 {
		return errors.New("the folder of --data has no documents yet: name folders of documents as arguments")
	}
	bar := newBar(e, c.Passages, "passages")
	r.collectionInfo, err = collect(e.ctx, c.Data, c.Path, c.Passages, c.Questions, func(n int) { _ = bar.Set(min(n, c.Passages)) })
	_ = bar.Finish()
	return err
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newBar returns a progress bar. It is visible on terminals only.
func newBar(e *env, n int, task string) *progressbar.ProgressBar {
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(e.Err), progressbar.OptionSetDescription(task), progressbar.OptionSetVisibility(onTerminal(e.Err)),
		progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}

func (c *collectionCmd) dataFolder() string { return filepath.Join(c.Data, folderData) }

// ingest runs the command ingest over the documents, unless that was done before.
func (c *collectionCmd) ingest(e *env, r *collectionReport) (err error) {
	kept := filepath.Join(c.Data, "ingest.json")
	if data, err := os.ReadFile(kept); err == nil {
		return json.Unmarshal(data, &r.Ingest)
	}
	cmd := exec.CommandContext(e.ctx, e.exe, sluiceCommand, "ingest", "--data", c.dataFolder(), filepath.Join(c.Data, folderDocuments))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(cleanEnv(), c.profile("ingest")...)
	cmd.Stderr = e.Err
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	f := &ingestFigures{Seconds: time.Since(began).Seconds(), CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), Memory: peakMemory(cmd.ProcessState)}
	if f.Index, err = sizeOf(filepath.Join(c.dataFolder(), "index")); err != nil {
		return err
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	r.Ingest = f
	return os.WriteFile(kept, data, 0o600)
}

// profile returns the environment in which a command writes its CPU profile.
func (c *collectionCmd) profile(name string) []string {
	if c.Profile == "" {
		return nil
	}
	return []string{profileEnv + "=" + c.Profile + "-" + name + ".pprof"}
}

// collectPause is longer than it takes a server to notice that it is idle and to return its garbage to the system.
const collectPause = 12 * time.Second

// serve starts the server, asks the questions, and reads the memory.
func (c *collectionCmd) serve(e *env, r *collectionReport) error {
	began := time.Now()
	p, err := startSluice(e.ctx, e.exe, append(cleanEnv(), c.profile("serve")...), []string{"--data", c.dataFolder()})
	if err != nil {
		return err
	}
	r.Start.Listening, r.Start.Ready = milliseconds(p.listening.Sub(began)), milliseconds(time.Since(began))
	texts := make([]string, len(r.Questions))
	for i, q := range r.Questions {
		texts[i] = q.Text
	}
	r.Answers, err = askAll(e.ctx, p, askOptions{questions: texts, times: len(texts), modes: c.Mode})
	status := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	r.Start.Anonymous, r.Start.Mapped = procNumber(status, "RssAnon:", "")<<10, procNumber(status, "RssFile:", "")<<10 // in KiB
	if err == nil {
		select {
		case <-time.After(collectPause):
			r.Start.Idle = procNumber(status, "RssAnon:", "") << 10
		case <-e.ctx.Done():
			err = e.ctx.Err()
		}
	}
	return errors.Join(err, p.stop())
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// search measures searches in this process, alternating with FTS5, and then while documents are added.
func (c *collectionCmd) search(e *env, r *collectionReport) (err error) {
	cli.TuneRuntime()
	cfg := config.Default()
	cfg.Store.Data = c.dataFolder()
	a, err := app.Open(e.ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	fts, err := sqlitedb.Reader(filepath.Join(c.Data, fileFTS), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fts.Close()) }()
	hybrid := &searcher{name: "hybrid", find: func(ctx context.Context, q knownQuestion) (ids []string, err error) {
		hits, err := a.Search(ctx, index.Query{Collection: corpus.DefaultCollection, Text: q.Text, Limit: 10})
		for _, h := range hits {
			ids = append(ids, string(h.Chunk.ID))
		}
		return ids, err
	}}
	full := &searcher{name: "FTS5", find: func(ctx context.Context, q knownQuestion) ([]string, error) { return searchFTS(ctx, fts, q.Words) }}
	bar := newBar(e, 3*len(r.Questions), "searches")
	for round := range 3 { // the first fills caches
		for _, q := range r.Questions {
			for _, s := range []*searcher{hybrid, full} {
				if err := s.ask(e.ctx, q, round > 0); err != nil {
					return err
				}
			}
			_ = bar.Add(1)
		}
	}
	_ = bar.Finish()
	r.Retrieval = append(r.Retrieval, hybrid.figures(), full.figures())
	during := &searcher{name: "hybrid, during an ingestion", find: hybrid.find}
	if err := c.searchDuring(e, a, r.Questions, during); err != nil {
		return err
	}
	r.Retrieval = append(r.Retrieval, during.figures())
	return nil
}

// searchDuring searches while further documents are added, which it deletes afterwards.
func (c *collectionCmd) searchDuring(e *env, a *app.App, questions []knownQuestion, s *searcher) error {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := a.Ingester.Ingest(ctx, ingest.Request{Paths: []string{filepath.Join(c.Data, folderLater)}}, nil)
		done <- err
	}()
	for i := 0; ; i++ {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			return c.removeLater(e.ctx, a)
		default:
		}
		if err := s.ask(ctx, questions[i%len(questions)], true); err != nil {
			cancel()
			return errors.Join(err, <-done)
		}
	}
}

// removeLater deletes the documents that were added while questions were asked.
func (c *collectionCmd) removeLater(ctx context.Context, a *app.App) error {
	files, err := listFiles([]string{filepath.Join(c.Data, folderLater)})
	if err != nil {
		return err
	}
	uris := make([]string, len(files))
	for i, f := range files {
		uris[i] = filepath.ToSlash(f.path)
	}
	if _, err := a.Ingester.Delete(ctx, corpus.DefaultCollection, uris); err != nil {
		return err
	}
	return a.Index.Compact(ctx)
}

// searcher is a kind of search that is measured.
type searcher struct {
	name  string
	find  func(context.Context, knownQuestion) (ids []string, err error)
	took  []int64
	found int
}

func (s *searcher) ask(ctx context.Context, q knownQuestion, measured bool) error {
	began := time.Now()
	ids, err := s.find(ctx, q)
	if err != nil || !measured {
		return err
	}
	s.took = append(s.took, time.Since(began).Nanoseconds())
	if slices.Contains(ids, string(q.Passage)) {
		s.found++
	}
	return nil
}

func (s *searcher) figures() searchFigures {
	n := len(s.took)
	return searchFigures{Search: s.name, distribution: distributionOf(s.took), Found: float64(s.found) / float64(max(n, 1)), Count: n}
}
