package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/filelog"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/wire/sse"
)

// child starts a server in a process of its own and returns its address.
func child(t *testing.T, args ...string) (url string, server *program.Server) {
	t.Helper()
	s := program.Serve(t, program.Command(t, append([]string{"serve", "--addr=127.0.0.1:0"}, args...)...))
	return s.URL, s
}

// frames reads a stream to its end, or to the first frame that holds a text.
func frames(t *testing.T, method, url, body string, header map[string]string, until string) (run string, out []sse.Event) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, url, res.Status)
	}
	for e, err := range sse.NewReader(res.Body, 1<<20).All() {
		require.NoError(t, err)
		if out = append(out, e); until != "" && strings.Contains(e.Data, until) {
			break
		}
	}
	return res.Header.Get("Sluice-Run-Id"), out
}

// joined returns the events with all tokens joined, first, since frames may hold one token or several.
func joined(t *testing.T, frames []sse.Event) []sse.Event {
	t.Helper()
	out := []sse.Event{{Name: "token"}}
	for _, f := range frames {
		if f.Name != "token" {
			out = append(out, f)
			continue
		}
		var token struct{ Content string }
		require.NoError(t, json.Unmarshal([]byte(f.Data), &token))
		out[0].Data += token.Content
	}
	return out
}

// TestKilledServerContinuesItsAnswers kills a server in the middle of an answer. The next server continues the answer, and a
// reader that comes back has each event once.
func TestKilledServerContinuesItsAnswers(t *testing.T) {
	const said = "A ship pays 12 euros for each metre of its length ⟦1⟧. Fishing boats pay nothing ⟦1⟧."
	words := strings.SplitAfter(said, " ")
	s := modeltest.NewOpenAI(t, modeltest.Script{Next: func(n int, _ []byte) modeltest.Script {
		if n == 0 {
			return modeltest.Script{Tokens: words, Fail: modeltest.Stall, After: 6}
		}
		return modeltest.Script{Tokens: words[6:]}
	}})
	args := []string{"--docs=" + docs(t), "--data=" + t.TempDir(), "--judge=none", "--model-url=" + s.URL, "--deadline=10m", "--model-stall=5m"}
	url, first := child(t, args...)
	run, before := frames(t, http.MethodPost, url+"/api/query/stream", `{"query":"What does a ship pay for each metre?","mode":"direct"}`, nil, `for"`)
	first.Kill()

	url, _ = child(t, args...)
	last := map[string]string{"Last-Event-ID": before[len(before)-1].ID}
	_, after := frames(t, http.MethodGet, url+"/runs/"+run+"/stream", "", last, "")
	_, whole := frames(t, http.MethodGet, url+"/runs/"+run+"/stream", "", nil, "")
	if d := cmp.Diff(joined(t, whole), joined(t, slices.Concat(before, after))); d != "" {
		t.Errorf("the reader's events (-log +read)\n%s", d)
	}
	if text := joined(t, whole)[0].Data; text != "A ship pays 12 euros for each metre of its length [1]. Fishing boats pay nothing [1]." || whole[len(whole)-1].Name != "done" {
		t.Errorf("the answer is %q, the end %s", text, whole[len(whole)-1].Name)
	}
	if n := s.Counts().Requests; n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// unfinished makes a data folder with a run that a crash cut off.
func unfinished(t *testing.T, unstored bool) (data string) {
	t.Helper()
	data = t.TempDir()
	runs := filepath.Join(data, "runs")
	require.NoError(t, os.Mkdir(runs, 0o700))
	log, err := filelog.Open(runs, filelog.Options{})
	require.NoError(t, err)
	start := event.RunStarted{Run: "run_1", Protocol: "forge", Question: event.Question{Query: "What does a ship pay?", Mode: event.Direct, Collection: "default", TopK: 5, Ephemeral: unstored}}
	for i, b := range []event.Body{start, event.QueryAnalyzed{Complexity: event.Simple, Mode: event.Direct, By: "rules"}} {
		require.NoError(t, log.Append(t.Context(), start.Run, event.Event{Seq: event.Seq(i + 1), At: time.Now().UTC().Truncate(time.Microsecond), Body: b}))
	}
	require.NoError(t, log.Close())
	return data
}

// left checks that the unfinished run is as the crash left it.
func left(t *testing.T, data string) {
	t.Helper()
	log, err := filelog.Open(filepath.Join(data, "runs"), filelog.Options{})
	require.NoError(t, err)
	defer log.Close()
	runs, err := log.Runs(t.Context(), "", 10)
	i := slices.IndexFunc(runs, func(s eventlog.Summary) bool { return s.Start.Run == "run_1" })
	if err != nil || i < 0 || runs[i].Ended || runs[i].Last != 2 {
		t.Errorf("runs: %+v, %v; want run_1 with 2 events and no end", runs, err)
	}
}

// TestCommandsLeaveUnfinishedRuns checks that commands without a server change no run that the server would resume.
func TestCommandsLeaveUnfinishedRuns(t *testing.T) {
	docs := docs(t)
	for name, c := range map[string]struct {
		unstored bool
		args     []string
		says     string
	}{
		"runs":            {false, []string{"runs"}, "What does a ship pay?"},
		"runs, ephemeral": {true, []string{"runs"}, ""},
		"replay":          {false, []string{"replay", "run_1"}, "event: query_analysis"},
		"ask":             {false, []string{"ask", "--json", "What", "does", "a", "ship", "pay?"}, `"type":"done"`},
		"ask, ephemeral":  {true, []string{"ask", "--json", "thanks"}, `"type":"done"`},
		"ingest":          {false, []string{"ingest", docs}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			data := unfinished(t, c.unstored)
			if c.args[0] == "ask" {
				if status, _, errs := run(t, "ingest", "--data="+data, docs); status != 0 {
					t.Fatal(errs)
				}
			}
			if status, out, errs := run(t, append(c.args, "--data="+data)...); status != 0 || !strings.Contains(out, c.says) {
				t.Errorf("status %d\n%s\n%s", status, out, errs)
			}
			left(t, data)
		})
	}
}

// TestServerThatCannotStartLeavesRunsOpen checks that runs are resumed last: a server that cannot open its files ends none.
func TestServerThatCannotStartLeavesRunsOpen(t *testing.T) {
	clean(t)
	data := unfinished(t, false)
	require.NoError(t, os.Mkdir(filepath.Join(data, "files.db"), 0o700))
	if status, _, errs := run(t, "serve", "--addr=127.0.0.1:0", "--data="+data, "--deadline=10m"); status == 0 || !strings.Contains(errs, "files") {
		t.Fatalf("the server started (status %d)\n%s", status, errs)
	}
	left(t, data)
}
