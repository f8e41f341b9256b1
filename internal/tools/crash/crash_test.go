package crash_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/sluice-rag/sluice/internal/tools/race"
)

var (
	kills   = flag.Int("kills", 3, "how often the server is killed")
	damages = flag.Int("damages", 9, "how many files are damaged")
	fills   = flag.Int("fills", 1, "how often the disk is filled")
	bombs   = flag.Int("bombs", 4, "every how many hostile documents one is uploaded, from a random one on; 0: none")
	seed    = flag.Uint64("seed", 1, "seed of the random choices")
)

// program builds the server once, with the race detector if the tests have it, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "sluice")
	out, err := exec.Command("go", "build", "-o", path, fmt.Sprintf("-race=%t", race.Enabled), "../../../cmd/sluice").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
})

// built is the folder of the programs.
var built string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if built, err = os.MkdirTemp("", "sluice-crash"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	report.print()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// row is the result of one scenario.
type row struct {
	scenario    string
	tried       int
	refused     int // the server did not start and named the damaged file, or refused the request with the documented error
	lost        int // acknowledged data that is gone without any message
	repeated    int // deleted data that is back, or an event number that has two contents
	unexplained int // everything else that the documentation does not promise
}

// skipIfZero skips a scenario that the command line turns off.
func skipIfZero(t *testing.T, n int, name string) {
	t.Helper()
	if n == 0 {
		t.Skipf("turned off by -%s=0", name)
	}
}

// table collects the rows of all scenarios.
type table struct {
	mu   sync.Mutex
	rows []*row
}

var report table

func (t *table) add(scenario string) *row {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &row{scenario: scenario}
	t.rows = append(t.rows, r)
	return r
}

func (t *table) print() {
	if len(t.rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "scenario\ttried\trefused\tlost\trepeated\tunexplained\t")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", r.scenario, r.tried, r.refused, r.lost, r.repeated, r.unexplained)
	}
	_ = w.Flush()
}
