package plot

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Sizes in pixels.
const (
	margin      = 16
	top         = 60 // title and legend
	panelTop    = 30 // name of the panel
	panelHeight = 150
	panelFoot   = 34 // names below the bars
	panelLeft   = 54 // scale
	panelMin    = 320
	barWidth    = 15
	groupGap    = 22
)

// Chart is a figure of panels with bars, two in a row. All panels have the same series.
type Chart struct {
	Title  string
	Series []string
	Panels []Panel
}

// Panel shows one quantity, which is not negative, for each group and series.
type Panel struct {
	Name   string
	Log    bool     // the scale is logarithmic
	Groups []string // names below the bars
	values [][]float64
}

// Add sets the value of one of n series in a group, which it adds if it is new.
func (p *Panel) Add(group string, n, series int, value float64) {
	i := slices.Index(p.Groups, group)
	if i < 0 {
		i = len(p.Groups)
		p.Groups = append(p.Groups, group)
		p.values = append(p.values, slices.Repeat([]float64{math.NaN()}, n))
	}
	p.values[i][series] = value
}

// Write writes the chart as SVG.
func (c Chart) Write(w io.Writer) error {
	inner := panelMin
	for _, p := range c.Panels {
		inner = max(inner, len(p.Groups)*(len(c.Series)*barWidth+groupGap))
	}
	cell, row := panelLeft+inner+margin, panelTop+panelHeight+panelFoot
	across := 2
	if inner > 2*panelMin {
		across = 1
	}
	var b strings.Builder
	Begin(&b, margin+across*cell, top+(len(c.Panels)+across-1)/across*row+margin, c.Title)
	Title(&b, c.Title)
	Legend(&b, c.Series)
	for i, p := range c.Panels {
		p.draw(&b, c.Series, margin+i%across*cell+panelLeft, top+i/across*row+panelTop, inner)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// draw draws a panel whose bars begin at a place in pixels and have a width together.
func (p Panel) draw(b *strings.Builder, series []string, left, top, width int) {
	s := p.scale()
	at := func(v float64) float64 { return float64(top) + (1-s.at(v))*panelHeight }
	fmt.Fprintf(b, `<text class="name" x="%d" y="%d">%s</text>`+"\n", left, top-12, Escaped(p.Name))
	for _, v := range s.ticks() {
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fh%d"/><text class="small" text-anchor="end" x="%d" y="%.1f">%s</text>`+"\n", left, at(v), width, left-6, at(v)+3.5, figure(v))
	}
	step := float64(width) / float64(max(len(p.Groups), 1))
	for i, g := range p.Groups {
		middle := float64(left) + (float64(i)+0.5)*step
		x := middle - float64(len(series)*barWidth)/2
		for k, v := range p.values[i] {
			if !math.IsNaN(v) {
				fmt.Fprintf(b, `<rect class="m%d" x="%.1f" y="%.1f" width="%d" height="%.1f"><title>%s, %s: %s</title></rect>`+"\n", k%Colours, x+float64(k*barWidth)+1, at(v), barWidth-2,
					float64(top+panelHeight)-at(v), Escaped(g), Escaped(series[k]), figure(v))
			}
		}
		fmt.Fprintf(b, `<text class="small" text-anchor="middle" x="%.1f" y="%d">%s</text>`+"\n", middle, top+panelHeight+16, Escaped(g))
	}
}

// scale maps values to heights from 0 to 1.
type scale struct {
	low, high float64
	log       bool
}

// scale returns the scale of the panel's values: from 0 to a round number, or between powers of ten.
func (p Panel) scale() scale {
	low, high := math.Inf(1), 0.0
	for _, group := range p.values {
		for _, v := range group {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		return scale{high: 1}
	}
	if p.Log {
		return scale{math.Floor(math.Log10(low)), max(math.Ceil(math.Log10(high)), math.Floor(math.Log10(low))+1), true}
	}
	unit := math.Pow(10, math.Floor(math.Log10(high)))
	for _, round := range []float64{1, 2, 4, 6, 8, 10} {
		if high <= round*unit {
			return scale{high: round * unit}
		}
	}
	return scale{high: high}
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = math.Log10(max(v, math.Pow(10, s.low)))
	}
	return (v - s.low) / (s.high - s.low)
}

func (s scale) ticks() (at []float64) {
	if !s.log {
		return []float64{0, s.high / 4, s.high / 2, s.high * 3 / 4, s.high}
	}
	for e := s.low; e <= s.high; e++ {
		at = append(at, math.Pow(10, e))
	}
	return at
}

// figure returns a number with three digits.
func figure(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3gk", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
