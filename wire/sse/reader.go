package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxEvent is the default bound of one event's lines together, in bytes.
const MaxEvent = 16 << 20

// ErrTooLong is returned for an event over the reader's limit.
var ErrTooLong = errors.New("server-sent event is over the size limit")

// Event is one event as read. ID is the stream's last event id, which stays until another is set.
type Event struct {
	ID   string
	Name string // "message" where the stream gave none
	Data string
}

// Reader reads a stream of events.
type Reader struct {
	r      *bufio.Reader
	max    int
	next   string // the id that the event being read has set or found
	id     string
	retry  time.Duration
	begun  bool
	skipLF bool // the last line ended with CR, so an LF that follows belongs to it
	line   []byte
}

// NewReader reads events from r. An event of more than maxEvent bytes is an error; 0 means [MaxEvent].
func NewReader(r io.Reader, maxEvent int) *Reader {
	if maxEvent <= 0 {
		maxEvent = MaxEvent
	}
	return &Reader{r: bufio.NewReader(r), max: maxEvent}
}

// Retry is the reconnection time that the stream asked for last; 0 if it never did.
func (r *Reader) Retry() time.Duration { return r.retry }

// LastID is the last event id that the stream has set, in an event that came whole.
func (r *Reader) LastID() string { return r.id }

// Next reads the next event that has data. Comments and unknown fields are skipped. The end of the stream is io.EOF; an
// event that the end cuts off is not given, as the standard asks.
func (r *Reader) Next() (Event, error) {
	r.next = r.id
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
			r.id = r.next
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
				r.next = toValid(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				r.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// All gives the events up to the end of the stream. An error other than the end is the last thing it yields.
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

// readLine gives the next line without its end: CR, LF or CRLF. It is valid until the next call. A line that the stream's
// end cuts off is not given. It never waits for the byte after a CR.
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
