package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// errDamaged is wrapped by the errors that say that a file does not hold what was written.
var errDamaged = errors.New("damaged")

// bucketSum is what a bucket adds up to: a key that is lost and a value that is another change it.
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

// sums are what the buckets of documents.db add up to, by name. They stand in it, under keySums, and change in the transaction
// that changes a bucket: bbolt's pages have no checksums.
type sums map[string]bucketSum

// differ gives an error where said, if there is any, is something else.
func (s sums) differ(said sums) error {
	if said == nil {
		return nil
	}
	for _, name := range buckets {
		have, want := s[string(name)], said[string(name)]
		switch {
		case have.Count != want.Count:
			return fmt.Errorf("%w: bucket %s has %d keys where %d were written", errDamaged, name, have.Count, want.Count)
		case have != want:
			return fmt.Errorf("%w: bucket %s: %w", errDamaged, name, errChecksum)
		}
	}
	if len(s) != len(said) {
		return fmt.Errorf("%w: %d buckets where %d were written", errDamaged, len(s), len(said))
	}
	return nil
}

// txn is a transaction on documents.db. Its buckets panic with an errDamaged, which [guard] returns, where keys are not in
// order.
type txn struct {
	*bolt.Tx
	sums    sums // nil: read only
	deletes bool // something that is to be erased
}

// load reads the sums, which a writer changes.
func (tx *txn) load() error {
	tx.sums = sums{}
	if raw := tx.Bucket(bucketMeta).Get(keySums); raw != nil {
		return unsealJSON(raw, &tx.sums)
	}
	return fmt.Errorf("%w: no sums", errDamaged)
}

// save writes the sums.
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
	return tx.Tx.Bucket(bucketMeta).Put(keySums, raw)
}

// Bucket gives a bucket, which is there.
func (tx *txn) Bucket(name []byte) *bucket {
	b := tx.Tx.Bucket(name)
	if b == nil {
		panic(fmt.Errorf("%w: no bucket %s", errDamaged, name))
	}
	return &bucket{Bucket: b, tx: tx, name: string(name)}
}

// bucket is one of documents.db.
type bucket struct {
	*bolt.Bucket
	tx   *txn
	name string
}

func (b *bucket) disorder() {
	panic(fmt.Errorf("%w: bucket %s: a key is out of order", errDamaged, b.name))
}

// Get gives the value of a key, or nil. That the key is missing is checked by those next to it: a damaged page may lead a search
// astray.
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

// between checks that a key would stand before the one that a cursor found for it, and after the one before that.
func (b *bucket) between(cur *bolt.Cursor, key, found []byte) {
	var before []byte
	if found == nil {
		before, _ = cur.Last()
	} else {
		before, _ = cur.Prev()
	}
	if found != nil && bytes.Compare(found, key) < 0 || before != nil && bytes.Compare(before, key) >= 0 {
		b.disorder()
	}
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

// Cursor gives a cursor that goes upwards.
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

// Seek goes to a key, or the next one if it is not there.
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
