package plot_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/plot"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestChart checks that a chart is well-formed XML, holds a bar for each value, and that higher values have higher bars.
func TestChart(t *testing.T) {
	for _, log := range []bool{false, true} {
		p := plot.Panel{Name: "a < b", Log: log}
		p.Add("first", 2, 0, 3)
		p.Add("first", 2, 1, 700)
		p.Add("second & last", 2, 1, 0)
		empty := plot.Panel{Name: "none", Log: log}
		var out strings.Builder
		require.NoError(t, (plot.Chart{Title: `"title"`, Series: []string{"x", "y<"}, Panels: []plot.Panel{p, empty}}).Write(&out))
		var heights []string
		titles := 0
		for d := xml.NewDecoder(strings.NewReader(out.String())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if e, ok := token.(xml.StartElement); ok {
				switch {
				case e.Name.Local == "title":
					titles++
				case e.Name.Local == "rect" && len(e.Attr) > 3 && e.Attr[3].Value == "13":
					heights = append(heights, e.Attr[4].Value)
				}
			}
		}
		want := []string{"0.6", "131.2", "0.0"}
		if log {
			want = []string{"23.9", "142.3", "0.0"}
		}
		if titles != 3 || strings.Join(heights, " ") != strings.Join(want, " ") {
			t.Errorf("logarithmic %v: %d values, heights %v, want %v", log, titles, heights, want)
		}
	}
}
