// Package eval measures searches and answers on collections with questions: it reads the BEIR layout, or a folder of documents,
// computes the field's measures of rankings, answers, citations and verdicts, and compares ways of searching and answering
// question by question. It knows an index only through [index.Reader] and [index.Writer].
package eval
