package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/session"
	"github.com/sluice-rag/sluice/wire/turns"
)

// turn sends a message to the session talk and returns the parts of the complete stream.
func (c *city) turn(body string) (g turns.Grammar, trailer turns.Trailer) {
	c.Helper()
	w := c.request("default", "POST", "/v1/rag/sessions/talk/messages/stream", body)
	_, err := g.Write(w.Body.Bytes())
	if err == nil {
		err = g.End()
	}
	if err == nil {
		err = json.Unmarshal(g.Trailer, &trailer)
	}
	if w.Code != http.StatusOK || err != nil {
		c.Fatalf("%s: status %d, %v: %s", body, w.Code, err, w.Body)
	}
	return g, trailer
}

// TestTurnsOfSession asks, follows up, edits and regenerates in a session, and lets a question fail.
func TestTurnsOfSession(t *testing.T) {
	t.Parallel()
	c := openTenants(t, t.TempDir(), nil)
	c.upload("default", "f", "# Farland\n\nThe lighthouse of Farland is kept by Ada Brook. The lighthouse of Farland was built in 1871. Its lamp burns rapeseed oil.\n")
	const messages, in = "/v1/rag/sessions/talk/messages", `,"collection":"file:f"}`
	if got := c.reply(http.StatusNotFound, "default", "POST", messages+"/stream", `{"content":"Who?"}`); got["error"] != "not_found" {
		t.Errorf("a session that does not exist: %v", got)
	}
	if _, err := c.Default.Sessions.Create(t.Context(), c.account, "talk", ""); err != nil {
		t.Fatal(err)
	}

	g, first := c.turn(`{"content":"Who keeps the lighthouse of Farland?"` + in)
	if len(g.Lines) < 2 || !strings.Contains(string(g.Text), "Ada Brook") || first.SessionID != "talk" || len(first.Citations) == 0 || first.StandaloneQuestion != "" {
		t.Errorf("%v\n%s\n%s", g.Lines, g.Text, g.Trailer)
	}
	for _, cited := range first.Citations {
		part := string([]rune(string(g.Text))[cited.Start:cited.End])
		if !strings.Contains(part, "Ada Brook") || !strings.Contains(cited.Snippet, "Ada Brook") || cited.DocumentID == "" {
			t.Errorf("citation %+v of %q", cited, part)
		}
	}
	g, second := c.turn(`{"content":"When was it built?"` + in)
	if !strings.Contains(string(g.Text), "1871") || !strings.Contains(second.StandaloneQuestion, "Farland") {
		t.Errorf("%s\n%s", g.Text, g.Trailer)
	}
	g, edited := c.turn(fmt.Sprintf(`{"content":"What does its lamp burn?","edit":%q`, second.RunID.QuestionID()) + in)
	if !strings.Contains(string(g.Text), "oil") {
		t.Errorf("%s\n%s", g.Text, g.Trailer)
	}
	again := c.reply(http.StatusOK, "default", "POST", messages, fmt.Sprintf(`{"regenerate":%q}`, first.MessageID))
	if !strings.Contains(fmt.Sprint(again["content"]), "Ada Brook") || again["message_id"] == first.MessageID {
		t.Errorf("%v", again)
	}
	if got := c.reply(http.StatusNotFound, "default", "POST", messages, `{"content":"Who?","parent":"msg_none"}`); got["field"] != "parent" {
		t.Errorf("an unknown parent: %v", got)
	}

	failed := c.reply(http.StatusInternalServerError, "default", "POST", messages+"/stream", fmt.Sprintf(`{"content":"Who was it?","parent":%q,"collection":"nothing"}`, edited.MessageID))
	if failed["error"] != turns.ChatFailed || failed["message"] == "" || failed["session_id"] != "talk" {
		t.Errorf("%v", failed)
	}
	branch := c.conversation(c.Default, "talk")
	if len(branch) != 6 {
		t.Fatalf("%d messages on the branch: %+v", len(branch), branch)
	}
	if question, answer := branch[4], branch[5]; question.Text != "Who was it?" || answer.Status != session.Failed || answer.ID != failed["message_id"] || branch[3].ID != edited.MessageID {
		t.Errorf("the branch ends with %+v", branch[3:])
	}

	// Each of the streams can be read again at any byte.
	path := "/runs/" + string(second.RunID) + "/stream?protocol=turns"
	whole := c.request("default", "GET", path, "").Body.String()
	for n := 0; n <= len(whole); n += 97 {
		if rest := c.request("default", "GET", fmt.Sprintf("%s&offset=%d", path, n), "").Body.String(); rest != whole[n:] {
			t.Fatalf("after %d bytes: %q", n, rest)
		}
	}
	if event.RunID(fmt.Sprint(failed["run_id"])).AnswerID() != failed["message_id"] {
		t.Errorf("%v", failed)
	}
}
