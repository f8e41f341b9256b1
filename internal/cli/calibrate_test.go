package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/answer/confidence"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// towns makes a set whose questions each have one relevant document.
func towns(t *testing.T, dir, thing string) {
	t.Helper()
	var docs, questions, judged strings.Builder
	for i := range 40 {
		town := fmt.Sprintf("%s%cville", strings.Repeat("Ab", 1+i/26), 'a'+i%26)
		fmt.Fprintf(&docs, `{"_id":"d%d","title":"%s","text":"%s is known for its %s. It was founded in %d by a miller."}`+"\n", i, town, town, thing, 1500+i)
		fmt.Fprintf(&questions, `{"_id":"q%d","text":"When was %s founded by a miller?"}`+"\n", i, town)
		fmt.Fprintf(&judged, "q%d\td%d\t1\n", i, i)
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"corpus.jsonl": docs.String(), "queries.jsonl": questions.String(), "qrels.tsv": judged.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// TestCalibrate: what is written can be read, serves as a setting and in the data folder, and comes out the same again.
func TestCalibrate(t *testing.T) {
	docs := docs(t)
	dir := t.TempDir()
	towns(t, filepath.Join(dir, "cheese"), "cheese")
	towns(t, filepath.Join(dir, "lace"), "lace")
	data := t.TempDir()
	file := filepath.Join(data, "calibration.json")
	status, out, errs := run(t, "calibrate", dir, "--write", file)
	if status != 0 || !strings.Contains(out, "without vectors") || strings.Count(out, "after: ") != 2 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	if cs, err := grade.ParseCalibrations(written); err != nil || len(cs) != 2 {
		t.Fatalf("%v, %v in %s", cs, err, written)
	}
	if _, again, _ := run(t, "calibrate", dir); again != out {
		t.Errorf("not the same again:\n%s", again)
	}
	if status, out, _ := run(t, "calibrate", "--json", dir); status != 0 || !strings.Contains(out, `"ece"`) {
		t.Errorf("status %d: %s", status, out)
	}
	if status, _, errs := run(t, "ingest", "--data", data, docs); status != 0 {
		t.Errorf("with a calibration in the data folder: %s", errs)
	}
	require.NoError(t, os.WriteFile(file, []byte(`{"version":1,"calibrations":[{"weights":{"luck":1}}]}`), 0o600))
	for _, args := range [][]string{{"ask", "--data", data, "why?"}, {"ask", "--data", t.TempDir(), "--calibration", file, "why?"}} {
		if status, _, errs := run(t, args...); status == 0 || !strings.Contains(errs, "luck") {
			t.Errorf("%v: status %d %s", args, status, errs)
		}
	}
}

// TestCalibrateConfidence checks that the weights are fitted to the answers of one half and reported for those of the other.
func TestCalibrateConfidence(t *testing.T) {
	dir := t.TempDir()
	towns(t, dir, "cheese")
	questions, err := os.ReadFile(filepath.Join(dir, "queries.jsonl"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(questions)), "\n")
	for i, l := range lines { // every third expected answer is wrong
		year := 1500 + i
		if i%3 == 0 {
			year = 99
		}
		lines[i] = strings.TrimSuffix(l, "}") + fmt.Sprintf(`,"answers":["%d"]}`, year)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "queries.jsonl"), []byte(strings.Join(lines, "\n")), 0o600))
	file := filepath.Join(t.TempDir(), "weights.json")
	status, out, errs := run(t, "calibrate", "--what", "confidence", dir, "--write", file)
	if status != 0 || !strings.Contains(out, " before") || !strings.Contains(out, " after") || !strings.Contains(out, "100 %") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	var c confidence.Calibration
	if err := json.Unmarshal(written, &c); err != nil || c == confidence.BuiltIn() {
		t.Errorf("%v: %s", err, written)
	}
	if status, _, _ := run(t, "calibrate", "--what", "luck", dir); status == 0 {
		t.Error("an unknown part was fitted")
	}
}
