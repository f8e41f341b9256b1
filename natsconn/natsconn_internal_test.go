package natsconn

import "testing"

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"2.10.29": true, "2.9.0": true, "2.11.0": false, "2.11.0-RC.1": true, "2.15.2": false, "3.0.0": false} {
		if got := tooOld(version); got != want {
			t.Errorf("version %s is too old: %v", version, got)
		}
	}
}
