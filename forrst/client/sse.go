package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// serverEvent is one server-sent event.
type serverEvent struct {
	name, id string
	data     []byte
	hasData  bool
}

// splitEvents yields the blocks of an event stream: the text between blank lines. Lines end as the HTML
// standard says: with CR, LF or both. An unfinished block at the end is dropped, as the standard demands.
func splitEvents(r io.Reader, limit int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, min(limit, 4096)), int(limit))
		s.Split((&eventSplitter{}).split)
		for s.Scan() {
			if !yield(s.Bytes(), nil) {
				return
			}
		}
		err := s.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = ErrTooLarge
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// eventSplitter finds blank lines. It remembers how far it has looked, so that a large event is looked at once.
type eventSplitter struct{ looked int }

func (e *eventSplitter) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	start := 0 // blank lines before a block are skipped
	for start < len(data) && (data[start] == '\n' || data[start] == '\r') {
		start++
	}
	for i := max(start, e.looked); i < len(data); i++ {
		n := lineEnd(data[i:])
		if n < 0 {
			break
		}
		i += n
		end := i // of the line
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			i++
		}
		if i+1 < len(data) && (data[i+1] == '\n' || data[i+1] == '\r') {
			e.looked = 0
			return i + 2, data[start:end], nil // a LF that follows a CR is skipped as a blank line
		}
	}
	if atEOF {
		return len(data), nil, nil
	}
	if start == len(data) {
		return start, nil, nil
	}
	e.looked = max(0, len(data)-2-start) // the last line end may be cut
	return start, nil, nil
}

// lineEnd returns the index of the first CR or LF, or -1. It is faster than bytes.IndexAny.
func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if r := bytes.IndexByte(b, '\r'); r >= 0 {
		return r
	}
	return n
}

// byteOrderMark may be at the beginning of an event stream.
var byteOrderMark = []byte("\xef\xbb\xbf")

// parseEvent parses the block of one event. Its data is a part of the block if it has one line.
func parseEvent(block []byte) (e serverEvent) {
	block = bytes.TrimPrefix(block, byteOrderMark)
	for len(block) > 0 {
		line, rest := block, []byte(nil)
		if i := lineEnd(block); i >= 0 {
			line, rest = block[:i], block[i+1:]
		}
		block = rest
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "data":
			if !e.hasData {
				e.data, e.hasData = value, true
			} else {
				e.data = append(append(e.data[:len(e.data):len(e.data)], '\n'), value...)
			}
		}
	}
	return e
}
