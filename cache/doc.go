// Package cache keeps answers and gives them to questions that mean the same, for as long as what they rest on stands.
//
// Whether two questions mean the same is decided by rules, in [github.com/sluice-rag/sluice/cache/meaning]: what cannot be shown
// to be the same is another question. Whether an answer still stands is decided by the documents: see [Cache.Lookup].
package cache
