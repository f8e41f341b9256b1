package chat

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/turns"
)

// Numbers of messages and sessions that are shown.
const (
	shownMessages = 6
	shownSessions = 20
)

// newID returns the id of a new session. The server creates the session with the first question.
func newID() string { return "chat_" + strings.ToLower(rand.Text()) }

// stored returns the id of the session, or an error if there is none on the server.
func (s *conversation) stored() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.session == "":
		return "", errors.New("this conversation is not stored, because of --no-session")
	case !s.begun:
		return "", errors.New("the session is empty")
	}
	return s.session, nil
}

// useSession makes a session the current one.
func (s *conversation) useSession(id string, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.begun, s.previous, s.newest = id, begun, "", turn{}
}

// resume shows the last turns of a session and makes it the current one. If the session does not exist, this is an error if must is set; otherwise
// the session is new.
func (s *conversation) resume(ctx context.Context, id string, must bool) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := s.c.Session(ctx, id)
	if fault.CodeOf(err) == fault.NotFound && !must {
		s.useSession(id, false)
		s.ui.print("new session " + display.Line(id))
		return s.recordReply(nil)
	}
	if s.recordReply(err) != nil {
		return err
	}
	l, err := s.c.Messages(ctx, id, client.MessageFilter{Limit: shownMessages})
	if s.recordReply(err) != nil {
		return err
	}
	s.useSession(id, true)
	lines := []string{"session " + display.Line(cmp.Or(found.Title, id)) + ", " + count(found.Turns, "turn")}
	question := ""
	for _, m := range l.Messages {
		text := strings.TrimSpace(display.Clean(marked(m.Content, m.Citations)))
		if m.Role == event.RoleUser {
			question = m.Content
			lines = append(lines, "", "› "+strings.ReplaceAll(text, "\n", "\n  "))
			continue
		}
		lines = append(lines, cmp.Or(text, "(no answer: "+display.Line(m.Status)+")"))
		s.add(turn{question, snapshotOf(m)})
	}
	s.ui.print(strings.Join(lines, "\n"))
	return nil
}

// snapshotOf returns the fields of a message that the commands about the last answer use.
func snapshotOf(m client.Message) client.Snapshot {
	a := client.Snapshot{Run: m.RunID, Text: m.Content, Status: client.Completed}
	for _, c := range m.Citations {
		if !slices.ContainsFunc(a.Citations, func(has client.Citation) bool { return has.N == c.Index }) {
			a.Citations = append(a.Citations, client.Citation{N: c.Index, Title: c.Title, Pages: c.PageNumbers, Snippet: c.Snippet})
		}
	}
	slices.SortFunc(a.Citations, func(x, y client.Citation) int { return cmp.Compare(x.N, y.N) })
	return a
}

// marked returns an answer with the numbers of its sources after the parts that they support.
func marked(text string, citations []turns.Citation) string {
	var b strings.Builder
	left := slices.SortedStableFunc(slices.Values(citations), func(x, y turns.Citation) int { return cmp.Compare(x.End, y.End) })
	mark := func(at int) {
		for ; len(left) > 0 && left[0].End <= at; left = left[1:] {
			fmt.Fprintf(&b, " [%d]", left[0].Index)
		}
	}
	n := 0
	for _, r := range text {
		mark(n)
		b.WriteRune(r)
		n++
	}
	mark(n)
	return b.String()
}

func listSessions(ctx context.Context, s *conversation, _ string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	l, err := s.c.Sessions(ctx, client.SessionFilter{}, shownSessions, "")
	if s.recordReply(err) != nil {
		return err
	}
	s.mu.Lock()
	now := s.session
	s.sessions = nil
	for _, of := range l.Sessions {
		s.sessions = append(s.sessions, of.ID)
	}
	s.mu.Unlock()
	if len(l.Sessions) == 0 {
		s.ui.print("there are no sessions")
		return nil
	}
	rows := [][]string{{"", "TITLE", "TURNS", "USED", "ID"}}
	for _, of := range l.Sessions {
		mark := ""
		if of.ID == now {
			mark = "›"
		}
		rows = append(rows, []string{mark, of.Title, fmt.Sprint(of.Turns), of.UsedAt.Local().Format(time.DateTime), of.ID})
	}
	text := table(rows)
	if l.Next != "" {
		text += "\nand more"
	}
	s.ui.print(text)
	return nil
}

func switchSession(ctx context.Context, s *conversation, args string) error {
	if args == "" {
		return errors.New("missing id: /session ID; /sessions lists them")
	}
	return s.resume(ctx, args, true)
}

func startSession(_ context.Context, s *conversation, args string) error {
	if args != "" {
		return errors.New("/new starts a new session; /create NAME creates a collection")
	}
	s.mu.Lock()
	id := ""
	if s.session != "" {
		id = newID()
	}
	s.mu.Unlock()
	s.useSession(id, false)
	s.ui.print("started a new session")
	return nil
}

func rename(ctx context.Context, s *conversation, args string) error {
	id, err := s.stored()
	if err != nil {
		return err
	}
	if args == "" {
		return errors.New("missing title: /title TEXT")
	}
	changed, err := s.c.UpdateSession(ctx, id, client.SessionChange{Title: &args})
	if s.recordReply(err) != nil {
		return err
	}
	s.ui.print("title: " + display.Line(changed.Title))
	return nil
}

// rate returns the command that rates the last answer.
func rate(rating string) func(ctx context.Context, s *conversation, reason string) error {
	return func(ctx context.Context, s *conversation, reason string) error {
		id, err := s.stored()
		if err != nil {
			return err
		}
		t, ok := s.last()
		if !ok || t.answer.Run == "" {
			return errors.New("no answer yet")
		}
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		_, err = s.c.Rate(ctx, id, event.RunID(t.answer.Run).AnswerID(), rating, reason)
		if s.recordReply(err) != nil {
			return err
		}
		s.ui.print("rated as " + rating)
		return nil
	}
}

// plain has the characters that need no quotes in a shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/"

// farewell returns the line with the command that continues the session. It is empty if there is nothing to continue.
func (s *conversation) farewell() string {
	id, err := s.stored()
	if err != nil {
		return ""
	}
	line := "Continue with: sluice chat"
	for _, word := range slices.Concat(s.flags, []string{"--session", id}) {
		if word = display.Line(word); strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" // for a shell
		}
		line += " " + word
	}
	return line + "\n"
}
