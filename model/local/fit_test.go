package local

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/eval"
	"github.com/sluice-rag/sluice/model"
)

// trial is a question with the features of the sentences that were read for it.
type trial struct {
	question *eval.Question
	task     model.Task
	set      string
	has      bool // the documents hold an answer
	cs       []candidate
}

// candidate is a sentence.
type candidate struct {
	gold bool
	e    evidence
	text string
}

func right(q *eval.Question, text string) (all, some bool) {
	if len(q.Answers) > 0 {
		ok := eval.ContainsGold(text, q.Answers) == 1
		return ok, ok
	}
	if len(q.Accept) == 0 {
		return false, false
	}
	part := *q
	for i := range q.Accept {
		part.Accept = q.Accept[i : i+1]
		some = some || part.Right(text)
	}
	return q.Right(text), some
}

// load reads tasks and the questions that they are for.
func load(t *testing.T, tasks, questions string) (out []*trial) {
	qs := map[string][]*eval.Question{}
	files, err := filepath.Glob(questions)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		set, err := eval.Load(filepath.Dir(f))
		if err != nil {
			t.Fatal(err)
		}
		for i := range set.Questions {
			q := &set.Questions[i]
			qs[q.Text] = append(qs[q.Text], q)
		}
	}
	f, err := os.Open(tasks)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var task model.Task
		if err := json.Unmarshal(lines.Bytes(), &task); err != nil {
			t.Fatal(err)
		}
		asked := task.Question
		if task.Asked != "" {
			asked = task.Asked
		}
		if len(qs[asked]) == 1 {
			q := qs[asked][0]
			out = append(out, &trial{question: q, task: task, has: !q.Unanswerable, set: strings.TrimSuffix(filepath.Base(tasks), ".jsonl")})
		}
	}
	return out
}

func (x *trial) read(t *testing.T, m *Model, most int) {
	q, ranked, readings, err := m.rankAll(t.Context(), x.task)
	if err != nil || q.open {
		return
	}
	anyAll := false
	var somes []bool
	for _, c := range ranked[:min(most, len(ranked))] {
		text := ""
		for _, s := range q.compose([]*sentence{c}, c, readings) {
			text += s.text + " "
		}
		all, some := right(x.question, text)
		anyAll = anyAll || all
		somes = append(somes, some)
		e := c.evid
		e[aheadOfSome], e[certain] = 0, 0
		x.cs = append(x.cs, candidate{gold: all && x.has, e: e, text: text})
	}
	if !anyAll && x.has {
		for i := range x.cs {
			x.cs[i].gold = somes[i]
		}
	}
}

// sign returns 1 for a feature that can only speak for a sentence, -1 for one that can only speak against it, and 0 for the others.
func sign(k int) float64 {
	switch k {
	case own, exactFar, near, far, around, wide, pairs, phrase, similar, related, fit, fitNear, defines, passage, rank, headed, tasked, acts, labelled, rowColumn, isRequested, isListed, measured, inRange, rowExact, keyed, aheadOfSome, certain:
		return 1
	case rarest, elsewhere, unfit, names, unknownNames, numbers, isCode, asks, hangs, repeats, opposed, flipped, negated, unmeasured, outOfRange, unstated:
		return -1
	}
	return 0
}

func descend(d, steps int, slope func(w, g []float64)) []float64 {
	w, g, m, v := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for it := 1; it <= steps; it++ {
		clear(g)
		slope(w, g)
		for k := range w {
			m[k] = 0.9*m[k] + 0.1*g[k]
			v[k] = 0.99*v[k] + 0.01*g[k]*g[k]
			w[k] -= 0.03 * m[k] / (1 - math.Pow(0.9, float64(it))) / (math.Sqrt(v[k]/(1-math.Pow(0.99, float64(it)))) + 1e-8)
			if k < nFeatures && w[k]*sign(k) < 0 {
				w[k] = 0
			}
		}
	}
	return w
}

func spread(xs []evidence) (sd evidence) {
	for k := range sd {
		mean, sum := 0.0, 0.0
		for _, x := range xs {
			mean += x[k] / float64(len(xs))
		}
		for _, x := range xs {
			sum += (x[k] - mean) * (x[k] - mean)
		}
		sd[k] = math.Sqrt(sum/float64(len(xs))) + 1e-9
		if sd[k] < 1e-6 {
			sd[k] = 1e9
		}
	}
	return sd
}

func fitRank(ts []*trial, weight func(*trial) float64) (out evidence) {
	var all []evidence
	for _, t := range ts {
		for _, c := range t.cs {
			all = append(all, c.e)
		}
	}
	sd := spread(all)
	n := float64(len(ts))
	w := descend(nFeatures, 300, func(w, g []float64) {
		w[unfit] = min(w[unfit], -2.3*sd[unfit]) // as good for these sets as less, and what is asked for matters more than words
		for _, t := range ts {
			ps := make([]float64, len(t.cs))
			var sum, good float64
			for j, c := range t.cs {
				for k, x := range c.e {
					ps[j] += w[k] * x / sd[k]
				}
				ps[j] = math.Exp(ps[j])
				sum += ps[j]
				if c.gold {
					good += ps[j]
				}
			}
			if good == 0 {
				continue
			}
			for j, c := range t.cs {
				e := ps[j] / sum
				if c.gold {
					e -= ps[j] / good
				}
				e *= weight(t)
				for k, x := range c.e {
					g[k] += e * x / sd[k] / n
				}
			}
		}
		for k := range w {
			g[k] += 0.002 * w[k]
		}
	})
	for k := range w {
		out[k] = w[k] / sd[k]
	}
	return out
}

// best returns the best sentence of a trial by weights, with the features that compare it with the others.
func best(w *evidence, t *trial) *candidate {
	if len(t.cs) == 0 {
		return nil
	}
	var top candidate
	scores := make([]float64, len(t.cs))
	for i, c := range t.cs {
		for k, x := range c.e {
			scores[i] += w[k] * x
		}
		if i == 0 || scores[i] > slices.Max(scores[:i]) {
			top = c
		}
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	top.e.compare(scores)
	return &top
}

func fitTrust(ts []*trial, rank *evidence, weight func(*trial) float64) (out evidence, bias float64) {
	var xs []evidence
	var ys, ws []float64
	for _, t := range ts {
		if c := best(rank, t); c != nil {
			xs, ys, ws = append(xs, c.e), append(ys, value(c.gold)), append(ws, weight(t))
		}
	}
	sd := spread(xs)
	n := float64(len(xs))
	w := descend(nFeatures+1, 600, func(w, g []float64) {
		w[unknownNames] = min(w[unknownNames], -1.5*sd[unknownNames]) // few questions have one, and none of these is answered
		for i, x := range xs {
			z := w[nFeatures]
			for k := range x {
				z += w[k] * x[k] / sd[k]
			}
			e := ws[i] * (1/(1+math.Exp(-z)) - ys[i]) / n
			for k := range x {
				g[k] += e * x[k] / sd[k]
			}
			g[nFeatures] += e
		}
		for k := range sd {
			g[k] += 0.01 * w[k]
		}
	})
	for k := range sd {
		out[k] = w[k] / sd[k]
	}
	return out, w[nFeatures]
}

// TestFit fits the weights of weights.go, and logs how often the best sentence is right. SLUICE_FIT lists files of tasks, each with = and a pattern of the
// files of its questions, separated by commas:
//
//	sluice eval eval/testdata/everyday --what answers --mode direct --part tuning --tasks everyday.jsonl
//	sluice eval $SLUICE_DATA/squad --what answers --mode direct --half a --tasks squad.jsonl
//	SLUICE_FIT="$PWD/everyday.jsonl=$PWD/eval/testdata/everyday/*/queries.jsonl,$PWD/squad.jsonl=$SLUICE_DATA/squad/queries.jsonl" \
//	  SLUICE_FIT_OUT=weights.go go test ./model/local -run TestFit -v
//
// The weights were fitted to everyday (tuning) and to halves a of squad, hotpotqa and xquad-de, -es and -zh. trustProse is the mean of that and of a fit to
// everyday (tuning) and all of squad, without short, since squad has few short sentences. Those of amount, literal and unnamed are set by hand: the sets have few such
// questions.
func TestFit(t *testing.T) {
	spec := os.Getenv("SLUICE_FIT")
	if spec == "" {
		t.Skip("SLUICE_FIT is not set: it lists the tasks to fit to")
	}
	m := New(Options{Patience: -1})
	var ts []*trial
	counts := map[string]float64{}
	for part := range strings.SplitSeq(spec, ",") {
		tasks, questions, _ := strings.Cut(part, "=")
		for _, x := range load(t, tasks, questions) {
			x.read(t, m, 400)
			ts = append(ts, x)
			counts[x.set]++
		}
	}
	documents := map[string]bool{"everyday": true, "daily": true, "general": true, "office": true}
	weight := func(x *trial) float64 {
		if x.set == "squad" && !x.has {
			return 0.9
		}
		if x.set == "squad" {
			return 1
		}
		if !x.has {
			return 6
		}
		if documents[x.set] {
			return 2
		}
		return min(1, 300/counts[x.set])
	}
	rank := fitRank(ts, weight)
	both := map[string]trust{}
	for name, prose := range map[string]bool{"trustProse": true, "trustOther": false} {
		var some []*trial
		for _, x := range ts {
			if c := best(&rank, x); c != nil && c.e.isProse() == prose {
				some = append(some, x)
			}
		}
		w, b := fitTrust(some, &rank, weight)
		both[name] = trust{b, w}
	}
	trustProse, trustOther = both["trustProse"], both["trustOther"]
	report(t, ts, &rank)
	if path := os.Getenv("SLUICE_FIT_OUT"); path != "" {
		var b strings.Builder
		b.WriteString("package local\n\n// minAnswerability is the answerability that an answer needs.\nconst minAnswerability = 0.28\n\n")
		show := func(w evidence) {
			b.WriteString("evidence{")
			for k, x := range w {
				if math.Abs(x) > 5e-3 {
					fmt.Fprintf(&b, "%s: %.2f, ", featureNames[k], x)
				}
			}
			b.WriteString("}")
		}
		b.WriteString("var rankWeights = ")
		show(rank)
		for _, name := range []string{"trustProse", "trustOther"} {
			fmt.Fprintf(&b, "\n\nvar %s = trust{bias: %.2f, weights: ", name, both[name].bias)
			show(both[name].weights)
			b.WriteString("}")
		}
		b.WriteString("\n")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func report(t *testing.T, ts []*trial, rank *evidence) {
	bySet := map[string][]*trial{}
	for _, x := range ts {
		bySet[x.set] = append(bySet[x.set], x)
	}
	for set, xs := range bySet {
		var has, gold, oracle float64
		for _, x := range xs {
			if !x.has {
				continue
			}
			has++
			if c := best(rank, x); c != nil && c.gold {
				gold++
			}
			oracle += value(slices.ContainsFunc(x.cs, func(c candidate) bool { return c.gold }))
		}
		t.Logf("%s: best sentence right %.1f %%, possible %.1f %% of %v", set, 100*gold/has, 100*oracle/has, has)
		for _, at := range []float64{0.2, 0.3, 0.4, 0.5} {
			var r, w, q, n, u, uq float64
			for _, x := range xs {
				c := best(rank, x)
				p := 0.0
				if c != nil {
					p = c.e.answerability()
				}
				switch {
				case !x.has:
					u++
					uq += value(p < at)
				case p < at:
					q++
					n++
				case c.gold:
					r++
					n++
				default:
					w++
					n++
				}
			}
			t.Logf("   at %.1f: right %.1f wrong %.1f silent %.1f; unanswerable silent %.1f of %v", at, 100*r/n, 100*w/n, 100*q/n, 100*uq/max(u, 1), u)
		}
	}
}

var featureNames = strings.Fields(`own exactFar near far around wide rarest elsewhere pairs phrase copied similar related fit fitNear defines unfit passage rank names unknownNames numbers headed tasked acts first isRow figure rowKey rowColumn
	isItem isListed isCode isRequested isLabel labelled short long asks hangs repeats opposed flipped negated terms foreign measured amount unmeasured inRange outOfRange rowExact keyed unstated literal unnamed aheadOfSome certain`)
