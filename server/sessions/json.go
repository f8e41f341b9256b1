package sessions

import (
	"cmp"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/session"
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

// Export is an exported session with the messages of all branches in the order of their creation.
type Export struct {
	Session  Session   `json:"session"`
	Messages []Message `json:"messages"`
}

// Message is a question or an answer. The fields from RunID on are those of answers.
type Message struct {
	ID         string           `json:"id"`
	Parent     string           `json:"parent,omitempty" description:"Id of the message before it. Left out for the first message of a branch."`
	Role       string           `json:"role" enum:"user,assistant"`
	Content    string           `json:"content" description:"The text. Citations are not marked in it. While the answer is in progress: the text so far."`
	Status     session.Status   `json:"status" enum:"queued,running,completed,failed,cancelled,deleted"`
	CreatedAt  time.Time        `json:"created_at"`
	Siblings   []string         `json:"siblings,omitempty" description:"Ids of the messages with the same parent and role, including this one, if there are several."`
	RunID      event.RunID      `json:"run_id,omitempty" description:"Run of an answer. Its stream can be read in any protocol until the run is deleted."`
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
	Rating  string    `json:"rating" enum:"good,bad"`
	Reason  string    `json:"reason,omitempty"`
	RatedAt time.Time `json:"rated_at"`
}

const good, bad = "good", "bad"

// failing returns the JSON of an error. Unlike the turns protocol, these routes do not replace codes of failed runs by chat_failed.
func failing(f *fault.Error) any {
	out := turns.FaultOf(f)
	out.Error = strings.ToLower(string(f.Code))
	return out
}

func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func sessionOf(s session.Session) Session {
	return Session{ID: s.ID, Account: s.Account, Title: s.Title, TitleBy: s.TitleBy, Archived: s.Archived, Head: s.Head, Turns: s.Turns,
		CreatedAt: millis(s.CreatedAt), UsedAt: millis(s.UsedAt)}
}

func messageOf(m session.Message) Message {
	out := Message{ID: m.ID, Parent: m.Parent, Role: m.Role, Content: m.Text, Status: cmp.Or(m.Status, session.Completed), CreatedAt: millis(m.At), Siblings: m.Siblings,
		RunID: m.Run, Protocol: m.Protocol, Standalone: m.Standalone, Abstained: m.Abstained, Feedback: feedbackOf(m.Feedback)}
	out.Citations = citationsOf(m.Text, m.Citations)
	if m.Role == event.RoleAssistant && m.Status == session.Completed {
		out.Confidence = new(math.Round(m.Confidence*1e4) / 1e4)
	}
	if !m.EndedAt.IsZero() {
		out.EndedAt = millis(m.EndedAt)
	}
	if m.Failure != nil {
		out.Error = &RunError{Code: m.Failure.Code, Message: m.Failure.Message}
	}
	return out
}

// citationsOf returns the citations of an answer as in the trailer of its stream. A citation refers to the text after the previous citation.
func citationsOf(text string, citations []session.Citation) (out []turns.Citation) {
	var from, length, start, end int // from is a byte offset, the others count code points
	for _, c := range citations {
		at := min(max(c.At, from), len(text))
		part := text[from:at]
		if cited := strings.TrimSpace(part); cited != "" {
			start = length + utf8.RuneCountInString(part[:strings.Index(part, cited)])
			end = start + utf8.RuneCountInString(cited)
		}
		from, length = at, length+utf8.RuneCountInString(part)
		out = append(out, turns.CitationOf(c.N, c.Source.Chunk, &c.Source, start, end))
	}
	return out
}

func feedbackOf(f *session.Feedback) *Feedback {
	if f == nil {
		return nil
	}
	out := Feedback{Rating: bad, Reason: f.Reason, RatedAt: millis(f.At)}
	if f.Good {
		out.Rating = good
	}
	return &out
}
