//go:build linux

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/cli"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
)

// ledger runs a command of the ledger and returns what it prints.
func (g *group) ledger(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"ledger"}, append(args, "--data="+g.data[0], "--store="+g.store)...)
	if status := cli.Main(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); status != 0 {
		t.Errorf("%v: status %d: %s", args[:2], status, errs.String())
	}
	return out.String()
}

// check compares the runs, what was read, the sessions and the ledger.
func (g *group) check(t *testing.T, l *load) *report {
	t.Helper()
	r := &report{questions: len(l.asked), readers: len(l.readers), refused: l.refused, failed: map[string]int{}, protocols: map[string]int{}}
	for _, err := range l.lost {
		t.Error(err)
	}
	if len(l.asked) == 0 {
		t.Fatal("no question was answered")
	}
	conn, err := natsconn.Connect(g.nodes, natsconn.Options{})
	require.NoError(t, err)
	defer conn.Close()
	runs, err := natslog.Open(t.Context(), conn, natslog.Options{})
	require.NoError(t, err)
	defer runs.Close()
	all := map[string]eventlog.Summary{}
	for before := event.RunID(""); ; {
		page, err := runs.Runs(t.Context(), before, 100)
		require.NoError(t, err)
		for _, s := range page {
			before = s.Start.Run
			all[string(before)] = s
		}
		if len(page) == 0 {
			break
		}
	}
	for reason, n := range l.refused {
		if strings.HasPrefix(reason, "500") { // a server or an engine that is away is UNAVAILABLE
			t.Errorf("%d questions were refused with %q", n, reason)
			g.printErrors(t)
		}
	}
	r.runs = len(all)
	answered := map[string]bool{} // runs that finished
	for id := range all {
		code, err := checkRun(t, runs, event.RunID(id))
		if err != nil {
			t.Errorf("run %s: %v", id, err)
		}
		if code == "" {
			answered[id] = true
		} else {
			r.failed[code]++
		}
	}
	for _, a := range l.asked {
		if _, ok := all[a.run]; !ok {
			t.Errorf("run %s of case %d is lost", a.run, a.number)
		}
	}
	var reading sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, reader := range l.readers {
		r.frames, r.broken, r.gaps = r.frames+len(reader.frames), r.broken+reader.broken, append(r.gaps, reader.gaps...)
		r.protocols[reader.protocol]++
		slots <- struct{}{}
		reading.Go(func() {
			g.checkReader(t, reader)
			<-slots
		})
	}
	reading.Wait()
	if len(r.protocols) < min(len(protocols), len(l.asked)) {
		t.Errorf("only %d of %d protocols were read", len(r.protocols), len(protocols))
	}
	g.checkSessions(t, l, all, answered)
	g.checkLedger(t, all, answered)
	return r
}

// printErrors logs what the servers said of requests that failed.
func (g *group) printErrors(t *testing.T) {
	t.Helper()
	for _, p := range g.servers {
		for line := range strings.Lines(p.said()) {
			if strings.Contains(line, "request failed") {
				t.Log(p.name, line)
			}
		}
	}
}

// checkReader compares what a reader has read with what the log has now.
func (g *group) checkReader(t *testing.T, r *reader) {
	t.Helper()
	whole := newReader(g, r)
	if err := whole.read(t.Context()); err != nil {
		t.Error(err)
		return
	}
	want, err1 := joined(whole.frames)
	got, err2 := joined(r.frames)
	if d := cmp.Diff(want, got); d != "" || err1 != nil || err2 != nil {
		t.Errorf("run %s in %s: %v, %v (-log +read)\n%s", r.run, r.protocol, err1, err2, d[:min(len(d), 3000)])
	}
}

// newReader returns a reader of the same stream that begins now, on another server.
func newReader(g *group, r *reader) *reader {
	return &reader{base: g.urls[(r.server+1)%len(g.urls)], run: r.run, protocol: r.protocol}
}

// checkRun checks that a run has one end, numbers without gaps, and the words of its case once and in order. It returns the code of a run that failed.
func checkRun(t *testing.T, runs eventlog.Store, id event.RunID) (code string, err error) {
	t.Helper()
	var text strings.Builder
	var query string
	last, ends := event.Seq(0), 0
	ctx, stop := context.WithTimeoutCause(t.Context(), patience, errors.New("the run neither goes on nor ends"))
	defer stop()
	for batch, err := range eventlog.Tail(ctx, runs, id, 0) {
		if err != nil {
			return "FAILED", errors.Join(err, context.Cause(ctx))
		}
		for _, e := range batch {
			if e.Seq != last+1 || ends > 0 {
				return "FAILED", fmt.Errorf("event %d after %d, %d ends", e.Seq, last, ends)
			}
			last = e.Seq
			switch b := e.Body.(type) {
			case event.RunStarted:
				query = b.Question.Query
			case event.Token:
				text.WriteString(b.Text)
			case event.RunFailed:
				code = string(b.Code)
			}
			if event.Terminal(e.Body) {
				ends++
			}
		}
	}
	if ends != 1 {
		return code, fmt.Errorf("%d ends", ends)
	}
	number := caseOf.FindStringSubmatch(query)
	if number == nil {
		return code, errors.New("a run of no question")
	}
	var want []string
	for i := range words {
		want = append(want, fmt.Sprintf("w%dc%s", i+1, number[1]))
	}
	got := wordOf.FindAllString(text.String(), -1)
	if code != "" {
		want = want[:min(len(got), len(want))]
	}
	if !slices.Equal(got, want) {
		return code, fmt.Errorf("the text of %s is %q", number[0], text.String())
	}
	return code, nil
}

// turn is a message of a session.
type turn struct {
	ID, Role, Content, Status string
	RunID                     string `json:"run_id"`
	Error                     json.RawMessage
}

// messages returns all messages of a session, the oldest first.
func (g *group) messages(session string) (all []turn, err error) {
	const page = 200
	for before := ""; ; before = all[0].ID {
		res, err := http.Get(fmt.Sprintf("%s/v1/rag/sessions/%s/messages?limit=%d&before=%s", g.urls[0], session, page, before))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		var list struct{ Messages []turn }
		if err := errors.Join(err, json.Unmarshal(text, &list)); err != nil || res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("messages of %s: %s, %w: %s", session, res.Status, err, text)
		}
		if all = append(list.Messages, all...); len(list.Messages) < page {
			return all, nil
		}
	}
}

// checkSessions checks that each session has each of its answered runs once, each after its question.
func (g *group) checkSessions(t *testing.T, l *load, all map[string]eventlog.Summary, answered map[string]bool) {
	t.Helper()
	of := map[string][]string{} // runs by session
	for _, a := range l.asked {
		of[a.session] = append(of[a.session], a.run)
	}
	for session, runs := range of {
		messages, err := g.messages(session)
		if err != nil {
			t.Error(err)
			continue
		}
		seen := map[string]int{}
		for i, m := range messages {
			if m.Role == "user" {
				continue
			}
			seen[m.RunID]++
			if i == 0 || messages[i-1].Role != "user" {
				t.Errorf("session %s: the answer of run %s is not after a question", session, m.RunID)
			} else if c := caseOf.FindStringSubmatch(messages[i-1].Content); answered[m.RunID] && !strings.Contains(m.Content, fmt.Sprintf("w%dc%s", words, c[1])) {
				t.Errorf("session %s: the answer of run %s to case %s, which began at %v, is %s %s: %q", session, m.RunID, c[1], all[m.RunID].StartedAt, m.Status, m.Error, m.Content)
			}
		}
		for _, run := range runs {
			if answered[run] && seen[run] != 1 {
				t.Errorf("session %s has %d answers of run %s", session, seen[run], run)
			}
		}
	}
}

// checkLedger checks that each answered run was charged once, that no other run was, and that nothing is held for runs that have begun.
func (g *group) checkLedger(t *testing.T, all map[string]eventlog.Summary, answered map[string]bool) {
	t.Helper()
	g.ledger(t, "verify")
	charges := map[string]int{}
	held := new(big.Rat)
	for line := range strings.Lines(g.ledger(t, "export", "--format", "json")) {
		var e struct {
			Kind, Account, Held string
			Run                 string `json:"run_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if e.Kind == "charge" && e.Account == "owner" {
			charges[e.Run]++
		}
		change, ok := new(big.Rat).SetString(e.Held)
		if !ok {
			t.Fatalf("held: %q", e.Held)
		}
		if _, begun := all[e.Run]; begun || e.Run == "" { // the hold of a run that was never begun is released after two minutes
			held.Add(held, change)
		}
	}
	for run := range answered {
		if charges[run] != 1 {
			t.Errorf("run %s was charged %d times", run, charges[run])
		}
	}
	for run, n := range charges {
		if !answered[run] {
			t.Errorf("run %s was charged %d times, although it has no answer", run, n)
		}
	}
	if held.Sign() != 0 {
		t.Errorf("%v credits are held", held.FloatString(6))
	}
}
