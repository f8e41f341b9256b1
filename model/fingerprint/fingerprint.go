// Package fingerprint notices when another model answers under the name of an embedder. A server's operator can exchange the
// model behind a name at any time, also for one of the same dimension. The vectors of two models cannot be compared, so they
// must be in two spaces.
package fingerprint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/model"
)

// probes are the texts whose vectors are an embedder's fingerprint: prose of different subjects, a question, code, and text in
// another script.
var probes = []string{
	"A sluice box washes gravel in running water and keeps the gold.",
	"Which documents must a tenant sign before the lease begins?",
	"for i := range rows { total += rows[i].Amount }",
	"Der Vorstand beruft die Mitgliederversammlung ein. 会員は総会に出席できる。",
}

// sameModel is the least mean cosine between the probes' vectors of one model at two times. Builds and quantisations of a model
// differ by less, and the vectors of two models have a cosine near 0.
const sameModel = 0.98

// maxFile bounds the size of the file of fingerprints, in bytes.
const maxFile = 16 << 20

// Options configure an [Embedder]. The zero value works.
type Options struct {
	Every      time.Duration    // least time between two checks of an embedder that answers; default 1 minute
	OnReplaced func()           // called after another model was found under the name; default none
	Now        func() time.Time // default time.Now
	Logger     *slog.Logger     // default: silent
}

// Embedder is a [model.Embedder] that gives each model that answers under a name its own space. It checks the model before the first use, after each failure, and at most every [Options.Every]. It is safe for concurrent use.
type Embedder struct {
	inner model.Embedder
	path  string
	opts  Options
	gate  chan struct{} // holds a value while a check runs

	mu      sync.Mutex
	nth     int       // number of the model among those that had the name, from 1; 0: none was seen
	checked time.Time // when the last check succeeded; zero: a check is due
}

// New returns the embedder with its fingerprint in the file path, which need not exist.
func New(path string, inner model.Embedder, o Options) (*Embedder, error) {
	o.Every = cmp.Or(max(o.Every, 0), time.Minute)
	if o.OnReplaced == nil {
		o.OnReplaced = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Embedder{inner: inner, path: path, opts: o, gate: make(chan struct{}, 1)}
	all, err := read(path)
	if errors.Is(err, errDamaged) {
		// Nobody knows which models made the vectors in the index, so this one gets a number that none had.
		o.Logger.Warn("the fingerprints of embedders are damaged: all documents are embedded again", "error", err)
		all = map[string][]fingerprint{inner.Space(): {{Nth: int(o.Now().Unix())}}}
		err = write(path, all)
	}
	if err != nil {
		return nil, fmt.Errorf("read fingerprints of embedders: %w", err)
	}
	e.nth = last(all[inner.Space()])
	return e, nil
}

// Space implements [model.Embedder]. The second and later models of a name have a number behind it; one that comes back has its
// number again.
func (e *Embedder) Space() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nth > 1 {
		return e.inner.Space() + "#" + strconv.Itoa(e.nth)
	}
	return e.inner.Space()
}

// Embed implements [model.Embedder]. The vectors are of the space that [Embedder.Space] gives before and after the call. An error
// of the check is an error of Embed: vectors of an unknown model are of no use.
func (e *Embedder) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	for {
		if err := e.checkIfDue(ctx); err != nil {
			return nil, err
		}
		space := e.Space()
		vectors, err := e.inner.Embed(ctx, texts, p)
		if err != nil {
			if ctx.Err() == nil && !ofText(err) {
				e.mu.Lock()
				e.checked = time.Time{}
				e.mu.Unlock()
			}
			return nil, err
		}
		if e.Space() == space {
			return vectors, nil
		}
	}
}

// ofText reports whether an error is about a text and not about the server.
func ofText(err error) bool {
	m, ok := errors.AsType[*model.Error](err)
	return ok && (m.Failure == model.Rejected || m.Failure == model.TooLong)
}

func (e *Embedder) checkIfDue(ctx context.Context) error {
	if !e.due() {
		return nil
	}
	select {
	case e.gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.gate }()
	if !e.due() { // another call has checked meanwhile
		return nil
	}
	_, err := e.check(ctx)
	return err
}

func (e *Embedder) due() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.checked.IsZero() || e.opts.Now().Sub(e.checked) >= e.opts.Every
}

// Check compares the embedder's fingerprint with the stored one now, and reports whether another model answers under the name. If it
// fails, nothing has changed.
func (e *Embedder) Check(ctx context.Context) (replaced bool, err error) {
	select {
	case e.gate <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-e.gate }()
	return e.check(ctx)
}

func (e *Embedder) check(ctx context.Context) (replaced bool, err error) {
	all, err := read(e.path)
	if err != nil {
		return false, fmt.Errorf("check embedder: %w", err)
	}
	name := e.inner.Space()
	known := all[name]
	vectors, at, err := e.recognize(ctx, known)
	if err == nil && at < 0 && len(known) > 0 { // a server can answer wrongly once, for instance while it loads a model
		vectors, at, err = e.recognize(ctx, known)
	}
	if err != nil {
		return false, fmt.Errorf("check embedder: %w", err)
	}
	now := fingerprint{Nth: 1, Vectors: vectors}
	if at >= 0 {
		now = known[at]
	} else if len(known) > 0 {
		now.Nth = slices.MaxFunc(known, func(a, b fingerprint) int { return cmp.Compare(a.Nth, b.Nth) }).Nth + 1
	}
	replaced = len(known) > 0 && at != len(known)-1
	if replaced || len(known) == 0 {
		if at >= 0 {
			known = slices.Delete(known, at, at+1)
		}
		known = append(known, now)
		all[name] = known[max(len(known)-maxKnown, 0):]
		if err := write(e.path, all); err != nil {
			return false, fmt.Errorf("check embedder: %w", err)
		}
	}
	e.mu.Lock()
	e.nth, e.checked = now.Nth, e.opts.Now()
	e.mu.Unlock()
	if replaced {
		e.opts.Logger.Warn("another model answers under the embedder's name: all documents are embedded again", "space", name)
		e.opts.OnReplaced()
	}
	return replaced, nil
}

// recognize embeds the probes and finds their vectors among known fingerprints; at is -1 if they are not there.
func (e *Embedder) recognize(ctx context.Context, known []fingerprint) (vectors [][]float32, at int, err error) {
	vectors, err = e.inner.Embed(ctx, probes, model.ForPassage)
	if err == nil && len(vectors) != len(probes) {
		err = fault.New(fault.Model, "the embedder gave %d vectors for %d texts", len(vectors), len(probes))
	}
	if err != nil {
		return nil, -1, err
	}
	for i, p := range slices.Backward(known) {
		if similarity(p.Vectors, vectors) >= sameModel {
			return vectors, i, nil
		}
	}
	return vectors, -1, nil
}

// maxKnown is how many models of a name are remembered.
const maxKnown = 4

// fingerprint is the fingerprint of a model that had a name.
type fingerprint struct {
	Nth     int         `json:"nth"` // number of the model, from 1
	Vectors [][]float32 `json:"vectors"`
}

// last returns the number of the model that answered last; 0 if there was none.
func last(known []fingerprint) int {
	if len(known) == 0 {
		return 0
	}
	return known[len(known)-1].Nth
}

// similarity is the mean cosine of the vectors of two fingerprints, and 0 if they cannot be compared.
func similarity(a, b [][]float32) float64 {
	if len(a) != len(b) || len(a) == 0 {
		return 0
	}
	sum := 0.0
	for i := range a {
		sum += cosine(a[i], b[i])
	}
	return sum / float64(len(a))
}

func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	if len(a) == 0 {
		return 1 // neither model knows the text
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// errDamaged says that the file holds no fingerprints.
var errDamaged = errors.New("damaged")

// read returns the fingerprints by the names of their spaces, the last model that answered last. A missing file holds none.
func read(path string) (map[string][]fingerprint, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string][]fingerprint{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	out := map[string][]fingerprint{}
	if json.Unmarshal(raw, &out) != nil || out == nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(path), errDamaged)
	}
	return out, nil
}

// write replaces the file as a whole.
func write(path string, all map[string][]fingerprint) error {
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return atomicfile.WriteSync(path, raw, 0o600)
}
