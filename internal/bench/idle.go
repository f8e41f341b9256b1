package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// idleResult is the memory of a number of readers that wait for the next event of a run.
type idleResult struct {
	Server  string  `json:"side"`
	Readers int     `json:"readers"`
	Process float64 `json:"process_kib_per_reader"` // resident memory of the server
	Kernel  float64 `json:"kernel_kib_per_reader"`  // of one end of a connection
}

// idleBefore is the number of readers before the first measurement, so that one-time costs are not counted.
const idleBefore = 250

// measureIdle measures idle readers of one server, whose number increases.
func measureIdle(ctx context.Context, exe, server string, o *streamCmd) ([]idleResult, error) {
	s, err := start(ctx, exe, o.args(server, 1))
	if err != nil {
		return nil, err
	}
	out, err := s.idle(ctx, server, slices.Sorted(slices.Values(o.Idle)))
	return out, errors.Join(err, s.stop())
}

func (s *child) idle(ctx context.Context, server string, numbers []int) (out []idleResult, err error) {
	var set readerSet
	defer set.close()
	ask := request{addr: s.addr, method: "POST", path: "/api/query/stream", body: `{"query":"` + idleQuery + `","mode":"direct","no_cache":true}`}
	run, _, err := set.open(ctx, ask)
	if err != nil {
		return nil, err
	}
	read := request{addr: s.addr, method: "GET", path: "/runs/" + run + "/stream"}
	if run == "" { // the bare handlers have no runs
		read = ask
	}
	opened := 0
	memory := func(n int) (process, kernel int64, err error) {
		err = openAll(n-opened, func(int) error {
			_, _, err := set.open(ctx, read)
			return err
		})
		if opened = n; err == nil {
			err = wait(ctx, time.Second)
		}
		if err != nil {
			return 0, 0, err
		}
		u, err := s.usage(ctx, "?memory")
		return u.Memory, kernelMemory(), err
	}
	process, kernel, err := memory(idleBefore)
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		p, k, err := memory(idleBefore + n)
		if err != nil {
			return nil, err
		}
		per := func(bytes int64) float64 { return float64(bytes) / 1024 / float64(n) }
		out = append(out, idleResult{Server: server, Readers: n, Process: per(p - process), Kernel: per(k-kernel) / 2})
	}
	return out, nil
}

// kernelMemory returns the memory of the kernel for its objects, such as sockets, and for the buffers of TCP, in bytes; 0 on systems without /proc.
func kernelMemory() int64 {
	slab := procNumber("/proc/meminfo", "Slab:", "") << 10 // in KiB
	buffers := procNumber("/proc/net/sockstat", "TCP:", "mem") * int64(os.Getpagesize())
	return slab + buffers
}

// procNumber returns the number after a word in the line of a file that begins with a word; after the first word if the second is empty.
func procNumber(file, line, word string) (n int64) {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), line)
		if !ok {
			continue
		}
		if word != "" {
			_, rest, _ = strings.Cut(rest, " "+word+" ")
		}
		_, _ = fmt.Sscan(rest, &n) // 0 if it is no number
		return n
	}
	return 0
}
