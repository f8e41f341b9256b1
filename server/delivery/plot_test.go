package delivery

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluice-rag/sluice/internal/plot"
)

// plotted draws the sizes as bars with a logarithmic scale.
func plotted(sizes map[string]map[string]int) []byte {
	const left, top, bar, gap, width, low, high = 170, 62, 16, 16, 560, 3, 7
	var b strings.Builder
	height := top + len(measured)*(3*bar+gap) + 34
	plot.Begin(&b, left+width+90, height, "Bytes of a stream by variant and compression")
	plot.Title(&b, "An answer of 1,000 tokens with five sources, streamed")
	names := []string{"plain", "gzip", "zstd"}
	plot.Legend(&b, names)
	scale := func(n int) int { return int((math.Log10(float64(n)) - low) / (high - low) * width) }
	for e := low; e <= high; e++ {
		at := left + (e-low)*width/(high-low)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", at, top-6, at, height-28)
		fmt.Fprintf(&b, `<text class="small" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", at, height-12, []string{"1 KB", "10 KB", "100 KB", "1 MB", "10 MB"}[e-low])
	}
	for i, f := range measured {
		y := top + i*(3*bar+gap)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-10, y+3*bar/2+4, f.name)
		for j, coding := range measuredCompressions {
			n := sizes[f.name][coding]
			fmt.Fprintf(&b, `<rect class="m%d" x="%d" y="%d" width="%d" height="%d"><title>%s, %s: %d bytes</title></rect>`, j, left, y+j*bar, scale(n), bar-3, f.name, names[j], n)
			fmt.Fprintf(&b, `<text class="small" x="%d" y="%d">%s</text>`+"\n", left+scale(n)+5, y+j*bar+10, kilobytes(n))
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func kilobytes(n int) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1e3)
}
