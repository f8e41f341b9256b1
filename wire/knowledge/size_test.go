package knowledge_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
	"github.com/sluice-rag/sluice/wire/wiretest"
)

// compressor writes frames as a server does: it flushes each frame.
type compressor interface {
	io.WriteCloser
	Flush() error
}

// codings are the compressions of the server, with its options.
var codings = map[string]func(io.Writer) compressor{
	"gzip": func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"zstd": func(w io.Writer) compressor {
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(32<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err)
		}
		return z
	},
}

// prose returns an English text that never changes.
func prose(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../../LICENSE")
	require.NoError(tb, err)
	return strings.Join(strings.Fields(string(text)), " ")
}

// tokens splits a text like a model does: words with the space before them, long ones in parts.
func tokens(text string) []string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		word = " " + word
		for len([]rune(word)) > 7 {
			r := []rune(word)
			out, word = append(out, string(r[:4])), string(r[4:])
		}
		out = append(out, word)
	}
	return out
}

// thousand returns the log of an answer of 1,000 tokens, 50 per second, with five sources of 400 characters, which are all
// cited in the first fifth. The text begins skip characters after the start of the prose, and continues at its start.
func thousand(tb testing.TB, skip int) []event.Event {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	text := prose(tb)
	all := []rune(text[skip:] + " " + text[:skip])
	words := tokens(string(all[3000:]))
	take := func(n int) string {
		taken := string(all[:n])
		all = all[n:]
		return taken
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log []event.Event
	add := func(after time.Duration, b event.Body) {
		at = at.Add(after)
		log = append(log, event.Event{Seq: event.Seq(len(log) + 1), At: at, Body: b})
	}
	for _, b := range started(direct) {
		if start, ok := b.(event.RunStarted); ok {
			start.Run = "run_01j9zq3v6k8m2n4p6r8t0v2x4z"
			b = start
		}
		add(0, b)
	}
	add(0, event.CacheChecked{})
	for _, b := range search(1, 1) {
		add(20*time.Millisecond, b)
	}
	var sources []event.Source
	for n := range 5 {
		sources = append(sources, event.Source{N: n + 1, Chunk: corpus.ChunkID(fmt.Sprintf("c_%016x", rng.Uint64())), Document: corpus.DocumentID(fmt.Sprintf("doc_%016x", rng.Uint64())),
			Title: take(30), Name: take(12) + ".pdf", Ordinal: rng.IntN(90), Heading: take(25), Text: take(400), Score: 0.1 * float64(9-n), Pages: []int{n + 2}})
	}
	add(time.Millisecond, event.GenerationStarted{Chunks: 5, Tokens: 600, Model: "m"})
	for i := range 1000 {
		add(20*time.Millisecond, event.Token{Text: words[i]})
		if n := i / 40; i%40 == 39 && n < 5 {
			add(0, event.Cited{N: n + 1, Chunk: sources[n].Chunk, Source: &sources[n]})
		} else if i%100 == 99 {
			add(0, event.Cited{N: 1 + i/100%5, Chunk: sources[i/100%5].Chunk})
		}
	}
	for _, b := range []event.Body{event.GenerationFinished{Reason: "stop"}, event.Verified{Confidence: 1, Claims: []event.Claim{{Verdict: event.Supported}}},
		event.Attributed{Sources: sources}, event.RunFinished{}} {
		add(time.Millisecond, b)
	}
	return log
}

// paced divides a log into batches as for a client with a rate of per snapshots per second; 0: one batch per event.
func paced(p knowledge.Protocol, log []event.Event, per int) [][]event.Event {
	if per == 0 {
		return wiretest.Single(log)
	}
	var out [][]event.Event
	var batch []event.Event
	next := log[0].At
	for _, e := range log {
		batch = append(batch, e)
		if !p.Coalesces(e.Body) || !e.At.Before(next) {
			out = append(out, batch)
			batch, next = nil, e.At.Add(time.Second/time.Duration(per))
		}
	}
	return append(out, batch)
}

// stream writes the stream of a log.
func stream(p knowledge.Protocol, batches [][]event.Event, z compressor) {
	proj := p.New()
	var frames []wire.Frame
	var buf []byte
	for _, b := range batches {
		frames = proj.Project(frames[:0], b)
		for _, f := range frames {
			buf = p.AppendFrame(buf[:0], f)
			_, err := z.Write(buf)
			if err == nil {
				err = z.Flush()
			}
			if err != nil {
				panic(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
}

// TestSizes checks the sizes of streams in bytes. It takes the median of five texts, because a compressor may match an
// older snapshot and produce 1 KB more.
func TestSizes(t *testing.T) {
	race.Measure(t)
	for _, c := range []struct {
		coding string
		p      knowledge.Protocol
		per    int // updates in a second; 0: one for each token
		most   int
	}{{"zstd", knowledge.Protocol{}, 0, 35_000}, {"zstd", knowledge.Protocol{}, 10, 12_500}, {"gzip", knowledge.Protocol{}, 10, 20_000}, {"zstd", knowledge.Protocol{Delta: true}, 0, 30_000}} {
		var sizes []int
		for i := range 5 {
			var out bytes.Buffer
			stream(c.p, paced(c.p, thousand(t, i*1000), c.per), codings[c.coding](&out))
			sizes = append(sizes, out.Len())
		}
		slices.Sort(sizes)
		if t.Logf("%+v: %d", c, sizes); sizes[2] > c.most {
			t.Errorf("%+v: %d bytes", c, sizes[2])
		}
	}
}
