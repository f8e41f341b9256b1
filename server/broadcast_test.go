package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/sse"
)

// compressions are the codings of compressed streams.
var compressions = []string{"gzip", "zstd"}

// metric returns the value of a metric without labels.
func (s *site) metric(name string) float64 {
	s.t.Helper()
	families, err := s.metrics.Gather()
	require.NoError(s.t, err)
	for _, f := range families {
		if m := f.GetMetric(); f.GetName() == name {
			return m[0].GetGauge().GetValue() + m[0].GetCounter().GetValue()
		}
	}
	s.t.Fatalf("no metric %s", name)
	return 0
}

// decompress returns the text of a whole body. It fails if an event other than a snapshot crosses a multiple of 16 KiB.
func decompress(body []byte, coding string) (string, error) {
	var r io.Reader
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return "", err
		}
		z.Multistream(false)
		r = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return "", err
		}
		defer z.Close()
		r = z
	default:
		return string(body), nil
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	const boundary = 16 << 10
	at := 0
	for ev := range strings.SplitAfterSeq(string(text), "\n\n") {
		ev, from := strings.TrimLeft(ev, ": \n"), at+len(ev)-len(strings.TrimLeft(ev, ": \n"))
		at = from + len(ev)
		if snapshot := strings.Contains(ev, "\nevent: snapshot\n"); !snapshot && strings.HasPrefix(ev, "id:") && len(ev) <= boundary && from/boundary != (at-1)/boundary {
			return "", fmt.Errorf("an event of %d bytes crosses a multiple of 16 KiB at %d", len(ev), from)
		}
	}
	return string(text), nil
}

// eventsOf returns the events of a text.
func eventsOf(text string) ([]sse.Event, error) {
	var evs []sse.Event
	for ev, err := range sse.NewReader(strings.NewReader(text), 0).All() {
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
	}
	return evs, nil
}

// readAll reads a stream to its end.
func readAll(res *http.Response) ([]sse.Event, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	text, err := decompress(body, res.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, err
	}
	return eventsOf(text)
}

// readSome reads at most n events of a stream, calls pause after each, and disconnects.
func readSome(res *http.Response, n int, pause func()) ([]sse.Event, error) {
	defer res.Body.Close()
	var z io.Reader = res.Body
	switch res.Header.Get("Content-Encoding") {
	case "gzip":
		z = &lazily{open: func() (io.Reader, error) { return gzip.NewReader(res.Body) }}
	case "zstd":
		d, err := zstd.NewReader(res.Body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		z = d
	}
	r := sse.NewReader(z, 0)
	var evs []sse.Event
	for len(evs) < n {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return evs, nil
		}
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
		pause()
	}
	return evs, nil
}

// TestThousandClientsShareFrames: the frames of a thousand clients are encoded once.
func TestThousandClientsShareFrames(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 1000
				if race.Enabled {
					n = 200
				}
				steps := make(chan struct{})
				bodies := everything(30, 5)
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{})
				defer s.close()
				first := s.ask("why?", "Accept-Encoding", coding)
				run := first.Header.Get("Sluice-Run-Id")
				var wg sync.WaitGroup
				var mu sync.Mutex
				distinct := map[string]int{}
				read := func(res *http.Response) {
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					distinct[string(body)]++
					mu.Unlock()
				}
				wg.Go(func() { read(first) })
				for range n - 1 {
					wg.Go(func() {
						res, err := s.try(t.Context(), "GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding)
						if err != nil {
							t.Error(err)
							return
						}
						read(res)
					})
				}
				for range bodies {
					synctest.Wait()
					steps <- struct{}{}
				}
				wg.Wait()
				if len(distinct) != 1 {
					t.Errorf("%d different bodies", len(distinct))
				}
				for body := range distinct {
					text, err := decompress([]byte(body), coding)
					evs, rerr := eventsOf(text)
					require.NoError(t, errors.Join(err, rerr, new(checker).all(evs)))
					if encoded, sent := s.metric("sluice_stream_frames_encoded_total"), s.metric("sluice_stream_frames_sent_total"); encoded != float64(len(evs)) || sent != encoded*float64(n) {
						t.Errorf("%g frames encoded and %g sent, of %d", encoded, sent, len(evs))
					}
				}
				if n := s.metric("sluice_stream_buffered_bytes"); n != 0 {
					t.Errorf("%g bytes are still buffered", n)
				}
			})
		})
	}
}

// TestLateResumedAndSlowClients: clients that come late, disconnect, resume and read slowly all get the whole run, and each of their
// bodies can be decompressed.
func TestLateResumedAndSlowClients(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		for seed := range uint64(2) {
			if race.Enabled && seed > 0 {
				break
			}
			t.Run(fmt.Sprint(coding, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { lateResumedAndSlowClients(t, coding, seed) })
			})
		}
	}
}

func lateResumedAndSlowClients(t *testing.T, coding string, seed uint64) {
	bodies := everything(150, 5)
	want := ""
	for i, b := range bodies { // several times 16 KiB
		if token, ok := b.(event.Token); ok {
			token.Text += strings.Repeat(" more", 150)
			want += token.Text
			bodies[i] = token
		}
	}
	want += " [1]"
	steps := make(chan struct{})
	s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{})
	defer s.close()
	first := s.ask("why?", "Accept-Encoding", coding)
	run := first.Header.Get("Sluice-Run-Id")
	var wg sync.WaitGroup
	check := func(who string, evs []sse.Event, err error) {
		if err == nil {
			err = new(checker).all(evs)
		}
		if text, _ := textAndNames(evs); err != nil || text != want {
			t.Errorf("%s: %d events, %v: %.60q", who, len(evs), err, text)
		}
	}
	began := time.Now()
	wg.Go(func() {
		defer first.Body.Close()
		body, err := io.ReadAll(first.Body)
		text, derr := decompress(body, coding)
		evs, rerr := eventsOf(text)
		check("the first client", evs, errors.Join(err, derr, rerr))
		// The bridges of zstd are comments, one at each sync point.
		syncPoints, most := strings.Count(text, "\n:"+strings.Repeat(" ", 17)+"\n"), 1+int(time.Since(began)/time.Second)
		if coding == "zstd" && (syncPoints == 0 || syncPoints > most) {
			t.Errorf("%d sync points, want 1 to %d", syncPoints, most)
		}
	})
	for i := range 16 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			var evs []sse.Event
			last := ""
			for range rng.IntN(6) { // connections that are cut
				res, err := s.try(t.Context(), "GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding, "Last-Event-ID", last)
				if err != nil {
					t.Error(err)
					return
				}
				more, err := readSome(res, 1+rng.IntN(40), func() { time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond) })
				if err != nil {
					t.Errorf("client %d after %q: %v", i, last, err)
					return
				}
				if evs = append(evs, more...); len(evs) > 0 {
					last = evs[len(evs)-1].ID
				}
				time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
			}
			res, err := s.try(t.Context(), "GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding, "Last-Event-ID", last)
			if err != nil {
				t.Error(err)
				return
			}
			more, err := readAll(res)
			check(fmt.Sprintf("client %d after %q", i, last), append(evs, more...), err)
		})
	}
	for range bodies {
		time.Sleep(20 * time.Millisecond)
		steps <- struct{}{}
	}
	wg.Wait()
}

// TestCutAfterEveryFrame: a client whose connection is cut after each frame of a live run, while another one stays, resumes after
// its last frame.
func TestCutAfterEveryFrame(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bodies := everything(40, 2)
				steps := make(chan struct{})
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{})
				defer s.close()
				first := s.ask("why?", "Accept-Encoding", coding)
				run := first.Header.Get("Sluice-Run-Id")
				var wg sync.WaitGroup
				var stays []sse.Event
				wg.Go(func() {
					var err error
					if stays, err = readAll(first); err != nil {
						t.Error(err)
					}
				})
				wg.Go(func() {
					for range bodies {
						time.Sleep(50 * time.Millisecond)
						steps <- struct{}{}
					}
				})
				var evs []sse.Event
				for last, ended := "", false; !ended; last = evs[len(evs)-1].ID {
					res := s.do("GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding, "Last-Event-ID", last)
					if res.StatusCode == http.StatusNoContent {
						res.Body.Close()
						break
					}
					more, err := readSome(res, 1, func() {})
					if err != nil || len(more) == 0 {
						t.Fatalf("after %q: %d events, %v", last, len(more), err)
					}
					evs = append(evs, more...)
				}
				wg.Wait()
				require.NoError(t, errors.Join(new(checker).all(evs), new(checker).all(stays)))
				if text, _ := textAndNames(evs); text != everythingText(40) {
					t.Errorf("text %q", text)
				}
			})
		})
	}
}

// noise returns text that hardly compresses.
func noise(rng *rand.Rand, n int) string {
	b := make([]byte, n*3/4)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// TestBufferIsBounded: the memory for a client that reads nothing is bounded, and the client misses nothing when it continues.
func TestBufferIsBounded(t *testing.T) {
	t.Parallel()
	for _, coding := range compressions {
		if race.Enabled && coding == "gzip" {
			continue
		}
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(5, 6))
				bodies := analysed(event.CacheChecked{}, event.GenerationStarted{})
				text := ""
				for range 220 {
					piece := noise(rng, 8000)
					bodies = append(bodies, event.Token{Text: piece})
					text += piece
				}
				bodies = append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{})
				steps := make(chan struct{})
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{WriteTimeout: time.Hour})
				defer s.close()
				stalls := s.ask("why?", "Accept-Encoding", coding)
				late := s.do("GET", "/runs/"+stalls.Header.Get("Sluice-Run-Id")+"/stream", "", "Accept-Encoding", coding)
				var wg sync.WaitGroup
				read := func(res *http.Response) {
					evs, err := readAll(res)
					if err == nil {
						err = new(checker).all(evs)
					}
					if got, _ := textAndNames(evs); err != nil || got != text {
						t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
					}
				}
				wg.Go(func() { read(late) })
				most := 0.0
				for i := range bodies {
					steps <- struct{}{}
					synctest.Wait()
					if i%8 == 0 {
						most = max(most, s.metric("sluice_stream_buffered_bytes"))
					}
				}
				if most > 256<<10 || most < 128<<10 {
					t.Errorf("%g bytes were buffered", most)
				}
				if n := s.metric("sluice_stream_compressors"); n != 0 {
					t.Errorf("%g compressors are in use after the end", n)
				}
				read(stalls)
				wg.Wait()
			})
		})
	}
}

// TestEveryClientLeaves: a broadcast goes on whichever client disconnects.
func TestEveryClientLeaves(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bodies := everything(30, 2)
				steps := make(chan struct{})
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, server.Options{})
				defer s.close()
				first := s.ask("why?", "Accept-Encoding", coding)
				run := first.Header.Get("Sluice-Run-Id")
				var leave []context.CancelFunc
				var wg sync.WaitGroup
				for range len(bodies) - 1 {
					ctx, cancel := context.WithCancel(t.Context())
					leave = append(leave, cancel)
					wg.Go(func() {
						res, err := s.try(ctx, "GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding)
						if err != nil {
							t.Error(err)
							return
						}
						defer res.Body.Close()
						_, _ = io.Copy(io.Discard, res.Body)
					})
				}
				var evs []sse.Event
				wg.Go(func() {
					var err error
					if evs, err = readAll(first); err != nil {
						t.Error(err)
					}
				})
				for i := range bodies {
					synctest.Wait()
					if i < len(leave) {
						leave[i]()
						synctest.Wait()
					}
					if n, want := s.readers(), max(1, len(leave)-i); n != want {
						t.Errorf("%d streams, want %d", n, want)
					}
					steps <- struct{}{}
				}
				wg.Wait()
				if err := new(checker).all(evs); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestEmptyBodies: a compressed stream without a frame is valid.
func TestEmptyBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, script(func(ctx context.Context, r *answer.Recorder) error { return emit(ctx, r, everything(3, 1)...) }), engine.Options{}, server.Options{})
		defer s.close()
		run, evs := s.answered("why?")
		for _, coding := range compressions {
			res := s.do("POST", "/api/query/stream", "", "Accept-Encoding", coding, "Sluice-Run-Id", run, "Last-Event-ID", evs[len(evs)-1].ID)
			if got, err := readAll(res); err != nil || len(got) != 0 || res.Header.Get("Content-Encoding") != coding {
				t.Errorf("%s: %v, %v", coding, got, err)
			}
			got, err := readAll(s.do("GET", "/runs/"+run+"/stream", "", "Accept-Encoding", coding))
			if text, _ := textAndNames(got); err != nil || text != everythingText(3) || !slices.ContainsFunc(got, func(e sse.Event) bool { return e.Name == "done" }) {
				t.Errorf("%s: %v, %v", coding, got, err)
			}
		}
	})
}
