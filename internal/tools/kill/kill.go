// Package kill kills a process of a test before and after each of its writes.
package kill

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// variable has the folder of a child process, its mode, and the moment at which it is killed.
const variable = "SLUICE_TEST_KILL"

// Moments counts the moments before and after the writes of a process, and kills the process at one of them.
type Moments struct {
	count atomic.Int64
	at    int64
}

// Around calls write between two moments.
func (m *Moments) Around(write func() error) error {
	m.next()
	err := write()
	m.next()
	return err
}

func (m *Moments) next() {
	if m.count.Add(1) != m.at {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	fmt.Fprintln(os.Stderr, "kill:", err)
	select {}
}

// Main runs the tests of a package, or child in a process that [Each] has started, with its folder and mode.
func Main(m *testing.M, child func(moments *Moments, dir, mode string) error) {
	args := strings.Split(os.Getenv(variable), "\n")
	if len(args) != 3 {
		os.Exit(m.Run())
	}
	at, err := strconv.ParseInt(args[2], 10, 64)
	if err == nil {
		err = child(&Moments{at: at}, args[0], args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Each starts a child for each moment, in a folder that prepare makes, and then calls check, until a child ends before its moment. It fails if there are fewer
// moments than least.
func Each(t *testing.T, mode string, least int, prepare func() (dir string), check func(dir, what string)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for moment := 1; ; moment++ {
		dir := prepare()
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%s\n%d", variable, dir, mode, moment))
		out, err := c.CombinedOutput()
		if _, killed := errors.AsType[*exec.ExitError](err); err != nil && (!killed || len(out) > 0) {
			t.Fatalf("child: %v: %s", err, out)
		}
		check(dir, fmt.Sprint("killed at moment ", moment))
		if err == nil {
			if moment < least {
				t.Errorf("only %d moments", moment)
			}
			return
		}
	}
}
