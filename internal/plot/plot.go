// Package plot draws figures as SVG, in colours for light and dark pages.
package plot

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/lang"
)

// style holds the colours of light and dark mode. Marks of series have the classes m0 to m4.
const style = `<style>
text{font:12px system-ui,sans-serif;fill:#24292f}.small{font-size:10.5px;fill:#57606a}.name{font-weight:600}.title{font-size:15px;font-weight:600}
.ground{fill:#ffffff}.grid{stroke:#d8dee4}.axis{stroke:#8c959f}.whisker{stroke:#24292f;stroke-width:1.2}
.m0{fill:#8fb3dd}.m1{fill:#d9822b}.m2{fill:#57ab7a}.m3{fill:#b287c9}.m4{fill:#c9a227}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}.ground{fill:#0f1419}.grid{stroke:#2a323b}.axis{stroke:#6e7681}
.whisker{stroke:#f0f6fc}.m0{fill:#456f9f}}
</style>
`

// Colours is the number of classes of series.
const Colours = 5

// Begin begins a figure of a size in pixels. label describes it to readers who cannot see it. The figure ends with "</svg>".
func Begin(b *strings.Builder, width, height int, label string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">`+"\n", width, height, Escaped(label))
	b.WriteString(style)
	fmt.Fprintf(b, `<rect class="ground" width="%d" height="%d"/>`+"\n", width, height)
}

// Title writes the title of a figure.
func Title(b *strings.Builder, title string) {
	fmt.Fprintf(b, `<text class="title" x="%d" y="24">%s</text>`+"\n", margin, Escaped(title))
}

// Legend writes the names of the series below the title, and returns where it ends, in pixels from the left.
func Legend(b *strings.Builder, names []string) int {
	x := margin
	for i, name := range names {
		fmt.Fprintf(b, `<rect class="m%d" x="%d" y="36" width="11" height="11"/><text x="%d" y="46">%s</text>`+"\n", i%Colours, x, x+16, Escaped(name))
		x += 36 + 7*len(name)
	}
	return x
}

// Escaped escapes the beginning of a text for XML.
func Escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(cmp.Or(lang.Truncate(s, 120), "?"))) // a builder takes everything
	return b.String()
}
