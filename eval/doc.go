// Package eval evaluates searches and answers on collections with questions. It reads the BEIR layout or a folder of documents,
// computes standard measures of rankings, answers, citations and verdicts, and compares searches and modes question by question.
// It accesses indexes only through [index.Reader] and [index.Writer].
package eval
