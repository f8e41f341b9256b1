package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/index/prepare"
)

var _ index.Sets = (*Index)(nil)

// groupMembers is the maximum number of members that one transaction changes.
const groupMembers = 5000

// setRecord is the record of a set. It stays when the set is empty, because versions only grow.
type setRecord struct {
	Version uint64 `json:"version"` // number of changes to its members and their chunks
}

// memberKey returns the key of a member of a set. Names of sets contain no zero byte.
func memberKey(collection uint32, set string, id corpus.DocumentID) []byte {
	k := make([]byte, 0, 4+len(set)+1+len(id))
	k = append(binary.BigEndian.AppendUint32(k, collection), set...)
	return append(append(k, 0), id...)
}

// setsKey returns the key of a set of a document. Ids are UTF-8, which has no byte 0xff.
func setsKey(collection uint32, id corpus.DocumentID, set string) []byte {
	k := make([]byte, 0, 4+len(id)+1+len(set))
	k = append(binary.BigEndian.AppendUint32(k, collection), id...)
	return append(append(k, 0xff), set...)
}

func sealRows(rows [2]uint64) []byte {
	return seal(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), rows[0]), rows[1]))
}

func unsealRows(b []byte) (rows [2]uint64, err error) {
	raw, err := unseal(b)
	if err == nil && len(raw) != 16 {
		err = errTruncated
	}
	if err != nil {
		return rows, fmt.Errorf("%w: a member of a set: %w", errDamaged, err)
	}
	return [2]uint64{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])}, nil
}

func readSetRecord(tx *txn, collection uint32, set string) (r setRecord, err error) {
	if raw := tx.Bucket(bucketSets).Get(idKey(collection, set)); raw != nil {
		if err := unsealJSON(raw, &r); err != nil {
			return r, fmt.Errorf("%w: set %s: %w", errDamaged, set, err)
		}
	}
	return r, nil
}

// setsOf returns the sets of a document.
func setsOf(tx *txn, collection uint32, id corpus.DocumentID) (sets []string) {
	prefix := setsKey(collection, id, "")
	cur := tx.Bucket(bucketMemberships).Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		sets = append(sets, string(k[len(prefix):]))
	}
	return sets
}

// part returns the edit of a part, and creates it if needed.
func (ed *edits) part(key string) *partEdit {
	if ed.parts == nil {
		ed.parts = map[string]*partEdit{}
	}
	e := ed.parts[key]
	if e == nil {
		e = &partEdit{}
		ed.parts[key] = e
	}
	return e
}

// addMember adds a document with its rows to a set that does not contain it.
func (ed *edits) addMember(tx *txn, collection uint32, set string, id corpus.DocumentID, rows [2]uint64) error {
	e := ed.part(setKey(set))
	e.added = append(e.added, rows)
	return errors.Join(tx.Bucket(bucketMembers).Put(memberKey(collection, set, id), sealRows(rows)),
		tx.Bucket(bucketMemberships).Put(setsKey(collection, id, set), nil))
}

// removeMember removes a document from a set that contains it.
func (ed *edits) removeMember(tx *txn, collection uint32, set string, id corpus.DocumentID) error {
	k := memberKey(collection, set, id)
	rows, err := unsealRows(tx.Bucket(bucketMembers).Get(k))
	if err != nil {
		return err
	}
	e := ed.part(setKey(set))
	e.removed = append(e.removed, rows)
	return errors.Join(tx.Bucket(bucketMembers).Delete(k), tx.Bucket(bucketMemberships).Delete(setsKey(collection, id, set)))
}

// updateMemberships updates the sets of a document that is put or deleted and had the rows before. A deleted document is removed from its sets.
func (ed *edits) updateMemberships(tx *txn, collection uint32, ch change, before, now [2]uint64, next uint64) error {
	id := ch.doc.ID
	e := ed.part(documentKey(id))
	e.removed, e.added = append(e.removed, before), append(e.added, now)
	e.version = documentVersion(now, next)
	sets := setsOf(tx, collection, id)
	for _, set := range sets {
		if !ch.put {
			if err := ed.removeMember(tx, collection, set, id); err != nil {
				return err
			}
			continue
		}
		e := ed.part(setKey(set))
		e.removed, e.added = append(e.removed, before), append(e.added, now)
		if err := tx.Bucket(bucketMembers).Put(memberKey(collection, set, id), sealRows(now)); err != nil {
			return err
		}
	}
	if len(sets) > 0 && !ch.put {
		return tx.Bucket(bucketMeta).Put(keyScrub, nil) // also for documents that were never put, to erase the id
	}
	return nil
}

// writeSets increments the versions of the changed sets.
func (ed *edits) writeSets(tx *txn, collection uint32) error {
	for key, e := range ed.parts {
		if key[0] != 's' {
			continue
		}
		r, err := readSetRecord(tx, collection, key[1:])
		if err != nil {
			return err
		}
		r.Version++
		e.version = r.Version
		raw, err := sealJSON(r)
		if err != nil {
			return err
		}
		if err := tx.Bucket(bucketSets).Put(idKey(collection, key[1:]), raw); err != nil {
			return err
		}
	}
	return nil
}

// AddToSet implements [index.Sets]. Many documents are added in groups. Each group is durable and visible before the next.
func (x *Index) AddToSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	return x.changeSet(ctx, "add to set", collection, set, ids, true, func(tx *txn, c uint32, id corpus.DocumentID, ed *edits) error {
		if tx.Bucket(bucketMembers).Get(memberKey(c, set, id)) != nil {
			return nil
		}
		d, err := readDocument(tx, c, id)
		if err != nil {
			return err
		}
		var rows [2]uint64
		if d != nil {
			rows = d.all()
		}
		return ed.addMember(tx, c, set, id, rows)
	})
}

// RemoveFromSet implements [index.Sets], in groups as [Index.AddToSet] does.
func (x *Index) RemoveFromSet(ctx context.Context, collection, set string, ids []corpus.DocumentID) error {
	return x.opts.Reserve.Use(func() error {
		return x.changeSet(ctx, "remove from set", collection, set, ids, false, func(tx *txn, c uint32, id corpus.DocumentID, ed *edits) error {
			if tx.Bucket(bucketMembers).Get(memberKey(c, set, id)) == nil {
				return nil
			}
			return ed.removeMember(tx, c, set, id)
		})
	})
}

// DeleteSet implements [index.Sets], in groups as [Index.AddToSet] does.
func (x *Index) DeleteSet(ctx context.Context, collection, set string) error {
	name, err := prepare.Collection(collection)
	if err == nil && !index.ValidSet(set) {
		err = errSetName()
	}
	for err == nil {
		var ids []corpus.DocumentID
		if ids, err = x.members(ctx, name, set); err != nil || len(ids) == 0 {
			break
		}
		err = x.RemoveFromSet(ctx, name, set, ids)
	}
	return err
}

// members returns up to groupMembers members of a set.
func (x *Index) members(ctx context.Context, collection, set string) (ids []corpus.DocumentID, err error) {
	if err := x.enter(ctx); err != nil {
		return nil, err
	}
	defer x.life.RUnlock()
	err = x.inCollection(collection, func(tx *txn, c uint32, _ index.Scope) error {
		prefix := memberKey(c, set, "")
		cur := tx.Bucket(bucketMembers).Cursor()
		for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix) && len(ids) < groupMembers; k, _ = cur.Next() {
			ids = append(ids, corpus.DocumentID(k[len(prefix):]))
		}
		return nil
	})
	return ids, failed("delete set", err)
}

func errSetName() error {
	return fault.Invalid("set", "a name consists of letters, digits, dashes and underscores")
}

// changeSet changes a set in groups of documents. create creates a missing collection.
func (x *Index) changeSet(ctx context.Context, op, collection, set string, ids []corpus.DocumentID, create bool,
	do func(tx *txn, c uint32, id corpus.DocumentID, ed *edits) error) error {
	collection, err := prepare.Collection(collection)
	switch {
	case err != nil:
		return err
	case len(collection) > maxKey:
		return fault.Invalid("collection", "a name has 1 to %d bytes", maxKey)
	case !index.ValidSet(set):
		return errSetName()
	}
	for _, id := range ids {
		if !prepare.ValidID(string(id)) {
			return fault.Invalid("document", "an id has 1 to %d bytes of UTF-8", maxKey)
		}
	}
	if err := x.enter(ctx); err != nil {
		return err
	}
	defer x.life.RUnlock()
	x.write.Lock()
	defer x.write.Unlock()
	for group := range slices.Chunk(ids, groupMembers) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.changeSetBatch(collection, group, create, do); err != nil {
			return failed(op, err)
		}
	}
	return nil
}

func (x *Index) changeSetBatch(collection string, ids []corpus.DocumentID, create bool,
	do func(tx *txn, c uint32, id corpus.DocumentID, ed *edits) error) error {
	c, err := x.collection(collection)
	if err == nil && c != nil {
		err = x.repair(c)
	}
	if err == nil && c == nil && create {
		c, err = x.create(collection)
	}
	if err != nil || c == nil {
		return err
	}
	ed := c.edits()
	c.gate.Lock()
	defer c.gate.Unlock()
	err = x.update(func(tx *txn) error {
		for _, id := range ids {
			if err := do(tx, c.id, id, ed); err != nil {
				return err
			}
		}
		if ed.parts == nil {
			return nil
		}
		return ed.writeSets(tx, c.id)
	})
	if err != nil || ed.parts == nil {
		return err
	}
	c.publish(c.cur.vectors(), ed.parts)
	return nil
}
