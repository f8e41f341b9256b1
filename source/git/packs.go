package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/fault"
)

const (
	packsVersion = 1
	maxCached    = 32 << 20 // bytes of objects in memory
)

// state is the file state.json in the folder of a location.
type state struct {
	Version int      `json:"version"`
	Commit  string   `json:"commit"` // whose objects are in the packs
	Filter  int64    `json:"filter"` // larger files are not in the packs; 0: all are
	Packs   []string `json:"packs"`  // names without extensions
}

// packs keeps the objects of the last commit of a location in a folder. It is a cache: missing or damaged objects are downloaded again. Objects are found by their
// SHA-1 hash, which is checked when they are read. Only read may be called concurrently.
type packs struct {
	dir    string
	limits Limits
	state  state

	mu   sync.Mutex
	open []*pack
}

// pack is an open pack.
type pack struct {
	*packfile.Packfile
	index *idxfile.MemoryIndex
	file  *os.File
}

// dirOf returns the folder of a location.
func dirOf(dir, location string) string {
	sum := sha256.Sum256([]byte(location))
	return filepath.Join(dir, hex.EncodeToString(sum[:16]))
}

// openPacks opens the packs of a location. Those that cannot be read are removed.
func openPacks(dir string, limits Limits) (*packs, error) {
	p := &packs{dir: dir, limits: limits}
	if err := p.load(); err != nil {
		return p, p.reset()
	}
	return p, p.tidy()
}

func (p *packs) load() error {
	data, err := os.ReadFile(p.path("state.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &p.state); err != nil || p.state.Version != packsVersion || len(p.state.Packs) > p.limits.Packs {
		return errors.Join(fs.ErrInvalid, err)
	}
	for _, name := range p.state.Packs {
		if err := p.add(name); err != nil {
			return err
		}
	}
	return nil
}

func (p *packs) path(name string) string { return filepath.Join(p.dir, name) }

// add opens a pack and its index.
func (p *packs) add(name string) error {
	if !filepath.IsLocal(name) {
		return fs.ErrInvalid
	}
	data, err := os.ReadFile(p.path(name + ".idx"))
	if err != nil {
		return err
	}
	index := idxfile.NewMemoryIndex()
	if _, err := guarded(func() (any, error) { return nil, idxfile.NewDecoder(bytes.NewReader(data)).Decode(index) }); err != nil {
		return err
	}
	f, err := os.Open(p.path(name + ".pack"))
	if err != nil {
		return err
	}
	p.open = append(p.open, &pack{packfile.NewPackfileWithCache(index, nil, billyFile{f}, cache.NewObjectLRU(maxCached/cache.FileSize(p.limits.Packs)), 0), index, f})
	return nil
}

// billyFile adapts a file to the interface of go-billy, which the library reads. Locks do nothing, because only this process uses the file.
type billyFile struct{ *os.File }

func (billyFile) Lock() error   { return nil }
func (billyFile) Unlock() error { return nil }

// tidy removes files that are not in the state, such as those of an interrupted download.
func (p *packs) tidy() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		if e.Name() != "state.json" && !slices.Contains(p.state.Packs, name) {
			err = errors.Join(err, os.Remove(p.path(e.Name())))
		}
	}
	return err
}

// reset removes all packs.
func (p *packs) reset() error {
	err := p.close()
	p.state = state{Version: packsVersion}
	return errors.Join(err, os.RemoveAll(p.dir), os.MkdirAll(p.dir, 0o700))
}

func (p *packs) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, open := range p.open {
		err = errors.Join(err, open.file.Close())
	}
	p.open = nil
	return err
}

// forget makes the next sync download everything again.
func (p *packs) forget() error { return os.Remove(p.path("state.json")) }

// commit returns the commit whose objects are in the packs, or zero.
func (p *packs) commit() plumbing.Hash { return plumbing.NewHash(p.state.Commit) }

// full reports whether another pack would exceed the number of packs or their size.
func (p *packs) full() bool {
	var size int64
	for _, open := range p.open {
		if info, err := open.file.Stat(); err == nil {
			size += info.Size()
		}
	}
	return len(p.open) >= p.limits.Packs || size > p.limits.Bytes
}

// receive adds the pack that a function writes, and records that the packs have the objects of a commit. If there are packs already, the new one may be thin.
func (p *packs) receive(ctx context.Context, commit plumbing.Hash, filter int64, write func(io.Writer) error) error {
	var temps []*os.File
	defer func() {
		for _, f := range temps { // what is of use has another name
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	temp := func() (*os.File, error) {
		f, err := os.CreateTemp(p.dir, "download-*.part")
		if err == nil {
			temps = append(temps, f)
		}
		return f, err
	}
	f, err := temp()
	if err != nil {
		return keep(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return keep(err)
	}
	if len(p.open) > 0 {
		thin := f
		if f, err = temp(); err != nil {
			return keep(err)
		}
		if err := p.complete(ctx, thin, f); err != nil {
			return err
		}
	}
	index, err := indexPack(ctx, f, p.limits)
	if err != nil {
		return err
	}
	if has, err := index.Contains(commit); err != nil || !has {
		return errDamaged
	}
	return keep(p.save(commit, filter, f, index))
}

func keep(err error) error {
	if err != nil {
		err = fmt.Errorf("keep objects of repository: %w", err)
	}
	return err
}

// save makes a file and its index the newest pack.
func (p *packs) save(commit plumbing.Hash, filter int64, f *os.File, index *idxfile.MemoryIndex) error {
	name := fmt.Sprintf("pack-%s-%d", commit, len(p.open))
	next := state{packsVersion, commit.String(), filter, append(slices.Clone(p.state.Packs), name)}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	var idx bytes.Buffer
	if _, err := idxfile.NewEncoder(&idx).Encode(index); err != nil {
		return err
	}
	if err = f.Close(); err == nil {
		err = os.Rename(f.Name(), p.path(name+".pack"))
	}
	if err == nil {
		err = atomicfile.Write(p.path(name+".idx"), idx.Bytes(), 0o600)
	}
	if err == nil {
		err = p.add(name)
	}
	if err == nil {
		err = atomicfile.Write(p.path("state.json"), data, 0o600)
	}
	if err == nil {
		p.state = next
	}
	return err
}

var (
	// errMissing is the error for an object that is in no pack.
	errMissing = errors.New("an object of the repository is missing")
	// errBroken is the error for an object that cannot be read from its pack.
	errBroken = errors.New("an object of the repository cannot be read")
)

// read returns the bytes of an object. More than limit bytes are an error.
func (p *packs) read(h plumbing.Hash, want plumbing.ObjectType, limit int64) ([]byte, error) {
	o, err := p.find(h, limit)
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || plumbing.ComputeHash(want, data) != h {
		return nil, errBroken // or it is of another type
	}
	return data, nil
}

// find returns an object in memory. More than limit bytes are an error.
func (p *packs) find(h plumbing.Hash, limit int64) (plumbing.EncodedObject, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, open := range slices.Backward(p.open) {
		offset, err := open.index.FindOffset(h)
		if err != nil {
			continue
		}
		o, err := guarded(func() (plumbing.EncodedObject, error) {
			if size, err := open.GetSizeByOffset(offset); err != nil || size > limit {
				return nil, cmp.Or(err, tooLarge(limit))
			}
			return open.Get(h)
		})
		if err != nil && fault.CodeOf(err) == "" {
			err = errBroken
		}
		return o, err
	}
	return nil, errMissing
}

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "is larger than the limit of %d bytes", limit)
}
