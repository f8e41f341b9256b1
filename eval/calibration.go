package eval

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/answer/confidence"
)

// Bin holds the answers whose confidence is in a range.
type Bin struct {
	From       int     `json:"from"` // percent, inclusive
	To         int     `json:"to"`   // percent, exclusive, but 100 is in the last range
	Answers    int     `json:"answers"`
	Confidence float64 `json:"confidence"` // mean, 0..1
	Right      float64 `json:"right"`      // share of right answers, with Wilson's 95 % interval
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// RiskPoint is the share of wrong answers if only those with the highest confidence are given.
type RiskPoint struct {
	Coverage   float64 `json:"coverage"`   // share of the answers that are given, 0..1
	Confidence float64 `json:"confidence"` // the lowest of a given answer
	Wrong      float64 `json:"wrong"`      // share of wrong answers among those given; answers of equal confidence count by their mean
}

// CalibrationReport compares the confidence in answers with the share of right ones. An answer is right if it contains an expected one;
// an answer to a question that has none is not. Abstentions are no answers.
type CalibrationReport struct {
	Set       string      `json:"set"`
	Answers   int         `json:"answers"`   // to questions with an expected answer, or of which it is known that they have none
	Abstained int         `json:"abstained"` // abstentions from such questions, which the other fields leave out
	Bins      []Bin       `json:"bins"`      // ten of equal width, without empty ones
	ECE       float64     `json:"ece"`       // expected calibration error (Guo et al. 2017, arXiv:1706.04599), over Bins
	AUC       float64     `json:"auc"`       // how likely a right answer has a higher confidence than a wrong one; NaN becomes 0
	Risk      []RiskPoint `json:"risk"`      // for a coverage of 10 %, 20 % and so on
	AURC      float64     `json:"aurc"`      // area under the curve of risk by coverage (Geifman et al. 2019, arXiv:1805.08206), over every number of answers
}

// Features returns the features from which the confidence in the answer is computed. It returns false without an answer.
func (a *AskResult) Features() (f confidence.Features, ok bool) {
	n := copy(f[:], a.Evidence)
	return f, n == len(f)
}

// calibrationBins is the number of ranges of confidence, and of points of risk.
const calibrationBins = 10

// Calibrate compares the confidence in the answers of reports with the share of right ones. It returns nil if no report has an answer
// for which that is known.
func Calibrate(name string, reports ...*ModeReport) *CalibrationReport {
	c := &CalibrationReport{Set: name}
	var answers []AskResult
	for _, r := range reports {
		for _, a := range r.Results {
			switch {
			case a.Right == nil || a.Failed != "":
			case a.Abstained:
				c.Abstained++
			case a.Confidence == 0: // a reply without sources, as to a greeting
			default:
				answers = append(answers, a)
			}
		}
	}
	if len(answers) == 0 {
		return nil
	}
	slices.SortStableFunc(answers, func(a, b AskResult) int { return cmp.Compare(b.Confidence, a.Confidence) })
	c.Answers, c.AUC = len(answers), separation(answers)
	c.addBins(answers)
	c.addRisk(answers)
	return c
}

func (c *CalibrationReport) addBins(answers []AskResult) {
	bins, right := make([]Bin, calibrationBins), make([]int, calibrationBins)
	for _, a := range answers {
		k := min(int(a.Confidence*calibrationBins), calibrationBins-1)
		bins[k].Answers++
		bins[k].Confidence += a.Confidence
		right[k] += int(one(*a.Right))
	}
	for k, b := range bins {
		if b.Answers == 0 {
			continue
		}
		b.From, b.To = k*100/calibrationBins, (k+1)*100/calibrationBins
		b.Confidence /= float64(b.Answers)
		b.Right = share(right[k], b.Answers)
		b.Low, b.High = wilson(right[k], b.Answers)
		c.ECE += math.Abs(b.Confidence-b.Right) * share(b.Answers, len(answers))
		c.Bins = append(c.Bins, b)
	}
}

// ties calls f for each group of answers of equal confidence in a sorted list, with its ends and its number of right answers.
func ties(sorted []AskResult, f func(from, to, right int)) {
	for i := 0; i < len(sorted); {
		j, right := i, 0
		for ; j < len(sorted) && sorted[j].Confidence == sorted[i].Confidence; j++ {
			right += int(one(*sorted[j].Right))
		}
		f(i, j, right)
		i = j
	}
}

// addRisk adds the shares of wrong answers. The answers are sorted, the highest confidence first.
func (c *CalibrationReport) addRisk(answers []AskResult) {
	risk := make([]float64, len(answers)) // of the first i+1 answers
	wrong := 0.0
	ties(answers, func(from, to, right int) {
		for i := from; i < to; i++ {
			wrong += 1 - share(right, to-from)
			risk[i] = wrong / float64(i+1)
			c.AURC += risk[i] / float64(len(answers))
		}
	})
	for k := 1; k <= calibrationBins; k++ {
		n := max(1, (len(answers)*k+calibrationBins/2)/calibrationBins)
		c.Risk = append(c.Risk, RiskPoint{Coverage: float64(k) / calibrationBins, Confidence: answers[n-1].Confidence, Wrong: risk[n-1]})
	}
}

// separation returns the area under the ROC curve, or 0 if all answers are right or all are wrong. The answers are sorted, the highest
// confidence first.
func separation(sorted []AskResult) float64 {
	sum, right := 0.0, 0
	ties(sorted, func(from, to, here int) {
		sum += float64(here) * (float64(len(sorted)) - float64(from+to-1)/2) // mean rank of equal values, the lowest confidence first
		right += here
	})
	wrong := len(sorted) - right
	if right == 0 || wrong == 0 {
		return 0
	}
	return (sum - float64(right)*float64(right+1)/2) / float64(right) / float64(wrong)
}

// WriteCalibration writes a table with a line for each range of confidence, and one of the risk by coverage with a line for each report.
func WriteCalibration(w io.Writer, reports ...*CalibrationReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "set\tconfidence\tanswers\tmean\tright\t95 % interval\tECE\tAUC\t")
	for _, r := range reports {
		for i, b := range r.Bins {
			whole := "\t\t"
			if i == 0 {
				whole = fmt.Sprintf("%.3f\t%.3f\t", r.ECE, r.AUC)
			}
			fmt.Fprintf(t, "%s\t%d to %d %%\t%d\t%.1f %%\t%.1f %%\t%.1f to %.1f\t%s\n", r.Set, b.From, b.To, b.Answers, 100*b.Confidence, 100*b.Right,
				100*b.Low, 100*b.High, whole)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nwrong answers if only those of the highest confidence are given, by their share:\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "set\tanswers\tabstained\t")
	for k := 1; k <= calibrationBins; k++ {
		fmt.Fprintf(t, "%d %%\t", k*100/calibrationBins)
	}
	fmt.Fprintln(t, "area\t")
	for _, r := range reports {
		fmt.Fprintf(t, "%s\t%d\t%d\t", r.Set, r.Answers, r.Abstained)
		for _, p := range r.Risk {
			fmt.Fprintf(t, "%.1f\t", 100*p.Wrong)
		}
		fmt.Fprintf(t, "%.3f\t\n", r.AURC)
	}
	return t.Flush()
}
