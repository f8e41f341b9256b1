package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/fault"
)

// TestReason checks what users read if a folder cannot be watched. The limit of watches has the error of a full disk.
func TestReason(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"fs.inotify.max_user_watches":      syscall.ENOSPC,
		"fs.inotify.max_user_instances":    syscall.EMFILE,
		"does not exist":                   fs.ErrNotExist,
		"no permission to read the folder": fs.ErrPermission,
	} {
		f := fault.Public(reason(fmt.Errorf("add watch: %w", &fs.PathError{Op: "add", Path: "/docs", Err: err})))
		if f.Code != fault.Unavailable || !strings.Contains(f.Message, want) || strings.Contains(f.Message, "/docs") {
			t.Errorf("%v: %v, want %q", err, f, want)
		}
	}
	if other := errors.New("other"); !errors.Is(reason(other), other) {
		t.Error("another error was replaced")
	}
}
