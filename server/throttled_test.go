package server_test

import (
	"encoding/json"
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

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/sse"
)

// throttled is a protocol of snapshots: each frame holds the whole text and every step so far.
type throttled struct {
	every time.Duration
	panic bool // at the first token
}

func (p throttled) Name() string                                { return "throttled" }
func (p throttled) ContentType() string                         { return sse.ContentType }
func (p throttled) New() wire.Projection                        { return &throttledProjection{p: p} }
func (p throttled) AppendFrame(dst []byte, f wire.Frame) []byte { return sse.AppendFrame(dst, f) }
func (p throttled) MinInterval() time.Duration                  { return p.every }
func (p throttled) Coalesces(b event.Body) bool                 { _, text := b.(event.Token); return text }

func view(base wire.Protocol, q func(string) string) (wire.Protocol, error) {
	p := base.(throttled)
	if s := q("every"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return nil, fault.Invalid("every", "want a time")
		}
		p.every = d
	}
	return p, nil
}

func (p throttled) endpoint() server.Endpoint {
	return server.Endpoint{StreamPath: "/throttled", API: wire.API{Protocol: p, Variant: view,
		Decode: func(body []byte, maxQuery int) (wire.Request, error) {
			var q struct {
				Query    string
				NoCache  bool `json:"no_cache"`
				Once     bool
				Every    string
				Previous event.RunID
				History  []event.Message
			}
			if err := json.Unmarshal(body, &q); err != nil {
				return wire.Request{}, fault.Invalid("body", "no object")
			}
			body, err := json.Marshal(forge.Request{Query: q.Query, Mode: event.Agentic, NoCache: q.NoCache})
			if err != nil {
				return wire.Request{}, err
			}
			w, err := forge.API().Decode(body, maxQuery)
			if err != nil {
				return w, err
			}
			w.NoStream, w.Previous, w.History = q.Once, q.Previous, q.History
			w.Variant, err = view(p, func(string) string { return q.Every })
			return w, err
		},
		Reply: func(log []event.Event) any { return snapshotOf(event.Fold(log)) },
		Fault: func(f *fault.Error) any { return map[string]string{"wrong": string(f.Code)} },
		Types: wire.Types{Request: forge.Request{}, Reply: snapshot{}, Fault: map[string]string{}, Events: []any{snapshot{}}},
	}}
}

// snapshot is the data of a frame.
type snapshot struct {
	Text  string   `json:"text"`
	Steps []string `json:"steps"`
}

func snapshotOf(s event.State) snapshot {
	return snapshot{Text: string(s.Text), Steps: append([]string{string(s.Status)}, s.Tools...)}
}

type throttledProjection struct {
	p     throttled
	state event.State
	steps []string
}

func (p *throttledProjection) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
	for _, e := range batch {
		if _, text := e.Body.(event.Token); !text {
			p.steps = append(p.steps, string(e.Body.Kind()))
		} else if p.p.panic {
			panic("a protocol's mistake")
		}
		p.state.Apply(e)
	}
	data, err := json.Marshal(snapshot{string(p.state.Text), p.steps})
	if err != nil {
		panic(err)
	}
	return append(dst, wire.Frame{ID: wire.Cursor{Seq: p.state.Seq}, Event: "snapshot", Data: data})
}

func snapshots(t *testing.T, evs []sse.Event) []snapshot {
	t.Helper()
	var out []snapshot
	for i, ev := range evs {
		var s snapshot
		require.NoError(t, json.Unmarshal([]byte(ev.Data), &s))
		if i > 0 && (!strings.HasPrefix(s.Text, out[i-1].Text) || len(s.Steps) < len(out[i-1].Steps)) {
			t.Fatalf("snapshot %d lacks something of the one before", i)
		}
		out = append(out, s)
	}
	return out
}

var throttledOptions = server.Options{Protocols: []server.Endpoint{forgeEndpoint, throttled{every: 100 * time.Millisecond}.endpoint()}}

// talking returns a run of words with a step after every 37th word, and its text.
func talking(words int) ([]event.Body, string) {
	bodies := analysed(event.CacheChecked{}, event.GenerationStarted{})
	text := ""
	for i := range words {
		word := fmt.Sprintf(" word%d", i)
		text += word
		if bodies = append(bodies, event.Token{Text: word}); i%37 == 36 {
			bodies = append(bodies, event.Warned{Code: fault.Model, Message: "slow", Step: "generate"})
		}
	}
	return append(bodies, event.GenerationFinished{Reason: "stop"}, event.Verified{}, event.Attributed{}), text
}

// TestThrottling: text is sent once per interval; other events are sent at once, with the text before them.
func TestThrottling(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies, want := talking(100)
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, throttledOptions)
			defer s.close()
			var warned []time.Time
			go func() {
				for _, b := range bodies {
					time.Sleep(20 * time.Millisecond)
					if _, ok := b.(event.Warned); ok {
						warned = append(warned, time.Now())
					}
					steps <- struct{}{}
				}
			}()
			res := s.do("POST", "/throttled", question("why?"), "Accept-Encoding", coding)
			var at []time.Time
			var seen []snapshot
			evs, err := readSome(res, 1000, func() { at = append(at, time.Now()) })
			require.NoError(t, err)
			seen = snapshots(t, evs)
			if last := seen[len(seen)-1]; last.Text != want || !slices.Contains(last.Steps, "run_finished") {
				t.Errorf("%q: the last snapshot is %v", coding, last)
			}
			texts := 0
			for i := range seen[1:] {
				if i++; len(seen[i].Steps) > len(seen[i-1].Steps) {
					continue
				}
				texts++
				if gap := at[i].Sub(at[i-1]); gap < 100*time.Millisecond || gap > 120*time.Millisecond {
					t.Errorf("%q: text after %v", coding, gap)
				}
			}
			if texts < 18 || texts > 22 { // in two seconds
				t.Errorf("%q: %d frames of text", coding, texts)
			}
			for _, w := range warned {
				if !slices.Contains(at, w) {
					t.Errorf("%q: a step was not sent at once", coding)
				}
			}
		})
	}
}

// TestSlowClients: a slow client gets the newest state each time, and the whole text at the end, if it is the only client or uses
// no compression. Otherwise it gets the same snapshots as the other clients, which are small when compressed.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		for _, beside := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				steps := make(chan struct{})
				bodies, want := talking(200)
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, throttledOptions)
				defer s.close()
				res := s.do("POST", "/throttled", question("why?"), "Accept-Encoding", coding)
				var wg sync.WaitGroup
				quick := 0
				if beside {
					wg.Go(func() {
						evs, err := readAll(s.do("GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream?protocol=throttled", "", "Accept-Encoding", coding))
						if quick = len(evs); err != nil || snapshots(t, evs)[quick-1].Text != want {
							t.Errorf("%q: the quick client: %v", coding, err)
						}
					})
				}
				wg.Go(func() {
					for range bodies {
						time.Sleep(20 * time.Millisecond)
						steps <- struct{}{}
					}
				})
				evs, err := readSome(res, 10000, func() { time.Sleep(900 * time.Millisecond) })
				wg.Wait()
				if err != nil {
					t.Fatalf("%q beside %v: %v", coding, beside, err)
				}
				seen := snapshots(t, evs)
				if last := seen[len(seen)-1]; last.Text != want || !slices.Contains(last.Steps, "run_finished") {
					t.Errorf("%q beside %v: the last of %d snapshots: %d bytes of %d", coding, beside, len(seen), len(last.Text), len(want))
				}
				// The decoder and the connection buffer some more than the client has read.
				if shared := beside && coding != ""; !shared && len(seen) > 32 || shared && len(seen) != quick || beside && quick < 40 {
					t.Errorf("%q beside %v: %d snapshots, %d of the quick client", coding, beside, len(seen), quick)
				}
			})
		}
	}
}

// TestThrottledLateAndResumedClients: clients that come late, or disconnect and resume, end with the same state.
func TestThrottledLateAndResumedClients(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		t.Run("as "+coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				steps := make(chan struct{})
				bodies, want := talking(150)
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, throttledOptions)
				defer s.close()
				first := s.do("POST", "/throttled", question("why?"), "Accept-Encoding", coding)
				path := "/runs/" + first.Header.Get("Sluice-Run-Id") + "/stream?protocol=throttled"
				var wg sync.WaitGroup
				wg.Go(func() {
					for range bodies {
						time.Sleep(20 * time.Millisecond)
						steps <- struct{}{}
					}
				})
				read := func(i int, res *http.Response) {
					rng := rand.New(rand.NewPCG(7, uint64(i)))
					var evs []sse.Event
					for n := rng.IntN(4); ; n-- {
						var more []sse.Event
						var err error
						if n > 0 {
							more, err = readSome(res, 1+rng.IntN(10), func() { time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond) })
						} else {
							more, err = readAll(res)
						}
						if err != nil {
							t.Errorf("client %d: %v", i, err)
							return
						}
						if evs = append(evs, more...); n <= 0 {
							break
						}
						after := ""
						if len(evs) > 0 {
							after = evs[len(evs)-1].ID
						}
						res = s.do("GET", path, "", "Accept-Encoding", coding, "Last-Event-ID", after)
					}
					if seen := snapshots(t, evs); seen[len(seen)-1].Text != want || !slices.Contains(seen[len(seen)-1].Steps, "run_finished") {
						t.Errorf("client %d: the last snapshot is %v", i, seen[len(seen)-1])
					}
				}
				wg.Go(func() { read(0, first) })
				for i := range 15 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * 270 * time.Millisecond)
						read(i+1, s.do("GET", path, "", "Accept-Encoding", coding))
					})
				}
				wg.Wait()
			})
		})
	}
}

// TestThrottledHeartbeats: a heartbeat is a part of the shared broadcast, so a late client gets those before it too. A plain stream
// of a throttled protocol has its own.
func TestThrottledHeartbeats(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies, _ := talking(0)
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, throttledOptions)
			defer s.close()
			first := s.do("POST", "/throttled", question("why?"), "Accept-Encoding", coding)
			var wg sync.WaitGroup
			count := func(res *http.Response, want int) {
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				text, derr := decompress(body, coding)
				if n := strings.Count(text, ": keep-alive\n\n"); err != nil || derr != nil || n != want { // one each 4 s, as there is no token yet
					t.Errorf("%q: %d heartbeats, want %d, %v, %v", coding, n, want, err, derr)
				}
			}
			wg.Go(func() { count(first, 15) })
			wg.Go(func() {
				time.Sleep(11 * time.Second)
				late := 15
				if coding == "" {
					late = 12
				}
				count(s.do("GET", "/runs/"+first.Header.Get("Sluice-Run-Id")+"/stream?protocol=throttled", "", "Accept-Encoding", coding), late)
			})
			time.Sleep(62 * time.Second)
			for range bodies {
				steps <- struct{}{}
			}
			wg.Wait()
		})
	}
}

// TestPanicOfAProjection: a panic in a protocol aborts the streams of its variant, and nothing else.
func TestPanicOfAProjection(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			bodies, _ := talking(10)
			o := server.Options{Protocols: []server.Endpoint{forgeEndpoint, throttled{every: time.Millisecond, panic: true}.endpoint()}}
			s := inMemory(t, saying(bodies...), engine.Options{}, o)
			defer s.close()
			var wg sync.WaitGroup
			res := s.do("POST", "/throttled", question("why?"), "Accept-Encoding", coding)
			for range 5 {
				wg.Go(func() {
					res, err := s.try(t.Context(), "GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream?protocol=throttled", "", "Accept-Encoding", coding)
					if err == nil {
						defer res.Body.Close()
						_, err = io.ReadAll(res.Body)
					}
					if err == nil {
						t.Error("the stream seems complete")
					}
				})
			}
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Error("the stream seems complete")
			}
			res.Body.Close()
			wg.Wait()
			s.answered("why?")
			synctest.Wait()
			if n := s.readers(); n != 0 || s.metric("sluice_stream_buffered_bytes") != 0 {
				t.Errorf("%d streams are open", n)
			}
		})
	}
}
