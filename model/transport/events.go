package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds of a provider's reply in bytes.
const (
	MaxBody   = 64 << 20 // of a whole reply
	MaxAnswer = 4 << 20  // of an answer's text, reasoning and tool calls
	maxEvent  = 1 << 20  // of one event of a stream
)

// Events reads the data of server-sent events. In contrast to package wire/sse it keeps bytes that are not UTF-8, since some
// providers split a code point between two events, and it returns an event that the end of the stream cuts off.
type Events struct {
	*bufio.Reader
	data []byte
	// Ended reports that the last event was cut off.
	Ended bool
}

// NewEvents returns a reader of at most [MaxBody] bytes.
func NewEvents(body io.Reader) *Events {
	return &Events{Reader: bufio.NewReaderSize(io.LimitReader(body, MaxBody), 16<<10)}
}

// Next returns the data of the next event. It is valid until the next call. Old servers of llama.cpp send errors in a field
// "error", which Next returns as {"error": ...}.
func (e *Events) Next() ([]byte, error) {
	e.data = e.data[:0]
	for {
		line, err := e.line()
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && len(e.data) == 0) {
			return nil, err
		}
		if len(line) == 0 && len(e.data) > 0 {
			e.Ended = errors.Is(err, io.EOF)
			return e.data, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(e.data)+len(value) > maxEvent {
				return nil, ErrTooLarge
			}
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		case "error":
			if bytes.HasPrefix(value, []byte("{")) {
				e.data = append(append(append(e.data[:0], `{"error":`...), value...), '}')
			}
		}
	}
}

// line returns a line without its end, valid until the next call. At the end of the stream it returns the rest with [io.EOF].
func (e *Events) line() ([]byte, error) {
	line, err := e.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxEvent {
			line, err = e.ReadSlice('\n')
			long = append(long, line...)
		}
		if line = long; len(line) > maxEvent {
			return nil, ErrTooLarge
		}
	}
	return bytes.TrimRight(line, "\r\n"), err
}
