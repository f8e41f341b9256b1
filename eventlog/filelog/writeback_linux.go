package filelog

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncBytes is how much of the active segment is written before a sync of it starts, also if no terminal event waits for one. Without these syncs,
// that of the full segment, for which all runs wait, would take long. Each sync also makes writes wait while the file system commits its journal.
const syncBytes = 16 << 20

// startWriteBack makes the system write a part of a file to the disk, so that the next sync takes less time. Unlike a sync it does not commit the journal of the
// file system, for which writes would wait. Its errors are those of the next sync.
func startWriteBack(f *os.File, from, n int64) {
	raw, err := f.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) { _ = unix.SyncFileRange(int(fd), from, n, unix.SYNC_FILE_RANGE_WRITE) })
}
