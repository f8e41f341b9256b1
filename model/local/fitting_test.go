package local

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/beir"
)

// half parts the questions by a hash of what they are known by: weights are fitted to those of half 0.
func halfOf(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32()>>7) % 2
}

// trial is a question with what was read for it.
type trial struct {
	half   int
	weight float64 // in the fit of doubts
	has    bool    // its passages hold an answer
	first  []candidate
}

// candidate is a sentence with its figures.
type candidate struct {
	gold  bool
	rank  []float64
	doubt []float64
}

func rankList(e evidence) []float64 {
	return []float64{e.base(), e.phrase, e.related, e.around, e.numbers}
}

func doubtList(d answerSignals) []float64 {
	v := reflect.ValueOf(d)
	out := make([]float64, v.NumField())
	for i := range out {
		out[i] = v.Field(i).Float()
	}
	return out
}

func doubtNames() []string {
	var out []string
	ty := reflect.TypeOf(answerSignals{})
	for i := range ty.NumField() {
		out = append(out, ty.Field(i).Name)
	}
	return out
}

// trials reads each question with the five best passages, and each answerable one also with passages about something else.
func trials(t *testing.T, s *beir.Set, m *Model, most int) []trial {
	var out []trial
	for _, q := range s.Queries {
		for _, elsewhere := range []bool{false, true} {
			if elsewhere && !q.Answerable {
				continue
			}
			task := s.Task(q, elsewhere)
			qq, ranked, readings, err := m.rankAll(t.Context(), task)
			if err != nil || len(ranked) == 0 {
				continue
			}
			tr := trial{half: halfOf(q.ID), weight: 1, has: q.Answerable && !elsewhere}
			if elsewhere {
				tr.weight = 0.3
			}
			for _, c := range ranked[:min(most, len(ranked))] {
				k := candidate{rank: rankList(c.evid), doubt: doubtList(qq.signals(c, readings))}
				for _, a := range q.Answers {
					k.gold = k.gold || tr.has && strings.Contains(strings.ToLower(c.text), strings.ToLower(strings.Join(strings.Fields(a), " ")))
				}
				tr.first = append(tr.first, k)
			}
			out = append(out, tr)
		}
	}
	return out
}

// descend minimises by Adam: D. Kingma and J. Ba, 2015. slope adds the gradient at w to g.
func descend(d, steps int, slope func(w, g []float64)) []float64 {
	w, g, m, v := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)
	for it := 1; it <= steps; it++ {
		clear(g)
		slope(w, g)
		for k := range w {
			m[k] = 0.9*m[k] + 0.1*g[k]
			v[k] = 0.99*v[k] + 0.01*g[k]*g[k]
			w[k] -= 0.03 * m[k] / (1 - math.Pow(0.9, float64(it))) / (math.Sqrt(v[k]/(1-math.Pow(0.99, float64(it)))) + 1e-8)
		}
	}
	return w
}

func spread(xs [][]float64) []float64 {
	sd := make([]float64, len(xs[0]))
	for k := range sd {
		mean, sum := 0.0, 0.0
		for _, x := range xs {
			mean += x[k] / float64(len(xs))
		}
		for _, x := range xs {
			sum += (x[k] - mean) * (x[k] - mean)
		}
		sd[k] = math.Sqrt(sum/float64(len(xs))) + 1e-9
	}
	return sd
}

func weighted(w, x []float64) float64 {
	z := 0.0
	for k := range x {
		z += w[k] * x[k]
	}
	if len(w) > len(x) {
		z += w[len(x)]
	}
	return z
}

// fitRank fits a softmax over the candidates, those that hold a gold answer being right.
func fitRank(ts []trial) []float64 {
	var all [][]float64
	for _, t := range ts {
		for _, c := range t.first {
			all = append(all, c.rank)
		}
	}
	sd := spread(all)
	n := float64(len(ts))
	w := descend(len(sd), 400, func(w, g []float64) {
		for _, t := range ts {
			ps := make([]float64, len(t.first))
			var sum, right float64
			for j, c := range t.first {
				for k, x := range c.rank {
					ps[j] += w[k] * x / sd[k]
				}
				ps[j] = math.Exp(ps[j])
				sum += ps[j]
				if c.gold {
					right += ps[j]
				}
			}
			if right == 0 {
				continue
			}
			for j, c := range t.first {
				e := ps[j] / sum
				if c.gold {
					e -= ps[j] / right
				}
				for k, x := range c.rank {
					g[k] += e * x / sd[k] / n
				}
			}
		}
		for k := range w {
			g[k] += 0.003 * w[k]
		}
	})
	for k := range w {
		w[k] /= sd[k]
	}
	return w
}

// fitDoubt fits a logistic regression of is over those that weight gives some; the last weight is the constant.
func fitDoubt(ts []trial, use []int, top func(trial) candidate, is func(trial) bool, weight func(trial, candidate) float64) []float64 {
	pick := func(c candidate) []float64 {
		var out []float64
		for _, k := range use {
			out = append(out, c.doubt[k])
		}
		return out
	}
	var xs [][]float64
	var ys, ws []float64
	for _, t := range ts {
		c := top(t)
		if w := weight(t, c); w > 0 {
			y := 0.0
			if is(t) {
				y = 1
			}
			xs, ys, ws = append(xs, pick(c)), append(ys, y), append(ws, w)
		}
	}
	sd := spread(xs)
	n := float64(len(ts))
	w := descend(len(sd)+1, 800, func(w, g []float64) {
		for i, x := range xs {
			z := w[len(sd)]
			for k := range x {
				z += w[k] * x[k] / sd[k]
			}
			e := ws[i] * (1/(1+math.Exp(-z)) - ys[i]) / n
			for k := range x {
				g[k] += e * x[k] / sd[k]
			}
			g[len(sd)] += e
		}
		for k := range sd {
			g[k] += 0.01 * w[k]
		}
	})
	out := make([]float64, len(ts[0].first[0].doubt)+1)
	for k := range sd {
		out[use[k]] = w[k] / sd[k]
	}
	out[len(out)-1] = w[len(sd)]
	return out
}

func best(w []float64) func(trial) candidate {
	return func(t trial) candidate {
		return slices.MaxFunc(t.first, func(a, b candidate) int {
			x, y := weighted(w, a.rank), weighted(w, b.rank)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
}

// weightOf is that of a trial in the fit of what answers: those about something else have none.
func weightOf(t trial, c candidate) float64 {
	switch {
	case t.weight < 1:
		return 0
	case t.has && !c.gold:
		return 0.5
	}
	return 1
}

// TestFitting makes the weights of evidence.score, doubt.answers and doubt.relates, and judges what is fitted to one half of the
// questions by the other. It runs only where it is asked for, with SLUICE_FIT=1, and its figures are copied by hand.
func TestFitting(t *testing.T) {
	if os.Getenv("SLUICE_FIT") == "" {
		t.Skip("SLUICE_FIT is not set")
	}
	ts := trials(t, beir.Load(t, "squad"), New(Options{Patience: -1}), 8)
	answering := strings.Fields("rarest elsewhere names strangers opposed turned denies unsaid matched asked unfit copied similar context")
	relating := strings.Fields("rarest names strangers around similar context wide")
	for h := range 2 {
		var fitted, others []trial
		for _, x := range ts {
			if x.half == h {
				fitted = append(fitted, x)
			} else {
				others = append(others, x)
			}
		}
		rank := fitRank(fitted)
		top := best(rank)
		answers := fitDoubt(fitted, columns(answering), top, func(t trial) bool { return t.has }, weightOf)
		relates := fitDoubt(fitted, columns(relating), top, func(t trial) bool { return t.weight == 1 },
			func(trial, candidate) float64 { return 1 })
		const nearer = 1 // added to the constant of relates
		trust := func(t trial) float64 {
			c := top(t)
			return logistic(weighted(answers, c.doubt)) * logistic(weighted(relates, c.doubt)+nearer)
		}
		judge(t, h, fitted, others, top, trust)
		show(t, "rank, over the weight of base", []string{"base", "phrase", "akin", "around", "numbers"}, rank, rank[0])
		show(t, "answers", append(doubtNames(), "constant"), answers, 1)
		show(t, "relates", append(doubtNames(), "constant"), relates, 1)
	}
}

// judge logs what weights make of questions that they were not fitted to, at the trust that 88 of 100 answerable ones of the
// fitted half reach.
func judge(t *testing.T, h int, fitted, others []trial, top func(trial) candidate, trust func(trial) float64) {
	var reached []float64
	for _, x := range fitted {
		if x.has {
			reached = append(reached, trust(x))
		}
	}
	slices.Sort(reached)
	enough := reached[len(reached)*12/100]
	var asked, gold, silent, trick, trickSilent, off, offSilent float64
	for _, x := range others {
		quiet := 0.0
		if trust(x) < enough {
			quiet = 1
		}
		switch {
		case x.has:
			asked++
			silent += quiet
			if top(x).gold {
				gold++
			}
		case x.weight == 1:
			trick++
			trickSilent += quiet
		default:
			off++
			offSilent += quiet
		}
	}
	t.Logf("fitted to half %d, enough %.3f; of the other the best sentence holds gold for %.1f %%; silent on %.1f %%, of unanswerable ones %.1f %%, of others %.1f %%",
		h, enough, 100*gold/asked, 100*silent/asked, 100*trickSilent/trick, 100*offSilent/off)
}

func show(t *testing.T, what string, names []string, w []float64, by float64) {
	var b strings.Builder
	for k, x := range w {
		if x != 0 {
			fmt.Fprintf(&b, "  %s %.2f", names[k], x/by)
		}
	}
	t.Logf("%s:%s", what, b.String())
}

func columns(names []string) []int {
	all := doubtNames()
	var out []int
	for _, n := range names {
		out = append(out, slices.Index(all, n))
	}
	return out
}
