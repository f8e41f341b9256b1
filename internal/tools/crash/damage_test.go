package crash_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire/forge"
)

// questionOf is the question before and after a file is damaged.
const questionOf = "Who is the harbour master of %s?"

// TestDamage damages one file of the data folder while the server is stopped. Then the server refuses to start and names the
// file, or it says what is missing, or it answers as before. Nothing is missing without a message.
func TestDamage(t *testing.T) {
	skipIfZero(t, *damages, "damages")
	w := newWorld(report.add("damaged files"))
	defer w.report(t)
	addr, golden := freeAddr(t), filepath.Join(t.TempDir(), "golden")
	asked := goldenFolder(t, w, addr, golden)
	stores := filesByStore(t, golden)
	names := slices.Sorted(maps.Keys(stores))
	for i := range *damages {
		paths := stores[names[i%len(names)]]
		path := paths[w.intn(len(paths))]
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.CopyFS(dir, os.DirFS(golden)))
		kind, err := damage(w.rng, filepath.Join(dir, path))
		require.NoError(t, err)
		w.found.tried++
		w.examine(t, start(t, addr, dir), addr, asked, fmt.Sprintf("%s %s", kind, path), path)
		require.NoError(t, os.RemoveAll(dir))
	}
}

// goldenFolder returns a data folder with data in every store, and the answers of its server.
func goldenFolder(t *testing.T, w *world, addr, dir string) []*question {
	t.Helper()
	p := start(t, addr, dir)
	if _, err := p.ready(patience); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	c := newClient(t, addr)
	if _, err := c.CreateStore(t.Context(), client.VectorStoreRequest{ID: storeID, Name: storeID}); err != nil {
		t.Fatal(err)
	}
	var asked []*question
	for range 6 {
		w.upload(t.Context(), c)
	}
	for _, f := range w.files {
		q, err := answerTo(t.Context(), c, f.word, true)
		if err != nil || !strings.Contains(q.text, "Ada Brook") {
			t.Fatalf("%q: %v", q.text, err)
		}
		asked = append(asked, q)
	}
	w.found.tried = 0
	if err := p.stop(); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	return asked
}

// answerTo asks about the word in the vector store, with or without the cache of answers.
func answerTo(ctx context.Context, c *client.Client, word string, cached bool) (*question, error) {
	q := &question{in: "forge", frames: map[string]string{}, state: uploaded}
	r := forge.Request{Query: fmt.Sprintf(questionOf, word), Mode: "direct", Collection: storeID, NoCache: !cached}
	if cached {
		r.SessionID, q.session = sessionOf(q.in), sessionOf(q.in)
	}
	stream := c.Ask(ctx, r)
	s, err := stream.Wait()
	q.run, q.text, q.status = stream.Run(), s.Text, s.Status
	return q, err
}

// filesByStore lists the non-empty files of a data folder, in a fixed order, by their store: the first two elements of the path.
func filesByStore(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			store := strings.Join(strings.SplitN(path, "/", 3)[:min(2, strings.Count(path, "/")+1)], "/")
			out[store] = append(out[store], path)
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// damage damages a file in a way that disks and people do, and returns the name of the damage.
func damage(rng *rand.Rand, path string) (kind string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	at := rng.IntN(len(data))
	switch rng.IntN(6) {
	case 0:
		return "removed", os.Remove(path)
	case 1:
		return "emptied", os.Truncate(path, 0)
	case 2:
		return fmt.Sprintf("cut at byte %d of %d", at, len(data)), os.Truncate(path, int64(at))
	case 3:
		from := at / 4096 * 4096
		kind = fmt.Sprintf("page of zeros at %d of %d", from, len(data))
		clear(data[from:min(from+4096, len(data))])
	case 4:
		kind = "64 flipped bytes"
		for range 64 {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
	default:
		kind = fmt.Sprintf("flipped byte %d of %d", at, len(data))
		data[at] ^= byte(1 + rng.IntN(255))
	}
	return kind, os.WriteFile(path, data, 0o600)
}

// examine starts a server on the damaged folder and compares its data with the original.
func (w *world) examine(t *testing.T, p *process, addr string, asked []*question, what, path string) {
	t.Helper()
	defer p.kill()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	outcome := "answers as before"
	defer func() { t.Logf("%s: %s", what, outcome) }()
	page, err := p.ready(patience / 3)
	said := func() string { return page + p.output() }
	defer func() {
		for _, line := range p.faults() {
			w.unexplained("%s: the server logged %s", what, line)
		}
	}()
	named := func(text string) bool {
		top, _, _ := strings.Cut(path, "/")
		return strings.Contains(text, filepath.Base(path)) || strings.Contains(text, top)
	}
	switch {
	case errors.Is(err, errExited) && named(said()):
		w.found.refused++
		outcome = "does not start and says why"
		return
	case err != nil && named(said()):
		w.found.refused++
		outcome = "is not ready and says why"
	case err != nil:
		outcome = "unexplained"
		w.unexplained("%s: %v\n%s", what, err, p.output())
		return
	}
	c, short := quickClient(t, addr), 10*time.Second
	for _, f := range w.files {
		w.compareFile(ctx, c, f, func(problem string) {
			outcome = "says what is missing"
			if !named(said()) {
				outcome = "loses something"
				w.lost("%s: %s, and no message names it:\n%s", what, problem, p.output())
			}
		})
	}
	for _, q := range asked {
		qctx, done := context.WithTimeout(ctx, short)
		s, err := c.StreamIn(qctx, q.in, q.run, "").Wait()
		done()
		if (err == nil || s.Failure != nil) && s.Text == q.text && s.Status == q.status {
			if page, err := c.Messages(ctx, q.session, client.MessageFilter{Last: event.RunID(q.run).AnswerID(), Limit: 1}); err == nil && len(page.Messages) == 1 &&
				mark.ReplaceAllString(page.Messages[0].Content, "") == mark.ReplaceAllString(q.text, "") || fault.CodeOf(err) == fault.Internal {
				continue
			}
		}
		if outcome = "says what is missing"; !named(said()) {
			outcome = "loses something"
			w.lost("%s: the run %s reads %q, %v, and no message names it:\n%s", what, q.run, s.Text, err, p.output())
		}
	}
}

// compareFile reads a file by all routes. Errors are allowed; wrong data is a problem.
func (w *world) compareFile(ctx context.Context, c *client.Client, f *file, problem func(string)) {
	if doc, err := c.Content(ctx, f.id); fault.CodeOf(err) == "" && (err != nil || !holds(doc, f.word)) {
		problem(fmt.Sprintf("the file %s has another text: %v", f.id, err))
	} else if err != nil && fault.CodeOf(err) != "INDEX" && fault.CodeOf(err) != "INTERNAL" {
		problem(fmt.Sprintf("the file %s: %v", f.id, err))
	}
	for _, cached := range []bool{true, false} {
		if q, err := answerTo(ctx, c, f.word, cached); err == nil && !strings.Contains(q.text, "Ada Brook") {
			problem(fmt.Sprintf("the question about %s is answered with %q", f.word, q.text))
		}
	}
}
