package natsconn

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"2.10.29": true, "2.9.0": true, "2.11.0": false, "2.11.0-RC.1": true, "2.15.2": false, "3.0.0": false} {
		if got := tooOld(version); got != want {
			t.Errorf("version %s is too old: %v", version, got)
		}
	}
}

func TestTransient(t *testing.T) {
	for err, want := range map[error]bool{
		&jetstream.APIError{Code: 409, ErrorCode: duplicateStored}: true,
		&jetstream.APIError{Code: 503, ErrorCode: 10008}:           true,
		&jetstream.APIError{Code: 500, ErrorCode: noStorage}:       false,
		&jetstream.APIError{Code: 400, ErrorCode: wrongLast}:       false,
		context.DeadlineExceeded:                                   true,
		context.Canceled:                                           false,
	} {
		if err := fmt.Errorf("publish: %w", err); Transient(err) != want {
			t.Errorf("%v: transient is %t", err, !want)
		}
	}
}
