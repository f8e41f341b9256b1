package prompt

import (
	"encoding/json"
	"strings"
)

const (
	maxReply   = 64 << 10 // bytes of a reply that are read
	maxThought = 1 << 20  // bytes of reasoning that are skipped
	maxDepth   = 32       // nesting of JSON
	maxStarts  = 64       // opening braces that are tried as the start of an object
)

// extract returns the JSON object of a model's reply: all of it, the first fenced code block that contains one, or the
// first balanced object. Marked reasoning before the reply is skipped.
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

// first returns the first balanced object in s.
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

// object returns the JSON object at the start of s, or "" if s does not start with one or it is nested too deeply.
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
