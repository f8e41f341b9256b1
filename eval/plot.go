package eval

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/plot"
	"github.com/sluice-rag/sluice/lang"
)

// Sizes of the plot in pixels.
const (
	plotMargin  = 16
	plotTop     = 56  // title and legend
	panelTop    = 30  // name of the panel
	panelHeight = 130 // bars
	panelFoot   = 62  // names below the bars
	panelLeft   = 34  // scale
	barWidth    = 13
	groupGap    = 14
	panelMin    = 300
)

// maxBars is the maximum number of rows of a mode in a plot; further rows are left out.
const maxBars = 40

// WritePlot writes an SVG with a panel for each leading measure. A panel has a bar for each set and mode, with the interval as a
// whisker. Groups other than [MultiHop] are left out. Tooltips show the figures.
func WritePlot(w io.Writer, reports ...*ModeReport) error {
	p := newModePlot(reports)
	across := 2
	if len(p.labels) > 8 || len(p.panels) == 1 {
		across = 1
	}
	inner := max(panelMin, len(p.labels)*(len(p.modes)*barWidth+groupGap))
	cell := panelLeft + inner + plotMargin
	width := plotMargin + across*cell
	cellHeight := panelTop + panelHeight + panelFoot
	height := plotTop + (len(p.panels)+across-1)/across*cellHeight + plotMargin
	var b strings.Builder
	plot.Begin(&b, width, height, "Measures by set and mode, with intervals")
	plot.Title(&b, "Answering, by set and mode")
	modes := make([]string, len(p.modes))
	for i, m := range p.modes {
		modes[i] = string(m)
	}
	x := plot.Legend(&b, modes)
	fmt.Fprintf(&b, `<text class="small" x="%d" y="46">whiskers: 95 %% interval of the mean over questions</text>`+"\n", x)
	for i, m := range p.panels {
		p.panel(&b, m, plotMargin+i%across*cell, plotTop+i/across*cellHeight, inner)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// modePlot is the data of a plot.
type modePlot struct {
	labels []string // of the rows, in the order of the reports
	modes  []event.Mode
	panels []Measure
	rows   map[string]map[event.Mode]Row // by label
}

func newModePlot(reports []*ModeReport) *modePlot {
	p := &modePlot{rows: map[string]map[event.Mode]Row{}}
	for _, r := range reports {
		for _, row := range r.Rows {
			label := r.Set
			switch row.Group {
			case "":
			case MultiHop:
				label += ", " + MultiHop
			default:
				continue
			}
			if p.rows[label] == nil {
				if len(p.labels) == maxBars {
					continue
				}
				p.labels = append(p.labels, label)
				p.rows[label] = map[event.Mode]Row{}
			}
			p.rows[label][r.Mode] = row
			if !slices.Contains(p.modes, r.Mode) {
				p.modes = append(p.modes, r.Mode)
			}
		}
	}
	p.panels = slices.DeleteFunc(Measures(), func(m Measure) bool { return !m.Leading || !measured(reports, m.Key) })
	return p
}

func (p *modePlot) panel(b *strings.Builder, m Measure, left, top, inner int) {
	name := m.Name
	if m.Lower {
		name += " (less is better)"
	}
	x0, y0 := left+panelLeft, top+panelTop
	at := func(v float64) float64 { return float64(y0) + (1-v)*panelHeight }
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s</text>`+"\n", x0, y0-10, plot.Escaped(name))
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="small" text-anchor="end" x="%d" y="%.1f">%.2g</text>`+"\n",
			class, x0, x0+inner, at(v), at(v), x0-6, at(v)+3.5, v)
	}
	var shown []string
	for _, l := range p.labels {
		for _, row := range p.rows[l] {
			if _, ok := row.Measures[m.Key]; ok && !slices.Contains(shown, l) {
				shown = append(shown, l)
			}
		}
	}
	step := float64(inner) / float64(max(len(shown), 1))
	for i, l := range shown {
		middle := float64(x0) + (float64(i)+0.5)*step
		x := middle - float64(len(p.modes)*barWidth)/2
		for k, mode := range p.modes {
			if e, ok := p.rows[l][mode].Measures[m.Key]; ok {
				bar(b, k, x+float64(k*barWidth), at, e, fmt.Sprintf("%s, %s: %.3f (%.3f to %.3f), %d questions", l, mode, e.Mean, e.Low, e.High, e.N))
			}
		}
		fmt.Fprintf(b, `<text class="small" text-anchor="end" transform="translate(%.1f %.1f) rotate(-28)">%s</text>`+"\n", middle+4, at(0)+14, plot.Escaped(short(l)))
	}
}

// bar draws one bar with its whisker.
func bar(b *strings.Builder, colour int, x float64, at func(float64) float64, e Estimate, says string) {
	fmt.Fprintf(b, `<g><title>%s</title><rect class="m%d" x="%.1f" y="%.1f" width="%d" height="%.1f"/>`, plot.Escaped(says), colour%plot.Colours, x+1, at(e.Mean),
		barWidth-2, at(0)-at(e.Mean))
	middle := x + barWidth/2.0
	fmt.Fprintf(b, `<path class="whisker" fill="none" d="M%.1f %.1fh4M%.1f %.1fV%.1fM%.1f %.1fh4"/></g>`+"\n", middle-2, at(e.High), middle, at(e.High), at(e.Low),
		middle-2, at(e.Low))
}

// maxLabel is the maximum length in bytes of a label below the bars.
const maxLabel = 24

func short(label string) string {
	if len(label) <= maxLabel {
		return label
	}
	return lang.Truncate(label, maxLabel-3) + "…"
}
