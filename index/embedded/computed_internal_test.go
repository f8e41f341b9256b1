package embedded

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestComputedIDs checks what a document with computed ids needs, and which ids of other documents are in conflict with it.
func TestComputedIDs(t *testing.T) {
	x := openAt(t, t.TempDir())
	d, es := computedDocument("lights", 4)
	other, oes := nestedDocument("other", 1)
	oes[0].ID = es[3].ID
	oes[1].Parent, oes[4].Parent = oes[0].ID, oes[0].ID
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	if err := x.Put(t.Context(), []corpus.Document{other}, [][]index.Entry{oes}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("an id of another document: %v", err)
	}
	keys := func(b []byte) (n int) {
		if err := x.view(func(tx *txn) error { n = tx.Bucket(b).Stats().KeyN; return nil }); err != nil {
			t.Error(err)
		}
		return n
	}
	if n, ids := keys(bucketChunks), keys(bucketIDs); n != 4+8+8 || ids != 1 {
		t.Errorf("%d records and %d ids", n, ids)
	}
	stale := corpus.NewChunkID(d.ID, corpus.Sentence, 3, "an earlier text")
	beyond := corpus.NewChunkID(d.ID, corpus.Sentence, 16, "beyond")
	if got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{stale, beyond}); err != nil || len(got) != 0 {
		t.Errorf("ids of other texts: %v, %v", got, err)
	}
	require.NoError(t, x.Delete(t.Context(), "c", []corpus.DocumentID{d.ID}))
	if n := keys(bucketIDs); n != 0 {
		t.Errorf("%d ids of a deleted document", n)
	}
	putAll(t, x, []corpus.Document{other}, [][]index.Entry{oes})
	if err := x.Put(t.Context(), []corpus.Document{d}, [][]index.Entry{es}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("an id that another document has: %v", err)
	}
	if err := errors.Join(x.Compact(t.Context()), x.Verify(t.Context())); err != nil {
		t.Error(err)
	}
	if n := keys(bucketChunks); n != len(oes) {
		t.Errorf("%d records, want %d", n, len(oes))
	}
}

// TestNotComputed puts documents whose ids are computed, and that cannot be stored without them.
func TestNotComputed(t *testing.T) {
	for name, spoil := range map[string]func(es []index.Entry){
		"one id": func(es []index.Entry) { es[3].ID = "mine" },
		"ordinals": func(es []index.Entry) {
			for i := range es {
				if e := &es[i]; e.Level == corpus.Sentence {
					e.Ordinal += 2
					e.ID = corpus.NewChunkID("lights", e.Level, e.Ordinal, e.Text)
				}
			}
		},
		"order": func(es []index.Entry) {
			a, b := &es[2], &es[3]
			a.Ordinal, b.Ordinal = b.Ordinal, a.Ordinal
			a.ID, b.ID = corpus.NewChunkID("lights", a.Level, a.Ordinal, a.Text), corpus.NewChunkID("lights", b.Level, b.Ordinal, b.Text)
		},
	} {
		x := openAt(t, t.TempDir())
		d, es := computedDocument("lights", 3)
		spoil(es)
		ch, err := checked(d, es)
		if err != nil || ch.nesting == nil || ch.nesting.computed {
			t.Fatalf("%s: %v, %+v", name, err, ch.nesting)
		}
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
		if diff := cmp.Diff([][]index.Entry{sorted(es)}, exportAll(t, x)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, e := range es {
			if got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{e.ID}); err != nil || len(got) != 1 || got[0].Text != e.Text {
				t.Errorf("%s: chunk %s: %v, %v", name, e.ID, got, err)
			}
		}
	}
}

func FuzzDecodeRun(f *testing.F) {
	d, es := computedDocument("lights", 2)
	ch, err := checked(d, es)
	if err != nil || !ch.nesting.computed {
		f.Fatal(err)
	}
	for i := range es {
		raw, err := ch.record(i)
		require.NoError(f, err)
		if len(raw) > 4 && raw[4] == runLevel {
			f.Add(raw[4:])
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			return
		}
		run, err := decodeRun(raw)
		if err != nil {
			return
		}
		again, err := decodeRun(run.encode()[4:])
		if diff := cmp.Diff(run, again, cmp.AllowUnexported(nestedRecord{})); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

// TestFormatNested opens a folder of an earlier format, whose ids are not computed. Its ids stay, and a document that is put again gets computed ids.
func TestFormatNested(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	d, es := nestedDocument("lights", 3)
	kept, kes := nestedDocument("kept", 2)
	putAll(t, x, []corpus.Document{d, kept}, [][]index.Entry{es, kes})
	require.NoError(t, x.Close())
	setFormat(t, dir, formatNested)
	x = openAt(t, dir)
	err := x.view(func(tx *txn) error {
		if f := tx.Bucket(bucketMeta).Get(keyFormat); string(f) != format {
			t.Errorf("format %s", f)
		}
		return nil
	})
	require.NoError(t, err)
	d, es = computedDocument("lights", 3)
	putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	if diff := cmp.Diff([][]index.Entry{sorted(kes), sorted(es)}, exportAll(t, x)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := x.Chunks(t.Context(), "c", []corpus.ChunkID{kes[2].ID, es[2].ID}); err != nil || len(got) != 2 {
		t.Errorf("chunks by ids of both kinds: %v, %v", got, err)
	}
}
