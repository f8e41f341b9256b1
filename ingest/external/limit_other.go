//go:build !linux

package external

import (
	"os"
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) error { return p.Kill() }

func limitProcess(int, int64, time.Duration) {}
