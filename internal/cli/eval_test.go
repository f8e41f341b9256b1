package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/internal/tools/beir"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// measured is what eval --json prints.
type measured struct {
	Reports     []eval.Report
	Comparisons []eval.Comparison
	Modes       []eval.ModeReport
	Compared    []eval.ModeComparison `json:"modes_compared"`
	Claims      []eval.ClaimsReport
	Cache       []eval.CacheReport
	FollowUps   []eval.FollowUpReport `json:"follow_ups"`
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
	if r := evaluate(t, "testdata/sets/harbour", "--what", "answers", "--queries", "testdata/other.jsonl").Modes[1].Results; len(r) != 2 || len(r[0].Ranked) == 0 {
		t.Errorf("without judgements: %+v", r)
	}
	if r := m.Reports[0]; len(r.Results) != 2 || r.Results[0].Query != "o1" || r.Results[0].Ranked[0] != "pilot" || r.Mean.NDCG10 != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEvalModes(t *testing.T) {
	dir := t.TempDir()
	plot := filepath.Join(dir, "plot.svg")
	m := evaluate(t, "testdata/sets/harbour", "--mode", "direct,agentic", "--plot", plot)
	if len(m.Reports) > 0 || len(m.Modes) != 2 || m.Modes[0].Mode != "direct" || m.Modes[1].Mode != "agentic" {
		t.Fatalf("measured %d searches and modes %+v", len(m.Reports), m.Modes)
	}
	for _, r := range m.Modes {
		all := r.Rows[0].Measures
		for _, key := range []string{"ndcg_10", "all_8", "holds", "abstention_recall", "abstention_precision", "citation_recall", "citation_precision", "citation_gold"} {
			if e := all[key]; e.Mean != 1 || e.N == 0 || e.Low != 1 {
				t.Errorf("%s %s: %+v", r.Mode, key, e)
			}
		}
		if e := all["false_abstention"]; e.Mean != 0 || e.N != 3 || all["f1"].Mean <= 0.25 || all["f1"].Mean >= 1 {
			t.Errorf("%s: false abstention %+v, F1 %+v", r.Mode, e, all["f1"])
		}
		if r.Failed != 0 || len(r.Results) != 4 || r.Results[0].Ranked[0] != "lock" || !strings.Contains(r.Results[0].Answer, "1932") || r.P50 <= 0 {
			t.Errorf("%s: %+v", r.Mode, r.Results[0])
		}
	}
	if len(m.Compared) == 0 || m.Compared[0].A != "direct" || m.Compared[0].B != "agentic" || m.Compared[0].Measures["holds"].Ties != 3 {
		t.Errorf("compared %+v", m.Compared)
	}
	if len(m.Claims) != 2 || m.Claims[0].Supported.Recall == 0 || m.Claims[0].Contradicted.FP != 0 || len(m.Claims[0].Results) != 5 {
		t.Errorf("claims %+v", m.Claims)
	}
	if len(m.Cache) != 1 || m.Cache[0].Questions != 4 {
		t.Errorf("cache %+v", m.Cache)
	}
	if drawn, err := os.ReadFile(plot); err != nil || !strings.Contains(string(drawn), "harbour, agentic: 1.000") {
		t.Errorf("plot: %v\n%s", err, drawn)
	}
}

// TestFloorModesOnTuningSet measures answers in both modes on a set that the rules of the planner were developed with.
func TestFloorModesOnTuningSet(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, beir.Dir(t, "musique"), "--mode", "direct,agentic", "--what", "answers")
	direct, agentic := m.Modes[0].Rows[0].Measures, m.Modes[1].Rows[0].Measures
	if m.Modes[0].Failed+m.Modes[1].Failed > 0 || direct["ndcg_10"].Mean < 0.55 || agentic["recall_5"].Mean < 0.58 {
		t.Errorf("nDCG@10 direct %.3f, recall@5 agentic %.3f", direct["ndcg_10"].Mean, agentic["recall_5"].Mean)
	}
	if d := m.Compared[0].Measures["all_8"]; d.Low <= 0 {
		t.Errorf("the agent finds no more than one search: %+v", d)
	}
}

// TestFloorModes measures answers on a set in a language that nothing was fitted to. The floors are the figures measured on
// 2026-11-22 less 0.03.
func TestFloorModes(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, beir.Dir(t, "xquad-es"), "--mode", "direct", "--what", "answers")
	all := m.Modes[0].Rows[0].Measures
	t.Logf("nDCG@10 %.3f, holds gold %.3f, false abstention %.3f", all["ndcg_10"].Mean, all["holds"].Mean, all["false_abstention"].Mean)
	if m.Modes[0].Failed > 0 || all["ndcg_10"].Mean < 0.917 || all["holds"].Mean < 0.69 {
		t.Error("answers got worse")
	}
}

func TestEvalCache(t *testing.T) {
	m := evaluate(t, "testdata/sets/harbour", "--what", "cache")
	if len(m.Cache) != 1 || len(m.Modes)+len(m.Reports) > 0 || m.Cache[0].TrueHits.Rate < 0.7 || m.Cache[0].FalseHits.Rate > 0 || m.Cache[0].FalseHits.Cases == 0 {
		t.Errorf("%+v", m.Cache)
	}
}

// TestEvalFollowUps checks that a follow-up is answered with the first turn, and that a half has the cases of its own questions.
func TestEvalFollowUps(t *testing.T) {
	m := evaluate(t, "testdata/conversations", "--what", "followups")
	if len(m.FollowUps) != 1 || m.FollowUps[0].Cases != 2 || m.FollowUps[0].Questions != 2 || len(m.Modes)+len(m.Reports) > 0 {
		t.Fatalf("%+v", m)
	}
	r := m.FollowUps[0]
	for _, c := range r.Results {
		if c.Standalone == "" || c.FirstAnswer == "" || c.Asked[eval.AskedRewritten] != (eval.FollowUpScores{Hit5: 1, Holds: 1}) {
			t.Errorf("%+v", c)
		}
	}
	if row := r.Rows[2]; row.Asked != eval.AskedRewritten || row.Form != "" || row.Cases != 2 || row.Holds.Mean != 1 || row.Holds.N != 2 {
		t.Errorf("%+v", row)
	}
	cases := 0
	for _, half := range []string{"a", "b"} {
		clean(t)
		status, out, errs := run(t, "eval", "testdata/conversations", "--what", "followups", "--half", half)
		if status != 0 && !strings.Contains(errs, "expected answers") {
			t.Fatalf("%s%s", out, errs)
		}
		for _, n := range regexp.MustCompile(`, half `+half+` +all +(\d) +rewritten  1.000  1.00–1.00`).FindAllStringSubmatch(out, -1) {
			cases += int(n[1][0] - '0')
		}
	}
	if cases != 2 {
		t.Errorf("the halves have %d cases", cases)
	}
	if status, _, errs := run(t, "eval", "testdata/own", "--what", "followups"); status != 1 || !strings.Contains(errs, "documents with titles") {
		t.Errorf("a set without titles: status %d\n%s", status, errs)
	}
}

// TestFloorFollowUps measures follow-up questions on the half of a set that the rules were not developed with. The floors are the figures measured
// on 2026-11-22 less 0.03.
func TestFloorFollowUps(t *testing.T) {
	race.Measure(t)
	r := evaluate(t, beir.Dir(t, "squad"), "--what", "followups", "--half", "b").FollowUps[0]
	asked := map[string]eval.FollowUpRow{}
	for _, row := range r.Rows[:3] {
		asked[row.Asked] = row
		t.Logf("%s: hit@5 %.3f, holds gold %.3f, abstained %.3f", row.Asked, row.Hit5.Mean, row.Holds.Mean, row.Abstained.Mean)
	}
	if got := asked[eval.AskedRewritten]; got.Cases < 80 || got.Hit5.Mean < 0.903 || got.Holds.Mean < 0.625 || got.Abstained.Mean > 0.175 {
		t.Errorf("follow-ups are answered worse: %+v", got)
	}
}

func TestEvalOwnDocuments(t *testing.T) {
	m := evaluate(t, "testdata/own", "--mode", "direct")
	r := m.Modes[0].Results
	if len(r) != 3 || len(r[0].Ranked) == 0 || r[0].Ranked[0] != "handbook/ferry.md" || r[0].Scores["holds"] != 1 || r[0].Scores["mrr_10"] != 1 ||
		!r[2].Abstained {
		t.Errorf("%+v", r)
	}
	if _, judged := r[1].Scores["mrr_10"]; judged || r[1].Scores["holds"] != 1 {
		t.Errorf("without judgements: %+v", r[1])
	}
	clean(t)
	if status, _, errs := run(t, "eval", "testdata/own"); status != 1 || !strings.Contains(errs, "--mode") {
		t.Errorf("searched: status %d\n%s", status, errs)
	}
}

// TestEvalHelp: the help names both layouts of a set.
func TestEvalHelp(t *testing.T) {
	clean(t)
	if status, out, _ := run(t, "eval", "--help"); status != 0 || !strings.Contains(out, "subfolder documents") || !strings.Contains(out, "corpus.jsonl") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// TestEvalTellsWhatFailed: the tables say how many questions have a measure, and which questions failed; of two equal modes there is no table.
func TestEvalTellsWhatFailed(t *testing.T) {
	clean(t)
	set := filepath.Join(t.TempDir(), "port")
	require.NoError(t, os.MkdirAll(filepath.Join(set, "documents"), 0o700))
	for name, text := range map[string]string{"documents/ferry.md": "# Ferry\nThe last ferry leaves at 21:40 on weekdays. Dogs travel free of charge.\n",
		"queries.jsonl": `{"_id":"1","text":"When does the last ferry leave on weekdays?","accept":["22:40"]}` + "\n" + `{"_id":"2","text":"Do dogs travel free?","documents":["ferry.md"]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(set, name), []byte(text), 0o600))
	}
	status, out, errs := run(t, "eval", set, "--what", "answers")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	for _, line := range []string{`port +direct +2 .* 0\.000 \(1\)`, `1 question failed\. --json`, `port +1 +direct, agentic +wrong +When does the last ferry leave on weekdays\?`,
		`The compared answers do not differ`} {
		if !regexp.MustCompile(`(?m)^ *` + line).MatchString(out) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
}

func TestEvalAgainst(t *testing.T) {
	clean(t)
	status, earlier, errs := run(t, "eval", "testdata/sets/harbour", "--what", "answers", "--mode", "direct", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	file := filepath.Join(t.TempDir(), "earlier.json")
	worse := strings.Replace(earlier, `"holds": 1`, `"holds": 0`, 1)
	require.NoError(t, os.WriteFile(file, []byte(worse), 0o600))
	status, out, errs := run(t, "eval", "testdata/sets/harbour", "--what", "answers", "--mode", "direct", "--against", file)
	if status != 0 {
		t.Fatal(errs)
	}
	if line := `harbour +earlier direct to direct +holds gold +\+0\.3333 +.* +1 +0 +2 `; !regexp.MustCompile(line).MatchString(out) {
		t.Errorf("no line %q in\n%s", line, out)
	}
}

func TestEvalHalves(t *testing.T) {
	seen := map[string]bool{}
	for _, half := range []string{"a", "b"} {
		for _, r := range evaluate(t, "testdata/sets/harbour", "--what", "answers", "--mode", "direct", "--half", half).Modes[0].Results {
			seen[r.Query] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("the halves hold %v", seen)
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

// TestEvalGroups: without --groups, the tables have a row for each set, and the groups and comparisons of all sets together.
func TestEvalGroups(t *testing.T) {
	clean(t)
	table := func(args ...string) string {
		t.Helper()
		status, out, errs := run(t, append([]string{"eval", "testdata/sets", "--mode", "direct,agentic"}, args...)...)
		if status != 0 {
			t.Fatalf("status %d\n%s", status, errs)
		}
		return out
	}
	group := regexp.MustCompile(`(?m)^ *harbour, answerable `)
	short, long := table(), table("--groups")
	if n := strings.Count(short, "nDCG@10"); n != 1 || group.MatchString(short) || strings.Contains(short, "near miss ") {
		t.Errorf("groups of sets are shown, or nDCG %d times:\n%s", n, short)
	}
	for _, line := range []string{`harbour +direct`, `orchard +agentic`, `all +direct`, `all, answerable +agentic`} {
		if !regexp.MustCompile(`(?m)^ *` + line).MatchString(short) {
			t.Errorf("no line %q in\n%s", line, short)
		}
	}
	if !group.MatchString(long) || !strings.Contains(long, "near miss ") || !strings.Contains(long, "MAP@10") || strings.Contains(short, "MAP@10  ") {
		t.Errorf("with groups:\n%s\nwithout:\n%s", long, short)
	}
}

func TestEvalRefuses(t *testing.T) {
	clean(t)
	torn := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(torn, "corpus.jsonl"), []byte("{\"_id\":\"1\"}\n{\"_id\":"), 0o600))
	torn2, empty := t.TempDir(), filepath.Join(t.TempDir(), "empty.json")
	for path, text := range map[string]string{filepath.Join(torn2, "corpus.jsonl"): `{"_id":"1"}`, filepath.Join(torn2, "queries.jsonl"): `{"_id":"1","text":"x"}`,
		filepath.Join(torn2, "qrels.tsv"): "", filepath.Join(torn2, "claims.jsonl"): `{"claim":"x","label":"MAYBE","evidence":["y"]}`, empty: `{"modes":[null]}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no folder", []string{"testdata/none"}, 2, "testdata/none"},
		{"no file", []string{"testdata/sets/harbour", "--queries", "none.jsonl"}, 1, "none.jsonl"},
		{"no set", []string{t.TempDir()}, 1, "corpus.jsonl"},
		{"a torn line", []string{torn}, 1, "corpus.jsonl:2:"},
		{"an unknown document", []string{"testdata/sets/harbour", "--queries", "testdata/other.jsonl", "--qrels", "testdata/broken.tsv"}, 1, "broken.tsv:3:"},
		{"questions for several sets", []string{"testdata/sets", "--queries", "testdata/other.jsonl"}, 1, "no set has a file"},
		{"nothing named", nil, 2, "<dir>"},
		{"no part", []string{"testdata/sets", "--what", "all"}, 2, "--what"},
		{"no mode", []string{"testdata/sets", "--mode", "direct,deep"}, 2, "--mode"},
		{"a mode of searches", []string{"testdata/sets", "--what", "search", "--mode", "direct"}, 2, "--mode"},
		{"a plot of searches", []string{"testdata/sets", "--plot", "x.svg"}, 2, "--plot"},
		{"a third half", []string{"testdata/sets", "--half", "c"}, 2, "--half"},
		{"too many passages", []string{"testdata/sets", "--top-k", "51"}, 2, "--top-k"},
		{"no claims", []string{"testdata/sets/orchard", "--what", "claims"}, 1, "claims.jsonl"},
		{"a torn claim", []string{torn2, "--what", "claims"}, 1, "claims.jsonl:1:"},
		{"a plot into no folder", []string{"testdata/sets/harbour", "--mode", "direct", "--plot", "testdata/none/x.svg"}, 1, "draw plot"},
		{"nothing earlier", []string{"testdata/sets/harbour", "--mode", "direct", "--against", "testdata/other.tsv"}, 1, "other.tsv"},
		{"no answers earlier", []string{"testdata/sets/harbour", "--mode", "direct", "--against", empty}, 1, "no answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := run(t, append([]string{"eval"}, c.args...)...)
			if status != c.status || !strings.Contains(errs, c.says) {
				t.Errorf("status %d, want %d and %q\n%s%s", status, c.status, c.says, out, errs)
			}
		})
	}
}

// TestFloorEveryday measures answers without a model to the held-out questions about everyday documents. The floors are the figures of docs/benchmarks.md
// less 0.03 for all answerable questions and less 0.05 for groups.
func TestFloorEveryday(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, "../../eval/testdata/everyday", "--what", "answers", "--mode", "direct", "--top-k", "5", "--part", "held-out")
	row := func(group string) map[string]eval.Estimate { return rowOf(t, m, group).Measures }
	answerable := row(eval.Answerable)
	if x := answerable["right"].Mean; x < 0.50 {
		t.Errorf("%.3f of the answers are right", x)
	}
	if x := answerable["wrong"].Mean; x > 0.27 {
		t.Errorf("%.3f of the answers are wrong", x)
	}
	if x := answerable["false_abstention"].Mean; x > 0.27 {
		t.Errorf("%.3f of the questions are not answered", x)
	}
	if x := row("followup")["right"].Mean; x < 0.56 {
		t.Errorf("%.3f of the answers to follow-up questions are right", x)
	}
	if x := row("unanswerable")["abstention_recall"].Mean; x < 0.23 {
		t.Errorf("abstained on %.3f of the unanswerable questions", x)
	}
	if all := m.Modes[len(m.Modes)-1]; len(all.Results) > 0 {
		t.Error("the answers to held-out questions are shown")
	}
}

// TestFloorOffice measures answers without a model to questions about documents in the formats of offices. The program was changed by looking at these questions,
// so the floors only show that a format is still read. They are the figures of docs/benchmarks.md less 0.05.
func TestFloorOffice(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, "../../eval/testdata/office", "--what", "answers", "--mode", "direct", "--top-k", "5")
	for group, floor := range map[string]float64{eval.Answerable: 0.59, "table": 0.68, "steps": 0.78} {
		if x := rowOf(t, m, group).Measures["right"].Mean; x < floor {
			t.Errorf("%.3f of the answers of the group %q are right", x, group)
		}
	}
}

// TestFloorDaily measures answers without a model to questions about opening hours, timetables, editions, recipes, bills and documents of work and private life. The floors are the
// figures of docs/benchmarks.md less 0.05.
func TestFloorDaily(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, "../../eval/testdata/daily", "--what", "answers", "--mode", "direct", "--top-k", "5")
	for group, floor := range map[string]float64{eval.Answerable: 0.66, "hours": 0.77, "timetable": 0.86, "edition": 0.86, "amount": 0.79, "yesno": 0.78, "table": 0.53} {
		if x := rowOf(t, m, group).Measures["right"].Mean; x < floor {
			t.Errorf("%.3f of the answers of the group %q are right", x, group)
		}
	}
}

// TestFloorGeneral measures answers without a model to questions about documents of firms, clubs, schools and homes, half of which the program was not changed for. The
// floors are the figures of docs/benchmarks.md less 0.05.
func TestFloorGeneral(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, "../../eval/testdata/general", "--what", "answers", "--mode", "direct", "--top-k", "5")
	if x := rowOf(t, m, eval.Answerable).Measures["right"].Mean; x < 0.5 {
		t.Errorf("%.3f of the answers are right", x)
	}
}

// TestFloorConversations measures answers without a model in the conversations about everyday documents that were not looked at, which change their subject and
// have small talk in between. The floors are the figures of docs/benchmarks.md less 0.05.
func TestFloorConversations(t *testing.T) {
	race.Measure(t)
	m := evaluate(t, "../../eval/testdata/everyday", "--what", "answers", "--mode", "direct", "--top-k", "5", "--queries", "conversations-held-out.jsonl")
	for group, floor := range map[string]float64{"": 0.62, "followup": 0.58, "smallfollow": 0.68, "newtopic": 0.62} {
		if x := rowOf(t, m, group).Measures["right"].Mean; x < floor {
			t.Errorf("%.3f of the answers of the group %q are right", x, group)
		}
	}
}

// TestFloorTechnical measures answers without a model to the questions about technical documents, of both halves together. The floors are the figures of
// docs/benchmarks.md less 0.02.
func TestFloorTechnical(t *testing.T) {
	race.Measure(t)
	sums, answerable, unanswerable := map[string]float64{}, 0.0, 0.0
	for _, half := range []string{"tuning", "held-out"} {
		m := evaluate(t, filepath.Join("../../eval/testdata/technical", half), "--what", "answers", "--mode", "direct", "--top-k", "5")
		a, u := rowOf(t, m, eval.Answerable), rowOf(t, m, "unanswerable")
		answerable += float64(a.Questions)
		unanswerable += float64(u.Questions)
		for _, measure := range []string{"right", "wrong"} {
			sums[measure] += a.Measures[measure].Mean * float64(a.Questions)
		}
		sums["abstained"] += u.Measures["abstention_recall"].Mean * float64(u.Questions)
	}
	if x := sums["right"] / answerable; x < 0.66 {
		t.Errorf("%.3f of the answers are right", x)
	}
	if x := sums["wrong"] / answerable; x > 0.25 {
		t.Errorf("%.3f of the answers are wrong", x)
	}
	if x := sums["abstained"] / unanswerable; x < 0.80 {
		t.Errorf("abstained on %.3f of the unanswerable questions", x)
	}
}

// rowOf returns the row of a group of questions of all sets.
func rowOf(t *testing.T, m measured, group string) eval.Row {
	t.Helper()
	rows := m.Modes[len(m.Modes)-1].Rows
	i := slices.IndexFunc(rows, func(r eval.Row) bool { return r.Group == group })
	if i < 0 {
		t.Fatalf("no group %q", group)
	}
	return rows[i]
}
