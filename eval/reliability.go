package eval

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/internal/plot"
)

// Sizes of the diagrams of a calibration in pixels.
const (
	diagramSide = 320
	diagramLeft = 52
	diagramTop  = 58
)

// WriteReliability writes two diagrams as SVG. The first shows, for each range of confidence, the share of right answers with its interval:
// a perfect confidence is on the diagonal, and the area of a point is in proportion to the number of answers. The second shows the share of
// wrong answers by the share of answers that are given, those of the highest confidence first. Tooltips show the figures.
func WriteReliability(w io.Writer, r *CalibrationReport) error {
	var b strings.Builder
	cell := diagramLeft + diagramSide + plotMargin
	width, height := 2*cell, diagramTop+diagramSide+50
	plot.Begin(&b, width, height, "Right answers by confidence, and wrong answers by coverage")
	left := diagram{&b, diagramLeft}
	left.frame("Right answers by confidence", fmt.Sprintf("%s: %d answers; whiskers: 95 %% interval", plot.Escaped(r.Set), r.Answers), "confidence")
	fmt.Fprintf(&b, `<path class="axis" stroke-dasharray="4 4" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", left.x(0), left.y(0), left.x(1), left.y(1))
	for _, bin := range r.Bins {
		radius := 3 + 14*math.Sqrt(share(bin.Answers, r.Answers))
		fmt.Fprintf(&b, `<g><title>%d to %d %%: %d answers, %.1f %% right (%.1f to %.1f)</title>`, bin.From, bin.To, bin.Answers, 100*bin.Right, 100*bin.Low, 100*bin.High)
		fmt.Fprintf(&b, `<circle class="m1" cx="%.1f" cy="%.1f" r="%.1f"/>`, left.x(bin.Confidence), left.y(bin.Right), radius)
		fmt.Fprintf(&b, `<path class="whisker" d="M%.1f %.1fV%.1f"/></g>`+"\n", left.x(bin.Confidence), left.y(bin.Low), left.y(bin.High))
	}
	right := diagram{&b, float64(cell + diagramLeft)}
	right.frame("Wrong answers by coverage", fmt.Sprintf("area %.3f; without %d abstentions", r.AURC, r.Abstained), "share of the answers that are given")
	fmt.Fprint(&b, `<polyline fill="none" stroke="#d9822b" stroke-width="2" points="`)
	for _, p := range r.Risk {
		fmt.Fprintf(&b, "%.1f,%.1f ", right.x(p.Coverage), right.y(p.Wrong))
	}
	b.WriteString(`"/>` + "\n")
	for _, p := range r.Risk {
		fmt.Fprintf(&b, `<g><title>%.0f %%: confidence from %.2f, %.1f %% wrong</title><circle class="m1" cx="%.1f" cy="%.1f" r="4"/></g>`+"\n", 100*p.Coverage, p.Confidence,
			100*p.Wrong, right.x(p.Coverage), right.y(p.Wrong))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// diagram is a square with scales from 0 to 100 % in both directions.
type diagram struct {
	b    *strings.Builder
	left float64 // pixels
}

func (d diagram) x(p float64) float64 { return d.left + p*diagramSide }
func (d diagram) y(p float64) float64 { return diagramTop + (1-p)*diagramSide }

// frame draws the titles, which are escaped, and the scales.
func (d diagram) frame(title, subtitle, below string) {
	fmt.Fprintf(d.b, `<text class="title" x="%.0f" y="24">%s</text>`+"\n", d.left-diagramLeft+plotMargin, title)
	fmt.Fprintf(d.b, `<text class="small" x="%.0f" y="43">%s</text>`+"\n", d.left-diagramLeft+plotMargin, subtitle)
	for p := 0; p <= 100; p += 20 {
		v := float64(p) / 100
		fmt.Fprintf(d.b, `<path class="grid" d="M%.1f %.1fH%.1fM%.1f %.1fV%.1f"/>`, d.x(0), d.y(v), d.x(1), d.x(v), d.y(0), d.y(1))
		fmt.Fprintf(d.b, `<text class="small" x="%.0f" y="%.1f" text-anchor="end">%d %%</text>`, d.left-6, d.y(v)+4, p)
		fmt.Fprintf(d.b, `<text class="small" x="%.1f" y="%.1f" text-anchor="middle">%d %%</text>`+"\n", d.x(v), d.y(0)+17, p)
	}
	fmt.Fprintf(d.b, `<text class="small" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", d.x(0.5), d.y(0)+36, below)
}
