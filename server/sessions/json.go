package sessions

import (
	"cmp"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sessions"
	"github.com/sluice-rag/sluice/wire/turns"
)

// Export is an exported session with the messages of all branches in the order of their creation.
type Export struct {
	Session  sessions.Session   `json:"session"`
	Messages []sessions.Message `json:"messages"`
}

// failing returns the JSON of an error. Unlike the turns protocol, these routes do not replace codes of failed runs by chat_failed.
func failing(f *fault.Error) any {
	out := turns.FaultOf(f)
	out.Error = strings.ToLower(string(f.Code))
	return out
}

func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func sessionOf(s session.Session) sessions.Session {
	return sessions.Session{ID: s.ID, Account: s.Account, Title: s.Title, TitleBy: s.TitleBy, Archived: s.Archived, Head: s.Head, Turns: s.Turns,
		CreatedAt: millis(s.CreatedAt), UsedAt: millis(s.UsedAt)}
}

func messageOf(m session.Message) sessions.Message {
	out := sessions.Message{ID: m.ID, Parent: m.Parent, Role: m.Role, Content: m.Text, Status: string(cmp.Or(m.Status, session.Completed)), CreatedAt: millis(m.At), Siblings: m.Siblings,
		RunID: string(m.Run), Protocol: m.Protocol, Standalone: m.Standalone, Abstained: m.Abstained, Feedback: feedbackOf(m.Feedback)}
	out.Citations = citationsOf(m.Text, m.Citations)
	if m.Role == event.RoleAssistant && m.Status == session.Completed {
		out.Confidence = new(math.Round(m.Confidence*1e4) / 1e4)
	}
	if !m.EndedAt.IsZero() {
		out.EndedAt = millis(m.EndedAt)
	}
	if m.Failure != nil {
		out.Error = &sessions.RunError{Code: m.Failure.Code, Message: m.Failure.Message}
	}
	return out
}

// citationsOf returns the citations of an answer as in the trailer of its stream. A citation refers to the text after the previous citation.
func citationsOf(text string, citations []session.Citation) (out []turns.Citation) {
	var from, length, start, end int // from is a byte offset, the others count code points
	for _, c := range citations {
		at := min(max(c.At, from), len(text))
		part := text[from:at]
		rest := part
		if from > 0 {
			rest = wire.TrimSentenceEnd(part)
		}
		if rest = strings.TrimLeftFunc(rest, unicode.IsSpace); rest != "" {
			start = length + utf8.RuneCountInString(part) - utf8.RuneCountInString(rest)
		}
		if shown := strings.TrimRightFunc(part, unicode.IsSpace); shown != "" {
			end = length + utf8.RuneCountInString(shown)
		}
		from, length = at, length+utf8.RuneCountInString(part)
		out = append(out, turns.CitationOf(c.N, c.Source.Chunk, &c.Source, start, end))
	}
	return out
}

func feedbackOf(f *session.Feedback) *sessions.Feedback {
	if f == nil {
		return nil
	}
	out := sessions.Feedback{Rating: sessions.Bad, Reason: f.Reason, RatedAt: millis(f.At)}
	if f.Good {
		out.Rating = sessions.Good
	}
	return &out
}
