package inverted_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/index/embedded/inverted"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// The fields of the tests.
const (
	text = iota
	title
	names
)

var options = inverted.Options{Fields: []inverted.Detail{inverted.Positions, inverted.Frequencies, inverted.Documents}}

func open(t *testing.T, dir string) *inverted.Index {
	t.Helper()
	o := options
	o.OnError = func(err error) { t.Error(err) }
	x, err := inverted.Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(x.Close)
	return x
}

// words makes tokens of words, one position each.
func words(s string) (out []inverted.Token) {
	for i, w := range strings.Fields(s) {
		out = append(out, inverted.Token{Term: w, Position: i})
	}
	return out
}

func document(row uint64, text, title, names string) inverted.Document {
	return inverted.Document{Row: row, Fields: [][]inverted.Token{words(text), words(title), words(names)}}
}

// model is what an index should contain: the words of the three fields by row.
type model map[uint64][3]string

// change makes random changes to the index and the model: up to 40 documents with rows above next, or some that exist already, and deletions.
func (m model) change(t *testing.T, x *inverted.Index, r *rand.Rand, next uint64) uint64 {
	t.Helper()
	var added []inverted.Document
	for range r.IntN(40) {
		row := next
		next += uint64(1 + r.IntN(3))
		if old := slices.Sorted(maps.Keys(m)); len(old) > 0 && r.IntN(8) == 0 {
			row = old[r.IntN(len(old))]
		}
		if slices.ContainsFunc(added, func(d inverted.Document) bool { return d.Row == row }) {
			continue
		}
		var fields [3]string
		for i, most := range []int{120, 5, 4} {
			var ws []string
			for range r.IntN(most) {
				ws = append(ws, fmt.Sprintf("w%d", r.IntN(1+r.IntN(200))))
			}
			fields[i] = strings.Join(ws, " ")
		}
		added = append(added, document(row, fields[0], fields[1], fields[2]))
	}
	var removed [][2]uint64
	for range r.IntN(3) {
		from := r.Uint64N(next + 1)
		removed = append(removed, [2]uint64{from, from + r.Uint64N(20)})
	}
	for row := range m {
		if slices.ContainsFunc(removed, func(g [2]uint64) bool { return g[0] <= row && row < g[1] }) {
			delete(m, row)
		}
	}
	for _, d := range added {
		var fields [3]string
		for i, tokens := range d.Fields {
			ws := make([]string, len(tokens))
			for k, token := range tokens {
				ws[k] = token.Term
			}
			fields[i] = strings.Join(ws, " ")
		}
		m[d.Row] = fields
	}
	r.Shuffle(len(added), func(i, j int) { added[i], added[j] = added[j], added[i] })
	require.NoError(t, x.Change(added, removed, fmt.Append(nil, next)))
	if got := string(x.Tag()); got != fmt.Sprint(next) {
		t.Fatalf("tag %s, want %d", got, next)
	}
	return next
}

// rowsFilter selects rows that are a multiple of 3.
type rowsFilter struct{}

func (rowsFilter) Visible(s *inverted.Segment) (inverted.Bits, int) {
	b := inverted.NewBits(s.Docs())
	for n := range uint32(s.Docs()) {
		if s.Row(n)%3 == 0 {
			b.Set(n)
		}
	}
	return b, b.Count()
}

// found is the posting of a term: its row, frequency, length of the field, and positions.
type found struct {
	row        uint64
	tf, length uint32
	positions  string
}

// want returns the postings of a term in a field of the model.
func (m model) want(field int, term string, keep func(row uint64) bool) (out []found) {
	for row, fields := range m {
		ws := strings.Fields(fields[field])
		f := found{row: row, length: uint32(len(ws))}
		var at []int
		for i, w := range ws {
			if w == term {
				f.tf++
				at = append(at, i)
			}
		}
		if f.tf == 0 || !keep(row) {
			continue
		}
		if field == text {
			f.positions = fmt.Sprint(at)
		}
		if field == names {
			f.tf, f.length = 1, 0
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b found) int { return int(int64(a.row) - int64(b.row)) })
	return out
}

// got reads the postings of a term, and checks that all methods of Terms agree.
func got(t *testing.T, s *inverted.Snapshot, field int, term string, only inverted.Filter) (out []found) {
	t.Helper()
	terms, err := s.Terms(field, only)
	require.NoError(t, err)
	n, err := terms.Count(term)
	require.NoError(t, err)
	var numbers []uint32
	err = terms.Each(t.Context(), term, func(df int, d, tf, length uint32) {
		if df != n {
			t.Errorf("df %d, counted %d", df, n)
		}
		row := s.Row(d)
		if back, ok := s.Number(row); !ok || back != d {
			t.Errorf("row %d is document %d (%v), want %d", row, back, ok, d)
		}
		numbers = append(numbers, d)
		out = append(out, found{row: row, tf: tf, length: length})
	})
	if err != nil || len(out) != n || !slices.IsSorted(numbers) {
		t.Fatalf("%d documents of %d, %v, %v", len(out), n, numbers, err)
	}
	if first, err := terms.First(term, 3); err != nil || !slices.Equal(first, numbers[:min(3, n)]) {
		t.Errorf("first %v of %v, %v", first, numbers, err)
	}
	var sought []uint32
	for _, d := range numbers {
		if d%2 == 0 {
			sought = append(sought, d)
		}
		if d%5 == 0 && !slices.Contains(numbers, d+1) {
			sought = append(sought, d+1)
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(sought), func(d uint32) bool { return !slices.Contains(numbers, d) })
	if among, err := terms.Among(term, sought); err != nil || !slices.Equal(among, wanted) {
		t.Errorf("among %v: %v, want %v, %v", sought, among, wanted, err)
	}
	if field == text {
		err := terms.Positions(term, numbers, func(i int, positions []int) { out[i].positions = fmt.Sprint(positions) })
		require.NoError(t, err)
	}
	slices.SortFunc(out, func(a, b found) int { return int(int64(a.row) - int64(b.row)) })
	return out
}

// check compares a snapshot with the model.
func (m model) check(t *testing.T, s *inverted.Snapshot) {
	t.Helper()
	for field := range 3 {
		frequencies := map[string]int{}
		for _, fields := range m {
			ws := strings.Fields(fields[field])
			slices.Sort(ws)
			for _, w := range slices.Compact(ws) {
				frequencies[w]++
			}
		}
		for i := 0; i < 210; i += 1 + i/2 {
			term := fmt.Sprintf("w%d", i)
			all := got(t, s, field, term, nil)
			if want := m.want(field, term, func(uint64) bool { return true }); !slices.Equal(all, want) {
				t.Fatalf("field %d, %s:\n%v, want\n%v", field, term, all, want)
			}
			some := got(t, s, field, term, rowsFilter{})
			if want := m.want(field, term, func(row uint64) bool { return row%3 == 0 }); !slices.Equal(some, want) {
				t.Fatalf("field %d, %s, filtered:\n%v, want\n%v", field, term, some, want)
			}
		}
		pattern, err := inverted.Pattern("w1.*")
		require.NoError(t, err)
		var matched []string
		err = s.Match(field, pattern, func(term string, documents int) bool {
			if documents < frequencies[term] {
				t.Errorf("%s in %d documents, want at least %d", term, documents, frequencies[term])
			}
			matched = append(matched, term)
			return true
		})
		if err != nil || !slices.IsSorted(matched) {
			t.Errorf("%v, %v", matched, err)
		}
		for term := range frequencies {
			if _, ok := slices.BinarySearch(matched, term); ok != strings.HasPrefix(term, "w1") {
				t.Errorf("%s matches: %v", term, ok)
			}
		}
	}
}

// TestChanges makes random changes, merges and restarts, and compares the index with a model after each. A snapshot must not change.
func TestChanges(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			dir := t.TempDir()
			x, m, next := open(t, dir), model{}, uint64(0)
			var kept *inverted.Snapshot
			var before model
			for step := range 60 {
				next = m.change(t, x, r, next)
				switch step {
				case 20, 45:
					x.Close()
					x = open(t, dir)
				case 30:
					kept, before = x.Snapshot(), maps.Clone(m)
				case 40, 59:
					require.NoError(t, x.Merge(t.Context()))
				}
				if step%6 == 0 || step > 56 {
					s := x.Snapshot()
					m.check(t, s)
					s.Close()
				}
			}
			before.check(t, kept)
			kept.Close()
			if !x.Erased() {
				t.Error("a file has deleted documents")
			}
			x.Close()
			files, err := filepath.Glob(filepath.Join(dir, "*.seg"))
			if err != nil || len(files) == 0 || len(files) > 24 {
				t.Errorf("%d segments after 60 changes, %v", len(files), err)
			}
			s := open(t, dir).Snapshot()
			defer s.Close()
			m.check(t, s)
		})
	}
}

// TestLongLists indexes more documents with one term than a block has, and many positions of several bytes.
func TestLongLists(t *testing.T) {
	x := open(t, t.TempDir())
	const n = 1000
	var docs []inverted.Document
	for row := range uint64(n) {
		var tokens []inverted.Token
		for i := range int(row%5) + 1 {
			tokens = append(tokens, inverted.Token{Term: "common", Position: i*1000 + int(row)})
		}
		docs = append(docs, inverted.Document{Row: row * row, Fields: [][]inverted.Token{tokens}})
	}
	require.NoError(t, x.Change(docs, [][2]uint64{{0, 0}}, nil))
	require.NoError(t, x.Change(nil, [][2]uint64{{4, 5}, {100 * 100, 200*200 + 1}}, nil))
	for _, merged := range []bool{false, true} {
		if merged {
			require.NoError(t, x.Merge(t.Context()))
		}
		s := x.Snapshot()
		terms, err := s.Terms(text, nil)
		require.NoError(t, err)
		var numbers []uint32
		err = terms.Each(t.Context(), "common", func(df int, d, tf, length uint32) {
			i := len(numbers)
			switch {
			case i >= 2:
				i++
				if i >= 100 {
					i += 101
				}
			}
			if df != n-102 || s.Row(d) != uint64(i*i) || tf != uint32(i%5)+1 || length != tf {
				t.Fatalf("document %d: row %d, df %d, tf %d, length %d", i, s.Row(d), df, tf, length)
			}
			numbers = append(numbers, d)
		})
		if err != nil || len(numbers) != n-102 {
			t.Fatalf("%d documents, %v", len(numbers), err)
		}
		sought := []uint32{numbers[0], numbers[1], numbers[400], numbers[401], numbers[len(numbers)-1]}
		calls := 0
		err = terms.Positions("common", sought, func(i int, positions []int) {
			row := int(s.Row(sought[i]))
			at := 0
			for at*at < row {
				at++
			}
			for k, p := range positions {
				if p != k*1000+at {
					t.Errorf("position %d of document %d: %d", k, at, p)
				}
			}
			if len(positions) != at%5+1 {
				t.Errorf("document %d: positions %v", at, positions)
			}
			calls++
		})
		if err != nil || calls != len(sought) {
			t.Errorf("%d of %d documents with positions, %v", calls, len(sought), err)
		}
		s.Close()
	}
}

// TestErased deletes a document. After a merge, when no snapshot uses it any more, all files that had it must be gone. (A segment has its terms in
// a form that a search for their bytes does not find.)
func TestErased(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, x.Change([]inverted.Document{document(1, "public words", "", ""), document(2, "secretterm words", "", "")}, nil, nil))
	s := x.Snapshot()
	before, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(before) != 1 {
		t.Fatal(before, err)
	}
	require.NoError(t, errors.Join(x.Change(nil, [][2]uint64{{2, 3}}, nil), x.Merge(t.Context())))
	if x.Erased() || !x.Current(x.Snapshot()) || x.Current(s) {
		t.Error("erased while a snapshot uses the document")
	}
	if all := got(t, s, text, "secretterm", nil); len(all) != 1 {
		t.Errorf("the snapshot has changed: %v", all)
	}
	s.Close()
	s.Close()
	if !x.Erased() {
		t.Error("not erased")
	}
	after, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(after) != 1 || after[0] == before[0] {
		t.Errorf("%v before, %v after, %v", before, after, err)
	}
}

// TestDeleteAll deletes all documents, which leaves no segment.
func TestDeleteAll(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	err := errors.Join(x.Change([]inverted.Document{document(1, "a", "", ""), document(2, "b", "", "")}, nil, []byte("t")),
		x.Change(nil, [][2]uint64{{0, 10}}, nil), x.Merge(t.Context()))
	if files, _ := filepath.Glob(filepath.Join(dir, "*.seg")); err != nil || len(files) != 0 || string(x.Tag()) != "t" {
		t.Errorf("%v, tag %s, %v", files, x.Tag(), err)
	}
}

// TestMergeCancelled cancels a merge. The index must stay as it is.
func TestMergeCancelled(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	r, m, next := rand.New(rand.NewPCG(1, 1)), model{}, uint64(0)
	for range 5 {
		next = m.change(t, x, r, next)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Merge(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s := x.Snapshot()
	defer s.Close()
	m.check(t, s)
}

// TestUnwritable makes writing the manifest fail. The change must fail, and after the next open, the index must have either state whole.
func TestUnwritable(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	require.NoError(t, x.Change([]inverted.Document{document(1, "a", "", "")}, nil, []byte("1")))
	blocked := filepath.Join(dir, "manifest.new")
	require.NoError(t, os.Mkdir(blocked, 0o700))
	if err := x.Change([]inverted.Document{document(2, "a", "", "")}, nil, []byte("2")); err == nil {
		t.Fatal("no error")
	}
	if all := got(t, x.Snapshot(), text, "a", nil); len(all) != 1 || string(x.Tag()) != "1" {
		t.Errorf("%v, tag %s", all, x.Tag())
	}
	require.NoError(t, errors.Join(os.Remove(blocked), x.Change([]inverted.Document{document(3, "a", "", "")}, nil, []byte("3"))))
	x.Close()
	x = open(t, dir)
	if all := got(t, x.Snapshot(), text, "a", nil); len(all) != 2 || all[1].row != 3 || string(x.Tag()) != "3" {
		t.Errorf("%v, tag %s", all, x.Tag())
	}
}

// TestDamaged changes one byte of each file at many places. Opening must fail with an error that names the file, and never panic.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	r, m, next := rand.New(rand.NewPCG(1, 1)), model{}, uint64(0)
	for range 3 {
		next = m.change(t, x, r, next)
	}
	x.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		damaged := map[string][]byte{"empty": nil, "half": whole[:len(whole)/2], "long": append(slices.Clone(whole), 0)}
		for i := 0; i < len(whole); i += 1 + len(whole)/40 {
			b := slices.Clone(whole)
			b[i] ^= 0x10
			damaged[fmt.Sprint("byte ", i)] = b
		}
		for name, b := range damaged {
			require.NoError(t, os.WriteFile(path, b, 0o600))
			x, err := inverted.Open(dir, options)
			if err == nil {
				x.Close()
			}
			if !errors.Is(err, inverted.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s, %s: %v", path, name, err)
			}
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	s := open(t, dir).Snapshot()
	defer s.Close()
	m.check(t, s)
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNear finds terms within edits.
func TestNear(t *testing.T) {
	x := open(t, t.TempDir())
	require.NoError(t, x.Change([]inverted.Document{document(1, "harbour harbor harbours horbuor port", "", "")}, nil, nil))
	s := x.Snapshot()
	defer s.Close()
	for edits, want := range map[int]string{1: "[harbor harbour harbours]", 2: "[harbor harbour harbours horbuor]"} {
		a, err := inverted.Near("harbour", edits)
		require.NoError(t, err)
		var found []string
		if err := s.Match(text, a, func(term string, _ int) bool { found = append(found, term); return true }); err != nil || fmt.Sprint(found) != want {
			t.Errorf("%d edits: %v, %v", edits, found, err)
		}
	}
	if _, err := inverted.Near("harbour", 3); err == nil {
		t.Error("three edits are permitted")
	}
}
