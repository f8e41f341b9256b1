// Package sse writes and reads server-sent events, as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
package sse

import (
	"bytes"

	"github.com/sluice-rag/sluice/wire"
)

// ContentType is the media type of a stream.
const ContentType = "text/event-stream"

// AppendFrame appends a frame: id, event if it has a name, and data, each one line with LF, and a blank line.
func AppendFrame(dst []byte, f wire.Frame) []byte {
	dst = append(dst, "id: "...)
	dst = f.ID.Append(dst)
	if f.Event != "" {
		dst = append(dst, "\nevent: "...)
		dst = append(dst, f.Event...)
	}
	dst = append(dst, "\ndata: "...)
	dst = append(dst, f.Data...)
	return append(dst, "\n\n"...)
}

// AppendComment appends a comment line, which readers ignore: a sign of life. The text has no line break.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ": "...)
	dst = append(dst, text...)
	return append(dst, "\n\n"...)
}

// AppendPadding appends n bytes that readers ignore, so that what follows begins at a place of the writer's choice.
func AppendPadding(dst []byte, n int) []byte {
	if n > 1 {
		dst = append(dst, ':')
		dst = append(dst, bytes.Repeat([]byte(" "), n-2)...)
	}
	if n > 0 {
		dst = append(dst, '\n')
	}
	return dst
}
