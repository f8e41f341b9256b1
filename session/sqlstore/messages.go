package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/sqldb"
)

// messageColumns returns what [scanStored] reads of the message m.
func messageColumns(q sqldb.Querier) string {
	return columns + q.Dialect().Pick("json_group_array(id)", "json_agg(id)::text") +
		" ELSE '' END FROM (SELECT id FROM messages WHERE parent = m.parent AND role = m.role ORDER BY seq) AS siblings)"
}

const columns = `m.seq, m.parent, m.id, coalesce((SELECT id FROM messages WHERE seq = m.parent), ''), m.depth, m.role, m.status, m.at, m.protocol,
	m.confidence, m.abstained, m.ended_at, m.good, m.rated_at, m.reason, m.failure, m.tokens, m.asked, m.standalone, m.text, m.summary, m.citations,
	(SELECT CASE WHEN count(*) > 1 THEN `

// stored is a message with its sequence number and that of its parent.
type stored struct {
	session.Message
	seq, parent int64
}

func scanStored(scan func(...any) error) (stored, error) {
	var m stored
	var at, ended, ratedAt int64
	var good sql.NullBool
	var reason, failure, tokens, asked, citations, siblings string
	if err := scan(&m.seq, &m.parent, &m.ID, &m.Parent, &m.Depth, &m.Role, &m.Status, &at, &m.Protocol,
		&m.Confidence, &m.Abstained, &ended, &good, &ratedAt, &reason, &failure, &tokens, &asked, &m.Standalone, &m.Text, &m.Summary, &citations,
		&siblings); err != nil {
		return m, err
	}
	m.At, m.EndedAt = sqldb.FromMicros(at), sqldb.FromMicros(ended)
	if m.Role == event.RoleAssistant {
		m.Run = runOf(m.ID)
	}
	if good.Valid {
		m.Feedback = &session.Feedback{Good: good.Bool, Reason: reason, At: sqldb.FromMicros(ratedAt)}
	}
	for _, field := range []struct {
		raw  string
		into any
	}{{failure, &m.Failure}, {tokens, &m.Tokens}, {asked, &m.Asked}, {citations, &m.Citations}, {siblings, &m.Siblings}} {
		if field.raw != "" {
			if err := json.Unmarshal([]byte(field.raw), field.into); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

func scanMessage(scan func(...any) error) (session.Message, error) {
	m, err := scanStored(scan)
	return m.Message, err
}

// runOf returns the run of the id of an answer: see [event.RunID.AnswerID].
func runOf(id string) event.RunID {
	return event.RunID(strings.TrimPrefix(id, event.RunID("").AnswerID()))
}

// place is where a message is in its session.
type place struct {
	seq   int64
	depth int
	role  string
}

// find returns the place of a message of a session. Errors: [session.ErrNoMessage].
func find(ctx context.Context, q sqldb.Querier, key session.Key, id string) (place, error) {
	first, last := bounds(key)
	return one(ctx, q, session.ErrNoMessage, func(scan func(...any) error) (p place, err error) {
		err = scan(&p.seq, &p.depth, &p.role)
		return p, err
	}, "SELECT seq, depth, role FROM messages WHERE id = ? AND seq BETWEEN ? AND ?", id, first, last)
}

// ordered returns the join that reads the left table first. SQLite does so only if it is asked to.
func ordered(q sqldb.Querier) string { return q.Dialect().Pick("CROSS JOIN", "JOIN") }

// visible is the condition that the session of the message m is not hidden.
const visible = "EXISTS (SELECT 1 FROM sessions WHERE key = m.seq >> 24 AND hidden = 0)"

// Branch implements [session.Messages].
func (s *Store) Branch(ctx context.Context, key session.Key, last string, limit int) ([]session.Message, error) {
	first, end := bounds(key)
	messages, err := sqldb.All(ctx, s.read, scanMessage, `WITH RECURSIVE branch (seq, parent, n) AS (
			SELECT m.seq, m.parent, 1 FROM messages m WHERE m.id = ?1 AND m.seq BETWEEN ?2 AND ?3 AND `+visible+`
			UNION ALL SELECT m.seq, m.parent, n + 1 FROM branch `+ordered(s.read)+` messages m ON m.seq = branch.parent WHERE n < ?4)
		SELECT `+messageColumns(s.read)+" FROM branch "+ordered(s.read)+" messages m ON m.seq = branch.seq ORDER BY n", last, first, end, limit)
	if err == nil && len(messages) == 0 {
		err = session.ErrNoMessage
	}
	return messages[:max(0, min(limit, len(messages)))], s.wrap("read branch", err)
}

// All implements [session.Messages].
func (s *Store) All(ctx context.Context, key session.Key, offset, limit int) ([]session.Message, error) {
	first, last := bounds(key)
	messages, err := sqldb.All(ctx, s.read, scanMessage, "SELECT "+messageColumns(s.read)+" FROM messages m WHERE m.seq > ? AND m.seq <= ? AND "+visible+" ORDER BY m.seq LIMIT ?",
		first+int64(min(max(offset, 0), 1<<numberBits)), last, max(limit, 0))
	return messages, s.wrap("list messages", err)
}

// answer returns the answer of a run in a session that is not hidden. Errors: [session.ErrNoMessage].
func answer(ctx context.Context, q sqldb.Querier, run event.RunID) (stored, error) {
	return one(ctx, q, session.ErrNoMessage, scanStored, "SELECT "+messageColumns(q)+" FROM messages m WHERE m.id = ? AND m.role = 'assistant' AND "+visible, run.AnswerID())
}

// ByRun implements [session.Messages].
func (s *Store) ByRun(ctx context.Context, run event.RunID) (in session.Session, m session.Message, err error) {
	err = s.reading(ctx, "read answer of run", func(tx sqldb.Querier) error {
		found, err := answer(ctx, tx, run)
		if err != nil {
			return err
		}
		m = found.Message
		in, err = byKey(ctx, tx, keyOf(found.seq))
		return err
	})
	return in, m, err
}

// Rate implements [session.Messages].
func (s *Store) Rate(ctx context.Context, key session.Key, message string, f *session.Feedback) error {
	first, last := bounds(key)
	var good, reason, at any = nil, "", 0
	if f != nil {
		good, reason, at = f.Good, f.Reason, sqldb.Micros(f.At)
	}
	n, err := s.write.Do(ctx, `UPDATE messages AS m SET good = ?, reason = ?, rated_at = ?
		WHERE m.id = ? AND m.role = 'assistant' AND m.seq BETWEEN ? AND ? AND `+visible, good, reason, at, message, first, last)
	if err == nil && n == 0 {
		err = session.ErrNoMessage
	}
	return s.wrap("rate answer", err)
}

// Rated implements [session.Messages].
func (s *Store) Rated(ctx context.Context, account *string, after event.RunID, limit int) (rated []session.Rated, err error) {
	err = s.reading(ctx, "list rated answers", func(tx sqldb.Querier) error {
		answers, err := sqldb.All(ctx, tx, scanStored, "SELECT "+messageColumns(tx)+` FROM messages m WHERE m.good IS NOT NULL AND m.id > ?1
			AND EXISTS (SELECT 1 FROM sessions WHERE key = m.seq >> 24 AND hidden = 0 AND account = coalesce(?2, account)) ORDER BY m.id LIMIT ?3`,
			after.AnswerID(), account, max(limit, 0))
		if err != nil {
			return err
		}
		for _, a := range answers {
			r := session.Rated{Answer: a.Message}
			if r.Question, err = sqldb.One(ctx, tx, scanMessage, "SELECT "+messageColumns(tx)+" FROM messages m WHERE m.seq = ?", a.parent); err != nil {
				return err
			}
			if r.Session, err = byKey(ctx, tx, keyOf(a.seq)); err != nil {
				return err
			}
			rated = append(rated, r)
		}
		return nil
	})
	return rated, err
}
