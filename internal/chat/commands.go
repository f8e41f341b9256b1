package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// command is a command of the prompt, which begins with a slash.
type command struct {
	name, args, help string
	// turn makes the command wait for earlier questions and commands. Others run at once.
	turn bool
	// complete is the kind of its arguments.
	complete kind
	run      func(ctx context.Context, s *conversation, args string) error
}

// kind is the kind of an argument.
type kind int

const (
	nothing kind = iota
	paths
	collections
	efforts
	filesKnown
	sessionsKnown
)

// errLeave ends the chat.
var errLeave = errors.New("leave")

// commands returns all commands.
func commands() []command {
	return []command{
		{"upload", "PATH… | URL", "upload files to the current collection and wait until they are indexed", true, paths, upload},
		{"collections", "", "list the collections, which are vector stores", false, nothing, listCollections},
		{"use", "NAME[,NAME]", "select the collections to ask", true, collections, use},
		{"create", "NAME", "create a collection and select it", true, nothing, makeCollection},
		{"files", "[NAME]", "list the files of the selected collections", false, filesKnown, listFiles},
		{"sources", "[N]", "show the sources of the last answer, or one whole passage", false, nothing, sources},
		{"mode", "low|medium|high|dev", "select the effort of an answer", false, efforts, mode},
		{"model", "[NAME]", "select the model, or list the models", false, nothing, useModel},
		{"good", "[REASON]", "rate the last answer as good", true, nothing, rate(client.Good)},
		{"bad", "[REASON]", "rate the last answer as bad", true, nothing, rate(client.Bad)},
		{"sessions", "", "list the newest sessions, which are stored conversations", false, nothing, listSessions},
		{"session", "ID", "continue another session", true, sessionsKnown, switchSession},
		{"new", "", "start a new session", true, nothing, startSession},
		{"title", "TEXT", "set the title of the session", true, nothing, rename},
		{"export", "FILE", "write the session with its sources as Markdown", true, paths, export},
		{"help", "", "show this", false, nothing, help},
		{"quit", "", "leave, like ctrl-D", false, nothing, func(context.Context, *conversation, string) error { return errLeave }},
	}
}

// find returns the command of a line and its arguments. The error suggests a similar command.
func find(line string) (c command, args string, err error) {
	name, args, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "/"), " ")
	if n, more, ok := strings.Cut(name, "\n"); ok {
		name, args = n, more+" "+args
	}
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c, strings.TrimSpace(args), nil
		}
		names = append(names, c.name)
	}
	unknown := fmt.Sprintf("unknown command /%s", display.Shorten(name, 40))
	if near := lang.Nearest(name, names, max(len(name)/2, 1)); near != "" {
		return c, "", fmt.Errorf("%s; did you mean /%s?", unknown, near)
	}
	return c, "", fmt.Errorf("%s; /help lists the commands", unknown)
}

// isCommand reports whether a line is a command. A line with another slash in its first word is a question, such as a path.
func isCommand(line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return false
	}
	word, _, _ := strings.Cut(rest, " ")
	return !strings.Contains(word, "/")
}

// readTimeout is the timeout of a command that only reads.
const readTimeout = 30 * time.Second

func help(_ context.Context, s *conversation, _ string) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(w, "/%s %s\t%s\n", c.name, c.args, c.help)
	}
	_ = w.Flush()
	b.WriteString(`
Anything else is a question; it may follow what was said before.
enter asks · alt-enter or ctrl-J begins a line · up and down go through what was typed · tab completes
page up and page down scroll the answer that is being written · ctrl-C stops it · ctrl-D leaves`)
	s.ui.print(b.String())
	return nil
}

func mode(_ context.Context, s *conversation, args string) error {
	known := []string{knowledge.EffortLow, knowledge.EffortMedium, knowledge.EffortHigh, knowledge.EffortDev}
	means := map[string]string{"low": "one search", "medium": "up to two iterations of the agent",
		"high": "tools are chosen until the evidence suffices", "dev": "like low, with a trace of each step"}
	if args == "" {
		now := s.settings().effort
		var b strings.Builder
		for _, k := range known {
			mark := " "
			if k == now {
				mark = "›"
			}
			fmt.Fprintf(&b, "%s %-7s %s\n", mark, k, means[k])
		}
		s.ui.print(strings.TrimRight(b.String(), "\n"))
		return nil
	}
	if !slices.Contains(known, args) {
		if near := lang.Nearest(args, known, max(len(args)/2, 1)); near != "" {
			return fmt.Errorf("unknown mode %s; did you mean %s?", display.Shorten(args, 40), near)
		}
		return errors.New("the modes are low, medium, high and dev")
	}
	s.mu.Lock()
	s.effort = args
	s.mu.Unlock()
	s.ui.print("mode " + args + ": " + means[args])
	return nil
}

// useModel selects a model, or lists the models of the server.
func useModel(ctx context.Context, s *conversation, args string) error {
	if args != "" {
		if len(args) > knowledge.MaxNameLength || strings.ContainsAny(args, "\n") {
			return fmt.Errorf("a model's name has at most %d bytes", knowledge.MaxNameLength)
		}
		s.mu.Lock()
		s.model = args
		s.mu.Unlock()
		s.ui.print("model " + args + " is selected; if the server does not have it, its first model is used")
		return nil
	}
	var lines []string
	now := s.settings().model
	if now != "" {
		lines = append(lines, "selected: "+now)
	}
	if t, ok := s.last(); ok {
		switch {
		case t.answer.Cached:
			lines = append(lines, "the last answer came from the cache")
		case t.answer.Model != "":
			lines = append(lines, "model of the last answer: "+t.answer.Model)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	names, err := s.c.Models(ctx)
	if s.recordReply(err) != nil {
		return err
	}
	if len(names) > 0 {
		lines = append(lines, "models of the server, in the order of use: "+strings.Join(names, ", "))
	}
	if len(lines) == 0 {
		lines = []string{"the first model of the server is used; /model NAME selects another"}
	}
	s.ui.print(strings.Join(lines, "\n"))
	return nil
}
