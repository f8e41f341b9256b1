// Package cache keeps answers and returns them for equivalent questions while their dependencies are unchanged.
//
// The rules of package [github.com/sluice-rag/sluice/cache/canonical] decide whether two questions are equivalent: unless the rules show that they
// are, they are different. [Cache.Lookup] describes when an answer is fresh.
package cache
