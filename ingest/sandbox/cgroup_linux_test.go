package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/ingest/parse/parsetest"
	"github.com/sluice-rag/sluice/internal/tools/race"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// testCgroup returns a group for the groups of children, and skips the test where none can be created.
func testCgroup(t *testing.T) *cgroup {
	t.Helper()
	g, err := findCgroup()
	if err != nil {
		t.Skip("no control groups with a memory limit can be created here:", err)
	}
	return g
}

// TestSizeLimitOfCgroup parses a document in a child that may use much memory, in a group that may not.
func TestSizeLimitOfCgroup(t *testing.T) {
	race.Measure(t)
	g := testCgroup(t)
	w, err := start(16<<30, g)
	require.NoError(t, err)
	defer w.stop()
	if w.group == nil {
		t.Fatal("the child has no group")
	}
	require.NoError(t, w.group.limit(64<<20))
	const bomb = "array-long.pdf"
	if _, err := w.parse(t.Context(), bomb, parsetest.Bomb(bomb), parse.Limits{}.WithDefaults()); !errors.Is(err, errMemory) || !w.oom {
		t.Errorf("got %v, killed by the kernel: %v", err, w.oom)
	}
}

// TestCgroupsAreRemoved lists the groups of this process after its children have ended, one of them killed.
func TestCgroupsAreRemoved(t *testing.T) {
	g := testCgroup(t)
	p := newPool(t, Options{Workers: 2})
	workers := idleWorkers(t, p, 2)
	own := filepath.Join(g.dir, fmt.Sprintf("%s%d-*", cgroupPrefix, os.Getpid()))
	if dirs, err := filepath.Glob(own); err != nil || len(dirs) != 2 {
		t.Errorf("groups %q, %v; want 2", dirs, err)
	}
	require.NoError(t, workers[0].cmd.Process.Kill())
	<-workers[0].exited
	if workers[0].oom {
		t.Error("a child that was killed counts as out of memory")
	}
	require.NoError(t, p.Close())
	<-workers[1].exited
	if dirs, err := filepath.Glob(own); err != nil || len(dirs) > 0 {
		t.Errorf("groups %q, %v; want none", dirs, err)
	}
}

func TestRemoveLeftovers(t *testing.T) {
	g := &cgroup{t.TempDir(), 2}
	ended := endedProcess(t)
	own := fmt.Sprintf("sluice-%d-1", os.Getpid())
	for _, name := range []string{own, fmt.Sprintf("sluice-%d-7", ended), "sluice-server", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(g.dir, name), 0o755))
	}
	g.removeLeftovers()
	left, err := os.ReadDir(g.dir)
	if err != nil || len(left) != 3 || left[0].Name() != "other" || left[1].Name() != own || left[2].Name() != "sluice-server" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// endedProcess returns the id of a process that has ended.
func endedProcess(t *testing.T) int {
	w, err := start(memory(), nil)
	require.NoError(t, err)
	w.stop()
	<-w.exited
	return w.cmd.Process.Pid
}

func TestLocateCgroup(t *testing.T) {
	const (
		v1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	)
	for _, tt := range []struct{ name, groups, mounts, own, mount string }{
		{"version 1", "4:memory:/a/b\n3:cpuset:/\n0::/\n", v2 + v1, "/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory"},
		{"version 1 in a container", "4:cpu,memory:/docker/1f\n", "9 8 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,cpu,memory\n", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
		{"version 2", "0::/system.slice/sluice.service/server\n", v2, "/sys/fs/cgroup/unified/system.slice/sluice.service/server", "/sys/fs/cgroup/unified"},
		{"outside of the mount", "0::/../b\n", v2, "", ""},
		{"not mounted", "4:memory:/a\n0::/\n", v2, "", ""},
		{"no groups", "", v1 + v2, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			own, mount, _, err := locateCgroup(tt.groups, tt.mounts)
			if own != tt.own || mount != tt.mount || (err == nil) != (tt.own != "") {
				t.Errorf("got %q, %q, %v", own, mount, err)
			}
		})
	}
}

// TestDelegatedCgroup uses folders and files in place of control groups.
func TestDelegatedCgroup(t *testing.T) {
	mount := t.TempDir()
	own := filepath.Join(mount, "slice", "server")
	require.NoError(t, os.MkdirAll(own, 0o755))
	for _, dir := range []string{mount, filepath.Dir(own)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("cpu pids\n"), 0o600))
	}
	if got, err := delegatedCgroup(mount, mount); err == nil {
		t.Errorf("a process in the topmost group: got %s", got)
	}
	if got, err := delegatedCgroup(own, mount); err == nil {
		t.Errorf("a parent that is not delegated: got %s", got)
	}
	leaf := filepath.Join(mount, "server")
	got, err := delegatedCgroup(leaf, mount)
	if err != nil || got != mount {
		t.Errorf("got %s, %v", got, err)
	}
	if control, err := os.ReadFile(filepath.Join(mount, "cgroup.subtree_control")); err != nil || string(control) != "+memory" {
		t.Errorf("wrote %q, %v", control, err)
	}
}

// TestExceeded checks that only processes that reached the limit of their own group count.
func TestExceeded(t *testing.T) {
	for _, tt := range []struct {
		version int
		files   map[string]string
		want    bool
	}{
		{1, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "memory.limit_in_bytes": "1048576\n",
			"memory.max_usage_in_bytes": "1044480\n"}, true},
		{1, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "memory.limit_in_bytes": "1048576\n",
			"memory.max_usage_in_bytes": "409600\n", "memory.memsw.max_usage_in_bytes": "1048576\n"}, true},
		{1, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "memory.limit_in_bytes": "1048576\n",
			"memory.max_usage_in_bytes": "409600\n"}, false},
		{1, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "memory.limit_in_bytes": "1048576\n",
			"memory.max_usage_in_bytes": "1048576\n"}, false},
		{2, map[string]string{"memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n"}, true},
		{2, map[string]string{"memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n"}, false},
		{2, nil, false},
	} {
		g := &cgroup{t.TempDir(), tt.version}
		for name, content := range tt.files {
			require.NoError(t, os.WriteFile(filepath.Join(g.dir, name), []byte(content), 0o600))
		}
		if got := g.exceeded(); got != tt.want {
			t.Errorf("version %d, %v: got %v", tt.version, tt.files, got)
		}
	}
}
