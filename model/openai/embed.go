package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

const (
	maxTries      = 4       // of a request with transient failures
	maxCuts       = 8       // of a text that is too long; each halves it
	maxText       = 1 << 20 // bytes of a text that are sent
	maxRetryAfter = 30 * time.Second
)

// EmbedOptions configure an [Embedder].
type EmbedOptions struct {
	URL           string // as of [Options]
	Key           string // as of [Options]
	Model         string // empty: the first that the server lists
	QueryPrefix   string // prepended to each query, if the model needs it: "query: "
	PassagePrefix string // prepended to each passage
	BatchTexts    int    // maximum number of texts in a request; 0: 64
	// Stall is the idle timeout. A server sends nothing before the whole batch is done; 0: 60 s.
	Stall  time.Duration
	Logger *slog.Logger // nil: none
}

// Limits of the requests of an [Embedder].
const (
	embedTokens  = 16_384 // of the texts of a request, about
	embedClients = 4      // concurrent requests
)

// The kinds of servers.
const (
	unknown     int32 = iota
	onePerText        // a vector per text, in OpenAI's protocol
	onePerToken       // a vector per token, in llama.cpp's
)

// Embedder computes vectors with a model behind OpenAI's protocol. Its methods may be called concurrently.
//
// A llama.cpp server that was started with --pooling none returns a vector per token. EmbedTokens then returns these, and Embed
// their mean.
type Embedder struct {
	server   *server
	model    string
	space    string
	prefixes [2]string // by purpose
	texts    int
	dim      atomic.Int64
	mode     atomic.Int32
	noBase64 atomic.Bool // the server does not support encoding_format
}

var (
	_ model.Embedder      = (*Embedder)(nil)
	_ model.TokenEmbedder = (*Embedder)(nil)
)

// NewEmbedder returns an embedder. It only asks the server for the name of the model, if none is configured, since the name is
// a part of the vector space.
func NewEmbedder(ctx context.Context, o EmbedOptions) (*Embedder, error) {
	if o.Stall <= 0 {
		o.Stall = 4 * defaultStall
	}
	s, err := newServer(o.URL, o.Key, o.Stall, nil, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Model == "" && s.official() {
		return nil, errors.New("name the embedding model: OpenAI has many, in no order")
	}
	f := newCapabilities(s, o.Model, 0)
	name, err := f.modelName(ctx)
	if err != nil {
		return nil, fail(ctx, s.host(), err)
	}
	e := &Embedder{
		server: s, model: name, space: name,
		prefixes: [2]string{model.ForPassage: o.PassagePrefix, model.ForQuery: o.QueryPrefix},
		texts:    cmp.Or(o.BatchTexts, 64),
	}
	if o.QueryPrefix != "" || o.PassagePrefix != "" {
		sum := sha256.Sum256([]byte(o.QueryPrefix + "\x00" + o.PassagePrefix))
		e.space += fmt.Sprintf("#%x", sum[:4])
	}
	return e, nil
}

// Name returns the display name of the model.
func (e *Embedder) Name() string { return e.model }

// Space returns the name of the model, with a hash of the prefixes if there are any.
func (e *Embedder) Space() string { return e.space }

// Dim returns the dimension of the vectors; 0 before the first one.
func (e *Embedder) Dim() int { return int(e.dim.Load()) }

// PerToken reports whether the server returns a vector per token. It asks the server once.
func (e *Embedder) PerToken(ctx context.Context) bool {
	if e.mode.Load() == unknown {
		_, _ = e.vectors(ctx, []string{"a"})
	}
	return e.mode.Load() == onePerToken
}

// Embed returns one vector per text, in order; nil for an empty text and for a zero vector. Texts that exceed the context
// window are cut. Transient failures are retried up to three times. The error is an [*model.Error] or the error of ctx.
func (e *Embedder) Embed(ctx context.Context, texts []string, p model.Purpose) ([][]float32, error) {
	out := make([][]float32, len(texts))
	err := e.each(ctx, texts, p, embedTokens, func(ctx context.Context, batch []string, at []int) error {
		vectors, err := embedSplitting(ctx, e, batch, e.vectors)
		for i := range vectors {
			out[at[i]] = vectors[i]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// each splits texts into batches and runs several concurrently. At holds the indexes of the texts of a batch.
func (e *Embedder) each(
	ctx context.Context, texts []string, p model.Purpose, tokens int, run func(ctx context.Context, batch []string, at []int) error,
) error {
	prefix := ""
	if p >= 0 && int(p) < len(e.prefixes) {
		prefix = e.prefixes[p]
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(embedClients)
	var batch []string
	var at []int
	size := 0
	send := func() {
		if batch, at := batch, at; len(batch) > 0 {
			group.Go(func() error {
				if inner.Err() != nil { // another batch has failed
					return inner.Err()
				}
				return run(inner, batch, at)
			})
		}
		batch, at, size = nil, nil, 0
	}
	for i, s := range texts {
		if strings.TrimSpace(s) == "" {
			continue
		}
		s = lang.Truncate(prefix+strings.ToValidUTF8(s, "\uFFFD"), maxText)
		n := estimate(s)
		if len(batch) == e.texts || size+n > tokens {
			send()
		}
		batch, at, size = append(batch, s), append(at, i), size+n
	}
	send()
	err := group.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// embedSplitting runs a request. If the batch is too long, it runs its halves; if a single text is too long, it cuts the text.
func embedSplitting[T any](ctx context.Context, e *Embedder, batch []string, run func(context.Context, []string) ([]T, error)) ([]T, error) {
	for cuts := 0; ; cuts++ {
		out, err := withRetry(ctx, func() ([]T, error) { return run(ctx, batch) })
		if failed, ok := errors.AsType[*model.Error](err); err == nil || !ok || failed.Failure != model.TooLong {
			return out, err
		}
		if len(batch) > 1 {
			half := len(batch) / 2
			first, err := embedSplitting(ctx, e, batch[:half], run)
			if err != nil {
				return nil, err
			}
			second, err := embedSplitting(ctx, e, batch[half:], run)
			return append(slices.Clip(first), second...), err
		}
		s := batch[0]
		if cuts == maxCuts || len(s) < 2*utf8.UTFMax {
			return nil, err
		}
		batch = []string{lang.Truncate(s, len(s)/2)}
		e.server.log.Debug("cut a text that is too long for the model", "model", e.model, "bytes", len(batch[0]))
	}
}

// withRetry retries transient failures up to three times, with exponential backoff and at least the wait that the server asks
// for.
func withRetry[T any](ctx context.Context, run func() ([]T, error)) ([]T, error) {
	var last error
	out, err := backoff.Retry(ctx, func() ([]T, error) {
		out, err := run()
		last = err
		var failed *model.Error
		switch {
		case err == nil:
			return out, nil
		case !errors.As(err, &failed), !failed.Failure.Transient(), failed.RetryAfter > maxRetryAfter:
			return nil, backoff.Permanent(err)
		case failed.RetryAfter > 0:
			return nil, &backoff.RetryAfterError{Duration: failed.RetryAfter}
		}
		return nil, err
	}, backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(2*time.Minute))
	if err == nil {
		return out, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, last
}

// vectors returns the vectors of a batch with one request.
func (e *Embedder) vectors(ctx context.Context, batch []string) ([][]float32, error) {
	if e.mode.Load() == onePerToken {
		return e.meanVectors(ctx, batch)
	}
	vectors, err := e.request(ctx, batch)
	if refused, ok := errors.AsType[*transport.StatusError](err); ok {
		words := strings.ToLower(string(refused.Body))
		switch {
		case strings.Contains(words, "pooling") && containsAny(words, "not oai compatible", "'none'"):
			e.mode.Store(onePerToken)
			return e.meanVectors(ctx, batch)
		case !e.noBase64.Load() && refused.Status/100 == 4 && containsAny(words, "encoding_format", "base64"):
			e.noBase64.Store(true)
			vectors, err = e.request(ctx, batch)
		}
	}
	if err != nil {
		return nil, fail(ctx, e.model, err)
	}
	e.mode.CompareAndSwap(unknown, onePerText)
	return vectors, nil
}

// request sends one request of OpenAI's protocol.
func (e *Embedder) request(ctx context.Context, batch []string) ([][]float32, error) {
	held, watch := transport.NewStallTimer(ctx, e.server.stall)
	defer watch.End()
	p := map[string]any{"model": e.model, "input": batch}
	if !e.noBase64.Load() { // a quarter of the bytes, and faster to decode
		p["encoding_format"] = "base64"
	}
	watch.Start()
	res, err := e.server.send(held, e.server.endpoint("embeddings"), p)
	watch.Stop()
	if err != nil {
		return nil, watch.Cause(err)
	}
	defer res.Body.Close()
	used := model.Usage{Estimated: true}
	for _, text := range batch {
		used.Input += estimate(text)
	}
	defer func() { model.Used(ctx, e.model, used) }()
	text, err := readAll(watch.Reader(res.Body), transport.MaxBody)
	if err != nil {
		return nil, transport.AfterResponse(ctx, e.model, watch.Cause(err), res.Request)
	}
	vectors, input, err := readVectors(text, len(batch))
	if err != nil {
		return nil, err
	}
	if input > 0 {
		used = model.Usage{Input: input}
	}
	return vectors, e.check(vectors)
}

// check normalizes vectors and checks that all have one dimension.
func (e *Embedder) check(vectors [][]float32) error {
	for i, v := range vectors {
		if len(v) == 0 {
			return transport.ErrUnreadable
		}
		if e.dim.CompareAndSwap(0, int64(len(v))); e.dim.Load() != int64(len(v)) {
			return transport.ErrUnreadable
		}
		ok, err := normalise(v)
		if err != nil {
			return err
		}
		if !ok {
			vectors[i] = nil
		}
	}
	return nil
}
