package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/ragevents"
	"github.com/sluice-rag/sluice/wire/sse"
)

var ragEndpoint = server.Endpoint{API: ragevents.API(), StreamPath: "/functions/v1/rag"}

// allProtocols are the options of a server with every protocol.
func allProtocols() server.Options {
	return server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint, ragEndpoint}}
}

// paidRun is a run that was charged.
func paidRun(n, sources int) []event.Body {
	return append(everything(n, sources), event.Settled{Transaction: "tx_1", Type: "query_usage", Fee: 23_600, Distributed: 14_160, Before: 99_976_400,
		After: 99_952_800, Duration: 3400, Shares: []event.Share{{Document: "d_1", Contributor: "jane", Portion: event.PortionUnit, Earned: new(event.Credits(14_160)), Chunks: sources}}})
}

// TestRagSampleClient runs the sample of the protocol as it was published.
func TestRagSampleClient(t *testing.T) {
	t.Parallel()
	node := needs.Program(t, "node")
	s := serve(t, byQuestion(map[string]script{"short": saying(paidRun(20, 1)...), "long": saying(paidRun(3000, 5)...), "wide": saying(paidRun(20, 50)...)}),
		engine.Options{}, allProtocols())
	for _, name := range []string{"short", "long", "wide"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Answer string
				KPI    struct {
					TTFMs, TotalDurationMs, PlatformFee, ROCDistributed, Confidence *float64
					SourcesContributed                                              *bool
				}
			}
			line := lines(t, exec.Command(node, "testdata/clients/run_rag.mjs", s.url, name+" run"))[0]
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			k := got.KPI
			if k.TTFMs == nil || k.TotalDurationMs == nil || k.PlatformFee == nil || k.ROCDistributed == nil || k.Confidence == nil || k.SourcesContributed == nil {
				t.Fatalf("a value is missing: %.300s", line[max(len(line)-300, 0):])
			}
			if *k.TTFMs < 0 || *k.TotalDurationMs < *k.TTFMs || *k.PlatformFee != 0.0236 || *k.ROCDistributed != 0.01416 || *k.Confidence < 65 || *k.Confidence > 95 || !*k.SourcesContributed {
				t.Errorf("%.300s", line[max(len(line)-300, 0):])
			}
			evs := s.rag(name + " run")
			if text := results(t, evs); got.Answer != text || !strings.HasPrefix(text, " word0") || !strings.HasSuffix(text, " [1]") {
				t.Errorf("the client has %d bytes of text, the stream %d", len(got.Answer), len(text))
			}
		})
	}
}

// rag asks a question in the ragevents protocol and returns the whole stream.
func (s *site) rag(question string) []sse.Event {
	s.t.Helper()
	res := s.do("POST", ragEndpoint.StreamPath, fmt.Sprintf(`{"question":%q}`, question))
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", res.Status, slurp(s.t, res.Body))
	}
	return s.ragStream(res)
}

// ragStream reads a stream and checks its grammar.
func (s *site) ragStream(res *http.Response) []sse.Event {
	s.t.Helper()
	evs, err := readAll(res)
	require.NoError(s.t, err)
	var g ragevents.Grammar
	for _, ev := range evs {
		if err := g.Next(ragName(s.t, ev)); err != nil {
			s.t.Fatalf("%v: %.200s", err, ev.Data)
		}
	}
	if !g.Ended() {
		s.t.Fatal("the stream has no end")
	}
	return evs
}

// ragName returns the name of an event for the grammar.
func ragName(t testing.TB, ev sse.Event) string {
	t.Helper()
	var p struct {
		Type, Phase, Event string
		Data               struct{ Chunk map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(ev.Data), &p))
	switch {
	case p.Phase != "":
		return p.Phase
	case p.Event == "on_chain_stream":
		for field := range p.Data.Chunk {
			if slices.Contains([]string{"context", "sourceRelevance", "answer"}, field) {
				return field
			}
		}
	case p.Event != "":
		return p.Event
	}
	return p.Type
}

func results(t testing.TB, evs []sse.Event) string {
	t.Helper()
	var text strings.Builder
	for _, ev := range evs {
		var p ragevents.Results
		if strings.HasPrefix(ev.Data, `{"type":"results"`) {
			require.NoError(t, json.Unmarshal([]byte(ev.Data), &p))
			text.WriteString(p.Chunk)
		}
	}
	return text.String()
}

// TestRagRunInAnyProtocol checks that a run which was started in one protocol can be read in the others.
func TestRagRunInAnyProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(paidRun(30, 3)...), engine.Options{}, allProtocols())
	for _, e := range allProtocols().Protocols {
		body := map[string]string{"forge": `{"query":"why?","no_cache":true}`, "knowledge": `{"input":"why?","stream":true,"model":"m"}`, "ragevents": `{"question":"why?","no_cache":true}`}[e.Name()]
		res := s.do("POST", e.StreamPath, body)
		own, err := readAll(res)
		if err != nil || res.StatusCode != http.StatusOK || len(own) == 0 {
			t.Fatalf("%s: %s, %v", e.Name(), res.Status, err)
		}
		run := res.Header.Get("Sluice-Run-Id")
		rag := s.ragStream(s.do("GET", "/runs/"+run+"/stream?protocol=ragevents", ""))
		if text := results(t, rag); !strings.HasSuffix(text, " [1]") {
			t.Errorf("a run of %s: %q", e.Name(), text)
		}
		forge, err := readAll(s.do("GET", "/runs/"+run+"/stream?protocol=forge", ""))
		require.NoError(t, err)
		if text, _ := textAndNames(forge); text != results(t, rag) {
			t.Errorf("a run of %s has the text %q in forge", e.Name(), text)
		}
		if e.Name() == ragevents.Name {
			if diff := cmp.Diff(own, rag); diff != "" {
				t.Errorf("the run is replayed with other frames (-live +replayed):\n%.2000s", diff)
			}
			s.resumesEverywhere(run, own)
		}
	}
}

// resumesEverywhere checks that a stream can be resumed after each of its frames, on both routes.
func (s *site) resumesEverywhere(run string, evs []sse.Event) {
	s.t.Helper()
	for i, ev := range evs[:len(evs)-1] {
		for _, res := range []*http.Response{s.do("GET", "/runs/"+run+"/stream?protocol=ragevents", "", "Last-Event-ID", ev.ID),
			s.do("POST", ragEndpoint.StreamPath, "", "Sluice-Run-Id", run, "Last-Event-ID", ev.ID)} {
			rest, err := readAll(res)
			if diff := cmp.Diff(evs[i+1:], rest); err != nil || diff != "" {
				s.t.Fatalf("after %s: %v (-want +got):\n%.2000s", ev.ID, err, diff)
			}
		}
	}
}

// TestRagHeartbeats checks that a stream without events has a heartbeat of the protocol each 15 s, with the server's time.
func TestRagHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{})
		bodies := paidRun(3, 1)
		s := inMemory(t, stepwise(steps, bodies), engine.Options{Deadline: time.Hour}, allProtocols())
		defer s.close()
		res := s.do("POST", ragEndpoint.StreamPath, `{"question":"why?"}`)
		go func() {
			time.Sleep(46 * time.Second)
			for range bodies {
				steps <- struct{}{}
			}
		}()
		begin := time.Now()
		var beats []string
		for _, ev := range s.ragStream(res) {
			if strings.HasPrefix(ev.Data, `{"type":"heartbeat"`) {
				beats = append(beats, ev.Data)
			}
		}
		var want []string
		for _, after := range []time.Duration{15, 30, 45} {
			want = append(want, fmt.Sprintf(`{"type":"heartbeat","timestamp":"%s"}`, begin.Add(after*time.Second).UTC().Format("2006-01-02T15:04:05.000Z")))
		}
		if diff := cmp.Diff(want, beats); diff != "" {
			t.Errorf("heartbeats (-want +got):\n%s", diff)
		}
	})
}

// TestRagFaults checks the form of errors that precede a stream, and the reply without a stream.
func TestRagFaults(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(paidRun(5, 2)...), engine.Options{}, allProtocols())
	res := s.do("POST", ragEndpoint.StreamPath, `{"question":"why?","method":"Guess"}`)
	var fault ragevents.Error
	if err := json.NewDecoder(res.Body).Decode(&fault); err != nil || res.StatusCode != http.StatusBadRequest || fault.Type != "error" || fault.Field != "method" {
		t.Errorf("%s: %+v, %v", res.Status, fault, err)
	}
	res = s.do("POST", ragEndpoint.StreamPath, `{"question":"why?","stream":false}`)
	var a ragevents.Answer
	dec := json.NewDecoder(bytes.NewReader([]byte(slurp(t, res.Body))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil || res.StatusCode != http.StatusOK || a.RunID != res.Header.Get("Sluice-Run-Id") || a.Transaction.PlatformFee != 23_600 || len(a.Sources) != 1 {
		t.Errorf("%s: %+v, %v", res.Status, a, err)
	}
}

// TestRagExamples runs the examples of the protocol.
func TestRagExamples(t *testing.T) {
	t.Parallel()
	s := serve(t, saying(paidRun(20, 2)...), engine.Options{}, allProtocols())
	for name, args := range map[string][]string{
		"rag.sh":  {needs.Program(t, "bash"), "../examples/rag.sh"},
		"rag.mjs": {needs.Program(t, "node"), "../examples/rag.mjs"},
		"rag.py":  {needs.Python(t, "urllib.request"), "../examples/rag.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(args[0], append(args[1:], `Say "why"?`)...)
			cmd.Env = append(cmd.Environ(), "SLUICE_URL="+s.url, "no_proxy=*", "PYTHONIOENCODING=utf-8")
			out := strings.Join(lines(t, cmd), "\n")
			for _, want := range []string{"word0", " [1]", "1 passage of 1 document", "0.0236"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in the output: %.500s", want, out)
				}
			}
		})
	}
}
