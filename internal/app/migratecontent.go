package app

import (
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

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/eval/summary"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
)

// logs calls do with the logs of the tenant on both sides.
func (m *migration) logs(ctx context.Context, do func(from, to RunLog) error) (err error) {
	from, to := m.from.log, m.to.log
	if m.tenant != auth.DefaultTenant {
		if from, err = m.from.openLog(ctx, m.tenant); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		if to, err = m.to.openLog(ctx, m.tenant); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.Close()) }()
	}
	return do(from, to)
}

// eachRun calls do for each run of a log, the newest first.
func eachRun(ctx context.Context, log RunLog, do func(eventlog.Summary) error) error {
	for before := event.RunID(""); ; {
		page, err := log.Runs(ctx, before, 200)
		if err != nil {
			return err
		}
		for _, s := range page {
			if err := do(s); err != nil {
				return fmt.Errorf("run %s: %w", s.Start.Run, err)
			}
			before = s.Start.Run
		}
		if len(page) < 200 {
			return nil
		}
	}
}

// copyRuns copies all runs. A run of which a part was copied is completed.
func copyRuns(ctx context.Context, m *migration) error {
	return m.logs(ctx, func(from, to RunLog) error {
		done := 0
		return eachRun(ctx, from, func(s eventlog.Summary) error {
			done++
			m.o.Progress("runs", done)
			return copyRun(ctx, from, to, s)
		})
	})
}

// discarder is a log in which a run can have been begun without an event.
type discarder interface {
	Discard(ctx context.Context, run event.RunID) error
}

func copyRun(ctx context.Context, from, to RunLog, s eventlog.Summary) error {
	run := s.Start.Run
	has, err := to.Summary(ctx, run)
	if err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return err
	}
	if has.Last > s.Last {
		return errors.New("the target has more events than the source")
	}
	for after := has.Last; after < s.Last; {
		batch, err := from.Load(ctx, run, after)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			return fmt.Errorf("event %d is missing", after+1)
		}
		err = to.Append(ctx, run, batch...)
		if d, ok := to.(discarder); ok && errors.Is(err, eventlog.ErrConflict) && after == 0 { // its beginning was interrupted
			if err = d.Discard(ctx, run); err == nil {
				err = to.Append(ctx, run, batch...)
			}
		}
		if err != nil {
			return err
		}
		after = batch[len(batch)-1].Seq
	}
	if syncer, ok := to.(eventlog.Syncer); ok && !s.Ended {
		return syncer.Sync(ctx, run)
	}
	return nil
}

func compareRuns(ctx context.Context, m *migration) (from, to tally, err error) {
	err = m.logs(ctx, func(a, b RunLog) (err error) {
		if from, err = tallyRuns(ctx, a); err == nil {
			to, err = tallyRuns(ctx, b)
		}
		return err
	})
	return from, to, err
}

// tallyRuns counts runs. Their checksum is that of the JSON of their events.
func tallyRuns(ctx context.Context, log RunLog) (t tally, err error) {
	err = eachRun(ctx, log, func(s eventlog.Summary) error {
		h := sha256.New()
		for after := event.Seq(0); after < s.Last; {
			batch, err := log.Load(ctx, s.Start.Run, after)
			if err != nil {
				return err
			}
			if len(batch) == 0 {
				return fmt.Errorf("event %d is missing", after+1)
			}
			for _, e := range batch {
				if err := json.NewEncoder(h).Encode(e); err != nil {
					return err
				}
			}
			after = batch[len(batch)-1].Seq
		}
		t.add([32]byte(h.Sum(nil)))
		return nil
	})
	return t, err
}

// stores returns the stores of the uploaded bytes of the tenant on both sides.
func (m *migration) stores(ctx context.Context) (from, to blobs.Store, err error) {
	if from, err = m.from.store(ctx, m.tenant); err == nil {
		to, err = m.to.store(ctx, m.tenant)
	}
	return from, to, err
}

// copyBlobs copies the uploaded bytes that the target lacks.
func copyBlobs(ctx context.Context, m *migration) error {
	from, to, err := m.stores(ctx)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for sum, err := range to.List(ctx) {
		if err != nil {
			return err
		}
		has[sum] = true
	}
	done := 0
	for sum, err := range from.List(ctx) {
		if err == nil && !has[sum] {
			err = copyBlob(ctx, from, to, sum, m.to.cfg.Store.Data)
		}
		if err != nil {
			return err
		}
		done++
		m.o.Progress("uploaded files", done)
	}
	return nil
}

// copyBlob copies a blob by way of a file in a folder, so that it can be sent again.
func copyBlob(ctx context.Context, from, to blobs.Store, sum, dir string) (err error) {
	body, err := from.Open(ctx, sum)
	if err != nil {
		return fmt.Errorf("blob %s: %w", sum, err)
	}
	temp, err := os.CreateTemp(dir, "migrate-*")
	if err != nil {
		return errors.Join(err, body.Close())
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	n, err := blobs.Copy(temp, body, sum)
	if err = errors.Join(err, body.Close()); err == nil {
		err = to.Put(ctx, sum, temp, n)
	}
	if err != nil {
		return fmt.Errorf("blob %s: %w", sum, err)
	}
	return nil
}

func compareBlobs(ctx context.Context, m *migration) (from, to tally, err error) {
	a, b, err := m.stores(ctx)
	if err == nil {
		from, err = tallyBlobs(ctx, a)
	}
	if err == nil {
		to, err = tallyBlobs(ctx, b)
	}
	return from, to, err
}

// tallyBlobs reads all blobs. Their checksum is that of their names, which are those of their content.
func tallyBlobs(ctx context.Context, s blobs.Store) (t tally, err error) {
	for sum, err := range s.List(ctx) {
		if err == nil {
			err = blobs.Verify(ctx, s, sum)
		}
		if err != nil {
			return t, fmt.Errorf("blob %s: %w", sum, err)
		}
		raw, _ := hex.DecodeString(sum) // List returns valid names
		t.add([32]byte(raw))
	}
	return t, nil
}

// copyFolder returns a function that copies a folder of the tenant. It replaces what the target has, so it can be repeated.
func copyFolder(name string) func(context.Context, *migration) error {
	return func(ctx context.Context, m *migration) error {
		from, to := filepath.Join(Folder(m.from.cfg.Store.Data, m.tenant), name), filepath.Join(Folder(m.to.cfg.Store.Data, m.tenant), name)
		temp := to + ".migrating"
		if err := os.RemoveAll(temp); err != nil {
			return err
		}
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
			fromTally, err := tallyFolder(from)
			if err != nil {
				return err
			}
			toTally, err := tallyFolder(to)
			if err == nil && fromTally != toTally {
				err = fmt.Errorf("the target has other content in %s", to)
			}
			return err
		}
		done := 0
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			inside, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			target := filepath.Join(temp, inside)
			if d.IsDir() {
				return os.MkdirAll(target, 0o700)
			}
			done++
			m.o.Progress(name, done)
			return copyFile(path, target)
		})
		if err == nil {
			err = os.Remove(to)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		if err == nil {
			err = os.Rename(temp, to)
		}
		return err
	}
}

// otherFiles are the small files of a tenant that are copied. Caches are not, nor what belongs to one server.
var otherFiles = []string{"failures.json", "embedders.json", calibrationFile, summary.Folder, unfinishedFile,
	"keys.required"} // without the last one, a server that lost its keys would serve everybody

// eachOther calls do for the paths of the small files that the tenant has on a side.
func (s *side) eachOther(tenant string, do func(inside, path string) error) error {
	root := Folder(s.cfg.Store.Data, tenant)
	for _, name := range otherFiles {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			inside, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return do(inside, path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyOthers copies the small files. It replaces what the target has.
func copyOthers(_ context.Context, m *migration) error {
	return m.from.eachOther(m.tenant, func(inside, path string) error {
		to := filepath.Join(Folder(m.to.cfg.Store.Data, m.tenant), inside)
		raw, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = atomicfile.WriteSync(to, raw, 0o600)
		}
		return err
	})
}

func compareOthers(_ context.Context, m *migration) (from, to tally, err error) {
	if from, err = m.from.tallyOthers(m.tenant); err == nil {
		to, err = m.to.tallyOthers(m.tenant)
	}
	return from, to, err
}

func (s *side) tallyOthers(tenant string) (t tally, err error) {
	err = s.eachOther(tenant, func(inside, path string) error { return t.addFile(inside, path) })
	return t, err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

func compareFolder(name string) func(context.Context, *migration) (from, to tally, err error) {
	return func(_ context.Context, m *migration) (from, to tally, err error) {
		if from, err = tallyFolder(filepath.Join(Folder(m.from.cfg.Store.Data, m.tenant), name)); err == nil {
			to, err = tallyFolder(filepath.Join(Folder(m.to.cfg.Store.Data, m.tenant), name))
		}
		return from, to, err
	}
}

// tallyFolder counts the files of a folder. Their checksum is that of their paths and contents.
func tallyFolder(dir string) (t tally, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return t.addFile(inside, path)
	})
	return t, err
}

// addFile adds a file with its path in the folder of its tenant.
func (t *tally) addFile(inside, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	_, _ = io.WriteString(h, filepath.ToSlash(inside)+"\x00")
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	t.add([32]byte(h.Sum(nil)))
	return nil
}
