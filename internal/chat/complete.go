package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// Limits of completion: names read from a folder, and candidates shown.
const (
	maxNames      = 5000
	maxCandidates = 200
)

// complete returns candidates that replace the end of a line from a byte offset on.
func (s *conversation) complete(line string) (from int, candidates []string) {
	if !strings.HasPrefix(line, "/") || strings.ContainsRune(line, '\n') {
		return 0, nil
	}
	name, args, more := strings.Cut(line, " ")
	if !more {
		for _, c := range commands() {
			if strings.HasPrefix("/"+c.name, line) {
				end := ""
				if c.args != "" {
					end = " "
				}
				candidates = append(candidates, "/"+c.name+end)
			}
		}
		return 0, candidates
	}
	c, _, err := find(name)
	if err != nil {
		return 0, nil
	}
	at := len(name) + 1
	s.mu.Lock()
	known, names, sessions := s.known, s.names, s.sessions
	s.mu.Unlock()
	switch c.complete {
	case paths:
		from, candidates = completePath(args)
		return at + from, candidates
	case collections:
		comma := strings.LastIndexByte(args, ',') + 1
		typed := strings.TrimLeft(args[comma:], " ")
		for _, k := range known {
			text := k.name
			if strings.ContainsAny(text, ",\"'\\") || !clean(text) || slices.ContainsFunc(known, func(o collection) bool { return o.name == k.name && o.id != k.id }) {
				text = k.id
			}
			candidates = append(candidates, text)
		}
		return len(line) - len(typed), matching(candidates, typed)
	case efforts:
		return at, matching([]string{knowledge.EffortLow, knowledge.EffortMedium, knowledge.EffortHigh, knowledge.EffortDev}, args)
	case filesKnown:
		return at, matching(slices.Clone(names), args)
	case sessionsKnown:
		return at, matching(slices.Clone(sessions), args)
	}
	return 0, nil
}

// clean reports whether a name can be shown and typed without changes.
func clean(name string) bool {
	return display.Clean(name) == name && !strings.ContainsAny(name, "\n\t")
}

// matching returns the candidates with the typed prefix, or if there are none, those that match without regard to case.
func matching(candidates []string, typed string) (out []string) {
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	for _, begins := range []func(c string) bool{
		func(c string) bool { return strings.HasPrefix(c, typed) },
		func(c string) bool { return len(c) >= len(typed) && strings.EqualFold(c[:len(typed)], typed) },
	} {
		for _, c := range candidates {
			if begins(c) && clean(c) && len(out) < maxCandidates {
				out = append(out, c)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// completePath completes the last word as a path.
func completePath(args string) (from int, candidates []string) {
	all, _ := words(args) // an unclosed quote is part of the word
	typed, from := "", len(args)
	if n := len(all); n > 0 && (all[n-1].open != 0 || !strings.HasSuffix(args, " ") || strings.HasSuffix(args, `\ `)) {
		typed, from = all[n-1].text, all[n-1].start
	}
	if isURL(typed) {
		return 0, nil
	}
	if typed == "~" {
		return from, []string{"~/"}
	}
	folder, base := filepath.Split(typed)
	where := home(folder)
	if where == "" {
		where = "."
	}
	d, err := os.Open(where)
	if err != nil {
		return 0, nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxNames) // names up to the first error
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") || !clean(name) {
			continue
		}
		end := " "
		if info, err := os.Stat(filepath.Join(where, name)); err == nil && info.IsDir() {
			end = "/"
		}
		if names = append(names, name+end); len(names) == maxCandidates {
			break
		}
	}
	slices.Sort(names)
	for _, n := range names {
		text := quoted(folder + strings.TrimSuffix(n, " "))
		if strings.HasSuffix(n, " ") {
			text += " "
		}
		candidates = append(candidates, text)
	}
	return from, candidates
}

// common returns the common prefix of the candidates.
func common(candidates []string) string {
	begin := candidates[0]
	for _, c := range candidates[1:] {
		for !strings.HasPrefix(c, begin) {
			r := []rune(begin)
			begin = string(r[:len(r)-1])
		}
	}
	return begin
}
