package socket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Listen listens on a Unix socket that only the own user can connect to. A file that a process which has crashed left at the path is
// replaced; a socket that is in use, and a file that is not a socket, is an error. The file PATH.lock keeps other
// processes from listening on the same path; it is not deleted. Close deletes the socket.
func Listen(path string) (net.Listener, error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the socket: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("listen on %s: another process uses the socket", path)
	}
	l, err := listen(path)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &listener{UnixListener: l, path: path, lock: lock}, nil
}

// listen makes the socket under another name and moves it to its path when its permissions are set, so that no other user
// can connect before.
func listen(path string) (*net.UnixListener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	made := path + "~"
	if err := checkStale(made); err != nil {
		return nil, err
	}
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), os.Remove(made))
	}
	return l, nil
}

// checkStale reports a file that must not be replaced: one that is not a socket, and a socket on which a process listens.
func checkStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the file is not a socket")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
		return errors.New("another process uses the socket")
	}
	return nil
}

// listener deletes its socket when it is closed.
type listener struct {
	*net.UnixListener
	path string
	lock *flock.Flock
	once sync.Once
	err  error
}

// Close stops to listen and deletes the socket. Connections stay open.
func (l *listener) Close() error {
	l.once.Do(func() { // the lock is held until the end, so the file is ours
		l.err = errors.Join(l.UnixListener.Close(), os.Remove(l.path), l.lock.Close())
	})
	return l.err
}
