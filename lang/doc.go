// Package lang cleans text and splits it into sentences, words and terms. Its functions are pure, take time linear in the size of
// their input, and accept any bytes.
package lang
