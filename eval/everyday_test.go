package eval_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/eval"
)

// TestEveryday checks the set of everyday documents: it has documents and questions enough, and the patterns fit the example answers.
func TestEveryday(t *testing.T) {
	t.Parallel()
	dirs, err := eval.Find("testdata/everyday")
	if err != nil {
		t.Fatal(err)
	}
	documents, questions, held := 0, 0, 0
	languages := map[string]int{}
	for _, dir := range dirs {
		set, err := eval.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		part, err := set.Split(eval.PartHeldOut)
		if err != nil {
			t.Fatal(err)
		}
		documents, questions, held = documents+len(set.Docs), questions+len(set.Questions), held+len(part.Questions)
		answers := examples(t, filepath.Join(dir, "queries.jsonl"))
		for _, q := range set.Questions {
			languages[q.Language]++
			if !q.Unanswerable && !q.Right(answers[q.ID]) {
				t.Errorf("the patterns of %s do not fit its answer %q", q.ID, answers[q.ID])
			}
		}
	}
	if documents < 120 || questions < 600 || len(languages) < 8 || held < questions/4 || held > questions*2/5 {
		t.Errorf("%d documents and %d questions in %d languages, %d held out", documents, questions, len(languages), held)
	}
}

// examples returns the example answer of each question.
func examples(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var q struct {
			ID     string `json:"_id"`
			Answer string `json:"answer"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		out[q.ID] = q.Answer
	}
	return out
}
