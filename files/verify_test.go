package files_test

import (
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/store"
)

// damage changes the stored bytes of a file and reads them, so that the damage is found.
func (p *place) damage(id string) {
	p.Helper()
	f, err := p.File(p.ctx(), id)
	p.must(err)
	p.must(os.WriteFile(filepath.Join(p.dir, "files", "blobs", f.SHA256[:2], f.SHA256), make([]byte, f.Bytes), 0o600))
	p.readDamaged(id)
}

// readDamaged reads a file, which must fail.
func (p *place) readDamaged(id string) {
	p.Helper()
	body, _, err := p.Open(p.ctx(), id)
	p.must(err)
	if _, err := io.ReadAll(body); err == nil {
		p.Error("damaged bytes were read")
	}
	p.must(body.Close())
}

func TestRepairedFileIsNoIssue(t *testing.T) {
	t.Parallel()
	for name, repair := range map[string]func(p *place, a, b string){
		"upload under its id":       func(p *place, a, _ string) { p.send(files.Upload{ID: a}, ferns) },
		"upload under another id":   func(p *place, _, _ string) { p.await(p.send(files.Upload{ID: "c"}, ferns), store.Completed) },
		"upload with skip_exists":   func(p *place, _, _ string) { p.send(files.Upload{SkipExists: true}, ferns) },
		"delete all files of bytes": func(p *place, a, b string) { p.must(p.DeleteFile(p.ctx(), a)); p.must(p.DeleteFile(p.ctx(), b)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, nil)
			a, b := p.indexed(files.Upload{}, ferns), p.indexed(files.Upload{}, ferns)
			p.damage(a)
			p.readDamaged(b)
			if len(p.Issues()) != 1 {
				t.Errorf("issues of damaged bytes: %q", p.Issues())
			}
			repair(p, a, b)
			if len(p.Issues()) > 0 {
				t.Errorf("issues after the repair: %q", p.Issues())
			}
		})
	}
}

// TestDamagedFileStaysAnIssue deletes one of two files with the same damaged bytes.
func TestDamagedFileStaysAnIssue(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	a, b := p.indexed(files.Upload{}, ferns), p.indexed(files.Upload{}, ferns)
	p.damage(a)
	p.must(p.DeleteFile(p.ctx(), a))
	if len(p.Issues()) != 1 {
		t.Errorf("issues: %q", p.Issues())
	}
	p.readDamaged(b)
}

// TestUploadAgainDoesNotReadStoredBytes puts a named pipe in the place of the stored bytes, which shows whether they are opened. Reading them
// while they are replaced would block downloads and deletions.
func TestUploadAgainDoesNotReadStoredBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	id := p.indexed(files.Upload{}, ferns)
	f, err := p.File(p.ctx(), id)
	p.must(err)
	pipe, blob := filepath.Join(p.dir, "pipe"), filepath.Join(p.dir, "files", "blobs", f.SHA256[:2], f.SHA256)
	p.must(syscall.Mkfifo(pipe, 0o600))
	p.must(os.Remove(blob))
	p.must(os.Link(pipe, blob))
	var opened atomic.Bool
	done := make(chan error)
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when a reader opens the pipe
		if opened.Store(true); err == nil {
			err = w.Close()
		}
		done <- err
	}()
	p.send(files.Upload{ID: id}, ferns)
	if opened.Load() {
		t.Error("the stored bytes were read")
	}
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	p.must(err)
	p.must(<-done)
	p.must(r.Close())
	body, _, err := p.Open(p.ctx(), id)
	p.must(err)
	if got, err := io.ReadAll(body); err != nil || string(got) != ferns {
		t.Errorf("read %q, %v", got, err)
	}
	p.must(body.Close())
}
