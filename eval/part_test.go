package eval_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// folder writes a set with two documents, and returns its path.
func folder(t *testing.T, queries string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "documents"), 0o700))
	for name, text := range map[string]string{"documents/a.md": "# A", "documents/b.md": "# B", "queries.jsonl": queries} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	set, err := eval.Load(folder(t, `{"_id":"1","text":"How much?","lang":"en","documents":["a.md"],"accept":["\\b240\\b","€|euro"],"reject":["\\b150\\b"]}`))
	require.NoError(t, err)
	q := set.Questions[0]
	for text, want := range map[string]bool{
		"It costs **240**\n  EURO a year.":              true,
		"It costs 240 € and not 150.":                   false,
		"It costs 240 a year.":                          false,
		"It costs 2400 €.":                              false,
		"The documents do not seem to hold 'an answer'": false,
	} {
		if q.Right(text) != want {
			t.Errorf("right %v: %q", !want, text)
		}
	}
	if diff := cmp.Diff(map[string]map[string]int{"1": {"a.md": 1}}, set.Qrels); diff != "" {
		t.Error(diff)
	}
	for line, want := range map[string]string{
		`{"_id":"1","text":"?","accept":["("]}`:                                 "missing closing )",
		`{"_id":"1","text":"?","documents":["c.md"]}`:                           `unknown document "c.md"`,
		`{"_id":"1","text":"?","reject":["` + strings.Repeat("x", 3000) + `"]}`: "3000 bytes",
	} {
		if _, err := eval.Load(folder(t, line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", line, err)
		}
	}
}

// TestConversation checks that earlier questions are asked first, and that the last one is judged by its patterns.
func TestConversation(t *testing.T) {
	t.Parallel()
	set, err := eval.Load(folder(t, `{"_id":"1","text":"And b?","before":["What is a?"],"accept":["two"]}`+"\n"+
		`{"_id":"2","text":"What is c?","accept":["three"]}`+"\n"+`{"_id":"3","text":"What is d?","accept":["four"]}`))
	require.NoError(t, err)
	said := map[string]string{"What is a?": "It is one.", "And b?": "It is two.", "What is c?": "It is two."}
	ask := func(_ context.Context, q event.Question) (out eval.Outcome, err error) {
		out.State.Status, out.State.Stop, out.State.Text = event.Finished, "stop", []byte(said[q.Query])
		out.State.Citations = make([]event.Citation, len(said[q.Query])/9)
		if q.Query == "And b?" && cmp.Diff(q.History, []event.Message{{Role: event.RoleUser, Text: "What is a?"}, {Role: event.RoleAssistant, Text: "It is one."}}) != "" {
			t.Errorf("the history is %+v", q.History)
		}
		return out, nil
	}
	r, err := eval.Ask(t.Context(), set, ask, eval.AskOptions{Workers: 1})
	require.NoError(t, err)
	for i, want := range []map[string]float64{{"right": 1, "wrong": 0}, {"right": 0, "wrong": 1}, {"right": 0}} {
		for key, v := range want {
			if got := r.Results[i].Scores[key]; got != v {
				t.Errorf("question %d: %s is %v", i+1, key, got)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	set := &eval.Set{Name: "home"}
	for d := range 300 {
		for range 3 {
			n := len(set.Questions)
			set.Questions = append(set.Questions, eval.Question{ID: string(rune('a' + n)), Documents: []string{string(rune('a'+d)) + ".md", "z.md"}})
		}
	}
	tuning, err := set.Split(eval.PartTuning)
	require.NoError(t, err)
	held, err := set.Split(eval.PartHeldOut)
	require.NoError(t, err)
	if n := len(held.Questions); n < 225 || n > 375 || n+len(tuning.Questions) != 900 {
		t.Errorf("%d questions are held out, %d are not", n, len(tuning.Questions))
	}
	seen := map[string]bool{}
	for _, q := range tuning.Questions {
		seen[q.Documents[0]] = true
	}
	for _, q := range held.Questions {
		if seen[q.Documents[0]] {
			t.Errorf("%s is in both parts", q.Documents[0])
		}
	}
	if _, err := set.Split("other"); err == nil {
		t.Error("no error for an unknown part")
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	direct, agentic := bothModes(t)
	all := eval.Pool("all", direct, agentic)
	if len(all.Results) != 10 || all.Rows[0].Questions != 10 || all.Mode != event.Direct {
		t.Errorf("%d results, %+v", len(all.Results), all.Rows[0])
	}
	short, err := json.Marshal(all.WithoutAnswers())
	if err != nil || strings.Contains(string(short), "1932") || len(all.Results) != 10 {
		t.Errorf("the answers are shown: %s, %v", short, err)
	}
}
