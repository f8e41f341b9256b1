package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDocsRetries checks the pauses between attempts to index: they double up to a limit, and a success resets them.
func TestDocsRetries(t *testing.T) {
	t.Parallel()
	var d DocsIndexing
	for round := range 2 {
		for i := range 12 {
			got, middle := d.Ended(errors.New("the share is away")), min(time.Second<<i, lastDocsRetry)
			if got < middle*3/4 || got > middle*5/4 {
				t.Errorf("round %d: pause %d is %v, want about %v", round, i+1, got, middle)
			}
		}
		if d.Ended(nil) != 0 || d.failing() != "" {
			t.Error("a success is tried again")
		}
	}
	seen := map[time.Duration]bool{}
	for range 20 {
		var d DocsIndexing
		seen[d.Ended(errors.New("the share is away"))] = true
	}
	if len(seen) < 2 {
		t.Error("all servers try again at the same time")
	}
}

// TestDocsFailureNamesNextAttempt checks what users see of a failure.
func TestDocsFailureNamesNextAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d DocsIndexing
		pause := d.Ended(errors.New("read /secret/share: permission denied"))
		want := "internal error (the log has the details); the next attempt is at " + time.Now().UTC().Add(pause).Format(time.RFC3339)
		if got := d.failing(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
