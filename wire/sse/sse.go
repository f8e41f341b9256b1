// Package sse writes and reads server-sent events, as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
package sse

import (
	"bytes"

	"github.com/sluice-rag/sluice/wire"
)

// ContentType is the media type of a stream.
const ContentType = "text/event-stream"

// Encoding implements the methods ContentType and AppendFrame of [wire.Protocol] for the protocols that embed it.
type Encoding struct{}

// ContentType implements [wire.Protocol].
func (Encoding) ContentType() string { return ContentType }

// AppendFrame implements [wire.Protocol].
func (Encoding) AppendFrame(dst []byte, f wire.Frame) []byte { return AppendFrame(dst, f) }

// AppendFrame appends a frame: the id, the event name if there is one, and the data.
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

// AppendComment appends a comment, which readers ignore. It serves as a heartbeat. The text has no line break.
func AppendComment(dst []byte, text string) []byte {
	dst = append(dst, ": "...)
	dst = append(dst, text...)
	return append(dst, "\n\n"...)
}

// AppendPadding appends n bytes that readers ignore. A writer uses it to choose the offset at which the next frame begins.
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
