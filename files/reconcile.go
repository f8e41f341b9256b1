package files

import (
	"context"
	"crypto/md5" //nolint:gosec // clients compare by it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/sluice-rag/sluice/blobs"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/store"
)

// Report is what [Reconcile] found and did.
type Report struct {
	Rows   []ReportRow
	Queued []string // ids of files that are indexed when the service is opened
}

// ReportRow is one kind of difference between store, bytes and index.
type ReportRow struct {
	Problem  string `json:"problem"`
	Found    int    `json:"found"`
	Repaired int    `json:"repaired"`
	Action   string `json:"action"` // the repair, or what the user can do
}

// reconciler repairs differences. Each step is one transaction of the store or of the index and idempotent, so a crash between two steps does
// no harm.
type reconciler struct {
	*Service
	ctx    context.Context
	dry    bool
	rows   []ReportRow
	queued []string
}

// Reconcile makes store, bytes and index in dir consistent after the store was lost or replaced by a backup, or after files were lost. It
// restores records from their copies, queues files without a document for the next [Open], and deletes documents whose file was deleted. With
// dry, it only reports. First it completes what a crash interrupted, as [Open] does. Nothing else may have dir open.
func Reconcile(ctx context.Context, dir string, o Options, dry bool) (Report, error) {
	s, err := prepare(ctx, dir, o)
	if err != nil {
		return Report{}, err
	}
	r := &reconciler{Service: s, ctx: ctx, dry: dry}
	err = s.recover(ctx)
	if err == nil {
		err = r.run()
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return Report{}, fmt.Errorf("reconcile files: %w", err)
	}
	return Report{Rows: r.rows, Queued: r.queued}, nil
}

// add records a kind of difference and repairs each one, unless dry is set.
func add[T any](r *reconciler, problem, action string, found []T, repair func(T) (bool, error)) error {
	row := ReportRow{Problem: problem, Found: len(found), Action: action}
	for _, one := range found {
		if r.dry || repair == nil {
			break
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		done, err := repair(one)
		if err != nil {
			return err
		}
		if done {
			row.Repaired++
		}
	}
	r.rows = append(r.rows, row)
	return nil
}

func (r *reconciler) run() error {
	a, err := r.audit(r.ctx)
	if err != nil {
		return err
	}
	if err := r.repairRecords(a); err != nil {
		return err
	}
	if !r.dry {
		if a, err = r.audit(r.ctx); err != nil { // restored records change the remaining differences
			return err
		}
	}
	if err := r.repairIndex(a); err != nil || r.dry {
		return err
	}
	return r.flushOutbox(r.ctx)
}

// repairRecords makes the store agree with bytes and index.
func (r *reconciler) repairRecords(a *audit) error {
	damaged, err := r.damaged()
	if err != nil {
		return err
	}
	lost, err := r.lostFiles(a)
	if err != nil {
		return err
	}
	deleted, missing := r.splitMissing(a.missing)
	for _, step := range []func() error{
		func() error {
			return add(r, "bytes that do not match their hash", "not repaired: upload the file again under its id", damaged, nil)
		},
		func() error {
			return add(r, "vector stores without a record", "the record is restored", a.stores, r.restoreStore)
		},
		func() error {
			return add(r, "uploads without a record", "the record is restored", lost, func(f store.File) (bool, error) {
				if in(damaged, f.SHA256) {
					return false, nil
				}
				return true, r.restoreFile(f, a.orphans)
			})
		},
		func() error {
			return add(r, "records of files that were deleted", "the record is deleted", deleted, r.removeRow)
		},
		func() error {
			return add(r, "files whose bytes are missing", "not repaired: upload the file again under its id", missing, nil)
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// repairIndex makes the index agree with the store.
func (r *reconciler) repairIndex(a *audit) error {
	lost := len(a.ids)+a.kept == 0
	action := "the document is deleted from the index"
	if lost {
		action = "not repaired: no records and no bytes are left; restore a backup of files/ and files.db"
	}
	for _, step := range []func() error{
		func() error {
			return add(r, "indexed documents without a file", action, a.orphans, func(d corpus.Document) (bool, error) {
				if lost {
					return false, nil
				}
				return true, r.opts.Index.Delete(r.ctx, Collection, []corpus.DocumentID{d.ID})
			})
		},
		func() error {
			return add(r, "memberships that only the index has", "the file joins the vector store", pairs(a.joined), r.joinStore)
		},
		func() error {
			return add(r, "memberships that only the record has", "the index is updated", pairs(a.left), func(p pair) (bool, error) {
				return true, r.opts.Index.AddToSet(r.ctx, Collection, p.store, []corpus.DocumentID{corpus.DocumentID(p.file)})
			})
		},
		func() error {
			return add(r, "files that are not in the index", "the file is read again", a.unindexed, func(id string) (bool, error) {
				_, err := r.retry(r.ctx, id, "")
				r.queued = append(r.queued, id)
				return true, err
			})
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type pair struct{ store, file string }

func pairs(of map[string][]string) (out []pair) {
	for _, id := range slices.Sorted(maps.Keys(of)) {
		for _, file := range of[id] {
			out = append(out, pair{id, file})
		}
	}
	return out
}

// damaged returns the hashes that the stored bytes no longer have.
func (r *reconciler) damaged() (out []string, err error) {
	stored, err := r.listBlobs(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, sum := range slices.Sorted(maps.Keys(stored)) {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := blobs.Verify(r.ctx, r.opts.Blobs, sum); errors.Is(err, blobs.ErrDamaged) {
			out = append(out, sum)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// splitMissing separates deleted files from files whose bytes are lost. A file was deleted if neither a copy of its record nor a document is
// left: the store is older than the deletion.
func (r *reconciler) splitMissing(all []store.File) (deleted, missing []store.File) {
	for _, f := range all {
		copies, err := readRecord[[]store.File](r.recordPath(f.SHA256))
		known := err != nil || slices.ContainsFunc(copies, func(c store.File) bool { return c.ID == f.ID })
		docs, err := r.opts.Index.DocumentsByID(r.ctx, Collection, []corpus.DocumentID{corpus.DocumentID(f.ID)})
		if known || err != nil || len(docs) > 0 {
			missing = append(missing, f)
		} else {
			deleted = append(deleted, f)
		}
	}
	return deleted, missing
}

func (r *reconciler) removeRow(f store.File) (bool, error) {
	_, _, err := r.opts.Store.RemoveFile(r.ctx, f.ID, r.opts.Now())
	return true, err
}

func (r *reconciler) restoreStore(v store.VectorStore) (bool, error) {
	err := r.opts.Store.AddStore(r.ctx, v, nil)
	return err == nil, ignore(err, store.ErrExists)
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (r *reconciler) joinStore(p pair) (bool, error) {
	err := r.opts.Store.Join(r.ctx, p.store, []string{p.file})
	return err == nil, ignore(err, store.ErrNotFound)
}

// lostFiles returns the files that have bytes but no record in the store: from the copies of their records or, without a copy, with only the
// hash set.
func (r *reconciler) lostFiles(a *audit) (out []store.File, err error) {
	stored, err := r.listBlobs(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, sum := range slices.Sorted(maps.Keys(stored)) {
		copies, err := readRecord[[]store.File](r.recordPath(sum))
		if err != nil {
			copies = nil // damaged
		}
		for _, f := range copies {
			if f.SHA256 = sum; !a.ids[f.ID] {
				out = append(out, f)
			}
		}
		if len(copies) == 0 && in(a.unrecorded, sum) {
			out = append(out, store.File{SHA256: sum})
		}
	}
	return out, nil
}

// restoreFile creates the record of a file. A file without an id gets that of the only document without a record that has its size, or a new
// id and name.
func (r *reconciler) restoreFile(f store.File, orphans []corpus.Document) (err error) {
	if f.ID == "" {
		if f, err = r.newRecord(f.SHA256, orphans); err != nil {
			return err
		}
	}
	now := r.opts.Now().UTC()
	f.Status, f.Failure, f.UpdatedAt = store.Pending, "", now
	t := store.Task{ID: "upload-" + f.ID, Type: "upload", Status: store.Pending, Resource: f.ID, CreatedAt: now, UpdatedAt: now}
	docs, err := r.opts.Index.DocumentsByID(r.ctx, Collection, []corpus.DocumentID{corpus.DocumentID(f.ID)})
	if err != nil {
		return err
	}
	if len(docs) > 0 {
		f.Status, t.Status, t.Progress = store.Completed, store.Completed, 100
	} else {
		r.queued = append(r.queued, f.ID)
	}
	if err := ignore(r.opts.Store.AddFile(r.ctx, f, t, nil), store.ErrExists); err != nil {
		return err
	}
	r.saveRecord(r.ctx, f.ID)
	return nil
}

// newRecord creates a record for bytes whose record is lost.
func (r *reconciler) newRecord(sum string, orphans []corpus.Document) (f store.File, err error) {
	body, err := r.opts.Blobs.Open(r.ctx, sum)
	if err != nil {
		return f, err
	}
	defer body.Close()
	weak := md5.New() //nolint:gosec // as above
	n, err := io.Copy(weak, body)
	if err != nil {
		return f, err
	}
	now := r.opts.Now().UTC()
	f = store.File{ID: r.opts.NewID(), Name: "recovered-" + sum[:12], Purpose: "general", SHA256: sum, Bytes: n, MD5: hex.EncodeToString(weak.Sum(nil)),
		CreatedAt: now}
	var same []corpus.Document
	for _, d := range orphans {
		if d.Bytes == f.Bytes {
			same = append(same, d)
		}
	}
	if len(same) == 1 {
		f.ID, f.Name, f.MediaType, f.CreatedAt = string(same[0].ID), fileName(same[0].URI, ""), same[0].MediaType, same[0].IndexedAt
		return f, nil
	}
	f.MediaType = "application/octet-stream" // until it is read
	return f, nil
}

// in reports whether a sorted list contains a value.
func in(sorted []string, v string) bool {
	_, found := slices.BinarySearch(sorted, v)
	return found
}
