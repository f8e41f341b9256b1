package sse

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// lineEnds are what clients that split lines as Unicode does take for a line's end, and encoding/json does not escape
// everywhere.
var lineEnds = []struct{ raw, escaped string }{{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}}

// AppendJSON appends v as JSON for a frame's data: on one line by any reader's idea of a line, with <, > and & as they are. It panics
// if v cannot be encoded, which is a programmer's mistake.
func AppendJSON(dst []byte, v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("sse: encode data: %v", err))
	}
	line := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	for _, end := range lineEnds {
		if bytes.Contains(line, []byte(end.raw)) {
			line = bytes.ReplaceAll(line, []byte(end.raw), []byte(end.escaped))
		}
	}
	return append(dst, line...)
}
