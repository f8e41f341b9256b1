package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter separates reasoning from the answer if a server sends both in one text: reasoning between <think> and </think>
// at the beginning, split anywhere.
type thinkSplitter struct {
	state int // 0: only space so far; 1: reasoning; 2: only space after the reasoning; 3: text
	held  string
}

// push returns the reasoning and text that are decided so far.
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
			case strings.HasPrefix(thinkOpen, trimmed) && len(s) < 64: // bounds the buffered space
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

// flush returns the buffered rest.
func (t *thinkSplitter) flush() (thought, said string) {
	held := t.held
	t.held = ""
	if t.state == 1 {
		return held, ""
	}
	return "", held
}

// overlap returns how many bytes at the end of s may be the beginning of tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
