package bench

import (
	"bytes"
	"strconv"
	"time"
)

// timeMark precedes the time of append, in 19 digits of Unix nanoseconds, in the text of a token. A colon and the number of the token in its run may
// follow.
const timeMark = '@'

// timeDigits is the length of a time.
const timeDigits = 19

// mark is the time, and perhaps the number, of one token.
type mark struct {
	at int64 // Unix nanoseconds
	n  int64 // number of the token, from 1; 0: unknown
}

// appendMark appends a space and a mark with the current time.
func appendMark(b []byte, n int64) []byte {
	b = strconv.AppendInt(append(b, ' ', timeMark), time.Now().UnixNano(), 10)
	return strconv.AppendInt(append(b, ':'), n, 10)
}

// nextMark finds the first mark in data and returns the bytes after it. If ok is false, there is no complete mark, and rest is the beginning of one or empty. A
// mark is complete only with a byte after it.
func nextMark(data []byte) (m mark, rest []byte, ok bool) {
	for {
		i := bytes.IndexByte(data, timeMark)
		if i < 0 {
			return m, nil, false
		}
		data = data[i:]
		if len(data) < timeDigits+2 {
			return m, data, false
		}
		at, end := number(data[1 : 1+timeDigits])
		if end != timeDigits {
			data = data[1:]
			continue
		}
		m = mark{at: at}
		rest = data[1+timeDigits:]
		if rest[0] != ':' {
			return m, rest, true
		}
		n, end := number(rest[1:min(len(rest), maxMark-timeDigits)])
		if 1+end == len(rest) {
			return m, data, false
		}
		m.n = n
		return m, rest[1+end:], true
	}
}

// maxMark is more than the length of a mark.
const maxMark = 1 + timeDigits + 1 + timeDigits

// number returns the number of the digits at the beginning of b, of which there are at most 19, and where they end.
func number(b []byte) (n int64, end int) {
	for end < len(b) && end < timeDigits && b[end] >= '0' && b[end] <= '9' {
		n = n*10 + int64(b[end]-'0')
		end++
	}
	return n, end
}

// scanner finds the marks of a stream that arrives in pieces.
type scanner struct {
	rest [maxMark]byte // incomplete mark
	n    int           // its length
}

// scan calls each for the marks of the next piece of a stream.
func (s *scanner) scan(data []byte, each func(mark)) {
	if s.n > 0 {
		data = append(append(make([]byte, 0, s.n+len(data)), s.rest[:s.n]...), data...)
	}
	for {
		m, rest, ok := nextMark(data)
		if !ok {
			s.n = copy(s.rest[:], rest)
			return
		}
		each(m)
		data = rest
	}
}
