package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// errDamaged is wrapped by all errors that report damage of a file.
var errDamaged = errors.New("damaged")

// bucketSum is the checksum of a bucket. A lost key or a changed value changes it.
type bucketSum struct {
	Count    uint64 `json:"count"`
	Hash     uint64 `json:"hash"` // sum of the hashes of the keys with their values
	Sequence uint64 `json:"sequence"`
}

func (s *bucketSum) add(key, value []byte) {
	s.Count++
	s.Hash += hash(key, value)
}

func (s *bucketSum) remove(key, value []byte) {
	s.Count--
	s.Hash -= hash(key, value)
}

// hash mixes two CRC-32C, so that sums of hashes differ where any of them does.
func hash(key, value []byte) uint64 {
	k := crc32.Update(0, castagnoli, key)
	h := uint64(k)<<32 | uint64(crc32.Update(k, castagnoli, value))
	h += 0x9e3779b97f4a7c15 // splitmix64
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// sums are the checksums of the buckets of documents.db by name, as bbolt's pages have none. They are stored in the bucket meta
// under keySums, and each transaction updates them.
type sums map[string]bucketSum

// compare returns an error if the stored sums differ; nil stored sums do not count.
func (s sums) compare(stored sums) error {
	if stored == nil {
		return nil
	}
	for _, name := range buckets {
		have, want := s[string(name)], stored[string(name)]
		switch {
		case have.Count != want.Count:
			return fmt.Errorf("%w: bucket %s has %d keys where %d were written", errDamaged, name, have.Count, want.Count)
		case have != want:
			return fmt.Errorf("%w: bucket %s: %w", errDamaged, name, errChecksum)
		}
	}
	if len(s) != len(stored) {
		return fmt.Errorf("%w: %d buckets where %d were written", errDamaged, len(s), len(stored))
	}
	return nil
}

// empty reports whether no bucket has a key.
func (s sums) empty() bool {
	for _, b := range s {
		if b.Count > 0 {
			return false
		}
	}
	return true
}

// txn is a transaction on documents.db. Its buckets panic with an errDamaged where keys are out of order; [guard] returns it.
type txn struct {
	*bolt.Tx
	sums    sums // nil: read only
	opened  map[string]*bucket
	deletes bool // it deletes text that has to be erased
}

// load reads the sums.
func (tx *txn) load() error {
	tx.sums = sums{}
	if err := unsealJSON(tx.Bucket(bucketMeta).Get(keySums), &tx.sums); err != nil {
		return fmt.Errorf("%w: sums: %w", errDamaged, err)
	}
	return nil
}

// save writes the sums, and the id of the transaction: a page that a disk did not write can hold an older state, whose sums are right.
func (tx *txn) save() error {
	for _, name := range buckets {
		s := tx.sums[string(name)]
		s.Sequence = tx.Tx.Bucket(name).Sequence()
		tx.sums[string(name)] = s
	}
	raw, err := sealJSON(tx.sums)
	if err != nil {
		return err
	}
	return errors.Join(tx.Tx.Bucket(bucketMeta).Put(keySums, raw), putTxID(tx.Tx))
}

func putTxID(tx *bolt.Tx) error {
	return tx.Bucket(bucketMeta).Put(keyTxID, binary.BigEndian.AppendUint64(nil, uint64(tx.ID())))
}

// Bucket returns a bucket, which must exist.
func (tx *txn) Bucket(name []byte) *bucket {
	if b := tx.opened[string(name)]; b != nil {
		return b
	}
	b := tx.Tx.Bucket(name)
	if b == nil {
		panic(fmt.Errorf("%w: no bucket %s", errDamaged, name))
	}
	if tx.opened == nil {
		tx.opened = map[string]*bucket{}
	}
	opened := &bucket{Bucket: b, tx: tx, name: string(name)}
	tx.opened[opened.name] = opened
	return opened
}

// bucket is a bucket of documents.db.
type bucket struct {
	*bolt.Bucket
	tx   *txn
	name string
}

func (b *bucket) disorder() {
	panic(fmt.Errorf("%w: bucket %s: a key is out of order", errDamaged, b.name))
}

// Get returns the value of a key, or nil. Before it reports a key as missing, it checks the neighbouring keys, because a damaged page can
// lead the search to the wrong leaf.
func (b *bucket) Get(key []byte) []byte {
	cur := b.Bucket.Cursor()
	k, v := cur.Seek(key)
	if k == nil || !bytes.Equal(k, key) {
		b.between(cur, key, k)
		return nil
	}
	if v == nil { // put by this transaction
		return []byte{}
	}
	return v
}

// floor returns the last key that is not after a key, with its value, or nil.
func (b *bucket) floor(key []byte) (found, value []byte) {
	cur := b.Bucket.Cursor()
	k, v := cur.Seek(key)
	if k != nil && bytes.Equal(k, key) {
		return k, v
	}
	return b.between(cur, key, k)
}

// between checks that a missing key lies between the key that a cursor found in its place and the one before, which it returns with its value.
func (b *bucket) between(cur *bolt.Cursor, key, found []byte) (before, value []byte) {
	if found == nil {
		if first, _ := cur.First(); first == nil {
			return nil, nil // Last would not end if this transaction emptied all pages
		}
		before, value = cur.Last()
	} else {
		before, value = cur.Prev()
	}
	if found != nil && bytes.Compare(found, key) < 0 || before != nil && bytes.Compare(before, key) >= 0 {
		b.disorder()
	}
	return before, value
}

// Put sets the value of a key.
func (b *bucket) Put(key, value []byte) error {
	if b.name == string(bucketMeta) && bytes.Equal(key, keyScrub) {
		b.tx.deletes = true
	}
	s := b.tx.sums[b.name]
	if old := b.Get(key); old != nil {
		s.remove(key, old)
	}
	s.add(key, value)
	b.tx.sums[b.name] = s
	return b.Bucket.Put(key, value)
}

// Delete deletes a key, if it is there.
func (b *bucket) Delete(key []byte) error {
	old := b.Get(key)
	if old == nil {
		return nil
	}
	s := b.tx.sums[b.name]
	s.remove(key, old)
	b.tx.sums[b.name] = s
	return b.Bucket.Delete(key)
}

// Cursor returns a cursor that moves upwards.
func (b *bucket) Cursor() *bucketCursor { return &bucketCursor{cur: b.Bucket.Cursor(), b: b} }

type bucketCursor struct {
	cur  *bolt.Cursor
	b    *bucket
	last []byte
}

func (c *bucketCursor) First() (key, value []byte) {
	key, value = c.cur.First()
	c.last = key
	return key, value
}

// Seek moves to a key, or to the next one if it does not exist.
func (c *bucketCursor) Seek(to []byte) (key, value []byte) {
	key, value = c.cur.Seek(to)
	if key == nil || !bytes.Equal(key, to) {
		cur := c.b.Bucket.Cursor()
		found, _ := cur.Seek(to)
		c.b.between(cur, to, found)
	}
	c.last = key
	return key, value
}

func (c *bucketCursor) Next() (key, value []byte) {
	key, value = c.cur.Next()
	if key != nil && bytes.Compare(key, c.last) <= 0 {
		c.b.disorder()
	}
	c.last = key
	return key, value
}
