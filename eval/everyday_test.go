package eval_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestEveryday checks the set of everyday documents: it has documents and questions enough, and the patterns fit the example answers.
func TestEveryday(t *testing.T) {
	t.Parallel()
	dirs, err := eval.Find("testdata/everyday")
	require.NoError(t, err)
	documents, questions, held := 0, 0, 0
	languages := map[string]int{}
	for _, dir := range dirs {
		set, err := eval.Load(dir)
		require.NoError(t, err)
		part, err := set.Split(eval.PartHeldOut)
		require.NoError(t, err)
		documents, questions, held = documents+len(set.Docs), questions+len(set.Questions), held+len(part.Questions)
		fits(t, filepath.Join(dir, "queries.jsonl"), set)
		for _, q := range set.Questions {
			languages[q.Language]++
		}
	}
	for _, name := range []string{"conversations-tuning.jsonl", "conversations-held-out.jsonl"} {
		turns := 0
		for _, dir := range dirs {
			files := eval.FilesOf(dir)
			if files.Questions = filepath.Join(dir, name); !exists(files.Questions) {
				continue
			}
			set, err := eval.LoadFiles(filepath.Base(dir), files)
			require.NoError(t, err)
			fits(t, files.Questions, set)
			turns += len(set.Questions)
		}
		if turns < 100 {
			t.Errorf("%s: %d turns", name, turns)
		}
	}
	if documents < 120 || questions < 600 || len(languages) < 8 || held < questions/4 || held > questions*2/5 {
		t.Errorf("%d documents and %d questions in %d languages, %d held out", documents, questions, len(languages), held)
	}
}

// TestTechnical checks the set of technical documents: both halves have documents and questions enough, the documents of the questions are there, and the
// patterns fit the example answers.
func TestTechnical(t *testing.T) {
	t.Parallel()
	for _, half := range []string{eval.PartTuning, eval.PartHeldOut} {
		dirs, err := eval.Find("testdata/technical/" + half)
		require.NoError(t, err)
		documents, answerable, unanswerable := 0, 0, 0
		for _, dir := range dirs {
			set, err := eval.Load(dir)
			require.NoError(t, err)
			fits(t, filepath.Join(dir, "queries.jsonl"), set)
			documents += len(set.Docs)
			for _, q := range set.Questions {
				if q.Unanswerable {
					unanswerable++
					continue
				}
				answerable++
				for _, id := range q.Documents {
					if !slices.ContainsFunc(set.Docs, func(d eval.Doc) bool { return d.ID == id }) {
						t.Errorf("%s has no document %q", q.ID, id)
					}
				}
			}
		}
		if documents < 25 || answerable < 45 || unanswerable < 10 {
			t.Errorf("%s: %d documents, %d answerable and %d unanswerable questions", half, documents, answerable, unanswerable)
		}
	}
}

// fits checks that the patterns of the questions of a set fit the example answers in the file of the questions.
func fits(t *testing.T, path string, set *eval.Set) {
	t.Helper()
	answers := examples(t, path)
	for _, q := range set.Questions {
		if !q.Unanswerable && !q.Right(answers[q.ID]) {
			t.Errorf("the patterns of %s do not fit its answer %q", q.ID, answers[q.ID])
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// examples returns the example answer of each question.
func examples(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	out := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var q struct {
			ID     string `json:"_id"`
			Answer string `json:"answer"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &q))
		out[q.ID] = q.Answer
	}
	return out
}
