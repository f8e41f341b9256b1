package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

// titleByRules is the value of TitleBy for the title of a [session.Begin].
const titleByRules = "rules"

func scanOpen(scan func(...any) error) (session.OpenTurn, error) {
	var t session.OpenTurn
	var seq, until int64
	var id string
	err := scan(&seq, &id, &t.Server, &until)
	t.Key, t.Run, t.Until = keyOf(seq), runOf(id), sqldb.FromMicros(until)
	return t, err
}

// openTurns returns the open turns of a session in their order.
func openTurns(ctx context.Context, q sqldb.Querier, key session.Key) ([]session.OpenTurn, error) {
	first, last := bounds(key)
	return sqldb.All(ctx, q, scanOpen, "SELECT seq, id, owner, until FROM messages WHERE status IN ('queued', 'running') AND seq BETWEEN ? AND ? ORDER BY seq", first, last)
}

// Open implements [session.Turns].
func (s *Store) Open(ctx context.Context) ([]session.OpenTurn, error) {
	turns, err := sqldb.All(ctx, s.read, scanOpen,
		"SELECT m.seq, m.id, m.owner, m.until FROM messages m WHERE m.status IN ('queued', 'running') AND "+visible+" ORDER BY m.seq")
	return turns, s.wrap("list open turns", err)
}

// busy returns the error for a turn that has to wait for an open turn.
func busy(t session.OpenTurn, now time.Time) *session.BusyError {
	return &session.BusyError{Run: t.Run, Expired: expired(t, now)}
}

func expired(t session.OpenTurn, now time.Time) bool {
	return sqldb.Micros(t.Until) <= sqldb.Micros(now)
}

// mayBegin returns a [session.BusyError] if a turn may not begin because of the open turns.
func mayBegin(open []session.OpenTurn, b session.Begin) error {
	for _, t := range open {
		if expired(t, b.At) {
			return busy(t, b.At)
		}
	}
	if len(open) > 0 && !b.Wait {
		return busy(open[0], b.At)
	}
	return nil
}

// Begin implements [session.Turns].
func (s *Store) Begin(ctx context.Context, key session.Key, b session.Begin) (m session.Message, err error) {
	err = s.writing(ctx, "begin turn", func(tx sqldb.Querier) error {
		in, err := byKey(ctx, tx, key)
		if err != nil {
			return err
		}
		open, err := openTurns(ctx, tx, key)
		if err == nil {
			err = mayBegin(open, b)
		}
		if err != nil {
			return err
		}
		status := session.Running
		if len(open) > 0 {
			status = session.Queued
		}
		if err := appendTurn(ctx, tx, key, in.Head, b, status); err != nil {
			return err
		}
		if in.TitleBy == "" && b.Title != "" {
			in.Title, in.TitleBy = b.Title, titleByRules
			if err := putTitle(ctx, tx, key, b.Title); err != nil {
				return err
			}
		}
		if _, err := tx.Do(ctx, "UPDATE sessions SET head = ?, turns = turns + 1, used_at = ?, title = ?, title_by = ? WHERE key = ?",
			b.Run.AnswerID(), sqldb.Micros(b.At), in.Title, in.TitleBy, key); err != nil {
			return err
		}
		found, err := answer(ctx, tx, b.Run)
		m = found.Message
		return err
	})
	return m, err
}

// appendTurn appends the answer of a turn and, if it is new, its question.
func appendTurn(ctx context.Context, tx sqldb.Querier, key session.Key, head string, b session.Begin, status session.Status) error {
	first, end := bounds(key)
	last, err := sqldb.One(ctx, tx, sqldb.Integer, "SELECT coalesce(max(seq), ?1) FROM messages WHERE seq BETWEEN ?1 AND ?2", first, end)
	if err != nil {
		return err
	}
	if last+2 > end {
		return fmt.Errorf("the session has %d messages and takes no more", last-first)
	}
	question := place{seq: last + 1}
	if b.New {
		parent := place{seq: first, depth: -1, role: event.RoleAssistant}
		if b.Question.Parent == session.AtHead {
			b.Question.Parent = head
		}
		if b.Question.Parent != "" {
			if parent, err = findRole(ctx, tx, key, b.Question.Parent, event.RoleAssistant); err != nil {
				return err
			}
		}
		if err := mayFollow(ctx, tx, parent); err != nil {
			return err
		}
		question.depth = parent.depth + 1
		if _, err := tx.Do(ctx, "INSERT INTO messages (seq, id, parent, depth, role, status, at, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			question.seq, b.Question.ID, parent.seq, question.depth, event.RoleUser, session.Completed, sqldb.Micros(b.At), b.Question.Text); err != nil {
			return err
		}
		if err := putWords(ctx, tx, question.seq, b.Question.Text); err != nil {
			return err
		}
	} else {
		if question, err = findRole(ctx, tx, key, b.Question.ID, event.RoleUser); err == nil {
			err = mayFollow(ctx, tx, question)
		}
		if err != nil {
			return err
		}
	}
	b.Asked.History, b.Asked.Summary, b.Asked.Request = nil, "", nil
	asked, err := json.Marshal(b.Asked)
	if err != nil {
		return err
	}
	_, err = tx.Do(ctx, "INSERT INTO messages (seq, id, parent, depth, role, status, at, owner, until, protocol, asked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		max(last, question.seq)+1, b.Run.AnswerID(), question.seq, question.depth+1, event.RoleAssistant, status,
		sqldb.Micros(b.At), b.Server, sqldb.Micros(b.Until), b.Protocol, string(asked))
	return err
}

// mayFollow returns [session.ErrSiblings] if no more messages may follow a message.
func mayFollow(ctx context.Context, tx sqldb.Querier, parent place) error {
	children, err := sqldb.One(ctx, tx, sqldb.Integer, "SELECT count(*) FROM messages WHERE parent = ?", parent.seq)
	if err == nil && children >= session.MaxSiblings {
		err = session.ErrSiblings
	}
	return err
}

// findRole returns the place of a message of a role. Errors: [session.ErrNoMessage].
func findRole(ctx context.Context, q sqldb.Querier, key session.Key, id, role string) (place, error) {
	p, err := find(ctx, q, key, id)
	if err == nil && p.role != role {
		err = session.ErrNoMessage
	}
	return p, err
}

// Start implements [session.Turns].
func (s *Store) Start(ctx context.Context, run event.RunID, now, until time.Time) error {
	var wait *session.BusyError
	err := s.writing(ctx, "start turn", func(tx sqldb.Querier) error {
		m, err := answer(ctx, tx, run)
		if err != nil {
			return err
		}
		if !m.Status.Open() {
			return session.ErrNoMessage
		}
		open, err := openTurns(ctx, tx, keyOf(m.seq))
		if err != nil {
			return err
		}
		if open[0].Run == run {
			m.Status = session.Running
		} else {
			wait = busy(open[0], now)
		}
		_, err = tx.Do(ctx, "UPDATE messages SET status = ?, until = ? WHERE seq = ?", m.Status, sqldb.Micros(until), m.seq)
		return err
	})
	if err == nil && wait != nil {
		return wait
	}
	return err
}

// End implements [session.Turns].
func (s *Store) End(ctx context.Context, e session.End) error {
	if e.Status.Open() {
		return fmt.Errorf("end turn: the status is %s", e.Status)
	}
	var failure, interrupted, citations, tokens string
	for _, field := range []struct {
		into  *string
		value any
		none  bool
	}{{&failure, e.Failure, e.Failure == nil}, {&interrupted, session.Interrupted, false}, {&citations, e.Citations, len(e.Citations) == 0}, {&tokens, e.Tokens, e.Tokens == (event.ModelUsed{})}} {
		if !field.none {
			raw, err := json.Marshal(field.value)
			if err != nil {
				return s.wrap("end turn", err)
			}
			*field.into = string(raw)
		}
	}
	return s.writing(ctx, "end turn", func(tx sqldb.Querier) error {
		ended, err := sqldb.All(ctx, tx, sqldb.Integer, `UPDATE messages AS m SET status = ?, owner = '', until = 0, text = ?, standalone = ?, failure = ?, citations = ?,
			confidence = ?, abstained = ?, tokens = ?, ended_at = ? WHERE m.id = ? AND (m.status IN ('queued', 'running') OR m.status = 'failed' AND m.failure = ?) AND `+visible+" RETURNING seq",
			e.Status, e.Text, e.Standalone, failure, citations, e.Confidence, e.Abstained, tokens, sqldb.Micros(e.EndedAt), e.Run.AnswerID(), interrupted)
		if err != nil {
			return err
		}
		if len(ended) == 0 {
			return session.ErrNoMessage
		}
		if e.Summary != "" {
			first, last := bounds(keyOf(ended[0]))
			if _, err := tx.Do(ctx, "UPDATE messages SET summary = ? WHERE id = ? AND seq BETWEEN ? AND ? AND status <> 'deleted'",
				e.Summary, e.SummaryOf, first, last); err != nil {
				return err
			}
		}
		return putWords(ctx, tx, ended[0], e.Text)
	})
}
