package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// splitter divides content into what a model thinks and what it says, where a server leaves both in one text: thinking that
// the text begins with, between <think> and </think>, cut anywhere.
type thinkSplitter struct {
	state int // 0: nothing but space came; 1: it thinks; 2: it has thought and only space came since; 3: it speaks
	held  string
}

// push gives what is decided of the text so far.
func (t *thinkSplitter) push(s string) (thought, said string) {
	for s != "" {
		switch t.state {
		case 3:
			return thought, said + s
		case 0:
			s, t.held = t.held+s, ""
			trimmed := strings.TrimLeft(s, " \t\r\n")
			switch {
			case strings.HasPrefix(trimmed, thinkOpen):
				t.state = 1
				s = trimmed[len(thinkOpen):]
			case strings.HasPrefix(thinkOpen, trimmed) && len(s) < 64: // not to wait for ever for an end of the space
				t.held = s
				return thought, said
			default:
				t.state = 3
			}
		case 1:
			s, t.held = t.held+s, ""
			before, behind, found := strings.Cut(s, thinkClose)
			if !found {
				keep := overlap(s, thinkClose)
				t.held = s[len(s)-keep:]
				return thought + s[:len(s)-keep], said
			}
			thought += before
			t.state, s = 2, behind
		case 2:
			if s = strings.TrimLeft(s, " \t\r\n"); s != "" {
				t.state = 3
			}
		}
	}
	return thought, said
}

// rest gives what was held back at the end.
func (t *thinkSplitter) flush() (thought, said string) {
	held := t.held
	t.held = ""
	if t.state == 1 {
		return held, ""
	}
	return "", held
}

// overlap says how many bytes at the end of s may be the beginning of tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
