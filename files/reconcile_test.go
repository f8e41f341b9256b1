package files_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/embedded"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/store"
	"github.com/sluice-rag/sluice/store/sqlstore"
)

const moss = "# Moss\n\nMoss drinks rain through its leaves.\n"

// clean reports whether nothing was found.
func clean(r files.Report) bool {
	return !slices.ContainsFunc(r.Rows, func(row files.ReportRow) bool { return row.Found > 0 })
}

// interrupted is an index that fails after some changes, as if the process was killed.
type interrupted struct {
	*embedded.Index
	left int
}

var errKilled = errors.New("killed")

func (f *interrupted) step() error {
	if f.left--; f.left < 0 {
		return errKilled
	}
	return nil
}

func (f *interrupted) AddToSet(ctx context.Context, c, set string, ids []corpus.DocumentID) error {
	return errors.Join(f.step(), f.Index.AddToSet(ctx, c, set, ids))
}

func (f *interrupted) Delete(ctx context.Context, c string, ids []corpus.DocumentID) error {
	return errors.Join(f.step(), f.Index.Delete(ctx, c, ids))
}

func (f *interrupted) DocumentsByID(ctx context.Context, c string, ids []corpus.DocumentID) ([]corpus.Document, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.Index.DocumentsByID(ctx, c, ids)
}

// reconcile runs Reconcile on a closed folder. It fails after some steps of the index, if kill is not negative.
func reconcile(t *testing.T, dir string, dry bool, kill int) (files.Report, error) {
	t.Helper()
	kept, err := sqlstore.Open(t.Context(), filepath.Join(dir, "sluice.db"))
	require.NoError(t, err)
	ix, err := embedded.Open(t.Context(), filepath.Join(dir, "index"), embedded.Options{})
	require.NoError(t, err)
	var of files.Index = ix
	if kill >= 0 {
		of = &interrupted{ix, kill}
	}
	report, err := files.Reconcile(t.Context(), filepath.Join(dir, "files"),
		files.Options{Store: kept, Index: of, Ingest: ingest.New(ix, local.New(local.Options{}), ingest.Options{})}, dry)
	require.NoError(t, errors.Join(kept.Close(), ix.Close()))
	return report, err
}

// removeDB deletes the database.
func removeDB(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"sluice.db", "sluice.db-wal", "sluice.db-shm"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
	}
}

// truncateDB empties the database.
func truncateDB(t *testing.T, dir string) {
	t.Helper()
	removeDB(t, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sluice.db"), nil, 0o600))
}

func copyDB(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	require.NoError(t, err)
}

// tallied returns how often a report found and repaired a problem.
func tallied(r files.Report, problem string) (found, repaired int) {
	for _, row := range r.Rows {
		if strings.Contains(row.Problem, problem) {
			return row.Found, row.Repaired
		}
	}
	return -1, -1
}

func TestReconcileRestoresALostDatabase(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, string){"missing": removeDB, "emptied": truncateDB} {
		for _, kill := range []int{-1, 0, 1, 2, 3, 4, 5, 6} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				at := func(_ *place, o *options) { o.dir = dir }
				p := newPlace(t, at)
				a := p.indexed(files.Upload{Name: "ferns.md", Purpose: "mine"}, ferns)
				b := p.indexed(files.Upload{Name: "copy.md"}, ferns)
				c := p.indexed(files.Upload{Name: "moss.md"}, moss)
				bad := p.send(files.Upload{Name: "bad.pdf"}, "%PDF-1.4 not really")
				p.await(bad, store.Failed)
				p.newStore("Plants", a, c)
				p.newStore("empty")
				name := "My plants"
				_, err := p.ModifyStore(p.ctx(), "Plants", files.StoreUpdate{Name: &name})
				p.must(err)
				gone := p.indexed(files.Upload{}, "# Gone\n\nIt is deleted before.\n")
				p.must(p.DeleteFile(p.ctx(), gone))
				p.close()
				lose(t, dir)

				p = newPlace(t, at)
				if issues := strings.Join(p.Issues(), ","); !strings.Contains(issues, "3 uploads without") || !strings.Contains(issues, "3 indexed files") {
					t.Errorf("issues: %s", issues)
				}
				p.finds("", "spores", a, b) // nothing is deleted automatically
				p.close()

				if dry, err := reconcile(t, dir, true, -1); err != nil || clean(dry) {
					t.Fatalf("dry run: %+v, %v", dry, err)
				}
				if kill >= 0 {
					if _, err := reconcile(t, dir, false, kill); err == nil && kill < 3 {
						t.Error("the reconciliation was not interrupted")
					}
				}
				if _, err := reconcile(t, dir, false, -1); err != nil {
					t.Fatal(err)
				}
				if again, err := reconcile(t, dir, false, -1); err != nil || !clean(again) {
					t.Errorf("run again: %+v, %v", again, err)
				}

				p = newPlace(t, at)
				p.await(bad, store.Failed)
				if issues := p.Issues(); len(issues) > 0 {
					t.Errorf("issues remain: %v", issues)
				}
				f, err := p.File(p.ctx(), a)
				p.must(err)
				if f.Name != "ferns.md" || f.Purpose != "mine" || f.Status != store.Completed || f.Bytes != int64(len(ferns)) {
					t.Errorf("restored as %+v", f)
				}
				if s, err := p.Store(p.ctx(), "Plants"); err != nil || s.Name != name || s.Counts.Completed != 2 {
					t.Errorf("vector store: %+v, %v", s, err)
				}
				if _, err := p.Store(p.ctx(), "empty"); err != nil {
					t.Error(err)
				}
				if _, err := p.File(p.ctx(), gone); err == nil {
					t.Error("a deleted file is back")
				}
				p.finds("Plants", "spores", a)
				p.finds("Plants", "moss", c)
				p.finds("", "spores", a, b)
				p.checkConsistent()
			})
		}
	}
}

func TestReconcileWithAnOlderDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(_ *place, o *options) { o.dir = dir }
	p := newPlace(t, at)
	kept := p.indexed(files.Upload{Name: "ferns.md"}, ferns)
	deleted := p.indexed(files.Upload{}, "# Old\n\nIt is deleted afterwards.\n")
	p.newStore("plants", kept)
	p.close()
	db, backup := filepath.Join(dir, "sluice.db"), filepath.Join(dir, "backup")
	copyDB(t, db, backup)
	p = newPlace(t, at)
	later := p.indexed(files.Upload{Name: "moss.md"}, moss)
	_, err := p.ModifyStore(p.ctx(), "plants", files.StoreUpdate{Join: []string{later}})
	p.must(err)
	p.must(p.DeleteFile(p.ctx(), deleted))
	p.close()
	removeDB(t, dir)
	copyDB(t, backup, db)

	p = newPlace(t, at)
	if len(p.Issues()) == 0 {
		t.Error("an older database is not noticed")
	}
	p.close()
	report, err := reconcile(t, dir, false, -1)
	require.NoError(t, err)
	for problem, want := range map[string]int{"uploads without a record": 1, "records of files that were deleted": 1, "only the index has": 1, "bytes are missing": 0} {
		if found, repaired := tallied(report, problem); found != want || repaired != want {
			t.Errorf("%s: %d of %d, want %d", problem, repaired, found, want)
		}
	}
	p = newPlace(t, at)
	p.finds("plants", "spores", kept)
	p.finds("plants", "moss", later)
	if _, err := p.File(p.ctx(), deleted); err == nil {
		t.Error("a deleted file is back")
	}
	p.checkConsistent()
}

func TestReconcileWithoutCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(_ *place, o *options) { o.dir = dir }
	p := newPlace(t, at)
	a := p.indexed(files.Upload{Name: "ferns.md"}, ferns)
	p.close()
	removeDB(t, dir)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "files", "records")))
	if _, err := reconcile(t, dir, false, -1); err != nil {
		t.Fatal(err)
	}
	p = newPlace(t, at)
	if f, err := p.File(p.ctx(), a); err != nil || f.Name != "ferns.md" || f.Status != store.Completed {
		t.Errorf("restored from the index as %+v, %v", f, err)
	}
	p.checkConsistent()
}

func TestMissingAndDamagedBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(_ *place, o *options) { o.dir = dir }
	p := newPlace(t, at)
	a := p.indexed(files.Upload{Name: "ferns.md"}, ferns)
	b := p.indexed(files.Upload{Name: "moss.md"}, moss)
	fa, err := p.File(p.ctx(), a)
	p.must(err)
	fb, err := p.File(p.ctx(), b)
	p.must(err)
	blob := func(sum string) string { return filepath.Join(dir, "files", "blobs", sum[:2], sum) }
	raw := []byte(moss)
	raw[len(raw)/2] ^= 1
	p.must(os.WriteFile(blob(fb.SHA256), raw, 0o600))
	body, _, err := p.Open(p.ctx(), b)
	p.must(err)
	got, err := io.ReadAll(body)
	if err == nil || len(got) >= len(moss) {
		t.Errorf("damaged bytes are given: %d of %d bytes, %v", len(got), len(moss), err)
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		t.Error(err)
	}
	if _, err := body.Seek(3, io.SeekStart); err == nil {
		t.Error("a part of damaged bytes is given")
	}
	p.must(body.Close())
	if issues := strings.Join(p.Issues(), ","); !strings.Contains(issues, "1 files whose bytes are damaged") {
		t.Errorf("issues: %s", issues)
	}
	p.close()
	p.must(os.Remove(blob(fa.SHA256)))
	report, err := reconcile(t, dir, false, -1)
	p.must(err)
	for _, problem := range []string{"do not match their hash", "bytes are missing"} {
		if found, repaired := tallied(report, problem); found != 1 || repaired != 0 {
			t.Errorf("%s: %d, repaired %d", problem, found, repaired)
		}
	}
	p = newPlace(t, at)
	p.finds("", "spores", a) // the text is still there
	for id, text := range map[string]string{a: ferns, b: moss} {
		if again := p.send(files.Upload{ID: id}, text); again != id {
			t.Errorf("uploaded again as %s", again)
		}
		body, _, err := p.Open(p.ctx(), id)
		p.must(err)
		if got, err := io.ReadAll(body); err != nil || string(got) != text {
			t.Errorf("uploaded again: %q, %v", got, err)
		}
		p.must(body.Close())
	}
	p.close()
	if report, err := reconcile(t, dir, false, -1); err != nil || !clean(report) {
		t.Errorf("after the upload: %+v, %v", report, err)
	}
}

func TestOrphanedDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(_ *place, o *options) { o.dir = dir }
	p := newPlace(t, at)
	p.indexed(files.Upload{}, ferns)
	p.must(p.index.Put(p.ctx(), []corpus.Document{{ID: "orphan", Collection: files.Collection, Title: "orphan"}}, [][]index.Entry{{}}))
	p.close()
	report, err := reconcile(t, dir, false, -1)
	p.must(err)
	if found, repaired := tallied(report, "documents without a file"); found != 1 || repaired != 1 {
		t.Errorf("found %d, repaired %d", found, repaired)
	}
	newPlace(t, at).checkConsistent()
}
