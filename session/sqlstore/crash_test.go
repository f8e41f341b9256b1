package sqlstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/session/sqlstore"
)

const (
	childPath  = "SLUICE_SESSION_TEST_PATH"
	childFirst = "SLUICE_SESSION_TEST_FIRST"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		first, _ := strconv.Atoi(os.Getenv(childFirst))
		fmt.Fprintln(os.Stderr, child(context.Background(), path, first))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child begins and ends turns of the sessions 1 and 2 until it is killed, and prints each one that the store has acknowledged.
func child(ctx context.Context, path string, first int) error {
	s, err := sqlstore.Open(ctx, path)
	if err != nil {
		return err
	}
	var begun []event.RunID
	for n := first; ; n++ {
		b := turn(n, "", "question")
		b.At, b.Until, b.Wait = start, start.Add(time.Hour), n%3 > 0
		_, err := s.Begin(ctx, session.Key(1+n%2), b)
		if _, busy := errors.AsType[*session.BusyError](err); err != nil && !busy {
			return err
		}
		if err == nil {
			begun = append(begun, b.Run)
			fmt.Println("begin", b.Run)
		}
		if len(begun) < 3 {
			continue
		}
		err = s.Start(ctx, begun[0], b.At, b.Until)
		if _, busy := errors.AsType[*session.BusyError](err); err != nil && !busy {
			return err
		}
		if err := s.End(ctx, end(begun[0], "answer of "+string(begun[0]))); err != nil {
			return err
		}
		fmt.Println("end", begun[0])
		begun = begun[1:]
	}
}

// TestKills kills two processes that write to one file at random moments, several times. What they had acknowledged is in the file, and each session
// has at most one running turn.
func TestKills(t *testing.T) {
	t.Parallel()
	const kills, children = 6, 2
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := open(t, path)
	add(t, s, "1")
	add(t, s, "2")
	for kill := range kills {
		acknowledged := map[event.RunID]string{}
		lines := make(chan [2]string)
		ctx, stop := context.WithCancel(t.Context())
		for i := range children {
			c := exec.CommandContext(ctx, self)
			c.Env = append(os.Environ(), childPath+"="+path, childFirst+"="+strconv.Itoa((kill*children+i)*1_000_000))
			c.Stderr = os.Stderr
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			require.NoError(t, err)
			go func() {
				for scanner := bufio.NewScanner(out); scanner.Scan(); {
					var what, run string
					_, _ = fmt.Sscan(scanner.Text(), &what, &run)
					lines <- [2]string{what, run}
				}
				_ = c.Wait()
				lines <- [2]string{}
			}()
		}
		for left, after := children, 1+rnd.IntN(60); left > 0; {
			line := <-lines
			if line[0] == "" {
				left--
				continue
			}
			acknowledged[event.RunID(line[1])] = line[0]
			if after--; after == 0 {
				stop()
			}
		}
		stop()
		checkAcknowledged(t, open(t, path), acknowledged)
		checkAcknowledged(t, s, acknowledged)
		turns, err := s.Open(t.Context())
		for _, o := range turns {
			err = errors.Join(err, s.End(t.Context(), session.End{Run: o.Run, Answer: session.Answer{Status: session.Failed, EndedAt: time.Now()}}))
		}
		require.NoError(t, err)
	}
}

func checkAcknowledged(t *testing.T, s *sqlstore.Store, acknowledged map[event.RunID]string) {
	t.Helper()
	for run, what := range acknowledged {
		_, m, err := s.ByRun(t.Context(), run)
		if err != nil || what == "end" && (m.Status != session.Completed || m.Text != "answer of "+string(run)) {
			t.Errorf("lost the %s of %s: %+v, %v", what, run, m, err)
		}
	}
	turns, err := s.Open(t.Context())
	require.NoError(t, err)
	running := map[session.Key]int{}
	for _, o := range turns {
		if _, m, err := s.ByRun(t.Context(), o.Run); err != nil || m.Status == session.Running {
			running[o.Key]++
		}
	}
	for key, n := range running {
		if n > 1 {
			t.Errorf("session %d has %d running turns", key, n)
		}
	}
}
