// Package embedded is the default index. It stores documents, terms and vectors in one folder and needs no other service.
//
// The file documents.db is a bbolt database with the documents, chunks and vectors. It is the only source of truth. The folders
// under lexical/ are inverted indexes of the package inverted, one for each collection and level, so that their statistics do not
// mix. They are derived from documents.db and store the generation of the data that they cover. After a crash or damage, they are
// updated or rebuilt when the collection is first used. Vectors are kept in memory; vector search is exact.
//
// In the documents that the ingestion makes, sentences are pieces of passages, and passages are pieces of sections. The text of a section is
// stored once. Only passages have vectors and terms; the other levels are searched through them. See docs/decisions/0083-only-passages-have-vectors.md.
// If the ids of all chunks are those of corpus.NewChunkID, they are not stored; see docs/decisions/0087-computed-ids-and-order-of-terms.md.
//
// bbolt's pages have no checksums. So documents.db stores checksums of its buckets, and is verified completely when it is opened;
// see [Index.Verify] and docs/decisions/0022-index-verifies-its-database.md.
//
// Vectors of different spaces are separate, in the database and in memory, so that a new embedder can fill its own space while
// searches use the old one. A chunk is identified by its row. Rows are never reused, so a vector of a text cannot be assigned
// to a later text.
//
// Sets of documents are stored in documents.db, each member with its rows, and change in the same transaction as the document. A
// snapshot contains the rows of the sets that are in use, so a search in a set sees one consistent state. Chunks outside the
// scope of a search are skipped while postings are read and vectors are scanned; term statistics count the whole collection.
//
// This package computes scores itself, from the postings; see [Scoring].
package embedded
