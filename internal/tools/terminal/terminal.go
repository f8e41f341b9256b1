// Package terminal runs programs in terminals of tmux, for tests.
package terminal

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Terminal is a terminal of tmux.
type Terminal struct {
	t      *testing.T
	socket string
}

// New runs a command in a new terminal until the test ends, with variables such as NO_COLOR=1 in its environment. Without tmux, it skips the test.
func New(t *testing.T, columns, lines int, environment []string, command ...string) *Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	x := &Terminal{t, filepath.Join(t.TempDir(), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-s", "s", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines)}
	for _, e := range environment {
		args = append(args, "-e", e)
	}
	x.Tmux(append(args, command...)...)
	t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "tmux", "-S", x.socket, "kill-server").Run() })
	return x
}

// Tmux runs a command of tmux and returns its output. The name of the session is s.
func (x *Terminal) Tmux(args ...string) string {
	x.t.Helper()
	out, err := exec.CommandContext(x.t.Context(), "tmux", append([]string{"-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// Screen returns the text of the screen.
func (x *Terminal) Screen() string { return x.Tmux("capture-pane", "-p", "-J", "-t", "s") }

// All returns the text of the scrollback and the screen.
func (x *Terminal) All() string { return x.Tmux("capture-pane", "-p", "-J", "-t", "s", "-S", "-") }

// Until waits until a text, such as [Terminal.Screen], satisfies a condition, and returns it. what describes the condition.
func (x *Terminal) Until(what string, text func() string, ok func(text string) bool) string {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		s := text()
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("the terminal never %s:\n%s", what, s)
		}
	}
}
