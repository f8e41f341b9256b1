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
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/sse"
)

// paced is a protocol of snapshots: each frame tells the whole text and every step so far.
type paced struct {
	every time.Duration
	panic bool // at the first token
}

func (p paced) Name() string                                { return "paced" }
func (p paced) ContentType() string                         { return sse.ContentType }
func (p paced) New() wire.Projection                        { return &pacing{p: p} }
func (p paced) AppendFrame(dst []byte, f wire.Frame) []byte { return sse.AppendFrame(dst, f) }
func (p paced) AppendIdle(dst []byte) []byte                { return sse.AppendComment(dst, "idle") }
func (p paced) MinInterval() time.Duration                  { return p.every }
func (p paced) Coalesces(b event.Body) bool                 { _, text := b.(event.Token); return text }
func (p paced) view(q func(string) string) (wire.Protocol, error) {
	if s := q("every"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return nil, fault.Invalid("every", "want a time")
		}
		p.every = d
	}
	return p, nil
}

func (p paced) endpoint() server.Endpoint {
	return server.Endpoint{StreamPath: "/paced", API: wire.API{Protocol: p, Variant: p.view,
		Decode: func(body []byte, maxQuery int) (wire.Request, error) {
			var q struct {
				Query    string
				NoCache  bool `json:"no_cache"`
				Once     bool
				Every    string
				Previous event.RunID
				History  []event.Turn
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
			w.Variant, err = p.view(func(string) string { return q.Every })
			return w, err
		},
		Reply: func(log []event.Event) any { return snapshotOf(event.Fold(log)) },
		Fault: func(f *fault.Error) any { return map[string]string{"wrong": string(f.Code)} },
		Types: wire.Types{Request: forge.Request{}, Reply: snapshot{}, Fault: map[string]string{}, Events: []any{snapshot{}}},
	}}
}

// snapshot is a frame's data.
type snapshot struct {
	Text  string   `json:"text"`
	Steps []string `json:"steps"`
}

func snapshotOf(s event.State) snapshot {
	return snapshot{Text: string(s.Text), Steps: append([]string{string(s.Status)}, s.Tools...)}
}

type pacing struct {
	p     paced
	state event.State
	steps []string
}

func (p *pacing) Project(dst []wire.Frame, batch []event.Event) []wire.Frame {
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
		if err := json.Unmarshal([]byte(ev.Data), &s); err != nil {
			t.Fatal(err)
		}
		if i > 0 && (!strings.HasPrefix(s.Text, out[i-1].Text) || len(s.Steps) < len(out[i-1].Steps)) {
			t.Fatalf("snapshot %d takes something back", i)
		}
		out = append(out, s)
	}
	return out
}

var pacedOptions = server.Options{Protocols: []server.Endpoint{forgeEndpoint, paced{every: 100 * time.Millisecond}.endpoint()}}

// talking is a run that says a word each 20 ms, with a step between them now and then.
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

// TestPace: text waits until its time has come; what is no text goes out at once, with the text before it.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies, want := talking(100)
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, pacedOptions)
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
			res := s.do("POST", "/paced", question("why?"), "Accept-Encoding", coding)
			var at []time.Time
			var seen []snapshot
			evs, err := partly(res, 1000, func() { at = append(at, time.Now()) })
			if err != nil {
				t.Fatal(err)
			}
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
					t.Errorf("%q: a step was not told at once", coding)
				}
			}
		})
	}
}

// TestSlowReadersSkip: one that takes its time gets the newest state, each step at least once, and the whole text last,
// whether it reads alone or beside quicker ones.
func TestSlowReadersSkip(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		for _, beside := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				steps := make(chan struct{})
				bodies, want := talking(200)
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, pacedOptions)
				defer s.close()
				res := s.do("POST", "/paced", question("why?"), "Accept-Encoding", coding)
				var wg sync.WaitGroup
				quick := 0
				if beside {
					wg.Go(func() {
						evs, err := received(s.do("GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream?protocol=paced", "", "Accept-Encoding", coding))
						if quick = len(evs); err != nil || snapshots(t, evs)[quick-1].Text != want {
							t.Errorf("%q: the quick reader: %v", coding, err)
						}
					})
				}
				wg.Go(func() {
					for range bodies {
						time.Sleep(20 * time.Millisecond)
						steps <- struct{}{}
					}
				})
				evs, err := partly(res, 10000, func() { time.Sleep(900 * time.Millisecond) })
				wg.Wait()
				if err != nil {
					t.Fatalf("%q beside %v: %v", coding, beside, err)
				}
				seen := snapshots(t, evs)
				if last := seen[len(seen)-1]; last.Text != want || !slices.Contains(last.Steps, "run_finished") {
					t.Errorf("%q beside %v: the last of %d snapshots: %d bytes of %d", coding, beside, len(seen), len(last.Text), len(want))
				}
				// The decoder and the connection hold some more than the reader has taken.
				if len(seen) > 32 || beside && quick < 40 {
					t.Errorf("%q beside %v: %d snapshots, %d of the quick reader", coding, beside, len(seen), quick)
				}
			})
		}
	}
}

// TestPacedReadersOfAllKinds: those that come late, leave and come back end with the same state.
func TestPacedReadersOfAllKinds(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		t.Run("as "+coding, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				steps := make(chan struct{})
				bodies, want := talking(150)
				s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, pacedOptions)
				defer s.close()
				first := s.do("POST", "/paced", question("why?"), "Accept-Encoding", coding)
				path := "/runs/" + first.Header.Get("Sluice-Run-Id") + "/stream?protocol=paced"
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
							more, err = partly(res, 1+rng.IntN(10), func() { time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond) })
						} else {
							more, err = received(res)
						}
						if err != nil {
							t.Errorf("reader %d: %v", i, err)
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
						t.Errorf("reader %d: the last snapshot is %v", i, seen[len(seen)-1])
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

// TestPacedSilence: heartbeats come from the reader that makes the frames, and reach a reader that came late too.
func TestPacedSilence(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			steps := make(chan struct{})
			bodies, _ := talking(0)
			s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, pacedOptions)
			defer s.close()
			first := s.do("POST", "/paced", question("why?"), "Accept-Encoding", coding)
			var wg sync.WaitGroup
			count := func(res *http.Response) {
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				text, derr := inflated(body, coding)
				if n := strings.Count(text, ": idle\n\n"); err != nil || derr != nil || n != 15 { // one each 4 s, as there is no token yet
					t.Errorf("%q: %d signs of life, %v, %v", coding, n, err, derr)
				}
			}
			wg.Go(func() { count(first) })
			wg.Go(func() {
				time.Sleep(10 * time.Second)
				count(s.do("GET", "/runs/"+first.Header.Get("Sluice-Run-Id")+"/stream?protocol=paced", "", "Accept-Encoding", coding))
			})
			time.Sleep(62 * time.Second)
			for range bodies {
				steps <- struct{}{}
			}
			wg.Wait()
		})
	}
}

// TestPanicOfAProjection breaks the streams of its form off, and nothing else.
func TestPanicOfAProjection(t *testing.T) {
	t.Parallel()
	for _, coding := range append(compressions, "") {
		synctest.Test(t, func(t *testing.T) {
			bodies, _ := talking(10)
			o := server.Options{Protocols: []server.Endpoint{forgeEndpoint, paced{every: time.Millisecond, panic: true}.endpoint()}}
			s := inMemory(t, saying(bodies...), engine.Options{}, o)
			defer s.close()
			var wg sync.WaitGroup
			res := s.do("POST", "/paced", question("why?"), "Accept-Encoding", coding)
			for range 5 {
				wg.Go(func() {
					res, err := s.try(t.Context(), "GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream?protocol=paced", "", "Accept-Encoding", coding)
					if err == nil {
						defer res.Body.Close()
						_, err = io.ReadAll(res.Body)
					}
					if err == nil {
						t.Error("the stream seems whole")
					}
				})
			}
			if _, err := io.ReadAll(res.Body); err == nil {
				t.Error("the stream seems whole")
			}
			res.Body.Close()
			wg.Wait()
			s.answered("why?")
			synctest.Wait()
			if n := s.readers(); n != 0 || s.figure("sluice_stream_held_bytes") != 0 {
				t.Errorf("%d readers are left", n)
			}
		})
	}
}
