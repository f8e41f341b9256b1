package crash_test

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
)

// sessionOf returns the session in which the questions of a protocol are asked.
func sessionOf(protocol string) string { return "talk-" + protocol }

// talk asks a question in the turns protocol and reads the stream to its end, across restarts.
func (w *world) talk(ctx context.Context, c *client.Client) {
	session := sessionOf(turns.Name)
	if _, err := c.CreateSession(ctx, client.SessionRequest{ID: session}); err != nil && fault.CodeOf(err) != fault.Conflict {
		w.interrupted(ctx, "create session", err)
		return
	}
	turn := c.SendMessage(ctx, session, turns.Request{Content: "Who is the harbour master of " + w.name() + "?", Mode: event.Direct, NoCache: true, Wait: true})
	w.tried()
	q := &question{in: turns.Name, session: session, state: uploaded}
	var text strings.Builder
	for part, err := range turn.Parts() {
		if err != nil {
			if turn.Run() != "" && ctx.Err() == nil {
				w.lost("run %s in turns ended for its reader without a trailer: %v", turn.Run(), err)
			}
			return // it was not acknowledged
		}
		text.WriteString(part.Text)
		if part.Trailer != nil {
			q.status = client.Completed
			if part.Trailer.Error != nil {
				q.status = client.Failed
			}
		}
		w.step()
	}
	q.run, q.text = turn.Run(), text.String()
	w.mu.Lock()
	w.asked = append(w.asked, q)
	w.mu.Unlock()
}

// readTurn reads a turn again.
func (w *world) readTurn(ctx context.Context, c *client.Client, q *question) {
	text, _, err := c.StreamTurn(ctx, q.run).Wait()
	f, failed := errors.AsType[*fault.Error](err)
	switch {
	case err != nil && !failed, failed && f.Code == fault.NotFound:
		w.lost("run %s was answered and cannot be read: %v", q.run, err)
	case text != q.text || failed != (q.status == client.Failed):
		w.repeated("run %s was %s with %q for its reader and is %q, %v", q.run, q.status, q.text, text, err)
	}
}

var mark = regexp.MustCompile(`⟦⟦\d+⟧⟧|\[\d+\]|\s`)

// verifyAnswer compares the answer in the session with what its reader received.
func (w *world) verifyAnswer(ctx context.Context, c *client.Client, q *question) {
	if q.session == "" {
		return
	}
	page, err := c.Messages(ctx, q.session, client.MessageFilter{Last: event.RunID(q.run).AnswerID(), Limit: 2})
	if err != nil || len(page.Messages) != 2 {
		w.lost("the answer of run %s is not in its session: %v", q.run, err)
		return
	}
	answer := page.Messages[1]
	ended := q.status == client.Completed || q.status == client.Incomplete // sessions have one status for both
	switch {
	case answer.Status == "queued" || answer.Status == "running":
		w.unexplained("the answer of run %s is %s after its end", q.run, answer.Status)
	case q.state == uploaded && (answer.Status == "completed") != ended:
		w.lost("the answer of run %s is %s, for its reader it was %s", q.run, answer.Status, q.status)
	case q.state == uploaded && ended && mark.ReplaceAllString(answer.Content, "") != mark.ReplaceAllString(q.text, ""):
		w.lost("the answer of run %s is %q, for its reader it was %q", q.run, answer.Content, q.text)
	case q.state == deleted && answer.Content != "":
		w.repeated("the answer of run %s was deleted and is in its session", q.run)
	case page.Messages[0].Content == "":
		w.lost("the question of run %s is empty", q.run)
	}
}
