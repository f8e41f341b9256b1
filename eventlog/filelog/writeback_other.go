//go:build !linux

package filelog

import "os"

// syncBytes is how much of the active segment is written before a sync of it starts, also if no terminal event waits for one. Without these syncs,
// that of the full segment, for which all runs wait, would take long.
const syncBytes = 1 << 20

// startWriteBack does nothing on this system.
func startWriteBack(*os.File, int64, int64) {}
