//go:build linux || darwin || freebsd

package reserve

import "golang.org/x/sys/unix"

// Free returns the bytes that the user of this process may still write to the file system of dir.
func Free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:gosec,unconvert // the types differ between systems
}
