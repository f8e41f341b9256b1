// Package inverted keeps an inverted index in a folder: for each term of a field, the documents that contain it, with frequencies and positions.
//
// A document is a set of terms with a number, its row, that its user chooses. The index is a list of segments, which are immutable files, and a manifest, which names
// them, the documents of them that were deleted, and a tag of the user. A change writes one segment and replaces the manifest, so it happens wholly or not at
// all, and is durable when it returns. Segments of similar sizes are merged in the background. Readers use a [Snapshot], which later changes and
// merges do not affect.
//
// # Format of a segment
//
// Numbers in the file are little-endian, or unsigned varints (uvarint) where it says so. The documents are sorted by row, and numbered from 0 in that order.
//
//	postings   for each field, for each term in order: a list, see below
//	terms      for each field: a finite-state transducer of the package vellum, from a term to the offset of its list among the field's
//	lengths    for each field with frequencies: the number of terms of each document, 4 bytes each
//	rows       8 bytes for each document
//	footer     offset of each part, 8 bytes; the number of documents, 4; magic, 8; CRC-32C of everything before, 4
//
// A list begins with the number of its documents (uvarint). It has blocks of at most [blockSize] documents. If there are several, then for each block: the number of its
// last document less that of the block before, and its sizes of documents and positions in bytes (uvarints). If there is only one, and the field has
// positions, then its size of documents (uvarint). A block has for each document its number less that of the document before (less -1 for the first of a list, so that it is
// never 0), as a uvarint. In a field with frequencies, twice this number plus 1 stands for a frequency of 1, and without the 1, the frequency follows
// (uvarint). Then, in a field with positions, for each document: its first position, and of the others their distance to the one before (uvarints).
package inverted
