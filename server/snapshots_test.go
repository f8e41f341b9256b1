package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

var snapshotPlot = flag.String("snapshots", "", "file that the plot of snapshots' sizes is written to")

// snapshotForms are the measured forms of a stream, by what a request's address says of them.
var snapshotForms = []struct{ name, query string }{
	{"a snapshot each token", "&snapshots_per_second=100"}, {"20 snapshots a second", "&snapshots_per_second=20"},
	{"10 snapshots a second", ""}, {"2 snapshots a second", "&snapshots_per_second=2"}, {"deltas", "&mode=delta"},
}

// snapshotCodings are the codings that each is measured in.
var snapshotCodings = []string{"", "gzip", "zstd"}

// TestSizeOfSnapshots streams an answer of 1,000 tokens in each form and coding, all from one run, through the real
// handlers and at its pace, and holds the sizes to the aims.
func TestSizeOfSnapshots(t *testing.T) {
	race.Measure(t)
	t.Parallel()
	sizes := map[string]map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		bodies := server.SnapshotRun(t)
		s := inMemory(t, script(func(ctx context.Context, r *answer.Recorder) error {
			for _, b := range bodies[:len(bodies)-1] { // the engine writes the last
				if _, token := b.(event.Token); token {
					time.Sleep(time.Second / server.SnapshotRate)
				}
				if err := emit(ctx, r, b); err != nil {
					return err
				}
			}
			return nil
		}), engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		first := s.ask("what may I do with it?")
		var wg sync.WaitGroup
		var mu sync.Mutex
		wg.Go(func() { _, _ = io.Copy(io.Discard, first.Body); first.Body.Close() })
		for _, f := range snapshotForms {
			sizes[f.name] = map[string]int{}
			for _, coding := range snapshotCodings {
				wg.Go(func() {
					res := s.do("GET", "/runs/"+first.Header.Get("Sluice-Run-Id")+"/stream?protocol=knowledge"+f.query, "", "Accept-Encoding", coding)
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					text, derr := inflated(body, coding)
					if err != nil || derr != nil || res.StatusCode != 200 || !wholeAnswer(text, bodies) {
						t.Errorf("%s in %q: %s, %v, %v: %d bytes", f.name, coding, res.Status, err, derr, len(text))
					}
					mu.Lock()
					defer mu.Unlock()
					sizes[f.name][coding] = len(body)
				})
			}
		}
		wg.Wait()
	})
	for _, f := range snapshotForms {
		t.Logf("| %s | %d | %d | %d |", f.name, sizes[f.name][""], sizes[f.name]["gzip"], sizes[f.name]["zstd"])
		for coding, most := range server.SnapshotAims[f.name] {
			if got := sizes[f.name][coding]; got > most {
				t.Errorf("%s in %s: %d bytes, want at most %d", f.name, coding, got, most)
			}
		}
	}
	if *snapshotPlot != "" {
		if err := os.WriteFile(*snapshotPlot, plotted(sizes), 0o644); err != nil { //nolint:gosec // a picture for everybody
			t.Error(err)
		}
	}
}

// wholeAnswer tells whether the last snapshot of a stream holds the whole text.
func wholeAnswer(stream string, bodies []event.Body) bool {
	evs, err := eventsOf(stream)
	if err != nil {
		return false
	}
	want := ""
	for _, b := range bodies {
		if token, ok := b.(event.Token); ok {
			want += token.Text
		}
	}
	for i := len(evs) - 1; i >= 0; i-- {
		var r knowledge.Response
		if json.Unmarshal([]byte(evs[i].Data), &r) != nil || evs[i].Name != knowledge.EventCompleted {
			continue
		}
		return strings.HasSuffix(evs[i].Data, "}") && strings.Contains(evs[i].Data, jsonText(want[len(want)-100:]))
	}
	return false
}

func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b[1 : len(b)-1])
}

// plotted draws the sizes as bars over a scale of powers of ten.
func plotted(sizes map[string]map[string]int) []byte {
	const left, top, bar, gap, width, low, high = 170, 62, 16, 16, 560, 3, 7
	var b strings.Builder
	height := top + len(snapshotForms)*(3*bar+gap) + 34
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="Bytes of a stream by form and coding">`+"\n",
		left+width+90, height)
	b.WriteString(`<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.small{font-size:10.5px;fill:#57606a}.title{font-size:15px;font-weight:600}
.ground{fill:#ffffff}.grid{stroke:#d8dee4}.m0{fill:#8fb3dd}.m1{fill:#d9822b}.m2{fill:#57ab7a}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}.ground{fill:#0f1419}.grid{stroke:#2a323b}.m0{fill:#456f9f}}
</style>
`)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n", left+width+90, height)
	b.WriteString(`<text class="title" x="16" y="24">An answer of 1,000 tokens with five sources, streamed</text>` + "\n")
	x := 16
	names := []string{"plain", "gzip", "zstd"}
	for i, name := range names {
		fmt.Fprintf(&b, `<rect class="m%d" x="%d" y="36" width="11" height="11"/><text x="%d" y="46">%s</text>`+"\n", i, x, x+16, name)
		x += 64
	}
	scale := func(n int) int { return int((math.Log10(float64(n)) - low) / (high - low) * width) }
	for e := low; e <= high; e++ {
		at := left + (e-low)*width/(high-low)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", at, top-6, at, height-28)
		fmt.Fprintf(&b, `<text class="small" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", at, height-12, []string{"1 KB", "10 KB", "100 KB", "1 MB", "10 MB"}[e-low])
	}
	for i, f := range snapshotForms {
		y := top + i*(3*bar+gap)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-10, y+3*bar/2+4, f.name)
		for j, coding := range snapshotCodings {
			n := sizes[f.name][coding]
			fmt.Fprintf(&b, `<rect class="m%d" x="%d" y="%d" width="%d" height="%d"><title>%s, %s: %d bytes</title></rect>`, j, left, y+j*bar, scale(n), bar-3, f.name, names[j], n)
			fmt.Fprintf(&b, `<text class="small" x="%d" y="%d">%s</text>`+"\n", left+scale(n)+5, y+j*bar+10, kilobytes(n))
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func kilobytes(n int) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1e3)
}

// TestUnknownPathsHaveTheirProtocolsForm: an error for an unknown path has the form of the protocol that has the same first
// segment, or of the first protocol.
func TestUnknownPathsHaveTheirProtocolsForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, nil, engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		for path, e := range map[string]wire.API{"/v1/none": knowledge.API(), "/v1": knowledge.API(), "/v10": forge.API(), "/api/none": forge.API(), "/none": forge.API()} {
			want, err := json.Marshal(e.Fault(fault.New(fault.NotFound, "no such page; /docs/ lists the routes")))
			if err != nil {
				t.Fatal(err)
			}
			res := s.do("GET", path, "")
			if body := strings.TrimSpace(slurp(t, res.Body)); res.StatusCode != 404 || body != string(want) {
				t.Errorf("%s: %s: %s, want %s", path, res.Status, body, want)
			}
		}
	})
}

// TestFormsAreInTheDocument: the parameters that select a variant are in the document.
func TestFormsAreInTheDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, nil, engine.Options{}, server.Options{Protocols: []server.Endpoint{forgeEndpoint, knowledgeEndpoint}})
		defer s.close()
		var names []string
		for _, p := range openDocument(t, s).paths["/runs/{id}/stream"]["get"].Parameters {
			names = append(names, p.In+" "+p.Name)
		}
		for _, want := range []string{"query mode", "query snapshots_per_second", "query protocol"} {
			if !slices.Contains(names, want) {
				t.Errorf("no %s among %q", want, names)
			}
		}
		res := s.do("GET", "/runs/run_1/stream?protocol=knowledge&mode=other", "")
		if body := slurp(t, res.Body); res.StatusCode != 400 || !strings.Contains(body, `"detail":{"field":"mode"}`) {
			t.Errorf("%s, which is not the protocol's: %s", res.Status, body)
		}
	})
}
