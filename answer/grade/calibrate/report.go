package calibrate

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/answer/grade"
)

// bins is the number of equal intervals of 0..1 in a reliability diagram.
const bins = 10

// Bin is an interval of the scores.
type Bin struct {
	From     float64 `json:"from"`
	Share    float64 `json:"share"`    // of the samples, by weight
	Score    float64 `json:"score"`    // mean score
	Relevant float64 `json:"relevant"` // share of relevant samples
}

// Threshold is the result of deciding at a score.
type Threshold struct {
	From      float64 `json:"from"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// Report says how well scores are calibrated. ECE is the expected calibration error (Naeini, Cooper and Hauskrecht 2015):
// the weighted mean, over the bins, of the difference between the mean score and the share of relevant samples. Brier is
// the mean square of score minus outcome (Brier 1950); a constant score of one half gives 0.25.
type Report struct {
	Samples    int         `json:"samples"`
	ECE        float64     `json:"ece"`
	Brier      float64     `json:"brier"`
	Thresholds []Threshold `json:"thresholds"` // of CORRECT and AMBIGUOUS
	Bins       []Bin       `json:"bins"`
}

// Measure compares the scores, one for each sample, with the relevance of the samples.
func Measure(samples []Sample, scores []float64) Report {
	r := Report{Samples: len(samples), Bins: make([]Bin, bins)}
	var total, relevant float64
	for i, s := range samples {
		b := &r.Bins[min(bins-1, int(scores[i]*bins))]
		y := 0.0
		if s.Relevant {
			y = 1
		}
		total += s.Weight
		relevant += s.Weight * y
		b.Share += s.Weight
		b.Score += s.Weight * scores[i]
		b.Relevant += s.Weight * y
		r.Brier += s.Weight * (scores[i] - y) * (scores[i] - y)
	}
	if total == 0 {
		return r
	}
	r.Brier /= total
	for i := range r.Bins {
		b := &r.Bins[i]
		b.From = float64(i) / bins
		if b.Share > 0 {
			r.ECE += math.Abs(b.Score-b.Relevant) / total
			b.Score, b.Relevant, b.Share = b.Score/b.Share, b.Relevant/b.Share, b.Share/total
		}
	}
	for _, from := range []float64{grade.CorrectFrom, grade.AmbiguousFrom} {
		var said, right float64
		for i, s := range samples {
			if scores[i] >= from {
				said += s.Weight
				if s.Relevant {
					right += s.Weight
				}
			}
		}
		t := Threshold{From: from}
		if said > 0 {
			t.Precision = right / said
		}
		if relevant > 0 {
			t.Recall = right / relevant
		}
		r.Thresholds = append(r.Thresholds, t)
	}
	return r
}

// WriteText writes a report for people: a line of figures, and a line for each bin in which a bar shows the share of
// relevant samples and a mark shows the ideal share.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d passages, expected calibration error %.3f, Brier %.3f", r.Samples, r.ECE, r.Brier)
	for _, t := range r.Thresholds {
		fmt.Fprintf(&b, "; from %.1f precision %.3f, recall %.3f", t.From, t.Precision, t.Recall)
	}
	b.WriteString("\n")
	const width = 40
	for _, bin := range r.Bins {
		bar := []rune(strings.Repeat("█", int(math.Round(bin.Relevant*width))) + strings.Repeat(" ", width))[:width]
		if bin.Share > 0 {
			bar[min(width-1, int(bin.Score*width))] = '|'
		}
		fmt.Fprintf(&b, "  %.1f–%.1f %s %5.1f %% of scores, mean %.2f, relevant %.2f\n", bin.From, bin.From+1.0/bins, string(bar), 100*bin.Share, bin.Score, bin.Relevant)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
