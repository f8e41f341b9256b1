package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

// Limits of a commit and of its requests.
const (
	groupChunks  = 1000    // of a commit, unless one document has more
	groupObjects = 200     // of a request
	groupBytes   = 8 << 20 // of the records of a request
	askedKeys    = 500     // keys of a query
)

// Put implements [index.Writer]. Documents are written in groups. Each group is visible as a whole. A chunk id that belongs to another document of the
// collection is a [fault.Conflict].
func (x *Index) Put(ctx context.Context, docs []corpus.Document, entries [][]index.Entry) error {
	if len(docs) != len(entries) {
		return fault.Invalid("entries", "%d of them for %d documents", len(entries), len(docs))
	}
	all := make([]prepare.Document, len(docs))
	for i := range docs {
		var err error
		if all[i], err = prepare.Check(docs[i], entries[i]); err != nil {
			return fmt.Errorf("put documents: %w", err)
		}
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	for len(all) > 0 {
		n, chunks, seen := 0, 0, map[corpus.DocumentID]bool{}
		for n < len(all) && (n == 0 || chunks+len(all[n].Entries) <= groupChunks) && n < groupChunks && all[n].Document.Collection == all[0].Document.Collection {
			id := all[n].Document.ID
			if seen[id] {
				break
			}
			seen[id] = true
			chunks += len(all[n].Entries)
			n++
		}
		if err := x.putGroup(ctx, all[:n]); err != nil {
			return failed("put documents", err)
		}
		all = all[n:]
	}
	return nil
}

// Delete implements [index.Writer]. The texts are not visible any more when it returns. They are erased after half a minute.
func (x *Index) Delete(ctx context.Context, name string, ids []corpus.DocumentID) error {
	return x.change(ctx, "delete documents", name, false, func(c *collection) error {
		for some := range slices.Chunk(keysOf(ids), askedKeys) {
			if err := x.erase(ctx, c, whereAll(whereKind(kindMember), whereAny(propDocument, some)), levelQuorum); err != nil {
				return err
			}
			w, err := x.begin(ctx, c)
			if err != nil {
				return err
			}
			if err := w.replace(ctx, some); err != nil {
				return err
			}
			if err := w.commit(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// change runs do while no other call writes. It does nothing if the collection does not exist, unless it is to be created.
func (x *Index) change(ctx context.Context, op, name string, create bool, do func(*collection) error) error {
	name, err := prepare.Collection(name)
	if err != nil {
		return err
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	find := x.find
	if create {
		find = x.create
	}
	c, err := find(ctx, name)
	if err != nil || c == nil {
		return failed(op, err)
	}
	return failed(op, do(c))
}

// keysOf returns the keys of valid ids, each once.
func keysOf(ids []corpus.DocumentID) (keys []string) {
	for _, id := range ids {
		if prepare.ValidID(string(id)) {
			keys = append(keys, key(string(id)))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// commitWriter writes one commit to a collection.
type commitWriter struct {
	x         *Index
	snapshot  *snapshot // before the commit
	head      head      // after it
	removed   int       // chunks of replaced and deleted documents
	documents int       // that are added
	time      int64     // of documents, in microseconds since 1970
	changed   []string  // keys of documents that are replaced or deleted
	objects   []stored
}

// begin begins a commit. Objects of an earlier commit that failed are erased first.
func (x *Index) begin(ctx context.Context, c *collection) (*commitWriter, error) {
	h, err := x.ownHead(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(h.Dead) > maxDead {
		if err := x.waitAndSweep(ctx, c); err != nil {
			return nil, err
		}
		h = *x.heads[c.class]
	}
	s, err := x.snapshot(ctx, c)
	if err != nil {
		return nil, err
	}
	s.exact = true
	h.Dead = slices.Clone(h.Dead)
	return &commitWriter{x: x, snapshot: s, head: h, time: time.Now().UnixMicro()}, nil
}

// replace makes the revisions of documents invisible with the commit.
func (w *commitWriter) replace(ctx context.Context, keys []string) error {
	w.changed = append(w.changed, keys...)
	for some := range slices.Chunk(keys, askedKeys) {
		found, err := w.snapshot.all(ctx, and(isKind(kindDocument), oneOf(propDocument, some)), "document revision data")
		if err != nil {
			return err
		}
		for _, o := range found {
			if err := w.drop(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *commitWriter) drop(o object) error {
	var r documentRecord
	if err := o.decode(&r); err != nil {
		return err
	}
	w.head.Dead = append(w.head.Dead, o.Revision)
	for i := range prepare.Levels {
		w.head.Chunks[i] -= r.Chunks[i]
		w.head.Tokens[i] -= r.Tokens[i]
		w.removed += r.Chunks[i]
	}
	return nil
}

// commit writes the objects, and then makes them visible.
func (w *commitWriter) commit(ctx context.Context) error {
	class := w.snapshot.class
	if len(w.objects) > 0 {
		pending := *w.x.heads[class]
		pending.Pending, pending.Writing = true, w.documents
		if err := w.x.putHead(ctx, w.snapshot.collection, pending); err != nil {
			return err
		}
		if err := w.x.putNew(ctx, w.objects); err != nil {
			return err
		}
	}
	w.head.Seq++
	w.head.Pending, w.head.Writing = false, 0
	if err := w.x.putHead(ctx, w.snapshot.collection, w.head); err != nil {
		return err
	}
	if w.x.changed[class] == nil {
		w.x.changed[class] = map[string]int64{}
	}
	for _, k := range w.changed {
		w.x.changed[class][k] = w.time
	}
	now := time.Now()
	for _, r := range w.head.Dead {
		if _, ok := w.x.dead[class][r]; !ok {
			w.x.dead[class][r] = now
		}
	}
	return nil
}

func (x *Index) putGroup(ctx context.Context, group []prepare.Document) error {
	c, err := x.create(ctx, group[0].Document.Collection)
	if err != nil {
		return err
	}
	w, err := x.begin(ctx, c)
	if err != nil {
		return err
	}
	keys := make([]string, len(group))
	for i, d := range group {
		keys[i] = key(string(d.Document.ID))
	}
	if err := w.replace(ctx, keys); err != nil {
		return err
	}
	if err := w.checkChunks(ctx, group); err != nil {
		return err
	}
	spaces, err := x.spaces(ctx, c)
	if err != nil {
		return err
	}
	total := 0
	if len(spaces) == 0 {
		sizes, err := w.snapshot.sizes(ctx)
		if err != nil {
			return err
		}
		for _, n := range sizes {
			total += n
		}
	}
	edit := &spacesEdit{x: x, collection: c, spaces: spaces, first: total == w.removed}
	for i, d := range group {
		if err := w.add(ctx, d, keys[i], i, edit); err != nil {
			return err
		}
	}
	if err := edit.write(ctx); err != nil {
		return err
	}
	if err := w.commit(ctx); err != nil {
		return err
	}
	if len(w.snapshot.heads) > 1 || len(w.snapshot.heads) == 1 && w.snapshot.heads[0].Writer != x.writer {
		return x.settle(ctx, c, keys)
	}
	return nil
}

// settle removes all but one of several revisions of a document, which servers may make that replace it at the same time. Each of them keeps the same
// one.
func (x *Index) settle(ctx context.Context, c *collection, keys []string) error {
	w, err := x.begin(ctx, c)
	if err != nil {
		return err
	}
	found, err := w.revisions(ctx, keys)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	several := false
	for _, o := range found {
		if seen[o.Document] {
			several = true
			if err := w.drop(o.object); err != nil {
				return err
			}
		}
		seen[o.Document] = true
	}
	if !several {
		return nil
	}
	return w.commit(ctx)
}

// checkChunks refuses ids of chunks that belong to other documents.
func (w *commitWriter) checkChunks(ctx context.Context, group []prepare.Document) error {
	owner := map[string]string{}
	var keys []string
	for _, d := range group {
		document := key(string(d.Document.ID))
		for _, e := range d.Entries {
			k := key(string(e.ID))
			if have, ok := owner[k]; ok && have != document {
				return fault.New(fault.Conflict, "chunk %.100q belongs to another document", e.ID)
			}
			owner[k] = document
			keys = append(keys, k)
		}
	}
	for some := range slices.Chunk(keys, askedKeys) {
		found, err := w.snapshot.all(ctx, oneOf(propChunk, some), "document chunk data")
		if err != nil {
			return err
		}
		for _, o := range found {
			if owner[o.Chunk] != o.Document {
				return fault.New(fault.Conflict, "a chunk id belongs to another document")
			}
		}
	}
	return nil
}

// add adds the objects of a document.
func (w *commitWriter) add(ctx context.Context, d prepare.Document, document string, number int, spaces *spacesEdit) error {
	w.documents++
	revision := w.x.revision(w.head.Seq+1, number)
	record := documentRecord{Document: d.Document, Time: w.time}
	for i, e := range d.Entries {
		o := object{Kind: kind(e.Level), Document: document, Chunk: key(string(e.ID)), Revision: revision, Ordinal: e.Ordinal}
		r := chunkRecord{Chunk: e.Chunk}
		if m := d.Mentions[i]; m != nil {
			r.Mentions, r.Relations = m.List, m.Relations
			o.Named, o.About = m.Keys()
		}
		terms, n := termsOf(&e.Chunk)
		switch e.Level {
		case 1:
			o.Terms1 = terms
		case 2:
			o.Terms2 = terms
			title, _, _ := strings.Cut(terms, separator)
			o.Titled = slices.Compact(slices.Sorted(strings.FieldsSeq(title)))
		default:
			o.Terms3 = terms
		}
		record.Chunks[e.Level-1]++
		record.Tokens[e.Level-1] += n
		w.head.Chunks[e.Level-1]++
		w.head.Tokens[e.Level-1] += n
		var vectors map[string][]float32
		if e.Vector != nil {
			s, err := spaces.use(ctx, e.Space, len(e.Vector))
			if err != nil {
				return err
			}
			o.Spaces = []string{s.Slot}
			if len(e.Vector) > 0 {
				vectors = map[string][]float32{s.Slot: e.Vector}
			}
		}
		if err := w.object(o, r, vectors); err != nil {
			return err
		}
	}
	return w.object(object{Kind: kindDocument, Document: document, Revision: revision, Order: orderOf(d.Document.ID)}, record, nil)
}

// revision returns the name of the revision of a document that is added in a commit.
func (x *Index) revision(seq int64, number int) string {
	return x.writer[:12] + "-" + strconv.FormatInt(seq, 10) + "-" + strconv.Itoa(number)
}

// orderOf returns a string that sorts as the id does.
func orderOf(id corpus.DocumentID) string { return fmt.Sprintf("%x", string(id)) }

// object adds an object with a record to the commit.
func (w *commitWriter) object(o object, record any, vectors map[string][]float32) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	id := uuid.NewString()
	o.Data, o.Writer, o.Seq = string(data), w.x.writer, w.head.Seq+1
	o.Row = rowOf(id)
	w.objects = append(w.objects, stored{w.snapshot.class, w.x.tenant, id, o, vectors})
	return nil
}

// putObjects writes objects. Those with the same id are replaced.
func (x *Index) putObjects(ctx context.Context, all []stored, level string) error {
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) && n < groupObjects && (n == 0 || size < groupBytes) {
			if o, ok := all[n].Properties.(object); ok {
				size += len(o.Data) + len(o.terms())
			}
			n++
		}
		if err := x.putRequest(ctx, all[:n], level); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// errClassChanges is the refusal of objects while a vector is added to their class. All tenants with a collection of the same name share the class.
var errClassChanges = errors.New("vectors of the class are being changed")

// putRequest writes objects in one request.
func (x *Index) putRequest(ctx context.Context, group []stored, level string) error {
	body, err := json.Marshal(map[string]any{"objects": group})
	if err != nil {
		return err
	}
	return x.client.coded(ctx, retry(ctx, func() error {
		var results []result
		if err := x.client.once(ctx, http.MethodPost, "/batch/objects?consistency_level="+level, body, &results); err != nil {
			x.uncertain.Store(time.Now().UnixNano())
			return err
		}
		return check(results, len(group))
	}))
}

// result is what became of an object in a request.
type result struct {
	Result struct {
		Status string
		Errors struct{ Error []struct{ Message string } }
	}
}

// check returns the error of the first object that was not written.
func check(results []result, want int) error {
	if len(results) != want {
		return fmt.Errorf("%d results for %d objects", len(results), want)
	}
	for _, r := range results {
		if r.Result.Status == "SUCCESS" {
			continue
		}
		text := "no message"
		if len(r.Result.Errors.Error) > 0 {
			text = r.Result.Errors.Error[0].Message
		}
		if strings.Contains(text, "read-only due to: UpdateVectorIndexConfigs") {
			return fmt.Errorf("%w: %.500s", errClassChanges, text)
		}
		return fmt.Errorf("an object is refused: %.500s", text)
	}
	return nil
}

// ownHead returns the head of this server in a collection. It erases what a commit that failed has left.
func (x *Index) ownHead(ctx context.Context, c *collection) (head, error) {
	h := x.heads[c.class]
	if h == nil {
		h = &head{Writer: x.writer, Created: uint64(time.Now().UnixMicro())}
		if err := x.stored(ctx, c, idOf("head", x.writer), h); err != nil {
			return head{}, err
		}
		c.remember([]head{*h})
		*h = c.own(x.writer)
		x.dead[c.class] = map[string]time.Time{}
		for _, r := range h.Dead {
			x.dead[c.class][r] = time.Now()
		}
		x.heads[c.class] = h
	}
	if h.Pending {
		if err := x.erase(ctx, c, whereAll(whereText(propWriter, x.writer), whereInt(propSeq, "GreaterThan", h.Seq)), levelQuorum); err != nil {
			return head{}, err
		}
		several, err := x.replicated(ctx, c)
		if err != nil {
			return head{}, err
		}
		clean := *h
		clean.Pending, clean.Writing = false, 0
		if several { // one that is away may have objects of the failed commit: its number is not used again
			clean.Seq++
			clean.Erased = slices.Clone(h.Erased)
			for i := range h.Writing {
				clean.Erased = append(clean.Erased, x.revision(clean.Seq, i))
			}
		}
		if err := x.putHead(ctx, c, clean); err != nil {
			return head{}, err
		}
		h = &clean
	}
	return *h, nil
}

// putHead writes the head of this server. If it is not known whether that succeeded, the head is read again before the next write.
func (x *Index) putHead(ctx context.Context, c *collection, h head) error {
	h.Version = max(h.Version+1, time.Now().UnixMicro())
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	id := idOf("head", x.writer)
	delete(x.heads, c.class)
	if err := x.putObjects(ctx, []stored{{c.class, x.tenant, id, object{Kind: kindHead, Row: rowOf(id), Data: string(data)}, nil}}, levelQuorum); err != nil {
		return errors.Join(err, ctx.Err())
	}
	x.heads[c.class] = &h
	c.remember([]head{h})
	return nil
}
