package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// spaceRecord is the data of a space. A slot is the named vector of the class that holds its vectors. Slots are never used twice, because Weaviate can
// neither remove one nor change its dimension.
type spaceRecord struct {
	Name     string `json:"name"`
	Slot     string `json:"slot"`
	Dim      int    `json:"dim"`
	Complete bool   `json:"complete"`
	Dropped  bool   `json:"dropped"`
	Epoch    int    `json:"epoch"` // number of times that a space of the name was dropped
}

func slotOf(name string, epoch int) string { return "v" + key(strconv.Itoa(epoch)+" "+name) }

// spaces returns the spaces of a collection by name, with those that were dropped.
func (x *Index) spaces(ctx context.Context, c *collection) (map[string]spaceRecord, error) {
	found, err := (&snapshot{collection: c, x: x}).get(ctx, isKind(kindSpace), propData, limit(page))
	if err != nil {
		return nil, err
	}
	out := map[string]spaceRecord{}
	for _, o := range found {
		var r spaceRecord
		if err := o.decode(&r); err != nil {
			return nil, err
		}
		out[r.Name] = r
	}
	return out, nil
}

// space returns a space that is in use.
func (x *Index) space(ctx context.Context, c *collection, name string) (spaceRecord, bool, error) {
	all, err := x.spaces(ctx, c)
	r, ok := all[name]
	return r, ok && !r.Dropped, err
}

func errDimension(have, want int) error {
	return fault.Invalid("vector", "has %d components where those of its space have %d", have, want)
}

// spacesEdit collects the changes of spaces by a write.
type spacesEdit struct {
	x          *Index
	collection *collection
	spaces     map[string]spaceRecord
	first      bool // the collection had no chunks
	changed    map[string]bool
}

// use returns a space for a vector with dim components (0: a chunk without vector), and creates it if needed.
func (e *spacesEdit) use(ctx context.Context, name string, dim int) (spaceRecord, error) {
	r, ok := e.spaces[name]
	before := r
	if !ok || r.Dropped {
		none := true
		for _, s := range e.spaces {
			none = none && s.Dropped
		}
		r = spaceRecord{Name: name, Epoch: r.Epoch, Slot: slotOf(name, r.Epoch), Complete: e.first && none}
	}
	if r.Dim == 0 && dim > 0 {
		r.Dim = dim
		if err := e.x.addSlot(ctx, e.collection.class, r.Slot); err != nil {
			return r, err
		}
	}
	if dim != 0 && dim != r.Dim {
		return r, errDimension(dim, r.Dim)
	}
	if !ok || r != before {
		e.set(r)
	}
	return r, nil
}

func (e *spacesEdit) set(r spaceRecord) {
	if e.changed == nil {
		e.changed = map[string]bool{}
	}
	e.spaces[r.Name] = r
	e.changed[r.Name] = true
}

// write writes the spaces that changed.
func (e *spacesEdit) write(ctx context.Context) error {
	var objects []stored
	for _, name := range slices.Sorted(maps.Keys(e.changed)) {
		data, err := json.Marshal(e.spaces[name])
		if err != nil {
			return err
		}
		id := idOf("space", name)
		objects = append(objects, stored{e.collection.class, e.x.tenant, id, object{Kind: kindSpace, Row: rowOf(id), Data: string(data)}, nil})
	}
	return e.x.putObjects(ctx, objects, levelQuorum)
}

// Collections implements [index.Spaces].
func (x *Index) Collections(ctx context.Context) ([]string, error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	names, err := x.names(ctx)
	return names, failed("list collections", err)
}

// OnlyPassages implements [index.PassageVectors]: each level is searched by its own vectors.
func (*Index) OnlyPassages() bool { return false }

// VectorStats implements [index.Spaces]. The statistics of a scope are those of its collection.
func (x *Index) VectorStats(ctx context.Context, collection string) (index.VectorStats, error) {
	scope, err := prepare.Scope(collection)
	if err != nil {
		return index.VectorStats{}, err
	}
	var out index.VectorStats
	err = x.read(ctx, "count vectors", scope.Collection, func(ctx context.Context, v *view) error {
		out = index.VectorStats{}
		sizes, err := v.sizes(ctx)
		if err != nil {
			return err
		}
		for _, n := range sizes {
			out.Chunks += n
		}
		spaces, err := x.spaces(ctx, v.collection)
		if err != nil {
			return err
		}
		var conditions []condition
		for _, name := range slices.Sorted(maps.Keys(spaces)) {
			if r := spaces[name]; !r.Dropped {
				out.Spaces = append(out.Spaces, index.Space{Name: name, Dim: r.Dim, Complete: r.Complete})
				conditions = append(conditions, is(propSpaces, r.Slot))
			}
		}
		counts, err := v.count(ctx, conditions)
		if err != nil {
			return err
		}
		for i, n := range counts {
			out.Spaces[i].Vectors = n
		}
		return nil
	})
	return out, err
}

// missingDefault is the number of chunks of a page without a limit.
const missingDefault = 100

// reference identifies a chunk of one revision: the row and id of its object. It is also a cursor: references sort by row, then by id.
type reference struct {
	row int64
	id  string
}

func (r reference) String() string { return strconv.FormatInt(r.row, 10) + " " + r.id }

func (r reference) compare(to reference) int {
	return cmp.Or(cmp.Compare(r.row, to.row), cmp.Compare(r.id, to.id))
}

// parseReference parses the result of String, or returns false.
func parseReference(text string) (r reference, ok bool) {
	row, id, _ := strings.Cut(text, " ")
	n, err := strconv.ParseInt(row, 10, 64)
	return reference{n, id}, err == nil && n >= 0 && n < 1<<rowBits && len(id) <= 36
}

// MissingVectors implements [index.Spaces]. Chunks are sorted by row. One call reads a range of rows with about a page of them.
func (x *Index) MissingVectors(ctx context.Context, collection, space, after string, limited int) (chunks []index.UnembeddedChunk, next string, err error) {
	if _, err := prepare.Collection(collection); err != nil {
		return nil, "", err
	}
	last, ok := parseReference(after)
	if after != "" && !ok {
		return nil, "", fault.Invalid("after", "is no cursor of this index")
	}
	n := clamp(limited, missingDefault, page/2)
	err = x.read(ctx, "list chunks without vectors", collection, func(ctx context.Context, v *view) error {
		chunks, next = nil, ""
		where := isInt(propKind, "LessThanEqual", prepare.Levels)
		r, ok, err := x.space(ctx, v.collection, space)
		if err != nil {
			return err
		}
		if ok {
			where = and(where, noneOf(propSpaces, []string{r.Slot}))
		}
		counted, err := v.count(ctx, []condition{where})
		if err != nil || counted[0] == 0 {
			return err
		}
		width := int64(1 << rowBits)
		for parts := counted[0] / (page / 2); parts > 0; parts /= 2 {
			width /= 2
		}
		to := min(last.row+width, 1<<rowBits)
		found, err := v.between(ctx, where, "row data _additional{id}", last.row, to)
		if err != nil {
			return err
		}
		at := func(o object) reference { return reference{o.Row, o.Additional.ID} }
		found = slices.DeleteFunc(found, func(o object) bool { return after != "" && at(o).compare(last) <= 0 })
		slices.SortFunc(found, func(a, b object) int { return at(a).compare(at(b)) })
		switch {
		case len(found) > n:
			next = at(found[n-1]).String()
		case to < 1<<rowBits:
			next = reference{row: to}.String()
		}
		for _, o := range found[:min(n, len(found))] {
			var c chunkRecord
			if err := o.decode(&c); err != nil {
				return err
			}
			chunks = append(chunks, index.UnembeddedChunk{Ref: at(o).String(), Text: c.Chunk.SearchText()})
		}
		return nil
	})
	return chunks, next, err
}

// setRequests is the number of vectors that are set at a time.
const setRequests = 4

// SetVectors implements [index.Spaces].
func (x *Index) SetVectors(ctx context.Context, collection, space string, refs []string, vectors [][]float32) error {
	if len(refs) != len(vectors) {
		return fault.Invalid("vectors", "%d of them for %d chunks", len(vectors), len(refs))
	}
	units := map[string][]float32{} // by id of the object
	rows := make([]int64, len(refs))
	for i, v := range vectors {
		r, ok := parseReference(refs[i])
		if !ok {
			return fault.Invalid("ref", "is not of this index")
		}
		u, err := prepare.Unit(v)
		if err != nil {
			return fmt.Errorf("set vectors: %w", err)
		}
		if rows[i] = r.row; units[r.id] == nil {
			units[r.id] = u
		}
	}
	return x.editSpaces(ctx, "set vectors", collection, space, func(edit *spacesEdit) error {
		s, err := x.snapshot(ctx, edit.collection)
		if err != nil {
			return err
		}
		s.exact = true
		for some := range slices.Chunk(rows, askedKeys) {
			var wanted []condition
			for _, row := range some {
				wanted = append(wanted, isInt(propRow, "Equal", row))
			}
			found, err := s.all(ctx, and(isInt(propKind, "LessThanEqual", prepare.Levels), or(wanted...)), "spaces _additional{id}")
			if err != nil {
				return err
			}
			if err := x.setVectors(ctx, edit, space, found, units); err != nil {
				return err
			}
		}
		return nil
	})
}

// setVectors sets the vectors of chunks that have none of the space.
func (x *Index) setVectors(ctx context.Context, edit *spacesEdit, space string, found []object, units map[string][]float32) error {
	if len(found) == 0 {
		return nil
	}
	r, err := edit.use(ctx, space, 0)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(o object) bool {
		_, wanted := units[o.Additional.ID]
		return !wanted || slices.Contains(o.Spaces, r.Slot)
	})
	for _, o := range found {
		if r, err = edit.use(ctx, space, len(units[o.Additional.ID])); err != nil {
			return err
		}
	}
	if err := edit.write(ctx); err != nil {
		return err
	}
	return parallel(ctx, len(found), setRequests, func(ctx context.Context, i int) error {
		o := found[i]
		change := stored{edit.collection.class, x.tenant, o.Additional.ID, map[string]any{propSpaces: append(o.Spaces, r.Slot)}, nil}
		if u := units[o.Additional.ID]; len(u) > 0 {
			change.Vectors = map[string][]float32{r.Slot: u}
		}
		err := x.client.do(ctx, http.MethodPatch, "/objects/"+change.Class+"/"+change.ID, change, nil)
		if hasStatus(err, http.StatusNotFound) { // another server has replaced the document meanwhile
			return nil
		}
		return err
	})
}

// MarkComplete implements [index.Spaces].
func (x *Index) MarkComplete(ctx context.Context, collection, space string) error {
	return x.editSpaces(ctx, "complete space", collection, space, func(edit *spacesEdit) error {
		r, err := edit.use(ctx, space, 0)
		r.Complete = true
		edit.set(r)
		return err
	})
}

// DropSpace implements [index.Spaces]. The vectors stay in the files of Weaviate until their documents are replaced, because Weaviate cannot delete one
// vector of an object.
func (x *Index) DropSpace(ctx context.Context, collection, space string) error {
	return x.editSpaces(ctx, "drop space", collection, space, func(edit *spacesEdit) error {
		if r, ok := edit.spaces[space]; ok && !r.Dropped {
			edit.set(spaceRecord{Name: space, Dropped: true, Epoch: r.Epoch + 1})
		}
		return nil
	})
}

func (x *Index) editSpaces(ctx context.Context, op, name, space string, do func(*spacesEdit) error) error {
	if len(space) > prepare.MaxKey {
		return fault.Invalid("space", "a name has at most %d bytes", prepare.MaxKey)
	}
	return x.change(ctx, op, name, false, func(c *collection) error {
		spaces, err := x.spaces(ctx, c)
		if err != nil {
			return err
		}
		edit := &spacesEdit{x: x, collection: c, spaces: spaces}
		if err := do(edit); err != nil {
			return err
		}
		return edit.write(ctx)
	})
}
