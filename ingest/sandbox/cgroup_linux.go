package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// cgroup is a control group, see cgroups(7): the group of one child, or the one in which the groups of children are created. The kernel kills
// a child that needs more memory than its group may hold.
type cgroup struct {
	dir     string
	version int // 1 or 2
}

// findCgroup returns a group in which this process may create groups with a memory limit. The error says why there is none.
func findCgroup() (*cgroup, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	own, mount, version, err := locateCgroup(string(groups), string(mounts))
	if err != nil {
		return nil, err
	}
	parent := &cgroup{own, version}
	if version == 2 {
		if parent.dir, err = delegatedCgroup(own, mount); err != nil {
			return nil, err
		}
	}
	parent.removeLeftovers()
	probe, err := parent.newGroup(1 << 30)
	if err != nil {
		return nil, err
	}
	return parent, probe.remove()
}

// locateCgroup returns the directory of this process's group in the hierarchy with the memory controller, and where that hierarchy is
// mounted. Its arguments are the files cgroup and mountinfo of /proc/self.
func locateCgroup(groups, mounts string) (own, mount string, version int, err error) {
	path := ""
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if slices.Contains(strings.Split(f[1], ","), "memory") {
			path, version = f[2], 1
			break
		}
		if f[0] == "0" {
			path, version = f[2], 2
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		f, fs := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(fs) < 3 {
			continue
		}
		if version == 2 && fs[0] == "cgroup2" || version == 1 && fs[0] == "cgroup" && slices.Contains(strings.Split(fs[2], ","), "memory") {
			rel, err := filepath.Rel(f[3], path)
			if err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(path, "/../") { // not above the root of a namespace
				return filepath.Join(f[4], rel), f[4], version, nil
			}
		}
	}
	return "", "", 0, errors.New("no control group with the memory controller is mounted")
}

// delegatedCgroup returns the group of version 2 in which groups beside that of this process can be created. A group with processes cannot have
// groups with a memory limit below it, and the parent belongs to another program, such as systemd, unless it is delegated.
func delegatedCgroup(own, mount string) (string, error) {
	parent := filepath.Dir(own)
	if own == mount || parent != mount && !delegated(parent) {
		return "", fmt.Errorf("control group %s has no delegated parent", own)
	}
	enabled := filepath.Join(parent, "cgroup.subtree_control")
	controllers, err := os.ReadFile(enabled)
	if err != nil || slices.Contains(strings.Fields(string(controllers)), "memory") {
		return parent, err
	}
	return parent, os.WriteFile(enabled, []byte("+memory"), 0) // fails if the parent has processes
}

// delegated reports whether systemd has delegated a group to its service (Delegate=).
func delegated(dir string) bool {
	var value [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := syscall.Getxattr(dir, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

const cgroupPrefix = "sluice-"

var cgroupNumber atomic.Int64

// newGroup creates the group of a child that may take a number of bytes of memory, and no swap.
func (p *cgroup) newGroup(memory int64) (*cgroup, error) {
	g := &cgroup{filepath.Join(p.dir, fmt.Sprintf("%s%d-%d", cgroupPrefix, os.Getpid(), cgroupNumber.Add(1))), p.version}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	if err := g.limit(memory); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

func (g *cgroup) limit(memory int64) error {
	n := strconv.FormatInt(memory, 10)
	files := [2]string{"memory.max", "memory.swap.max"}
	values := [2]string{n, "0"}
	if g.version == 1 {
		files = [2]string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}
		values[1] = n // memory and swap together
	}
	if err := g.write(files[0], values[0]); err != nil {
		return err
	}
	if err := g.write(files[1], values[1]); !errors.Is(err, os.ErrNotExist) { // a kernel that does not limit swap has no such file
		return err
	}
	return nil
}

// write writes a file of the group. It never creates one.
func (g *cgroup) write(name, value string) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// place creates a group in g for a child that has not been sent anything yet. It returns nil if that fails: the parent watches the child's memory
// in any case.
func (g *cgroup) place(pid int, memory int64) *cgroup {
	child, err := g.newGroup(memory)
	if err != nil {
		return nil
	}
	if err := child.write("cgroup.procs", strconv.Itoa(pid)); err != nil {
		_ = child.remove()
		return nil
	}
	return child
}

// lastCharge is more than the kernel ever charges at once before it kills a process.
const lastCharge = 64 << 10

// exceeded reports whether the kernel killed a process because the group reached its own limit, and not because the machine or a group above
// had no memory left.
func (g *cgroup) exceeded() bool {
	if g.version == 1 {
		used := max(g.count("memory.max_usage_in_bytes", ""), g.count("memory.memsw.max_usage_in_bytes", "")) // failcnt stays 0 on some kernels
		return g.count("memory.oom_control", "oom_kill") > 0 && used >= g.count("memory.limit_in_bytes", "")-lastCharge
	}
	return g.count("memory.events", "oom_kill") > 0 && g.count("memory.events", "oom") > 0
}

// count returns the number after a key in a file of the group; an empty key is that of a file with one number.
func (g *cgroup) count(file, key string) int64 {
	raw, _ := os.ReadFile(filepath.Join(g.dir, file)) // without it, the child counts as crashed
	for line := range bytes.Lines(raw) {
		name, value, found := strings.Cut(strings.TrimSpace(string(line)), " ")
		if !found {
			name, value = "", name
		}
		if name == key {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

// remove removes the group, whose processes must have ended.
func (g *cgroup) remove() error { return os.Remove(g.dir) }

// removeLeftovers removes the groups of processes that ended without removing them. The kernel keeps a group that has processes.
func (p *cgroup) removeLeftovers() {
	dirs, _ := filepath.Glob(filepath.Join(p.dir, cgroupPrefix+"*-*"))
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		if pid, err := strconv.Atoi(owner); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(dir)
		}
	}
}
