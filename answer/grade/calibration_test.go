package grade_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestSignals(t *testing.T) {
	stats := index.TermStats{Chunks: 1000, DF: map[string]int{"gold": 30, "riffles": 4, "dawson": 2, "1898": 1}}
	const question = "Was gold washed behind riffles at Dawson in 1898?"
	at := func(c corpus.Chunk) grade.Signals {
		return grade.Read(question, []grade.Scored{{Chunk: c, Score: 0.5, Cosine: 0.4}}, stats)[0]
	}
	whole := at(corpus.Chunk{Title: "Dawson", Text: "In 1898, gold was washed behind the riffles at Dawson."})
	for i, x := range whole {
		if want := map[int]float64{grade.Cosine: 0.4}[i]; i == grade.Cosine && x != want || i != grade.Cosine && x < 0.999 {
			t.Errorf("%s of all: %v", grade.SignalNames[i], x)
		}
	}
	none := at(corpus.Chunk{Title: "Bread", Text: "Bread is baked."})
	if none[grade.Cosine] = 0; none != (grade.Signals{}) {
		t.Errorf("of nothing: %v", none)
	}
	apart := at(corpus.Chunk{Text: "Gold is heavy. " + strings.Repeat("Bread is baked in an oven. ", 10) + "Riffles are bars."})
	if apart[grade.Close] >= apart[grade.Cover] || apart[grade.Named] != 0 || apart[grade.Titled] != 0 {
		t.Errorf("apart: %v", apart)
	}
	above := at(corpus.Chunk{Title: "Dawson (city)", Headings: []string{"Gold"}, Text: "It grew."})
	if above[grade.Titled] != 1 || above[grade.Named] != 0.5 || above[grade.Cover] == 0 || above[grade.Close] != 0 {
		t.Errorf("in the headings: %v", above)
	}
}

// TestHopsAreNotLost: a passage that holds half of a question, and what it is about, is of use.
func TestHopsAreNotLost(t *testing.T) {
	stats := index.TermStats{Chunks: 5000, DF: map[string]int{"director": 300, "film": 500, "born": 700, "riverbend": 2}}
	hits := []grade.Scored{
		{Chunk: corpus.Chunk{Title: "Riverbend", Text: "Riverbend is a 1961 film by the director Ada Vale."}, Score: 1},
		{Chunk: corpus.Chunk{Title: "Oven", Text: "An oven was born of need."}, Score: 0.2},
	}
	got, err := grade.Coverage{}.Grade(context.Background(), "When was the director of the film Riverbend born?", hits, stats)
	if err != nil || got.Scores[0] < grade.AmbiguousFrom || got.Scores[1] >= grade.AmbiguousFrom {
		t.Errorf("%v, %v", got.Scores, err)
	}
}

func TestCalibrationsBySpace(t *testing.T) {
	sure := grade.Calibration{Space: "mine", Bias: 9}
	never := grade.Calibration{Bias: -9}
	g := grade.Coverage{Fitted: grade.Calibrations{sure, never}}
	for space, want := range map[string]bool{"mine": true, "another": false, "": false} {
		got, err := g.Grade(context.Background(), "gold", []grade.Scored{{Chunk: corpus.Chunk{Text: "gold"}, Cosine: 0.5, Space: space}}, index.TermStats{})
		if err != nil || got.Scores[0] > 0.9 != want {
			t.Errorf("space %q: %v, %v", space, got.Scores, err)
		}
	}
	// Without a file, cosines of a space that nobody has fitted do not count.
	near := grade.Calibrations(nil).Of("unheard-of")
	if near.Weights[grade.Cosine] != 0 || near != grade.Calibrations(nil).Of("") {
		t.Errorf("%+v", near)
	}
}

func TestCalibrationsFile(t *testing.T) {
	want := grade.Calibrations{{Space: "a", Bias: -1, Weights: grade.Signals{grade.Cover: 2, grade.Cosine: 3.5}}, {Bias: 1}}
	data, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := grade.ParseCalibrations(data)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range []string{``, `[]`, `{"version":2}`, `{"version":1,"calibrations":[{"weights":{"luck":1}}]}`, `{"version":1,"calibrations":[{"bias":1e9}]}`,
		`{"version":1,"calibrations":[{"weights":{"cover":-1e9}}]}`, `{"version":1,"calibrations":[{"space":"a"},{"space":"a"}]}`,
		`{"version":1,"calibrations":[` + strings.TrimSuffix(strings.Repeat(`{"space":"a"},`, 200), ",") + `]}`} {
		if got, err := grade.ParseCalibrations([]byte(bad)); err == nil {
			t.Errorf("%.60s: %v", bad, got)
		}
	}
}

func FuzzCalibrations(f *testing.F) {
	f.Add([]byte(`{"version":1,"calibrations":[{"space":"a","bias":-1,"weights":{"cover":2}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cs, err := grade.ParseCalibrations(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(cs)
		require.NoError(t, err)
		same, err := grade.ParseCalibrations(again)
		if d := cmp.Diff(cs, same); len(cs) > 0 && d != "" || err != nil {
			t.Fatal(d, err)
		}
		for _, c := range cs {
			if x := c.Score(grade.Signals{1, 1, 1, 1, 1, 1}); !(x >= 0 && x <= 1) {
				t.Fatal(x)
			}
		}
	})
}

func FuzzSignals(f *testing.F) {
	f.Add("Was gold washed at Dawson?", "Gold (metal)", "Gold was washed.")
	f.Add("\xff⟦", "(", "\x00. not 1,,")
	f.Fuzz(func(t *testing.T, question, title, body string) {
		c := corpus.Chunk{Title: title, Headings: []string{body, title}, Text: body}
		for _, s := range grade.Read(question, []grade.Scored{{Chunk: c, Cosine: 2}, {Chunk: corpus.Chunk{Text: question}}}, index.TermStats{}) {
			for i, x := range s {
				if !(x >= 0 && x <= 1.000001) {
					t.Fatalf("%s is %v", grade.SignalNames[i], x)
				}
			}
		}
	})
}
