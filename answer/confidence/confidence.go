// Package confidence estimates how likely the answer of a run is right.
package confidence

import (
	_ "embed" // the weights
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/logistic"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
)

// The features of an answer, each 0..1.
const (
	Answerability = iota // the writer's estimate that the passages hold the answer, or typical if it has none
	Unestimated          // 1: the generator without a model has no estimate, as for summaries
	Grade                // of the best cited passage
	Lead                 // Grade minus the grade of the best passage that was read and not cited
	Agreement            // share of the answer's words, beyond those of the question, that a passage of another document has
	Missing              // 1: the question asks for a time or a number, and the answer has none
	Several              // 1 - 1/claims
	Complex              // 1: the question was not analyzed as simple
	Unsupported          // share of the claims that the verification does not support; a partly supported one counts half
	Contradicted         // 1: the verification flagged the answer
	Listed               // 1: the answer is a list of documents, which was checked against the index
	Written              // 1: a language model wrote the answer
	count
)

// Names are the names of the features in files and reports.
var Names = [count]string{"answerability", "unestimated", "grade", "lead", "agreement", "missing", "several", "complex", "unsupported", "contradicted", "listed", "written"}

// signs are the directions in which features may change the confidence: 1 up, -1 down, 0 both.
var signs = Features{Answerability: 1, Grade: 1, Lead: 1, Agreement: 1, Missing: -1, Several: -1, Complex: -1, Unsupported: -1, Contradicted: -1, Listed: 1}

// Features are the values of the features of an answer.
type Features [count]float64

// typical stands for the answerability if the writer has no estimate: it is close to the mean of the generator without a model.
const typical = 0.5

// Read returns the features of the answer of a run that was verified and attributed. It returns false if there is no answer that cites
// something: the run failed, was stopped, is a reply to a greeting, or abstained. A cached answer has the confidence of the run that made it.
func Read(s *event.State) (Features, bool) {
	var f Features
	cited := slices.ContainsFunc(s.Sources, func(src event.Source) bool { return src.Cited })
	if s.Check == nil || !cited || s.Failure != nil {
		return f, false
	}
	text, other := said(s.Check), 0.0
	for _, src := range s.Sources {
		if src.Cited {
			f[Grade] = max(f[Grade], src.Score)
		} else {
			other = max(other, src.Score)
		}
	}
	f[Lead] = f[Grade] - other
	f[Listed] = bit(s.Check.By == event.ByTitles)
	f[Written] = bit(s.Generation != nil && s.Generation.Model != "" && s.Generation.Model != model.Extractive && f[Listed] == 0)
	f[Answerability] = s.Answerability
	if s.Answerability == 0 {
		f[Answerability] = typical
		f[Unestimated] = 1 - max(f[Written], f[Listed])
	}
	f[Agreement] = agreement(s, text)
	if asks := lang.OfQuestion(s.Query, text).Asks(s.Query); asks == lang.AsksTime || asks == lang.AsksNumber {
		f[Missing] = bit(strings.IndexFunc(text, unicode.IsNumber) < 0)
	}
	f[Several] = 1 - 1/float64(max(1, len(s.Check.Claims)))
	f[Complex] = bit(s.Analysis != nil && s.Analysis.Complexity != event.Simple)
	f[Unsupported], f[Contradicted] = 1-s.Check.Confidence, bit(s.Check.Flagged)
	for i, x := range f {
		if math.IsNaN(x) {
			x = 0
		}
		f[i] = min(max(x, 0), 1)
	}
	return f, true
}

// said returns the claims of an answer. The state of a running run has no text.
func said(v *event.Verified) string {
	var b strings.Builder
	for _, c := range v.Claims {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// agreement returns the share of the terms of the answer, without those of the question, that a passage has whose document is not that of the
// first cited passage; the greatest of all such passages.
func agreement(s *event.State, text string) float64 {
	asked, said := lang.TermSet(s.Query), lang.TermSet(text)
	for t := range asked {
		delete(said, t)
	}
	best := 0.0
	for _, src := range s.Sources {
		if src.Document == s.Sources[0].Document || len(said) == 0 {
			continue
		}
		both := 0
		for t := range lang.TermSet(src.Text) {
			if _, ok := said[t]; ok {
				both++
			}
		}
		best = max(best, float64(both)/float64(len(said)))
	}
	return best
}

// Calibration computes the probability that an answer is right from its features, by logistic regression:
// 1/(1+exp(-(Bias + Σ Weights·Features))).
type Calibration struct {
	Bias    float64
	Weights Features
}

//go:embed weights.json
var builtIn []byte

// BuiltIn returns the calibration that `sluice calibrate --what confidence` fitted.
var BuiltIn = sync.OnceValue(func() Calibration {
	var c Calibration
	if err := json.Unmarshal(builtIn, &c); err != nil {
		panic(err)
	}
	return c
})

// Estimate returns the probability that the answer of a run is right, 0..1, or 0 if it has none: see [Read].
func Estimate(s *event.State) float64 {
	f, ok := Read(s)
	if !ok {
		return 0
	}
	return BuiltIn().Probability(f)
}

// Probability returns the probability that an answer with these features is right, 0..1.
func (c Calibration) Probability(f Features) float64 {
	return logistic.P(append(c.Weights[:], c.Bias), append(f[:], 1))
}

// file is the JSON format of a calibration.
type file struct {
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"`
}

// MarshalJSON returns the calibration with the names of the features.
func (c Calibration) MarshalJSON() ([]byte, error) {
	f := file{c.Bias, map[string]float64{}}
	for i, name := range Names {
		f.Weights[name] = c.Weights[i]
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes. A feature that is unknown or missing is an error.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	c.Bias = f.Bias
	for i, name := range Names {
		w, ok := f.Weights[name]
		if !ok {
			return fmt.Errorf("weights: %s is missing", name)
		}
		c.Weights[i] = w
	}
	if len(f.Weights) != count {
		return fmt.Errorf("weights: %d features, not %d", len(f.Weights), count)
	}
	return nil
}

// Sample is an answer of which it is known whether it is right.
type Sample struct {
	Features Features
	Right    bool
	Weight   float64 // 0: ignored
}

// ridge is the strength of the prior, in samples of weight 1.
const ridge = 1

// Fit returns the calibration of the samples, by penalized maximum likelihood around the prior. A feature that no sample has keeps the weight of
// the prior: answers of models and contradicted ones are rare in evaluation sets. A feature whose weight would have the wrong sign gets the
// weight 0, so that better evidence never lowers the confidence.
func Fit(samples []Sample, prior Calibration) Calibration {
	var unused [count]bool
	for {
		w := fit(samples, prior, unused)
		worst := -1
		for i, sign := range signs {
			if w[i]*sign < 0 && (worst < 0 || math.Abs(w[i]) > math.Abs(w[worst])) {
				worst = i
			}
		}
		if worst >= 0 {
			unused[worst] = true
			continue
		}
		c := Calibration{Bias: round(w[count])}
		for i := range c.Weights {
			c.Weights[i] = round(w[i])
		}
		return c
	}
}

// fit returns the weights of the features, 0 for those that are not used, and the bias.
func fit(samples []Sample, prior Calibration, unused [count]bool) []float64 {
	before := append(prior.Weights[:], prior.Bias)
	for i, skip := range unused {
		if skip {
			before[i] = 0
		}
	}
	rows := make([]logistic.Sample, len(samples))
	for k, s := range samples {
		for i, skip := range unused {
			if skip {
				s.Features[i] = 0
			}
		}
		rows[k] = logistic.Sample{X: append(s.Features[:], 1), Y: s.Right, Weight: s.Weight}
	}
	return logistic.Fit(rows, before, ridge)
}

func round(x float64) float64 { return math.Round(x*100) / 100 }
