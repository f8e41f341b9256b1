// Package lang cleans text and cuts it into sentences, words and terms. Every function is pure, runs in time linear in its
// input and takes any bytes whatever without panicking.
package lang
