package paraphrase_test

import (
	"bufio"
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/cache/meaning"
	"github.com/sluice-rag/sluice/eval/paraphrase"
	"github.com/sluice-rag/sluice/internal/tools/beir"
)

func same(a, b string) bool { return meaning.Of(a).Same(meaning.Of(b)) }

var some = []string{
	"When did Prussia become the center of the Congress Poland?", "Who directed Thunder On The Hill?", "What did revenue of Acme do in 2023?",
	"How many of the 12 judges were named by Queen Anne?", "Autophagy declines in aged organisms.", "What is the largest city of Peru?",
}

func TestCasesAreWhatTheyAreCalled(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, c := range paraphrase.Cases(some, 1) {
		if c.Other == c.Question || c.Other == "" {
			t.Errorf("%s: nothing was changed in %q", c.Kind, c.Question)
		}
		if c.Question == some[2] {
			got[c.Kind] = c.Other
		}
	}
	for kind, want := range map[string]string{"adjunct": "In 2023, what did revenue of Acme do?", "no year": "What did revenue of Acme do?"} {
		if got[kind] != want {
			t.Errorf("%s: %q, want %q", kind, got[kind], want)
		}
	}
	for kind, part := range map[string]string{"letters": "2023", "polite": "evenue of Acme do in 2023?", "year": "What did revenue of Acme do in ",
		"negation": "did", "name": "What did revenue of ", "question word": " did revenue of Acme do in 2023?"} {
		if !strings.Contains(got[kind], part) {
			t.Errorf("%s: %q lacks %q", kind, got[kind], part)
		}
	}
	if diff := cmp.Diff(paraphrase.Cases(some, 1), paraphrase.Cases(some, 1)); diff != "" {
		t.Errorf("not repeatable: %s", diff)
	}
	if cmp.Equal(paraphrase.Cases(some, 1), paraphrase.Cases(some, 2)) {
		t.Error("the seed does nothing")
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	cases := []paraphrase.Case{{"a", "a ", true, "x"}, {"a", "A", true, "x"}, {"a", "b", false, "y"}, {"a", "a\t", false, "y"}, {"b", "b ", true, "z"}}
	got := paraphrase.Rates(func(a, b string) bool { return a == strings.TrimSpace(b) }, cases)
	want := []paraphrase.Rate{{"x", true, 2, 1}, {"y", false, 2, 1}, {"z", true, 1, 1}, {"all", true, 3, 2}, {"all", false, 2, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := (paraphrase.Rate{}).Share(); s != 0 {
		t.Errorf("the share of nothing is %v", s)
	}
}

// questions reads those of a public set, 600 at most, and a few under the race detector.
func questions(t *testing.T, set string) []string {
	t.Helper()
	root := os.Getenv("SLUICE_DATA")
	if root == "" {
		t.Skip("SLUICE_DATA names no folder of public data sets: nothing to measure on")
	}
	f, err := os.Open(filepath.Join(root, set, "queries.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q.Text)
		if beir.Race && len(out) == 100 || len(out) == 600 {
			break
		}
	}
	return out
}

// The floors of the cache, on each set, in each half of its questions and with other random choices than the rules were looked at with.
func TestFigures(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"squad", "hotpotqa", "2wiki", "musique", "scifact"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			var halves [2][]string
			for _, q := range questions(t, set) {
				h := fnv.New32a()
				_, _ = h.Write([]byte(q))
				halves[h.Sum32()%2] = append(halves[h.Sum32()%2], q)
			}
			for i, half := range halves {
				for _, seed := range []uint64{1, 7} {
					rates := paraphrase.Rates(same, paraphrase.Cases(half, seed))
					hits, wrong := rates[len(rates)-2], rates[len(rates)-1]
					t.Logf("half %d, seed %d: true hits %d of %d (%.3f), false hits %d of %d", i, seed, hits.Hits, hits.Cases, hits.Share(), wrong.Hits, wrong.Cases)
					if hits.Share() < 0.88 || wrong.Share() > 0.002 {
						t.Errorf("true hits %.3f, false hits %.4f", hits.Share(), wrong.Share())
					}
				}
			}
		})
	}
}

// No two questions of a set that are worded differently mean the same, by the cache or by a reader.
func TestQuestionsOfASetAreApart(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"squad", "hotpotqa", "2wiki", "musique", "scifact"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			byKey := map[string][]string{}
			for _, q := range questions(t, set) {
				k := meaning.Of(q).Key()
				if i := slices.IndexFunc(byKey[k], func(o string) bool {
					return same(o, q) && strings.Join(strings.Fields(o), " ") != strings.Join(strings.Fields(q), " ")
				}); i >= 0 {
					t.Errorf("%q and %q", q, byKey[k][i])
				}
				byKey[k] = append(byKey[k], q)
			}
		})
	}
}
