package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// MaxEvent is the default limit on the size of one event, in bytes.
const MaxEvent = 16 << 20

// ErrTooLong is returned for an event that is larger than the limit of the reader.
var ErrTooLong = errors.New("server-sent event is over the size limit")

// Event is a server-sent event. ID is the last event id that the stream has set, in this event or an earlier one.
type Event struct {
	ID   string
	Name string // "message" if the stream gave none
	Data string
}

// Reader reads a stream of server-sent events.
type Reader struct {
	r      *bufio.Reader
	max    int
	id     string
	begun  bool
	skipLF bool // the last line ended with CR; an LF that follows belongs to it
	line   []byte
}

// NewReader returns a reader of the events in r. An event of more than maxEvent bytes is an error; 0 means [MaxEvent].
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = MaxEvent
	}
	return &Reader{r: bufio.NewReader(r), max: maxEvent}
}

// Next returns the next event that has data. Comments and other fields, such as the reconnection time, are skipped. The error is io.EOF at the end of the
// stream; an incomplete last event is dropped, as the standard requires.
func (r *Reader) Next() (Event, error) {
	var name string
	var data []byte
	hasData, size := false, 0
	for {
		line, err := r.readLine(r.max - size)
		if err != nil {
			return Event{}, err
		}
		size += len(line) + 1
		if len(line) == 0 {
			if !hasData {
				name, size = "", 0
				continue
			}
			ev := Event{ID: r.id, Name: name, Data: toValid(data)}
			if ev.Name == "" {
				ev.Name = "message"
			}
			return ev, nil
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = toValid(value)
		case "data":
			if hasData {
				data = append(data, '\n')
			}
			data, hasData = append(data, value...), true
		case "id":
			if !bytes.ContainsRune(value, 0) {
				r.id = toValid(value)
			}
		}
	}
}

// All returns an iterator over the events. If reading fails, the error is the last value.
func (r *Reader) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

func toValid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\ufffd")))
}

// readLine returns the next line without its line end, which is CR, LF or CRLF. The line is valid until the next call. An
// incomplete last line is dropped. readLine does not wait for the byte after a CR.
func (r *Reader) readLine(limit int) ([]byte, error) {
	r.line = r.line[:0]
	if !r.begun {
		r.begun = true
		if bom, _ := r.r.Peek(1); len(bom) == 1 && bom[0] == 0xEF {
			if bom, _ = r.r.Peek(3); string(bom) == "\ufeff" {
				_, _ = r.r.Discard(3)
			}
		}
	}
	for {
		if _, err := r.r.Peek(1); err != nil {
			return nil, r.ended(err)
		}
		buf, _ := r.r.Peek(r.r.Buffered())
		if r.skipLF {
			r.skipLF = false
			if buf[0] == '\n' {
				_, _ = r.r.Discard(1)
				continue
			}
		}
		i := bytes.IndexAny(buf, "\r\n")
		n := i
		if i < 0 {
			n = len(buf)
		}
		if len(r.line)+n > limit {
			return nil, ErrTooLong
		}
		r.line = append(r.line, buf[:n]...)
		if i < 0 {
			_, _ = r.r.Discard(n)
			continue
		}
		r.skipLF = buf[i] == '\r'
		_, _ = r.r.Discard(n + 1)
		return r.line, nil
	}
}

func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("read event stream: %w", err)
}
