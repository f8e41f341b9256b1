// Package embedded is the default index: documents, words and vectors in one folder on disk, no other service.
//
// The folder holds documents.db, a bbolt database with the documents, chunks and vectors: the one source of truth. The
// folders under lexical/ are inverted indexes in bleve's scorch format, one for each collection and level so that no
// statistics mix; they are derived, carry the generation of the data that they were made of, and are brought up to date or
// made anew when a collection is first used after a crash or damage. Vectors are held in memory and scanned exactly.
//
// bbolt's pages have no checksums, so documents.db holds sums of its buckets, and is verified as a whole when it is opened; see
// [Index.Verify] and docs/decisions/0022.
//
// A collection's vectors stand apart by their space, in the database and in memory, so that another embedder can fill a
// space of its own while searches use the one before. A chunk is named to it by its row, which is never used twice: a
// vector that was made for a text cannot reach the text that took its place.
//
// Sets of documents are kept in documents.db, each member with its rows, and follow in the transaction that puts or deletes a
// document. A state of the collection that readers see holds the rows of the sets that are in use, so that a search in a set is
// of one state too. Chunks that a search may not see are left out where postings are read and vectors are scanned; the
// statistics that weigh words count the whole collection.
//
// Scores are computed here and not by bleve: its BM25 (2.5) takes the number of distinct terms of a field for the sum of
// its lengths and multiplies by a coordination factor, and it ties a search to the newest state where ours sees the one
// that the vectors and chunks are of.
package embedded
