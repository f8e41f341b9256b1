package forrst

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chunk is one event of a stream. Make one with [Data], [Progress], [Error] or [Done]. The zero Chunk is a data event with
// the value null.
type Chunk struct {
	kind    chunkKind
	value   any
	err     *CallError
	current int64
	total   int64
	id      string
}

type chunkKind uint8

const (
	kindData chunkKind = iota
	kindProgress
	kindError
	kindDone
)

// Data returns a chunk with a part of the result: any value that encodes as JSON.
func Data(value any) Chunk { return Chunk{kind: kindData, value: value} }

// Progress returns a chunk that reports how much of the work is done, in units of the function's choice. The percentage is
// rounded half away from zero, and 0 if the total is not positive. An empty message is sent as null.
func Progress(current, total int64, message string) Chunk {
	c := Chunk{kind: kindProgress, current: current, total: total}
	if message != "" {
		c.value = message
	}
	return c
}

// Error returns a chunk that ends the stream with an error. Chunks after it are ignored. To yield an
// error beside the chunk has the same effect; an error without a code hides its text.
func Error(code Code, message string, details any) Chunk {
	return Chunk{kind: kindError, err: &CallError{Code: code, Message: message, Details: details}}
}

// Done returns a chunk that ends the stream with the whole result. Chunks after it are ignored.
func Done(result any) Chunk { return Chunk{kind: kindDone, value: result} }

// WithID returns the chunk with an id for its server-sent event. Line ends and null characters are removed. The protocol gives ids no meaning: it
// is for servers whose streams can be resumed.
func (c Chunk) WithID(id string) Chunk {
	c.id = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == 0 {
			return -1
		}
		return r
	}, id)
	return c
}

// frame is one encoded event.
type frame struct {
	bytes  []byte          // with the blank line that ends it
	final  bool            // done or error
	errors Errors          // of an error event
	result json.RawMessage // of a done event
}

// encode returns the event of a chunk. Its bytes belong to the encoder; the result does not.
func (c Chunk) encode(e *eventEncoder) (frame, error) {
	switch c.kind {
	case kindProgress:
		text, err := e.encode("progress", c.id, progressData{c.current, c.total, percent(c.current, c.total), c.value})
		return frame{bytes: text}, err
	case kindError:
		return e.encodeErrors(c.id, Errors{c.err})
	case kindDone:
		data, err := encodeJSON(c.value)
		return frame{bytes: e.event("done", c.id, data), final: true, result: data}, err
	default:
		text, err := e.encode("data", c.id, c.value)
		return frame{bytes: text}, err
	}
}

type progressData struct {
	Current int64       `json:"current"`
	Total   int64       `json:"total"`
	Percent json.Number `json:"percent"`
	Message any         `json:"message"`
}

type errorData struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details"`
}

func percent(current, total int64) json.Number {
	if total <= 0 {
		return "0"
	}
	p := math.Round(100 * float64(current) / float64(total))
	return json.Number(strconv.FormatFloat(p+0, 'f', 0, 64)) // +0: no "-0"
}

// eventEncoder encodes server-sent events. The bytes that it returns are valid until it encodes the next event.
type eventEncoder struct {
	buf bytes.Buffer
	enc *json.Encoder // writes to buf
}

// encode returns an event whose data is a value as JSON on one line.
func (e *eventEncoder) encode(name, id string, v any) ([]byte, error) {
	if e.enc == nil {
		e.enc = json.NewEncoder(&e.buf)
		e.enc.SetEscapeHTML(false)
	}
	begin := e.begin(name, id)
	if err := e.enc.Encode(v); err != nil { // ends with a line end
		return nil, err
	}
	if data := e.buf.Bytes()[begin:]; hasLineEnd(data) {
		data = escapeLineEnds(data)
		e.buf.Truncate(begin)
		e.buf.Write(data)
	}
	e.buf.WriteByte('\n')
	return e.buf.Bytes(), nil
}

// encodeErrors returns the error event of the first of the errors. The response document has all of them.
func (e *eventEncoder) encodeErrors(id string, errs Errors) (frame, error) {
	text, err := e.encode("error", id, errorData{errs[0].Code, errs[0].Message, errs[0].Details})
	return frame{bytes: text, final: true, errors: errs}, err
}

// event returns an event with data that is one line already.
func (e *eventEncoder) event(name, id string, data []byte) []byte {
	e.begin(name, id)
	e.buf.Write(data)
	e.buf.WriteString("\n\n")
	return e.buf.Bytes()
}

// begin starts an event and returns where its data begins. An empty id is left out.
func (e *eventEncoder) begin(name, id string) int {
	e.buf.Reset()
	if id != "" {
		e.buf.WriteString("id: ")
		e.buf.WriteString(id)
		e.buf.WriteByte('\n')
	}
	e.buf.WriteString("event: ")
	e.buf.WriteString(name)
	e.buf.WriteString("\ndata: ")
	return e.buf.Len()
}

// lineEnds are characters that some clients take for line ends. encoding/json does not escape all of them.
var lineEnds = [][2][]byte{
	{[]byte("\u0085"), []byte(`\u0085`)}, {[]byte("\u2028"), []byte(`\u2028`)}, {[]byte("\u2029"), []byte(`\u2029`)},
}

func hasLineEnd(line []byte) bool {
	return slices.ContainsFunc(lineEnds, func(end [2][]byte) bool { return bytes.Contains(line, end[0]) })
}

// escapeLineEnds returns a copy of JSON without these characters.
func escapeLineEnds(line []byte) []byte {
	for _, end := range lineEnds {
		line = bytes.ReplaceAll(line, end[0], end[1])
	}
	return line
}

// encodeJSON returns v as JSON on one line; <, > and & are not escaped.
func encodeJSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if hasLineEnd(line) {
		return escapeLineEnds(line), nil
	}
	return line, nil
}
