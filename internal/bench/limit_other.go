//go:build !linux

package bench

import (
	"errors"
	"time"
)

func limitCPU(int, float64) (unlimit func() error, err error) {
	return nil, errors.New("needs control groups of Linux")
}

func idleTimeOfMachine() (time.Duration, error) { return 0, nil }
