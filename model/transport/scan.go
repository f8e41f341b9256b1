package transport

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// Scanner is a position in JSON text. It reads the usual events of a stream in one pass without building values. Each method
// skips one element, or returns false if another one is there. The caller must then decode the text with a JSON library.
type Scanner struct {
	Data []byte
	at   int
}

// End reports whether the text is read completely.
func (s *Scanner) End() bool { return s.at == len(s.Data) }

// Spaces skips spaces, if there are any.
func (s *Scanner) Spaces() {
	for s.at < len(s.Data) && s.Data[s.at] == ' ' {
		s.at++
	}
}

// Int skips an integer of up to nine digits without a sign and returns it.
func (s *Scanner) Int() (n int, ok bool) {
	from := s.at
	for ; s.at < len(s.Data) && s.Data[s.at] >= '0' && s.Data[s.at] <= '9'; s.at++ {
		if s.at-from == 9 {
			return 0, false
		}
		n = 10*n + int(s.Data[s.at]-'0')
	}
	return n, s.at > from && (s.Data[from] != '0' || s.at == from+1)
}

// Plain skips a string, an integer or a literal.
func (s *Scanner) Plain() bool {
	from := s.at
	for s.at < len(s.Data) && s.Data[s.at] >= '0' && s.Data[s.at] <= '9' {
		s.at++
	}
	if s.at > from {
		return s.Data[from] != '0' || s.at == from+1
	}
	if s.Word("null") || s.Word("false") || s.Word("true") {
		return true
	}
	_, _, ok := s.Quoted()
	return ok
}

// Quoted skips a valid string and returns it with its quotes, undecoded. Escapes reports whether it has escapes.
func (s *Scanner) Quoted() (raw []byte, escapes, ok bool) {
	if !s.Char('"') {
		return nil, false, false
	}
	for i := s.at; i < len(s.Data); i++ {
		switch b := s.Data[i]; {
		case b > '\\' || b > '"' && b < '\\': // the usual case
		case b == '"':
			raw = s.Data[s.at-1 : i+1]
			s.at = i + 1
			return raw, escapes, !escapes || gjson.ValidBytes(raw)
		case b == '\\':
			escapes = true
			i++
		case b < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// Char skips a byte.
func (s *Scanner) Char(b byte) bool {
	if s.at < len(s.Data) && s.Data[s.at] == b {
		s.at++
		return true
	}
	return false
}

// Word skips the bytes of w.
func (s *Scanner) Word(w string) bool {
	if bytes.HasPrefix(s.Data[s.at:], []byte(w)) {
		s.at += len(w)
		return true
	}
	return false
}
