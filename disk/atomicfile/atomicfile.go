// Package atomicfile replaces and removes files so that a crash leaves each of them whole.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces the file path with data. After a crash of the process the file has the old content or the new one. A loss of power
// may undo the write. Until the replacement, data is in the file path with ".new" appended, so calls for one path must not overlap.
func Write(path string, data []byte, perm fs.FileMode) error {
	return write(path, data, perm, func(*os.File) error { return nil })
}

// WriteSync is [Write] that returns after the new content is durable.
func WriteSync(path string, data []byte, perm fs.FileMode) error {
	if err := write(path, data, perm, (*os.File).Sync); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func write(path string, data []byte, perm fs.FileMode, sync func(*os.File) error) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Remove removes a file. A file that does not exist is not an error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// SyncDir makes the names in a directory durable. It does nothing on Windows, where directories cannot be synced.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
