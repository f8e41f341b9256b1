package knowledge_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// compressor writes frames as a server does: each is flushed, so that it can be read.
type compressor interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// codings are those of the server, with its options.
var codings = map[string]func(io.Writer) compressor{
	"plain": func(w io.Writer) compressor { return &plain{w} },
	"gzip":  func(w io.Writer) compressor { return gzip.NewWriter(w) },
	"zstd": func(w io.Writer) compressor {
		z, err := zstd.NewWriter(w, zstd.WithWindowSize(32<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			panic(err)
		}
		return z
	},
}

type plain struct{ io.Writer }

func (p *plain) Reset(w io.Writer) { p.Writer = w }
func (*plain) Close() error        { return nil }
func (*plain) Flush() error        { return nil }

// prose is English text that changes seldom: the pages of decisions.
func prose(tb testing.TB) string {
	tb.Helper()
	paths, err := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || len(paths) == 0 {
		tb.Fatal("no pages of decisions", err)
	}
	var out []string
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, strings.Fields(string(page))...)
	}
	return strings.Join(out, " ")
}

// tokens cuts a text as a model writes it: words with the blank before them, long ones in pieces.
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

// thousand is the log of an answer of 1,000 tokens, 50 a second, over five sources of 400 characters, all of which it cites in
// the first fifth: so each snapshot holds them from there on. Its text begins
// so many characters behind the beginning of the pages.
func thousand(tb testing.TB, skip int) []event.Event {
	tb.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	all := []rune(prose(tb))[skip:]
	said := tokens(string(all[3000:]))
	text := func(n int) string {
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
	for _, b := range asked(direct) {
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
			Title: text(30), Name: text(12) + ".pdf", Ordinal: rng.IntN(90), Heading: text(25), Text: text(400), Score: 0.1 * float64(9-n), Pages: []int{n + 2}})
	}
	add(time.Millisecond, event.GenerationStarted{Chunks: 5, Tokens: 600, Model: "m"})
	for i := range 1000 {
		add(20*time.Millisecond, event.Token{Text: said[i]})
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

// paced cuts a log as a reader does who is given text so many times a second; 0: each event at once.
func paced(p knowledge.Protocol, log []event.Event, per int) [][]event.Event {
	if per == 0 {
		return single(log)
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

// stream writes a log's stream and gives the number of its frames.
func stream(p knowledge.Protocol, batches [][]event.Event, z compressor) int {
	proj := p.New()
	var frames []wire.Frame
	var buf []byte
	n := 0
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
		n += len(frames)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return n
}

// shapes are the streams that are measured.
var shapes = []struct {
	name string
	p    knowledge.Protocol
	per  int
}{{"token", knowledge.Protocol{}, 0}, {"20s", knowledge.Protocol{PerSecond: 20}, 20}, {"10s", knowledge.Protocol{}, 10}, {"2s", knowledge.Protocol{PerSecond: 2}, 2},
	{"delta", knowledge.Protocol{Delta: true}, 0}}

// BenchmarkStream gives the size of a stream (KB, of 1,000 bytes) and what a frame of it costs.
func BenchmarkStream(b *testing.B) {
	log := thousand(b, 0)
	for _, s := range shapes {
		batches := paced(s.p, log, s.per)
		for _, coding := range []string{"plain", "gzip", "zstd"} {
			b.Run(s.name+"/"+coding, func(b *testing.B) {
				b.ReportAllocs()
				var out bytes.Buffer
				z := codings[coding](&out) // a server keeps its compressors
				frames := 0
				for b.Loop() {
					out.Reset()
					z.Reset(&out)
					frames = stream(s.p, batches, z)
				}
				b.ReportMetric(float64(out.Len())/1000, "KB")
				b.ReportMetric(float64(frames), "frames")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
			})
		}
	}
}

// BenchmarkSnapshot is the projection of one token of a long answer.
func BenchmarkSnapshot(b *testing.B) {
	log := thousand(b, 0)
	var frames []wire.Frame
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		proj := knowledge.Protocol{}.New()
		frames = proj.Project(frames[:0], log[:900])
		b.StartTimer()
		for i := range 100 {
			frames = proj.Project(frames[:0], log[900+i:901+i])
			buf = knowledge.Protocol{}.AppendFrame(buf[:0], frames[0])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/frame")
}

// TestSizes holds the sizes of streams in bytes: the middle of those of five texts, since one may be 1 KB over it where a compressor
// takes an older snapshot for the last.
func TestSizes(t *testing.T) {
	if beir.Race {
		t.Skip("compressing takes long, and is no matter of races")
	}
	for name, most := range map[string]int{"token/zstd": 35_000, "10s/zstd": 12_500, "10s/gzip": 20_000, "delta/zstd": 30_000} {
		var sizes []int
		for i := range 5 {
			log := thousand(t, i*1000)
			for _, s := range shapes {
				for coding, open := range codings {
					if s.name+"/"+coding == name {
						var out bytes.Buffer
						stream(s.p, paced(s.p, log, s.per), open(&out))
						sizes = append(sizes, out.Len())
					}
				}
			}
		}
		slices.Sort(sizes)
		if t.Log(name, sizes); sizes[2] > most {
			t.Errorf("%s: %d bytes, want at most %d", name, sizes[2], most)
		}
	}
}
