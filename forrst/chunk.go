package forrst

import (
	"bytes"
	"encoding/json"
	"math"
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

// eventNames are the names of the kinds in a stream.
var eventNames = [...]string{kindData: "data", kindProgress: "progress", kindError: "error", kindDone: "done"}

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

// Error returns a chunk that ends the stream with an error. Whatever the function yields after it is ignored. To yield an
// error beside the chunk has the same effect; an error without a code hides its text.
func Error(code Code, message string, details any) Chunk {
	return Chunk{kind: kindError, err: &CallError{Code: code, Message: message, Details: details}}
}

// Done returns a chunk that ends the stream with the whole result. Whatever the function yields after it is ignored.
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

// encode returns the event of a chunk.
func (c Chunk) encode() (frame, error) {
	var payload any
	switch c.kind {
	case kindProgress:
		payload = progressData{c.current, c.total, percent(c.current, c.total), c.value}
	case kindError:
		return errorFrame(c.id, Errors{c.err})
	default:
		payload = c.value
	}
	data, err := encodeJSON(payload)
	if err != nil {
		return frame{}, err
	}
	f := frame{bytes: encodeEvent(eventNames[c.kind], c.id, data), final: c.kind == kindDone}
	if f.final {
		f.result = data
	}
	return f, nil
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

// errorFrame returns the error event of the first of the errors. The response document has all of them.
func errorFrame(id string, errs Errors) (frame, error) {
	data, err := encodeJSON(errorData{errs[0].Code, errs[0].Message, errs[0].Details})
	if err != nil {
		return frame{}, err
	}
	return frame{bytes: encodeEvent("error", id, data), final: true, errors: errs}, nil
}

func percent(current, total int64) json.Number {
	if total <= 0 {
		return "0"
	}
	p := math.Round(100 * float64(current) / float64(total))
	return json.Number(strconv.FormatFloat(p+0, 'f', 0, 64)) // +0: no "-0"
}

// encodeEvent returns a server-sent event. The data is one line. An empty id is left out.
func encodeEvent(name, id string, data []byte) []byte {
	out := make([]byte, 0, len(name)+len(id)+len(data)+len("id: \nevent: \ndata: \n\n"))
	if id != "" {
		out = append(out, "id: "...)
		out = append(out, id...)
		out = append(out, '\n')
	}
	out = append(out, "event: "...)
	out = append(out, name...)
	out = append(out, "\ndata: "...)
	out = append(out, data...)
	return append(out, "\n\n"...)
}

// lineEnds are characters that some clients take for line ends. encoding/json does not escape all of them.
var lineEnds = [][2][]byte{
	{[]byte("\u0085"), []byte(`\u0085`)}, {[]byte("\u2028"), []byte(`\u2028`)}, {[]byte("\u2029"), []byte(`\u2029`)},
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
	for _, end := range lineEnds {
		if bytes.Contains(line, end[0]) {
			line = bytes.ReplaceAll(line, end[0], end[1])
		}
	}
	return line, nil
}
