package sse

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// lineEnds are the characters that clients which split lines by Unicode rules treat as line ends. Package encoding/json
// does not escape all of them.
var lineEnds = []struct{ raw, escaped string }{{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}}

// AppendJSON appends v as JSON for the data of a frame. The result is one line even for readers that split at Unicode line
// ends; <, > and & are not escaped. It panics if v cannot be encoded, which is a programming error.
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
