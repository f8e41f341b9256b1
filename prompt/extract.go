package prompt

import (
	"encoding/json"
	"strings"
)

const (
	maxReply   = 64 << 10 // bytes of an answer that are read
	maxThought = 1 << 20  // bytes of reasoning that are passed over
	maxDepth   = 32       // of JSON
	maxStarts  = 64       // braces at which an object is looked for
)

// extract gives the JSON object of a model's answer: the whole of it, what stands in the first fenced code that holds one,
// or the first balanced object. Reasoning between marks of its own before the answer is passed over.
func extract(s string) (json.RawMessage, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	if rest, ok := strings.CutPrefix(s, "<think>"); ok {
		if _, after, ok := strings.Cut(rest, "</think>"); ok {
			s = strings.TrimSpace(after)
		}
	}
	if o := object(s); len(o) == len(s) && len(s) > 0 {
		return json.RawMessage(o), true
	}
	for rest := s; ; {
		_, code, ok := strings.Cut(rest, "```")
		if !ok {
			break
		}
		code, rest, _ = strings.Cut(code, "```")
		if o, ok := first(code); ok {
			return o, true
		}
	}
	return first(s)
}

// first gives the first balanced object of s.
func first(s string) (json.RawMessage, bool) {
	for range maxStarts {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return nil, false
		}
		if o := object(s[i:]); o != "" {
			return json.RawMessage(o), true
		}
		s = s[i+1:]
	}
	return nil, false
}

// object gives the JSON object that s begins with; empty where it begins with none, or with one that is nested too deep.
func object(s string) string {
	if !strings.HasPrefix(s, "{") {
		return ""
	}
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return ""
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				if json.Valid([]byte(s[:i+1])) {
					return s[:i+1]
				}
				return ""
			}
		}
	}
	return ""
}
