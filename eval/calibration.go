package eval

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Bin holds the answers whose confidence is in a range.
type Bin struct {
	From       int     `json:"from"` // percent, inclusive
	To         int     `json:"to"`
	Answers    int     `json:"answers"`
	Confidence float64 `json:"confidence"` // mean, 0..1
	Right      float64 `json:"right"`      // share of right answers, with Wilson's 95 % interval
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// CalibrationReport compares the confidence in answers with the share of right ones. An answer is right if it contains an expected one;
// an abstention, and an answer to a question that has none, are not.
type CalibrationReport struct {
	Set     string  `json:"set"`
	Answers int     `json:"answers"` // questions with an expected answer, or of which it is known that they have none
	Bins    []Bin   `json:"bins"`    // without empty ones
	ECE     float64 `json:"ece"`     // expected calibration error (Guo et al. 2017, arXiv:1706.04599), over Bins
	AUC     float64 `json:"auc"`     // how likely a right answer has a higher confidence than a wrong one; NaN becomes 0
}

// calibrationBins are the ranges of confidence: those of the ragevents protocol, the last two divided.
var calibrationBins = [][2]int{{10, 29}, {30, 40}, {65, 69}, {70, 74}, {75, 79}, {80, 84}, {85, 89}, {90, 95}}

// Calibrate compares the confidence in the answers of reports with the share of right ones. It returns nil if no report has a
// question for which that is known.
func Calibrate(name string, reports ...*ModeReport) *CalibrationReport {
	var answers []AskResult
	for _, r := range reports {
		for _, a := range r.Results {
			if a.Right != nil && a.Confidence > 0 {
				answers = append(answers, a)
			}
		}
	}
	if len(answers) == 0 {
		return nil
	}
	c := &CalibrationReport{Set: name, Answers: len(answers), AUC: separation(answers)}
	for _, b := range calibrationBins {
		bin, right := Bin{From: b[0], To: b[1]}, 0
		for _, a := range answers {
			if a.Confidence >= b[0] && a.Confidence <= b[1] {
				bin.Answers++
				bin.Confidence += float64(a.Confidence) / 100
				right += int(one(*a.Right))
			}
		}
		if bin.Answers == 0 {
			continue
		}
		bin.Confidence /= float64(bin.Answers)
		bin.Right = share(right, bin.Answers)
		bin.Low, bin.High = wilson(right, bin.Answers)
		c.ECE += math.Abs(bin.Confidence-bin.Right) * share(bin.Answers, len(answers))
		c.Bins = append(c.Bins, bin)
	}
	return c
}

// separation returns the area under the ROC curve, or 0 if all answers are right or all are wrong.
func separation(answers []AskResult) float64 {
	sorted := slices.Clone(answers)
	slices.SortFunc(sorted, func(a, b AskResult) int { return a.Confidence - b.Confidence })
	sum, right := 0.0, 0
	for i := 0; i < len(sorted); {
		j, here := i, 0
		for ; j < len(sorted) && sorted[j].Confidence == sorted[i].Confidence; j++ {
			here += int(one(*sorted[j].Right))
		}
		sum += float64(here) * float64(i+1+j) / 2 // mean rank of equal values
		right += here
		i = j
	}
	wrong := len(sorted) - right
	if right == 0 || wrong == 0 {
		return 0
	}
	return (sum - float64(right)*float64(right+1)/2) / float64(right) / float64(wrong)
}

// WriteCalibration writes a table with a line for each range of confidence.
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
	return t.Flush()
}

// Sizes of the reliability diagram in pixels.
const (
	diagramSide = 320
	diagramLeft = 52
	diagramTop  = 58
)

// WriteReliability writes a reliability diagram as SVG: for each range of confidence, the share of right answers with its interval. A
// perfect confidence is on the diagonal. The area of a point is in proportion to the number of answers. Tooltips show the figures.
func WriteReliability(w io.Writer, r *CalibrationReport) error {
	var b strings.Builder
	width, height := diagramLeft+diagramSide+plotMargin, diagramTop+diagramSide+50
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Share of right answers by confidence">`+"\n",
		width, height, width, height)
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, `<rect class="ground" width="%d" height="%d"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="24">Right answers by confidence</text>`+"\n", plotMargin)
	fmt.Fprintf(&b, `<text class="small" x="%d" y="43">%s: %d answers; whiskers: 95 %% interval</text>`+"\n", plotMargin, escaped(r.Set), r.Answers)
	x := func(p float64) float64 { return diagramLeft + p*diagramSide }
	y := func(p float64) float64 { return diagramTop + (1-p)*diagramSide }
	for p := 0; p <= 100; p += 20 {
		v := float64(p) / 100
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fH%.1fM%.1f %.1fV%.1f"/>`, x(0), y(v), x(1), x(v), y(0), y(1))
		fmt.Fprintf(&b, `<text class="small" x="%d" y="%.1f" text-anchor="end">%d %%</text>`, diagramLeft-6, y(v)+4, p)
		fmt.Fprintf(&b, `<text class="small" x="%.1f" y="%.1f" text-anchor="middle">%d %%</text>`+"\n", x(v), y(0)+17, p)
	}
	fmt.Fprintf(&b, `<path class="axis" stroke-dasharray="4 4" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", x(0), y(0), x(1), y(1))
	fmt.Fprintf(&b, `<text class="small" x="%.1f" y="%.1f" text-anchor="middle">confidence shown</text>`+"\n", x(0.5), y(0)+36)
	for _, bin := range r.Bins {
		radius := 3 + 14*math.Sqrt(share(bin.Answers, r.Answers))
		fmt.Fprintf(&b, `<g><title>%d to %d %%: %d answers, %.1f %% right (%.1f to %.1f)</title>`, bin.From, bin.To, bin.Answers, 100*bin.Right, 100*bin.Low, 100*bin.High)
		fmt.Fprintf(&b, `<circle class="m1" cx="%.1f" cy="%.1f" r="%.1f"/>`, x(bin.Confidence), y(bin.Right), radius)
		fmt.Fprintf(&b, `<path class="whisker" d="M%.1f %.1fV%.1f"/></g>`+"\n", x(bin.Confidence), y(bin.Low), y(bin.High))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
