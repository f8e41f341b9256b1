// Package sessions holds the JSON of sessions and their messages, which the server writes and the client reads.
package sessions

import (
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
)

// Session is a session in a reply.
type Session struct {
	ID        string    `json:"session_id"`
	Account   string    `json:"account,omitempty" description:"Account that the session belongs to."`
	Title     string    `json:"title"`
	TitleBy   string    `json:"title_by,omitempty" description:"Who made the title: user, rules or the name of a model."`
	Archived  bool      `json:"archived"`
	Head      string    `json:"head,omitempty" description:"Id of the last message of the active branch."`
	Turns     int       `json:"turns" description:"Number of answers in all branches."`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at" description:"Time of the last question, or of the creation."`
}

// List is a page of sessions.
type List struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty" description:"Value of the parameter after for the next page."`
}

// Messages is a page of the messages of a branch, in the order of the conversation.
type Messages struct {
	Messages []Message `json:"messages"`
	Next     string    `json:"next,omitempty" description:"Value of the parameter before for the page of older messages."`
}

// Message is a question or an answer. The fields from RunID on are those of answers.
type Message struct {
	ID         string           `json:"id"`
	Parent     string           `json:"parent,omitempty" description:"Id of the message before it. Left out for the first message of a branch."`
	Role       string           `json:"role" enum:"user,assistant"`
	Content    string           `json:"content" description:"The text. Citations are not marked in it. While the answer is in progress: the text so far."`
	Status     string           `json:"status" enum:"queued,running,completed,failed,cancelled,deleted"`
	CreatedAt  time.Time        `json:"created_at"`
	Siblings   []string         `json:"siblings,omitempty" description:"Ids of the messages with the same parent and role, including this one, if there are several."`
	RunID      string           `json:"run_id,omitempty" description:"Run of an answer. Its stream can be read in any protocol until the run is deleted."`
	Protocol   string           `json:"protocol,omitempty" description:"Protocol of the request."`
	Standalone string           `json:"standalone_question,omitempty" description:"The question as it was searched for, if it was rewritten."`
	Citations  []turns.Citation `json:"citations,omitempty"`
	Confidence *float64         `json:"confidence,omitempty" description:"0 to 1. Only a completed answer has it."`
	Abstained  bool             `json:"abstained,omitempty" description:"The documents do not hold an answer."`
	EndedAt    time.Time        `json:"ended_at,omitzero"`
	Error      *RunError        `json:"error,omitempty" description:"Why the answer is not complete."`
	Feedback   *Feedback        `json:"feedback,omitempty"`
}

// RunError is the reason why an answer is not complete.
type RunError struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Feedback is the rating of an answer.
type Feedback struct {
	Rating  string    `json:"rating" enum:"good,bad"` // [Good] or [Bad]
	Reason  string    `json:"reason,omitempty"`
	RatedAt time.Time `json:"rated_at"`
}

// Ratings of answers.
const (
	Good = "good"
	Bad  = "bad"
)
