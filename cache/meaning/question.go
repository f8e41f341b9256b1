// Package meaning tells by rules whether two questions ask for the same.
package meaning

import "strings"

// Question is what a question asks.
type Question struct {
	key string
}

// Of reads a question.
func Of(question string) Question {
	return Question{key: strings.Join(strings.Fields(strings.ToLower(question)), " ")}
}

// Key is the same for questions that mean the same.
func (q Question) Key() string { return q.key }

// Same tells whether two questions mean the same.
func (q Question) Same(o Question) bool { return q.key == o.key }

// Similarity tells how alike two questions of the same meaning are worded, 0..1.
func (q Question) Similarity(o Question) float64 { return 1 }
