package lang

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// stemCache holds the stems of recently stemmed words, because most words of a text are among the last few thousand different ones. A word replaces
// the one with the same hash. It may be used concurrently.
type stemCache struct {
	seed  maphash.Seed
	terms [1 << 13]atomic.Pointer[Term]
}

func newStemCache() *stemCache { return &stemCache{seed: maphash.MakeSeed()} }

// stem returns the stem of a word, which it computes if it is not in the cache.
func (c *stemCache) stem(word string, compute func(string) string) string {
	at := &c.terms[maphash.String(c.seed, word)%uint64(len(c.terms))]
	if t := at.Load(); t != nil && t.Word == word {
		return t.Stem
	}
	word = strings.Clone(word) // it may be a part of a long text
	stem := compute(word)
	at.Store(&Term{word, stem})
	return stem
}
