package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// command is what a line that begins with a slash does.
type command struct {
	name, args, help string
	// turn makes it wait for the answers and commands before it, as questions do; others are done at once.
	turn bool
	// complete says what its arguments are.
	complete kind
	run      func(ctx context.Context, s *session, args string) error
}

// kind is what an argument names.
type kind int

const (
	nothing kind = iota
	paths
	collections
	efforts
	filesKnown
)

// errLeave is what /quit gives.
var errLeave = errors.New("leave")

// commands gives all of them.
func commands() []command {
	return []command{
		{"upload", "PATH… | URL", "upload files, wait until they are read, and put them in the collection in use", true, paths, upload},
		{"collections", "", "list the collections, which are vector stores", false, nothing, listCollections},
		{"use", "NAME[,NAME]", "ask these collections from now on", true, collections, use},
		{"new", "NAME", "make a collection and use it", true, nothing, makeCollection},
		{"files", "[NAME]", "list the files of the collections in use", false, filesKnown, listFiles},
		{"sources", "[N]", "show the sources of the last answer, or the whole passage of one", false, nothing, sources},
		{"mode", "low|medium|high|dev", "how much is done to find an answer", false, efforts, mode},
		{"model", "[NAME]", "the model that answers; without a name, those that are known", false, nothing, useModel},
		{"save", "FILE", "write the conversation with its sources as Markdown", true, paths, save},
		{"clear", "", "begin a new conversation", true, nothing, clearTurns},
		{"help", "", "show this", false, nothing, help},
		{"quit", "", "leave; so does ctrl-D", false, nothing, func(context.Context, *session, string) error { return errLeave }},
	}
}

// find gives the command of a line, and its arguments. The error says which one may be meant.
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
	said := fmt.Sprintf("there is no /%s", shorten(name, 40))
	if near := lang.Nearest(name, names, max(len(name)/2, 1)); near != "" {
		return c, "", fmt.Errorf("%s; did you mean /%s?", said, near)
	}
	return c, "", fmt.Errorf("%s; /help lists what there is", said)
}

// isCommand tells a command from a question. A path that begins with a slash is a question, as is anything with a slash in its first word.
func isCommand(line string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return false
	}
	word, _, _ := strings.Cut(rest, " ")
	return !strings.Contains(word, "/")
}

// shorten puts a text on one line of at most so many characters.
func shorten(s string, n int) string {
	r := []rune(display.Line(s))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// lookTime bounds a command that only looks.
const lookTime = 30 * time.Second

func help(_ context.Context, s *session, _ string) error {
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
	s.face.print(b.String())
	return nil
}

func clearTurns(_ context.Context, s *session, _ string) error {
	s.clear()
	s.face.print("a new conversation begins")
	return nil
}

func mode(_ context.Context, s *session, args string) error {
	known := []string{knowledge.EffortLow, knowledge.EffortMedium, knowledge.EffortHigh, knowledge.EffortDev}
	means := map[string]string{"low": "one search", "medium": "tools are chosen, for two rounds at most",
		"high": "tools are chosen until enough is found", "dev": "as low, and each step shows how it went"}
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
		s.face.print(strings.TrimRight(b.String(), "\n"))
		return nil
	}
	if !slices.Contains(known, args) {
		if near := lang.Nearest(args, known, max(len(args)/2, 1)); near != "" {
			return fmt.Errorf("there is no mode %s; did you mean %s?", shorten(args, 40), near)
		}
		return errors.New("the modes are low, medium, high and dev")
	}
	s.mu.Lock()
	s.effort = args
	s.mu.Unlock()
	s.face.print("mode " + args + ": " + means[args])
	return nil
}

// useModel sets the model, or lists those that the server has.
func useModel(ctx context.Context, s *session, args string) error {
	if args != "" {
		if len(args) > knowledge.MaxNameLength || strings.ContainsAny(args, "\n") {
			return fmt.Errorf("a model's name has at most %d bytes", knowledge.MaxNameLength)
		}
		s.mu.Lock()
		s.model = args
		s.mu.Unlock()
		s.face.print("model " + args + ", if the server has it; else its first")
		return nil
	}
	var lines []string
	now := s.settings().model
	if now != "" {
		lines = append(lines, "asked for: "+now)
	}
	if t, ok := s.last(); ok {
		switch {
		case t.answer.Cached:
			lines = append(lines, "the last answer came from the cache")
		case t.answer.Model != "":
			lines = append(lines, "the last answer was written by: "+t.answer.Model)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	names, err := s.c.Models(ctx)
	if s.heard(err) != nil {
		return err
	}
	if len(names) > 0 {
		lines = append(lines, "the server has, and asks in this order: "+strings.Join(names, ", "))
	}
	if len(lines) == 0 {
		lines = []string{"the server's first model answers; /model NAME asks for another"}
	}
	s.face.print(strings.Join(lines, "\n"))
	return nil
}
