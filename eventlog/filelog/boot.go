package filelog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

func bootPath(dir string) string { return filepath.Join(dir, "boot") }

// machineStopped reports whether written events may be lost: the log was not closed, and the machine was restarted since or is another one. A
// machine without a boot id counts as restarted.
func machineStopped(dir, boot string) bool {
	last, err := os.ReadFile(bootPath(dir))
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || boot == "" || string(last) != boot)
}

// writeBoot writes the boot id of the machine while the log is open.
func writeBoot(dir, boot string, sync Sync) (err error) {
	f, err := os.OpenFile(bootPath(dir), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = f.WriteString(boot)
	if sync != SyncNever {
		err = errors.Join(err, f.Sync(), atomicfile.SyncDir(dir))
	}
	return errors.Join(err, f.Close())
}

// removeBoot marks the log as closed.
func removeBoot(dir string) error { return os.Remove(bootPath(dir)) }
