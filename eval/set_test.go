package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

const (
	goodCorpus  = `{"_id":"a","title":"T","text":"apple"}` + "\r\n\n" + `{"_id":"b","text":"pear"}`
	goodQueries = `{"_id":"q","text":"which apple?","answers":["red"],"extra":[1]}` + "\n"
	goodQrels   = "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\n"
)

func write(t *testing.T, corpus, queries, qrels string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, text := range map[string]string{"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.tsv": qrels} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestLoad(t *testing.T) {
	got, err := eval.Load(write(t, goodCorpus, goodQueries, goodQrels))
	require.NoError(t, err)
	want := &eval.Set{Name: "tiny", Docs: []eval.Doc{{ID: "a", Title: "T", Text: "apple"}, {ID: "b", Text: "pear"}},
		Questions: []eval.Question{{ID: "q", Text: "which apple?", Answers: []string{"red"}}},
		Qrels:     map[string]map[string]int{"q": {"a": 1, "b": 0}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got.Relevant("q") != 1 || got.Relevant("unknown") != 0 {
		t.Error("count of relevant documents")
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ name, corpus, queries, qrels, want string }{
		{"bad JSON", goodCorpus + "\n{", goodQueries, goodQrels, "corpus.jsonl:4:"},
		{"no id", `{"text":"x"}`, goodQueries, goodQrels, "corpus.jsonl:1: no _id"},
		{"id twice", goodCorpus, goodQueries + goodQueries, goodQrels, "queries.jsonl:2:"},
		{"no text", goodCorpus, goodQueries + "\n" + `{"_id":"9"}`, goodQrels, `queries.jsonl:3: text: required, but query "9" has none`},
		{"empty turn", goodCorpus, `{"_id":"9","text":"And pears?","before":["Which apple?"," "]}`, "", "queries.jsonl:1: before[1]: must not be empty"},
		{"long line", goodCorpus + "\n" + strings.Repeat("x", eval.MaxLine+1), goodQueries, goodQrels, "corpus.jsonl:4: line longer"},
		{"columns", goodCorpus, goodQueries, goodQrels + "q a 1\n", "qrels.tsv:4:"},
		{"score", goodCorpus, goodQueries, goodQrels + "q\ta\tx\n", "qrels.tsv:4:"},
		{"unknown query", goodCorpus, goodQueries, goodQrels + "r\ta\t1\n", "qrels.tsv:4: unknown query"},
		{"unknown document", goodCorpus, goodQueries, goodQrels + "q\tz\t1\n", "qrels.tsv:4: unknown document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := eval.Load(write(t, c.corpus, c.queries, c.qrels))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := eval.Load(t.TempDir()); err == nil {
		t.Error("no error for an empty folder")
	}
}

func TestLoadOwnDocuments(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"documents/guide/a.md": "# A", "documents/b.txt": "b", "queries.jsonl": goodQueries,
		"qrels.tsv": "q\tguide/a.md\t1\n"} {
		full := filepath.Join(dir, "own", filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o700))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o600))
	}
	found, err := eval.Find(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %q, %v", found, err)
	}
	set, err := eval.Load(found[0])
	require.NoError(t, err)
	if want := []eval.Doc{{ID: "b.txt"}, {ID: "guide/a.md"}}; cmp.Diff(want, set.Docs) != "" || set.Relevant("q") != 1 {
		t.Errorf("documents %+v, judged %v", set.Docs, set.Qrels)
	}
}

// FuzzLoad checks that Load returns an error or a valid set for any content of its files.
func FuzzLoad(f *testing.F) {
	f.Add(goodCorpus, goodQueries, goodQrels, `{"claim":"c","doc_id":"a","label":"SUPPORT","evidence":["e"]}`)
	f.Add("{", `{"_id":"q","answerable":false,"type":3}`, "q\ta", `{"claim":"","label":"SUPPORT"}`)
	f.Add("null", `[]`, "\t\t\n\t\t9999999999999999999", "\xff")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, corpus, queries, qrels, claims string) {
		for name, text := range map[string]string{"corpus.jsonl": corpus, "queries.jsonl": queries, "qrels.tsv": qrels, "claims.jsonl": claims} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		set, err := eval.Load(dir)
		if err != nil {
			return
		}
		for _, q := range set.Questions {
			if q.ID == "" || q.Answerable && q.Unanswerable {
				t.Errorf("question %+v", q)
			}
		}
		for _, p := range set.Claims {
			if p.Claim == "" || len(p.Evidence) == 0 || p.Label != eval.Supports && p.Label != eval.Contradicts {
				t.Errorf("claim %+v", p)
			}
		}
	})
}
