package reembed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/model"
)

// minText is the minimum length in bytes to which a rejected text is shortened.
const minText = 256

// errEmbedder marks errors of the embedder, which affect all collections.
var errEmbedder = errors.New("the embedder failed")

// pass checks every collection. progressed reports whether any vector was stored. An error of the index in one collection does not
// stop the others.
func (w *Worker) pass(ctx context.Context) (progressed bool, err error) {
	names, err := w.spaces.Collections(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		some, failed := w.collection(ctx, name)
		progressed = progressed || some
		if failed == nil {
			continue
		}
		failed = fmt.Errorf("re-embed collection %q: %w", name, failed)
		if err == nil {
			err = failed
		}
		if errors.Is(failed, errEmbedder) || ctx.Err() != nil {
			break
		}
	}
	return progressed, err
}

// collection computes the missing vectors of a collection, marks the wanted space as complete, and drops the other spaces.
func (w *Worker) collection(ctx context.Context, name string) (progressed bool, err error) {
	var before index.VectorStats
	for again := false; ; again = true {
		stats, err := w.spaces.VectorStats(ctx, name)
		if err != nil {
			return progressed, err
		}
		wanted := spaceOf(stats, w.wanted)
		w.setProgress(Collection{Name: name, Done: wanted.Vectors, Total: stats.Chunks})
		if wanted.Vectors >= stats.Chunks {
			return progressed, w.takeOver(ctx, name, stats)
		}
		if again && wanted == spaceOf(before, w.wanted) && stats.Chunks == before.Chunks {
			return progressed, fault.New(fault.Index, "the index does not store vectors")
		}
		before = stats
		some, err := w.fill(ctx, name)
		progressed = progressed || some
		if err != nil {
			return progressed, err
		}
	}
}

// takeOver marks the wanted space, whose vectors are complete, as usable for searches, and drops the other spaces.
func (w *Worker) takeOver(ctx context.Context, name string, stats index.VectorStats) error {
	if len(stats.Spaces) == 0 {
		return nil
	}
	wanted := spaceOf(stats, w.wanted)
	if !wanted.Complete {
		if err := w.spaces.MarkComplete(ctx, name, wanted.Name); err != nil {
			return err
		}
		w.resetServing()
		w.opts.Logger.Info("re-embedding complete", "collection", name, "space", wanted.Name, "chunks", wanted.Vectors)
	}
	for _, s := range stats.Spaces {
		if s.Name == wanted.Name {
			continue
		}
		if err := w.spaces.DropSpace(ctx, name, s.Name); err != nil {
			return err
		}
		w.resetServing()
		w.opts.Logger.Info("old vectors deleted", "collection", name, "space", s.Name, "chunks", s.Vectors)
	}
	return nil
}

// fill embeds all chunks without a vector, page by page.
func (w *Worker) fill(ctx context.Context, name string) (progressed bool, err error) {
	for after := ""; ; {
		chunks, next, err := w.spaces.MissingVectors(ctx, name, w.wanted.Space(), after, w.opts.Batch)
		if err != nil {
			return progressed, err
		}
		if len(chunks) > 0 {
			refs := make([]string, len(chunks))
			place := make(map[string]int, len(chunks))
			at := make([]int, len(chunks))
			var texts []string
			for i, c := range chunks {
				if _, known := place[c.Text]; !known {
					place[c.Text] = len(texts)
					texts = append(texts, c.Text)
				}
				refs[i], at[i] = c.Ref, place[c.Text]
			}
			made, refused, err := w.embed(ctx, texts)
			if err != nil {
				return progressed, err
			}
			vectors := make([][]float32, len(chunks))
			for i := range chunks {
				vectors[i] = made[at[i]]
			}
			if err := w.spaces.SetVectors(ctx, name, w.wanted.Space(), refs, vectors); err != nil {
				return progressed, err
			}
			progressed = true
			w.addProgress(name, len(chunks), refused)
		}
		if after = next; next == "" {
			return progressed, nil
		}
	}
}

// embed returns the vectors of texts. If the embedder rejects them but accepts another text, one of them causes the error. Bisection
// finds it, and it gets the vector of its beginning or none. Other errors are [errEmbedder].
func (w *Worker) embed(ctx context.Context, texts []string) (vectors [][]float32, refused int, err error) {
	if vectors, err = w.callEmbedder(ctx, texts); err == nil {
		return vectors, 0, nil
	}
	if rateLimited(err) || !w.available(ctx) {
		return nil, 0, err
	}
	if len(texts) == 1 {
		return w.shorten(ctx, texts[0])
	}
	for _, part := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		vs, n, err := w.embed(ctx, part)
		if err != nil {
			return nil, 0, err
		}
		vectors, refused = append(vectors, vs...), refused+n
	}
	return vectors, refused, nil
}

// shorten tries a rejected text again, then halves it until the embedder accepts it.
func (w *Worker) shorten(ctx context.Context, text string) (vectors [][]float32, refused int, err error) {
	for {
		if vectors, err = w.callEmbedder(ctx, []string{text}); err == nil {
			return vectors, 0, nil
		}
		if rateLimited(err) || !w.available(ctx) {
			return nil, 0, err
		}
		n := len(text) / 2
		if n < minText {
			w.opts.Logger.Warn("embedding failed: the passage is only found by lexical search", "space", w.wanted.Space(), "error", err)
			return [][]float32{nil}, 1, nil
		}
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
}

func rateLimited(err error) bool {
	m, ok := errors.AsType[*model.Error](err)
	return ok && m.Failure == model.RateLimited
}

// available reports whether the embedder embeds a short text that no cache contains.
func (w *Worker) available(ctx context.Context) bool {
	_, err := w.callEmbedder(ctx, []string{"question " + strconv.FormatInt(time.Now().UnixNano(), 10)})
	return err == nil
}

func (w *Worker) callEmbedder(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vs, err := w.wanted.Embed(ctx, texts, model.ForPassage)
	if err == nil && len(vs) != len(texts) {
		err = fault.New(fault.Model, "the embedder gave %d vectors for %d texts", len(vs), len(texts))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEmbedder, err)
	}
	return vs, nil
}

// setProgress sets the progress of a collection.
func (w *Worker) setProgress(c Collection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.Refused = min(w.collections[c.Name].Refused, c.Done)
	w.collections[c.Name] = c
}

// addProgress adds embedded chunks to the progress of a collection.
func (w *Worker) addProgress(name string, done, refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.collections[name]
	c.Done, c.Refused = min(c.Done+done, c.Total), c.Refused+refused
	w.collections[name] = c
}
