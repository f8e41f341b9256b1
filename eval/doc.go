// Package eval measures retrieval on public collections: it reads the BEIR layout, computes the field's measures and
// compares ways of searching query by query. It knows an index only through [index.Reader] and [index.Writer].
package eval
