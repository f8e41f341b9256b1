package filelog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

func bootPath(dir string) string { return filepath.Join(dir, "boot") }

// wentDown tells whether what was written to the log may be lost in part: it was not closed, and its machine was started again
// since, or is another one. A machine that does not identify its boots is taken for one that was.
func wentDown(dir, boot string) bool {
	last, err := os.ReadFile(bootPath(dir))
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || boot == "" || string(last) != boot)
}

// writeBoot notes in which boot the log is open.
func writeBoot(dir, boot string, sync Sync) (err error) {
	f, err := os.OpenFile(bootPath(dir), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	_, err = f.WriteString(boot)
	if sync != SyncNever {
		err = errors.Join(err, f.Sync(), syncDir(dir))
	}
	return errors.Join(err, f.Close())
}

// removeBoot notes that the log is closed.
func removeBoot(dir string) error { return os.Remove(bootPath(dir)) }
