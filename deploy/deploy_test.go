// Package deploy has no code: its tests check the files of this folder. What needs further modules is in deploy/check.
package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/eventlog/natslog"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn"
	"github.com/sluice-rag/sluice/natsconn/natstest"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
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

// TestNATS runs three servers with nats.conf, on other addresses, and checks them as sluice doctor does.
func TestNATS(t *testing.T) {
	t.Setenv("NATS_PASSWORD", "p123e4")
	ports := natstest.Ports(t, 3)
	var addresses []string
	for i, port := range ports {
		t.Setenv("SERVER_NAME", fmt.Sprintf("nats-%d", i))
		text := read(t, "kubernetes/nats.conf")
		replace := func(before, after string) {
			if strings.Count(text, before) != 1 {
				t.Fatalf("nats.conf does not have one %q", before)
			}
			text = strings.Replace(text, before, after, 1)
		}
		replace("\nport: 4222\n", "\nhost: 127.0.0.1\n")
		replace("\nhttp_port: 8222\n", "\nhttp: \"127.0.0.1:-1\"\n")
		replace("\n  port: 6222\n", fmt.Sprintf("\n  listen: \"127.0.0.1:%d\"\n", port))
		replace("\n  store_dir: /data\n", fmt.Sprintf("\n  store_dir: %q\n", filepath.ToSlash(t.TempDir())))
		for k, port := range ports {
			replace(fmt.Sprintf(`"nats://nats-%d.nats:6222"`, k), fmt.Sprintf(`"nats://127.0.0.1:%d"`, port))
		}
		if !strings.Contains(text, "\n  sync_interval: always\n") {
			t.Error("nats.conf does not sync each message")
		}
		addresses = append(addresses, natstest.WithConfig(t, text).URLOf("sluice", "p123e4"))
	}
	for began := time.Now(); ; <-time.After(10 * time.Millisecond) { // until the cluster has a leader that knows all servers
		findings := natslog.Diagnose(t.Context(), strings.Join(addresses, ","), "--log", natsconn.Options{}, natslog.Options{Replicas: 3, MaxBytes: 2 << 30})
		if !slices.ContainsFunc(findings, func(f doctor.Finding) bool { return len(f.Problems) > 0 }) {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v", findings)
		}
	}
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
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
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
