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

// leastText is how short a text is cut in bytes to suit an embedder that takes no longer one.
const leastText = 256

// errEmbedder is in errors that every collection would meet.
var errEmbedder = errors.New("the embedder failed")

// pass looks at every collection. moved says that a vector was made. A collection that fails does not stop the others.
func (k *Worker) pass(ctx context.Context) (moved bool, err error) {
	names, err := k.spaces.Collections(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		some, failed := k.collection(ctx, name)
		moved = moved || some
		if failed == nil {
			continue
		}
		failed = fmt.Errorf("make vectors of collection %q: %w", name, failed)
		if err == nil {
			err = failed
		}
		if errors.Is(failed, errEmbedder) || ctx.Err() != nil {
			break
		}
	}
	return moved, err
}

// collection makes what vectors a collection lacks, has their space take over, and drops all others.
func (k *Worker) collection(ctx context.Context, name string) (moved bool, err error) {
	var before index.VectorStats
	for again := false; ; again = true {
		census, err := k.spaces.VectorStats(ctx, name)
		if err != nil {
			return moved, err
		}
		mine := spaceOf(census, k.wanted)
		k.note(Collection{Name: name, Done: mine.Vectors, Total: census.Chunks})
		if mine.Vectors >= census.Chunks {
			return moved, k.takeOver(ctx, name, census)
		}
		if again && mine == spaceOf(before, k.wanted) && census.Chunks == before.Chunks {
			return moved, fault.New(fault.Index, "the index does not keep vectors")
		}
		before = census
		some, err := k.fill(ctx, name)
		moved = moved || some
		if err != nil {
			return moved, err
		}
	}
}

// takeOver has the wanted space serve, where all chunks have its vectors, and drops the others.
func (k *Worker) takeOver(ctx context.Context, name string, census index.VectorStats) error {
	if len(census.Spaces) == 0 {
		return nil
	}
	mine := spaceOf(census, k.wanted)
	if !mine.Complete {
		if err := k.spaces.MarkComplete(ctx, name, mine.Name); err != nil {
			return err
		}
		k.changed()
		k.opts.Logger.Info("vectors take over", "collection", name, "space", mine.Name, "chunks", mine.Vectors)
	}
	for _, s := range census.Spaces {
		if s.Name == mine.Name {
			continue
		}
		if err := k.spaces.DropSpace(ctx, name, s.Name); err != nil {
			return err
		}
		k.changed()
		k.opts.Logger.Info("vectors dropped", "collection", name, "space", s.Name, "chunks", s.Vectors)
	}
	return nil
}

// fill walks once over the chunks that lack a vector.
func (k *Worker) fill(ctx context.Context, name string) (moved bool, err error) {
	for after := ""; ; {
		chunks, next, err := k.spaces.MissingVectors(ctx, name, k.wanted.Space(), after, k.opts.Batch)
		if err != nil {
			return moved, err
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
			made, refused, err := k.embed(ctx, texts)
			if err != nil {
				return moved, err
			}
			vectors := make([][]float32, len(chunks))
			for i := range chunks {
				vectors[i] = made[at[i]]
			}
			if err := k.spaces.SetVectors(ctx, name, k.wanted.Space(), refs, vectors); err != nil {
				return moved, err
			}
			moved = true
			k.add(name, len(chunks), refused)
		}
		if after = next; next == "" {
			return moved, nil
		}
	}
}

// embed gives the vectors of texts. Where the embedder fails and yet answers something else, the fault lies in a text: it is
// looked for by halving, and that text's vector is that of its beginning, or none. Other errors are [errEmbedder].
func (k *Worker) embed(ctx context.Context, texts []string) (vectors [][]float32, refused int, err error) {
	if vectors, err = k.ask(ctx, texts); err == nil {
		return vectors, 0, nil
	}
	if limited(err) || !k.alive(ctx) {
		return nil, 0, err
	}
	if len(texts) == 1 {
		return k.shorten(ctx, texts[0])
	}
	for _, part := range [][]string{texts[:len(texts)/2], texts[len(texts)/2:]} {
		vs, n, err := k.embed(ctx, part)
		if err != nil {
			return nil, 0, err
		}
		vectors, refused = append(vectors, vs...), refused+n
	}
	return vectors, refused, nil
}

// shorten tries a text that failed once more, then less and less of it.
func (k *Worker) shorten(ctx context.Context, text string) (vectors [][]float32, refused int, err error) {
	for {
		if vectors, err = k.ask(ctx, []string{text}); err == nil {
			return vectors, 0, nil
		}
		if limited(err) || !k.alive(ctx) {
			return nil, 0, err
		}
		n := len(text) / 2
		if n < leastText {
			k.opts.Logger.Warn("the embedder takes a text in no form: words alone find it", "space", k.wanted.Space(), "error", err)
			return [][]float32{nil}, 1, nil
		}
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
}

func limited(err error) bool {
	m, ok := errors.AsType[*model.Error](err)
	return ok && m.Failure == model.RateLimited
}

// alive asks for something short that no cache knows.
func (k *Worker) alive(ctx context.Context) bool {
	_, err := k.ask(ctx, []string{"question " + strconv.FormatInt(time.Now().UnixNano(), 10)})
	return err == nil
}

func (k *Worker) ask(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vs, err := k.wanted.Embed(ctx, texts, model.ForPassage)
	if err == nil && len(vs) != len(texts) {
		err = fault.New(fault.Model, "the embedder gave %d vectors for %d texts", len(vs), len(texts))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEmbedder, err)
	}
	return vs, nil
}

// note sets how far a collection is.
func (k *Worker) note(c Collection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.Refused = min(k.collections[c.Name].Refused, c.Done)
	k.collections[c.Name] = c
}

// add counts chunks done.
func (k *Worker) add(name string, done, refused int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.collections[name]
	c.Done, c.Refused = min(c.Done+done, c.Total), c.Refused+refused
	k.collections[name] = c
}
