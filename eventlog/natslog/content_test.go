package natslog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/eventlog/eventlogtest"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// onDisk reports whether a file of a folder contains the bytes.
func onDisk(t *testing.T, dir string, want []byte) bool {
	t.Helper()
	found := false
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, want)
		return ignoreGone(err)
	}))
	return found
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// TestDeleteErasesContent deletes a run between two others. Its events were never on disk in the clear, and the key that decrypts them is overwritten.
func TestDeleteErasesContent(t *testing.T) {
	n := natstest.New(t)
	l, other := open(t, n.URL(), natslog.Options{}), open(t, n.URL(), natslog.Options{})
	ids := []event.RunID{"before", "secret", "after"}
	for _, id := range ids {
		require.NoError(t, l.Append(ctx, id, started(id), text(2, "a plain word: abracadabra"), finished(3)))
	}
	eventlogtest.WantLog(t, other, "secret", 0, []event.Event{started("secret"), text(2, "a plain word: abracadabra"), finished(3)})
	nc, err := nats.Connect(n.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	keys := map[event.RunID][]byte{}
	for _, id := range ids {
		first, second := string(id), "="
		m, err := js.GetLastMsg("SLUICE-default-INDEX", "sluice.index.default.key."+first+"."+second+".=")
		require.NoError(t, err)
		keys[id] = m.Data
	}
	require.NoError(t, l.Delete(ctx, "secret"))
	for _, s := range []*natslog.Log{l, other} {
		_, err := s.Load(ctx, "secret", 0)
		wantErr(t, "load", err, eventlog.ErrNotFound)
	}
	n.Stop() // so that everything is written
	for id, key := range keys {
		if got := onDisk(t, n.StoreDir, key); got != (id != "secret") {
			t.Errorf("the key of run %s is on disk: %v", id, got)
		}
	}
	if onDisk(t, n.StoreDir, []byte("abracadabra")) {
		t.Error("text is on disk in the clear")
	}
	n.Start(t)
	eventlogtest.WantLog(t, other, "after", 1, []event.Event{text(2, "a plain word: abracadabra"), finished(3)})
}

// TestLargeEvents appends events that are larger than a message may be.
func TestLargeEvents(t *testing.T) {
	n := natstest.New(t)
	l, other := open(t, n.URL(), natslog.Options{}), open(t, n.URL(), natslog.Options{})
	start := started("a")
	body := start.Body.(event.RunStarted)
	body.Instructions = strings.Repeat("behave ", 200_000)
	start.Body = body
	es := []event.Event{start, token(2), text(3, strings.Repeat("größe ", 300_000)), token(4), text(5, strings.Repeat("x", 1<<20)), token(6)}
	require.NoError(t, l.Append(ctx, "a", es[0]))
	require.NoError(t, other.Wait(ctx, "a", 0))
	for _, e := range es[1:] {
		require.NoError(t, l.Append(ctx, "a", e))
	}
	end := event.Event{Seq: 7, At: epoch, Body: event.RunFailed{Message: strings.Repeat("m", 3<<19)}}
	es = append(es, end)
	wait := follow(t, other, "a", es)
	require.NoError(t, l.Append(ctx, "a", end))
	wait()
	for _, after := range []event.Seq{0, 2, 5} {
		eventlogtest.WantLog(t, other, "a", after, es[after:])
	}
	sum, err := other.Summary(ctx, "a")
	require.NoError(t, err)
	if sum.Last != 7 || !sum.Ended || sum.Start.Instructions != "" {
		t.Errorf("summary: last %d, ended %v", sum.Last, sum.Ended)
	}
}

func TestTenantsAreSeparate(t *testing.T) {
	n := natstest.New(t)
	c := connect(t, n.URL())
	logs := map[string]*natslog.Log{}
	for _, tenant := range []string{"one", "two"} {
		l, err := natslog.Open(ctx, c, natslog.Options{Tenant: tenant})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		logs[tenant] = l
	}
	require.NoError(t, logs["one"].Append(ctx, "a", log("a", 3)...))
	_, err := logs["two"].Load(ctx, "a", 0)
	wantErr(t, "load", err, eventlog.ErrNotFound)
	wantErr(t, "wait", logs["two"].Wait(ctx, "a", 0), eventlog.ErrNotFound)
	wantErr(t, "delete", logs["two"].Delete(ctx, "a"), eventlog.ErrNotFound)
	runs, err := logs["two"].Runs(ctx, "", 10)
	if err != nil || len(runs) != 0 {
		t.Errorf("runs %v, error %v", runs, err)
	}
	require.NoError(t, logs["two"].Append(ctx, "a", started("a"))) // the same id
	require.NoError(t, logs["two"].Close())
	require.NoError(t, natslog.DeleteTenant(ctx, c, "", "two"))
	again, err := natslog.Open(ctx, c, natslog.Options{Tenant: "two"})
	require.NoError(t, err)
	defer func() { _ = again.Close() }()
	_, err = again.Load(ctx, "a", 0)
	wantErr(t, "load of a deleted tenant", err, eventlog.ErrNotFound)
	eventlogtest.WantLog(t, logs["one"], "a", 0, log("a", 3))
}

// TestOwned checks which runs belong to a server.
func TestOwned(t *testing.T) {
	n := natstest.New(t)
	c := connect(t, n.URL())
	mine, err := natslog.Open(ctx, c, natslog.Options{Server: "one"})
	require.NoError(t, err)
	other := open(t, n.URL(), natslog.Options{Server: "two"})
	require.NoError(t, other.Append(ctx, "others", started("others")))
	require.NoError(t, mine.Append(ctx, "live", started("live"), token(2)))
	require.NoError(t, mine.Append(ctx, "ended", log("ended", 3)...))
	kept := log("ephemeral", 3)
	kept[0].Body = event.RunStarted{Run: "ephemeral", Question: event.Question{Query: "why?", Mode: event.Direct, Ephemeral: true}}
	require.NoError(t, mine.Append(ctx, "ephemeral", kept...))
	require.NoError(t, mine.Append(ctx, "deleted", log("deleted", 3)...))
	require.NoError(t, mine.Delete(ctx, "deleted"))
	require.NoError(t, mine.Close())
	again := open(t, n.URL(), natslog.Options{Server: "one"})
	check := func(want ...event.RunID) {
		t.Helper()
		runs, err := again.Owned(ctx)
		require.NoError(t, err)
		slices.Sort(runs["one"])
		if !slices.Equal(runs["one"], want) || !slices.Equal(runs["two"], []event.RunID{"others"}) {
			t.Errorf("owned: %v, want %v", runs, want)
		}
	}
	check("ephemeral", "live")
	_, err = again.Claim(ctx, summary(t, again, "live"), "one")
	require.NoError(t, err)
	require.NoError(t, again.Append(ctx, "live", finished(3)))
	require.NoError(t, again.Delete(ctx, "ephemeral"))
	check("live") // until it is removed
	require.NoError(t, again.Retain(ctx))
	check()
}

func TestRetention(t *testing.T) {
	n := natstest.New(t)
	l := open(t, n.URL(), natslog.Options{MaxAge: time.Hour, MaxBytes: 1 << 20})
	long := strings.Repeat("x", 100<<10)
	var ids []event.RunID
	for i := range 20 {
		id := event.RunID(fmt.Sprintf("run-%02d", i))
		require.NoError(t, l.Append(ctx, id, started(id), text(2, long)))
		require.NoError(t, l.Append(ctx, id, finished(3)))
		ids = append(ids, id)
	}
	other := open(t, n.URL(), natslog.Options{MaxAge: 2 * time.Hour, MaxBytes: 1 << 20})
	_, err := other.Load(ctx, ids[0], 0)
	wantErr(t, "load the oldest run", err, eventlog.ErrNotFound)
	runs, err := other.Runs(ctx, "", 100)
	require.NoError(t, err)
	if len(runs) == 0 || len(runs) > 10 || runs[0].Start.Run != ids[19] {
		t.Errorf("%d runs of 100 kB are kept in 1 MiB", len(runs))
	}
	nc, err := nats.Connect(n.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	info, err := js.StreamInfo("SLUICE-default-RUNS")
	require.NoError(t, err)
	if info.Config.MaxAge != 2*time.Hour {
		t.Errorf("the age is %v after it was changed", info.Config.MaxAge)
	}
}

func TestReplicas(t *testing.T) {
	nodes := natstest.NewCluster(t)
	open(t, nodes.URL(), natslog.Options{})
	open(t, nodes.URL(), natslog.Options{Tenant: "one", Replicas: 1})
	nc, err := nats.Connect(nodes.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	for stream, want := range map[string]int{"SLUICE-default-RUNS": 3, "SLUICE-default-INDEX": 3, "SLUICE-one-RUNS": 1} {
		info, err := js.StreamInfo(stream)
		require.NoError(t, err)
		if info.Config.Replicas != want {
			t.Errorf("stream %s has %d replicas, want %d", stream, info.Config.Replicas, want)
		}
	}
}

// TestPasswords connects with a password and the least permissions, and checks that no error contains one.
func TestPasswords(t *testing.T) {
	n := natstest.Configured(t, `authorization: {users: [{user: sluice, password: correct, permissions: { # as in docs/scale.md
		publish: ["sluice.>", "$JS.API.>", "$JS.FC.>"], subscribe: ["sluice.>", "_INBOX.>"]}}]}`)
	address := strings.TrimPrefix(n.URL(), "nats://")
	l := open(t, "nats://sluice:correct@"+address, natslog.Options{})
	other := open(t, "nats://sluice:correct@"+address, natslog.Options{})
	require.NoError(t, l.Append(ctx, "a", started("a")))
	require.NoError(t, other.Wait(ctx, "a", 0))
	wait := follow(t, other, "a", log("a", 30))
	for _, e := range log("a", 30)[1:] {
		require.NoError(t, l.Append(ctx, "a", e))
	}
	wait()
	require.NoError(t, other.Delete(ctx, "a"))
	for _, u := range []string{
		"nats://sluice:hunter2@" + address, "nats://sluice:hunter2@" + address + ",nats://sluice:hunter2@127.0.0.1:1", "nats://sluice:hunter2@127.0.0.1:1",
		"nats://sluice:hunter2@%zz", "http://sluice:hunter2@" + address, "nats://sluice:hunter2@:4222", "nats://sluice:hunter2@" + address + "/path", "sluice:hunter2@" + address, "",
	} {
		_, err := natsconn.Connect(u, natsconn.Options{})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("connect to %s: %v", u, err)
		}
	}
}
