package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func allowUnexported() cmp.Option { return cmp.AllowUnexported(prepare.Mentions{}) }

func TestEncodeMentions(t *testing.T) {
	for _, n := range []*prepare.Mentions{
		{},
		{List: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}},
		{List: []corpus.Mention{{Name: "Żó", Kind: corpus.Phrase}, {Name: "B c", Kind: corpus.Link}},
			Relations: []prepare.Relation{{From: 0, To: 1, Predicate: "was directed by"}, {From: 1, To: 0, Predicate: "x"}}},
	} {
		got, err := decodeMentions(appendMentions(nil, n))
		require.NoError(t, err)
		if d := cmp.Diff(n, got, allowUnexported()); d != "" {
			t.Errorf("record (-want +got):\n%s", d)
		}
	}
}

// FuzzDecodeMentions decodes arbitrary bytes. The result must be an error, or a record whose relations refer to its mentions.
func FuzzDecodeMentions(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendMentions(nil, &prepare.Mentions{List: []corpus.Mention{{Name: "A", Kind: corpus.Subject}}, Relations: []prepare.Relation{{Predicate: "x"}}}))
	f.Add([]byte{0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := decodeMentions(raw)
		if err != nil {
			return
		}
		for _, r := range n.Relations {
			if r.From >= len(n.List) || r.To >= len(n.List) {
				t.Errorf("relation %+v of %d mentions", r, len(n.List))
			}
		}
	})
}

// withMentionsApart moves the mentions of the nested documents of a closed folder to the bucket of mentions, where format 7 had them.
func withMentionsApart(t *testing.T, dir string) {
	t.Helper()
	setFormat(t, dir, formatComputed)
	db, err := bolt.Open(filepath.Join(dir, fileDocuments), permFile, nil)
	require.NoError(t, err)
	defer db.Close()
	err = updateDB(db, nil, func(tx *txn) error {
		reader, moved := chunkReader{tx: tx}, map[uint64]*nestedRecord{}
		err := tx.Bucket(bucketChunks).ForEach(func(k, _ []byte) error {
			row := binary.BigEndian.Uint64(k)
			rec, err := reader.nested(row)
			if err == nil && rec.mentions[1] > 0 {
				moved[row] = rec
			}
			return err
		})
		if len(moved) == 0 {
			err = errors.Join(err, errors.New("no mentions with the sections"))
		}
		for row, rec := range moved {
			raw, err2 := reader.rawMentions(row)
			rec.mentions = [2]uint64{}
			err = errors.Join(err, err2, tx.Bucket(bucketMentions).Put(rowKey(row), seal(raw)), tx.Bucket(bucketChunks).Put(rowKey(row), rec.encode()))
		}
		return err
	})
	require.NoError(t, err)
}

// TestMentionsOfSections reads mentions that are with the text of a section, and those of an earlier format.
func TestMentionsOfSections(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	var want [][]index.Entry
	for _, id := range []string{"lights", "odd"} {
		d, es := computedDocument(id, 3)
		for i := range es {
			if es[i].Level == corpus.Passage && es[i].Ordinal != 2 { // one without mentions
				name := fmt.Sprintf("Keeper %d", es[i].Ordinal)
				es[i].Mentions = []corpus.Mention{{Name: d.Title, Kind: corpus.Subject}, {Name: name, Kind: corpus.Named}, {Name: "Oil Company", Kind: corpus.Link}}
				es[i].Relations = []corpus.Relation{{From: name, To: d.Title, Predicate: "lights the lamp of"}}
			}
		}
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
		want = append(want, sorted(es))
	}
	check := func() {
		t.Helper()
		if diff := cmp.Diff(want, exportAll(t, x)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		found, err := x.EntitiesOf(t.Context(), "c", []corpus.ChunkID{want[0][4].ID, want[0][5].ID})
		if err != nil || len(found[0])+len(found[1]) != 3 {
			t.Errorf("entities %v, %v", found, err)
		}
		if err := x.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	check()
	require.NoError(t, x.Close())
	withMentionsApart(t, dir)
	x = openAt(t, dir)
	check()
	for i, id := range []string{"lights", "odd"} { // these get the new form
		d, _ := computedDocument(id, 3)
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{want[i]})
	}
	check()
	require.NoError(t, x.Compact(t.Context()))
	err := x.view(func(tx *txn) error {
		if k, _ := tx.Bucket(bucketMentions).Cursor().First(); k != nil {
			t.Errorf("mentions of row %x are left", k)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
