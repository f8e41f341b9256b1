package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// randomUnit returns a vector of unit length, in which the given number of components are outliers, as those of embedding models can be.
func randomUnit(r *rand.Rand, dim, outliers int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	for range outliers {
		v[r.IntN(dim)] *= 8
	}
	k := float32(1 / math.Sqrt(float64(exact(v, v))))
	for i := range v {
		v[i] *= k
	}
	return v
}

func exact(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func storedOf(v []float32) stored {
	q := index.Quantize(v)
	return stored{appendPadded(nil, q), inverseLength(q)}
}

// TestDot compares cosines of quantized vectors with those of floats.
func TestDot(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		dim, outliers int
		most          float64 // largest difference
	}{{1, 0, 1e-6}, {2, 0, 0.01}, {7, 0, 0.01}, {8, 0, 0.01}, {9, 0, 0.01}, {100, 0, 0.004}, {100, 2, 0.012}, {384, 0, 0.003}, {1536, 3, 0.006}} {
		var differ float64
		for range 500 {
			a, b := randomUnit(r, c.dim, c.outliers), randomUnit(r, c.dim, c.outliers)
			for _, q := range [][]float32{a, b} {
				target, v := newTarget(q), storedOf(b)
				got := target.dot(v)
				differ = max(differ, math.Abs(float64(got)-exact(q, b)))
				quantized := exact(q, unquantized(index.Quantize(b)))
				if math.Abs(float64(got)-quantized) > 1e-4 { // the error of the query alone
					t.Fatalf("%d components: %v of %v", c.dim, got, quantized)
				}
				if portable := dotPortable(v.components, target.components); portable != dotBytes(v.components, target.components) {
					t.Fatalf("%d components: %d without vector instructions", c.dim, portable)
				}
			}
		}
		if differ > c.most {
			t.Errorf("%d components, %d outliers: cosines differ by up to %v", c.dim, c.outliers, differ)
		}
	}
}

// TestDotLargest multiplies the largest components that there are. The sum must not overflow.
func TestDotLargest(t *testing.T) {
	for _, dim := range []int{1, 15, 16, 100, 4096, 20_000} {
		v := slices.Repeat([]float32{float32(-1 / math.Sqrt(float64(dim)))}, dim)
		if got := newTarget(v).dot(storedOf(v)); math.Abs(float64(got)-1) > 1e-3 {
			t.Errorf("%d components: the cosine of a vector with itself is %v", dim, got)
		}
	}
}

// TestQuantizeAgain quantizes what was read, as an export and import does.
func TestQuantizeAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		once := index.Quantize(randomUnit(r, 1+r.IntN(200), r.IntN(2)))
		if again := index.Quantize(unquantized(once)); !slices.Equal(once, again) {
			t.Fatalf("%v, then %v", once, again)
		}
	}
}

func TestUnsealVector(t *testing.T) {
	for _, raw := range [][]byte{make([]byte, 1), make([]byte, 5), make([]byte, 13), make([]byte, 15), make([]byte, 17)} {
		if v, err := unsealVector(seal(raw), 4); err == nil {
			t.Errorf("%d bytes are the vector %v", len(raw), v)
		}
	}
	if _, err := unsealVector([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 4); err == nil {
		t.Error("a wrong checksum is accepted")
	}
}

// withFloats writes the vectors of a closed folder as format 7 did.
func withFloats(t *testing.T, dir string, dim int) {
	t.Helper()
	setFormat(t, dir, formatComputed)
	db, err := bolt.Open(filepath.Join(dir, fileDocuments), permFile, nil)
	require.NoError(t, err)
	defer db.Close()
	err = updateDB(db, nil, func(tx *txn) error {
		floats := map[string][]byte{}
		err := tx.Bucket(bucketVectors).ForEach(func(k, v []byte) error {
			components, err := unsealVector(v, dim)
			var raw []byte
			for _, f := range unquantized(components) {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
			}
			floats[string(k)] = seal(raw)
			return err
		})
		for k, v := range floats {
			err = errors.Join(err, tx.Bucket(bucketVectors).Put([]byte(k), v))
		}
		return err
	})
	require.NoError(t, err)
}

// vectorSizes counts the stored vectors by their size in bytes.
func vectorSizes(t *testing.T, x *Index) map[int]int {
	t.Helper()
	sizes := map[int]int{}
	err := x.view(func(tx *txn) error {
		return tx.Bucket(bucketVectors).ForEach(func(_, v []byte) error { sizes[len(v)]++; return nil })
	})
	require.NoError(t, err)
	return sizes
}

// TestConvertVectors opens a folder whose vectors are float32s. The hits must be the same before, during and after the conversion, of which each process does a part.
func TestConvertVectors(t *testing.T) {
	const documents, dim = 12, 12
	dir := t.TempDir()
	x := openAt(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	query := randomUnit(r, dim, 0)
	for i := range documents {
		d, es := computedDocument(fmt.Sprintf("lights%02d", i), 100)
		for k := range es {
			if es[k].Vector != nil {
				es[k].Vector = randomUnit(r, dim, 0)
			}
		}
		if i == 3 {
			es[1].Vector = []float32{} // known to have none
		}
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	}
	sizes := vectorSizes(t, x)
	if diff := cmp.Diff(map[int]int{4: 1, 4 + dim: 200*documents - 1}, sizes); diff != "" {
		t.Fatal(diff)
	}
	search := func() []index.Hit {
		hits, err := x.Search(t.Context(), index.Query{Collection: "c", Space: "words", Vector: query, Limit: 50})
		if err != nil || len(hits) != 50 {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		return hits
	}
	want := search()
	require.NoError(t, x.Close())
	withFloats(t, dir, dim)
	for turn := range 4 {
		x = openAt(t, dir)
		if turn == 0 && vectorSizes(t, x)[4+4*dim] == 0 {
			t.Error("the vectors were not written as floats")
		}
		if turn < 3 { // a process that ends in the middle
			var c conversion
			if more, err := x.convertVectors(t.Context(), &c); err != nil || !more {
				t.Errorf("convert: %v, %v", more, err)
			}
		} else {
			convertAll(t, x)
			if got := vectorSizes(t, x); !maps.Equal(sizes, got) {
				t.Errorf("sizes %v", got)
			}
		}
		if diff := cmp.Diff(want, search()); diff != "" {
			t.Errorf("turn %d (-before +after):\n%s", turn, diff)
		}
		require.NoError(t, errors.Join(x.Verify(t.Context()), x.Close()))
	}
}

// TestConvertShrinks converts vectors of floats in a file with the pages of an earlier version. The compaction that follows must make the file smaller.
func TestConvertShrinks(t *testing.T) {
	const dim = 384
	dir := t.TempDir()
	db, err := bolt.Open(filepath.Join(dir, fileDocuments), permFile, &bolt.Options{PageSize: pageSize / 2})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	x := openAt(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10 {
		d, es := computedDocument(fmt.Sprintf("lights%02d", i), 50)
		for k := range es {
			if es[k].Vector != nil {
				es[k].Vector = randomUnit(r, dim, 0)
			}
		}
		putAll(t, x, []corpus.Document{d}, [][]index.Entry{es})
	}
	require.NoError(t, x.Close())
	withFloats(t, dir, dim)
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, fileDocuments))
		require.NoError(t, err)
		return info.Size()
	}
	before := size()
	x = openAt(t, dir)
	convertAll(t, x)
	require.NoError(t, x.Compact(t.Context()))
	if after := size(); x.db.Info().PageSize != pageSize || 2*after > before {
		t.Errorf("pages of %d bytes, %d bytes before and %d after", x.db.Info().PageSize, before, after)
	}
}
