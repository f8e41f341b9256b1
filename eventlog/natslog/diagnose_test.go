package natslog_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

// user permits one user what is not denied: at most one subject.
func user(denyPublish ...string) string {
	return fmt.Sprintf(`authorization: {users: [{user: sluice, password: hunter2, permissions: {
		publish: {allow: ["sluice.>", "$JS.API.>", "$JS.FC.>"], deny: %q}, subscribe: ["sluice.>", "_INBOX.>"]}}]}`, denyPublish)
}

// old starts a server that says that it is NATS 2.9 and nothing else.
func old(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "INFO {\"server_id\":\"a\",\"version\":\"2.9.25\",\"headers\":true,\"max_payload\":1048576}\r\n")
			text := make([]byte, 4096)
			for err == nil {
				var n int
				if n, err = c.Read(text); strings.Contains(string(text[:n]), "PING") {
					fmt.Fprint(c, "PONG\r\n")
				}
			}
			_ = c.Close()
		}
	}()
	return "nats://" + l.Addr().String()
}

// problems returns the problems of findings as lines.
func problems(t *testing.T, found []doctor.Finding) (lines []string) {
	t.Helper()
	for _, f := range found {
		for _, p := range f.Problems {
			lines = append(lines, fmt.Sprintf("%t %s | %s", p.Warning, p.Text, p.Fix))
		}
	}
	if text, err := json.Marshal(found); err != nil || strings.Contains(string(text), "hunter2") {
		t.Errorf("the findings show the password: %s, %v", text, err)
	}
	return lines
}

func TestDiagnose(t *testing.T) {
	closed := fmt.Sprintf("nats://sluice:hunter2@127.0.0.1:%d", natstest.Ports(t, 1)[0])
	plain := natstest.New(t)
	nc, err := nats.Connect(plain.URL())
	require.NoError(t, err)
	defer nc.Close()
	version := nc.ConnectedServerVersion()
	for name, c := range map[string]struct {
		urls    string
		options natslog.Options
		want    string // the only problem has it
	}{
		"reachable":       {urls: plain.URL()},
		"password":        {urls: natstest.Configured(t, user()).URLOf("sluice", "hunter2")},
		"down":            {urls: closed, want: "false nothing listens at the address | start the server"},
		"one of two down": {urls: plain.URL() + "," + closed, want: "nothing listens"},
		"not a URL":       {urls: "sluice:hunter2@nats", want: "must begin with nats://"},
		"wrong password":  {urls: natstest.Configured(t, user()).URLOf("sluice", "hunter22"), want: "refuses the user, the password"},
		"no JetStream":    {urls: natstest.Configured(t, "jetstream: disabled").URL(), want: "JetStream is not enabled"},
		"too old":         {urls: old(t), want: "the server has version 2.9.25, but 2.11.0 or later is needed | upgrade it"},
		"too few servers": {urls: plain.URL(), options: natslog.Options{Replicas: 3}, want: "too few servers for --log-replicas"},
		"no room": {urls: natstest.Configured(t, "jetstream: {max_file_store: 64MB}").URL(), options: natslog.Options{MaxBytes: 1 << 30},
			want: "no room for the size of --keep-runs-bytes"},
		"no right to streams": {urls: natstest.Configured(t, user("$JS.API.STREAM.CREATE.>")).URLOf("sluice", "hunter2"),
			want: `a stream cannot be created: Permissions Violation for Publish to "$JS.API.STREAM.CREATE.`},
		"no right to write": {urls: natstest.Configured(t, user("sluice.runs.>")).URLOf("sluice", "hunter2"), want: `Permissions Violation for Publish to "sluice.runs.`},
		"no right to purge": {urls: natstest.Configured(t, user("$JS.API.STREAM.PURGE.>")).URLOf("sluice", "hunter2"), want: "a run cannot be deleted: Permissions Violation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Timeout = time.Second
			found := natslog.Diagnose(ctx, c.urls, "--log", natsconn.Options{}, c.options)
			got := problems(t, found)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
			if f := found[0]; c.want == "" && (f.Version != version || f.RoundTrip <= 0 || f.Skew == nil || f.Failed() || !strings.HasPrefix(f.Address, "127.0.0.1:")) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestDiagnoseChangesNothing compares the streams before and after.
func TestDiagnoseChangesNothing(t *testing.T) {
	n := natstest.New(t)
	l := open(t, n.URL(), natslog.Options{})
	require.NoError(t, l.Append(ctx, "a", log("a", 5)...))
	require.NoError(t, l.Sync(ctx, "a"))
	nc, err := nats.Connect(n.URL())
	require.NoError(t, err)
	defer nc.Close()
	js, err := nc.JetStream()
	require.NoError(t, err)
	streams := func() (all []nats.StreamState) {
		for s := range js.Streams() {
			s.State.Consumers = 0
			all = append(all, s.State)
		}
		return all
	}
	before := streams()
	if got := problems(t, natslog.Diagnose(ctx, n.URL(), "--log", natsconn.Options{}, natslog.Options{})); len(got) > 0 {
		t.Errorf("problems %q", got)
	}
	if d := cmp.Diff(before, streams()); d != "" || len(before) != 2 {
		t.Errorf("%d streams (-before +after)\n%s", len(before), d)
	}
}

// TestDiagnoseCluster stops a server of a cluster that has a copy of the streams.
func TestDiagnoseCluster(t *testing.T) {
	c := natstest.NewCluster(t)
	l := open(t, c.URL(), natslog.Options{Timeout: time.Second})
	require.NoError(t, l.Append(ctx, "a", log("a", 5)...))
	require.NoError(t, l.Sync(ctx, "a"))
	check := func() []string {
		return problems(t, natslog.Diagnose(ctx, c.URL(), "--log", natsconn.Options{}, natslog.Options{}))
	}
	if got := check(); len(got) > 0 {
		t.Errorf("problems %q", got)
	}
	c[2].Stop()
	got := strings.Join(check(), "\n")
	for _, want := range []string{"nothing listens at the address", "the stream SLUICE-default-RUNS has a copy on the server n2, which is away | start this NATS server"} {
		if !strings.Contains(got, want) {
			t.Errorf("problems %s, want %q", got, want)
		}
	}
	c[1].Stop() // without a majority
	if got := strings.Join(check(), "\n"); strings.Count(got, "nothing listens") != 2 || !strings.Contains(got, "check that more than half of the NATS servers run") {
		t.Errorf("problems %s", got)
	}
}
