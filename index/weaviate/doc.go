// Package weaviate is an index in Weaviate, which several servers share.
//
// A collection is a class, and a tenant of Sluice is a tenant of the class. All that belongs to a collection is an object of its class: chunks,
// documents, members of sets, vector spaces and heads. Weaviate finds the candidates of a search by its hybrid search, BM25 and vectors; this package
// scores them as the embedded index does.
//
// Weaviate has no transactions, so this package makes readers see commits. Each server that writes has a number that counts its commits, and each
// object has the server and the number of its commit. The head of a server is one object with the number of its last commit, and with the revisions of
// documents that it has replaced or deleted. A write adds the objects of a new commit, and then puts the head, which is atomic: readers read the heads
// first and use only what they make visible. Replaced revisions are erased when no reader can use an older head any more: see readTime and graceTime.
// Servers write their own heads only, so they need no lock. A cluster of Weaviate stores several copies of a class: see replicas.go.
//
// While nobody writes, readers leave the condition on commits out, because it makes a count several times slower, and compare the heads afterwards: see
// [Index.read].
package weaviate
