package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Every data folder of a server has dataRuns and one of dataMarks, as long as it exists.
const dataRuns = "runs"

var dataMarks = []string{"sessions.exists", "ledger.exists", "records.elsewhere"}

// dataFolders are the folders in a data folder that are the server's. Others are the user's, who may keep documents there.
var dataFolders = map[string]bool{dataRuns: true, "index": true, "files": true, "tenants": true, "websites": true, "repositories": true, "source-credentials": true}

// errData is reported for a path that belongs to a data folder. Data folders below a path are skipped.
var errData = errors.New("belongs to the data folder of a server")

// DataFolder returns the data folder of a server to which a path belongs, or "" if there is none. A data folder has logs that change all the time, and
// secrets. A folder of the user in it does not belong to it. With an error, it is unclear whether the returned folder is a data folder.
func DataFolder(path string) (string, error) { return dataFolder(os.Lstat, path) }

// dataFolder is [DataFolder] for a path that lstat describes.
func dataFolder(lstat func(string) (fs.FileInfo, error), path string) (string, error) {
	child := "" // of path, on the way to the first one
	for {
		is, err := isDataFolder(lstat, path)
		if is && child != "" && !dataFolders[child] {
			if info, err := lstat(filepath.Join(path, child)); err == nil && info.IsDir() {
				return "", nil
			}
		}
		if is || err != nil {
			return path, err
		}
		parent := filepath.Dir(path)
		if parent == path {
			return "", nil
		}
		path, child = parent, filepath.Base(path)
	}
}

func isDataFolder(lstat func(string) (fs.FileInfo, error), dir string) (bool, error) {
	has := func(name string) (bool, error) {
		_, err := lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return false, nil
		}
		return err == nil, err
	}
	is, err := has(dataRuns)
	if !is {
		return false, err
	}
	for _, mark := range dataMarks {
		if is, err := has(mark); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// checkData returns an error if an absolute path, or what it links to, belongs to a data folder, or if that is unclear.
func checkData(path string) error {
	target, err := filepath.EvalSymlinks(path)
	for _, p := range []string{path, target} {
		var data string
		if err == nil {
			data, err = DataFolder(p)
		}
		if err == nil && data != "" {
			err = errData
		}
	}
	return err
}

// ofServer returns the parts of a path that belongs to a data folder that are the server's: all of it or, of the data folder itself, its files and the server's
// folders in it.
func ofServer(path, uri string) (out []string) {
	if is, err := isDataFolder(os.Lstat, path); !is || err != nil {
		return []string{uri}
	}
	entries, _ := os.ReadDir(path) // the path is reported anyway
	for _, e := range entries {
		if !e.IsDir() || dataFolders[e.Name()] {
			out = append(out, uri+"/"+e.Name())
		}
	}
	return out
}
