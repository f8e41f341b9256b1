// Package deploy has no code: its tests check the files of this folder. What needs further modules is in deploy/check.
package deploy

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/natsconn"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestVariables checks that each variable of the files is one of a setting.
func TestVariables(t *testing.T) {
	known := read(t, "../docs/configuration.md")
	paths, _ := filepath.Glob("kubernetes/*.yaml") // the pattern is valid
	n := 0
	for _, path := range append(paths, "compose.yaml", "Dockerfile", "sluice.service") {
		for _, name := range regexp.MustCompile(`SLUICE_[A-Z_]+`).FindAllString(read(t, path), -1) {
			n++
			if !strings.Contains(known, "`"+name+"`") {
				t.Errorf("%s: %s is not a setting", path, name)
			}
		}
	}
	if n < 20 {
		t.Errorf("%d variables", n)
	}
}

// TestNATS runs three servers with nats.conf, on other ports, and checks them as sluice doctor does.
func TestNATS(t *testing.T) {
	t.Setenv("NATS_PASSWORD", "p123e4")
	ports := free(t, 6)
	var addresses []string
	var routes []*url.URL
	for _, p := range ports[3:] {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	var servers []*server.Server
	for i := range 3 {
		t.Setenv("SERVER_NAME", fmt.Sprintf("nats-%d", i))
		o, err := server.ProcessConfigFile("kubernetes/nats.conf")
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Routes) != 3 || o.Port != 4222 || o.Cluster.Port != 6222 || o.HTTPPort != 8222 || !o.SyncAlways {
			t.Errorf("%+v", o)
		}
		o.Host, o.Port, o.HTTPPort, o.Cluster.Host, o.Cluster.Port = "127.0.0.1", ports[i], 0, "127.0.0.1", ports[3+i]
		o.Routes, o.StoreDir, o.NoLog, o.NoSigs = routes, t.TempDir(), true, true
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		defer func() { s.Shutdown(); s.WaitForShutdown() }()
		servers = append(servers, s)
		addresses = append(addresses, fmt.Sprintf("nats://sluice:p123e4@127.0.0.1:%d", ports[i]))
	}
	awaitLeader(t, servers)
	for _, f := range natslog.Diagnose(t.Context(), strings.Join(addresses, ","), "--log", natsconn.Options{}, natslog.Options{Replicas: 3, MaxBytes: 2 << 30}) {
		if len(f.Problems) > 0 {
			t.Errorf("%+v", f)
		}
	}
}

// awaitLeader waits until one of the servers leads all of them.
func awaitLeader(t *testing.T, servers []*server.Server) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; <-time.After(10 * time.Millisecond) {
		for _, s := range servers {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers) {
				return
			}
		}
	}
	t.Fatal("the cluster has no leader")
}

// free returns free ports.
func free(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// TestUnit lets systemd check the unit.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	text := read(t, "sluice.service")
	if strings.Count(text, "ExecStart=/usr/local/bin/sluice serve\n") != 1 {
		t.Error("the unit does not start sluice")
	}
	path := filepath.Join(t.TempDir(), "sluice.service")
	text = strings.Replace(text, "/usr/local/bin/sluice", "/bin/true", 1) // it must exist here
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", path).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, path) && !strings.Contains(line, "DelegateSubgroup") { // versions before 254 do not know it
			t.Error(line)
		}
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
