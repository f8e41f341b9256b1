package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eval"
)

// measured is what eval --json prints.
type measured struct {
	Reports     []eval.Report
	Comparisons []eval.Comparison
}

func evaluate(t *testing.T, args ...string) (m measured) {
	t.Helper()
	clean(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	status, out, errs := run(t, append([]string{"eval", "--json"}, args...)...)
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return m
}

func TestEval(t *testing.T) {
	m := evaluate(t, "testdata/sets/harbour")
	var names []string
	for _, r := range m.Reports {
		names = append(names, r.Name)
		if r.Set != "harbour" || len(r.Results) != 3 || r.P99 <= 0 {
			t.Errorf("%s of %s has %d results, p99 %v", r.Name, r.Set, len(r.Results), r.P99)
		}
	}
	if got := strings.Join(names, " "); got != "lexical vector hybrid" {
		t.Errorf("measured %s", got)
	}
	if words, both := m.Reports[0].Mean, m.Reports[2].Mean; words.NDCG10 != 1 || both.Hit1 != 1 || both.MRR10 != 1 || both.Recall5 != 1 {
		t.Errorf("lexical %+v, hybrid %+v", words, both)
	}
	if c := m.Comparisons; len(c) != 1 || c[0].A != "lexical" || c[0].B != "hybrid" || c[0].Ties != 3 || c[0].P != 1 {
		t.Errorf("comparisons %+v", c)
	}
}

func TestEvalOtherQuestions(t *testing.T) {
	m := evaluate(t, "testdata/sets/harbour", "--queries", "testdata/other.jsonl", "--qrels", "testdata/other.tsv")
	if r := m.Reports[0]; len(r.Results) != 2 || r.Results[0].Query != "o1" || r.Results[0].Ranked[0] != "pilot" || r.Mean.NDCG10 != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEvalTable(t *testing.T) {
	clean(t)
	status, out, errs := run(t, "eval", "testdata/sets")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	for _, line := range []string{
		`set +name +queries +nDCG@10 +R@5 +R@10 +R@100 +MRR@10 +hit@1 +hit@5 .*p50 ms +p99 ms`,
		`harbour +lexical +3 +1\.0000`, `harbour +vector +3`, `harbour +hybrid +3 +1\.0000`,
		`orchard +lexical +2 +1\.0000`, `orchard +vector +2`, `orchard +hybrid +2 +1\.0000`,
		`harbour +lexical to hybrid +\+0\.0000 +0 +0 +3 +1\.0000`, `orchard +lexical to hybrid`,
	} {
		if !regexp.MustCompile(`(?m)^ *` + line).MatchString(out) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	clean(t)
	torn := t.TempDir()
	if err := os.WriteFile(filepath.Join(torn, "corpus.jsonl"), []byte("{\"_id\":\"1\"}\n{\"_id\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no folder", []string{"testdata/none"}, 2, "testdata/none"},
		{"no file", []string{"testdata/sets/harbour", "--queries", "none.jsonl"}, 2, "none.jsonl"},
		{"no set", []string{t.TempDir()}, 1, "corpus.jsonl"},
		{"a torn line", []string{torn}, 1, "corpus.jsonl:2:"},
		{"an unknown document", []string{"testdata/sets/harbour", "--queries", "testdata/other.jsonl", "--qrels", "testdata/broken.tsv"}, 1, "broken.tsv:3:"},
		{"questions for several sets", []string{"testdata/sets", "--queries", "testdata/other.jsonl"}, 1, "several"},
		{"nothing named", nil, 2, "<dir>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := run(t, append([]string{"eval"}, c.args...)...)
			if status != c.status || !strings.Contains(errs, c.says) {
				t.Errorf("status %d, want %d and %q\n%s%s", status, c.status, c.says, out, errs)
			}
		})
	}
}
