package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// AppendJSON appends the event as one line of JSON without its newline: {"seq":…,"at":…,"kind":…,"body":{…}}.
// It does not allocate for a [Token] while dst has capacity. An event that [ParseJSON] could not decode is an error and leaves
// dst unchanged: no body, no time or one outside the years 1 to 9999, a number that JSON cannot represent.
func AppendJSON(dst []byte, e Event) ([]byte, error) {
	if e.Body == nil || e.At.IsZero() || e.At.Unix() < minUnix || e.At.Unix() > maxUnix {
		return dst, fmt.Errorf("encode event %d: it needs a body and a time", e.Seq)
	}
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, uint64(e.Seq), 10)
	dst = append(dst, `,"at":"`...)
	dst = appendTime(dst, e.At.UTC())
	dst = append(dst, `","kind":"`...)
	dst = append(dst, e.Body.Kind()...)
	dst = append(dst, `","body":`...)
	if t, ok := e.Body.(Token); ok {
		dst = append(dst, `{"text":`...)
		dst = AppendString(dst, t.Text)
		return append(dst, "}}"...), nil
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // it would also rewrite a tool's raw input, which then reads back as other bytes
	if err := enc.Encode(e.Body); err != nil {
		return dst[:start], fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	dst = append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
	return append(dst, '}'), nil
}

// appendTime appends t, which is in UTC, as RFC 3339 to the microsecond. It takes a third of what AppendFormat takes,
// which would be most of a token's price.
func appendTime(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), second, 2)
	dst = appendDigits(append(dst, '.'), t.Nanosecond()/1000, 6)
	return append(dst, 'Z')
}

// appendDigits appends the last digits of n, with zeros in front.
func appendDigits(dst []byte, n, digits int) []byte {
	var b [6]byte
	for i := digits - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, b[:digits]...)
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// The seconds between which a time has a four-digit year, in any zone.
const (
	minUnix = -62135596800
	maxUnix = 253402300799
)

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string, as [AppendEscaped] writes it.
func AppendString(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped appends the content of a JSON string on one line, whatever a reader takes for a line break: invalid UTF-8
// becomes U+FFFD, and control characters (U+0000 to U+001F, U+007F to U+009F), U+2028 and U+2029 are escaped; <, > and &
// are not.
func AppendEscaped(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < 0x7f {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			start = i + 1
		case r <= '\u009f':
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
			start = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&15])
			start = i + n
		}
		i += n
	}
	return append(dst, s[start:]...)
}

type envelope struct {
	Seq  Seq             `json:"seq"`
	At   time.Time       `json:"at"`
	Kind Kind            `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// ParseJSON decodes what [AppendJSON] wrote. An unknown kind or a field of a wrong type is an error. Unknown fields are ignored,
// so that an older program can read a newer log.
func ParseJSON(line []byte) (Event, error) {
	var env envelope
	if err := json.Unmarshal(line, &env); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	decode := decoders[env.Kind]
	if decode == nil {
		return Event{}, fmt.Errorf("decode event %d: unknown kind %.40q", env.Seq, env.Kind)
	}
	if env.Seq == 0 || env.At.IsZero() || len(env.Body) == 0 {
		return Event{}, errors.New("decode event: seq, at and body are required")
	}
	body, err := decode(env.Body)
	if err != nil {
		return Event{}, fmt.Errorf("decode event %d (%s): %w", env.Seq, env.Kind, err)
	}
	return Event{Seq: env.Seq, At: env.At.UTC(), Body: body}, nil
}

func decoderOf[B Body](raw []byte) (Body, error) {
	var b B
	err := json.Unmarshal(raw, &b)
	return b, err
}

var decoders = map[Kind]func([]byte) (Body, error){
	KindRunStarted:         decoderOf[RunStarted],
	KindHistorySummarized:  decoderOf[HistorySummarized],
	KindQueryAnalyzed:      decoderOf[QueryAnalyzed],
	KindCacheChecked:       decoderOf[CacheChecked],
	KindToolCalled:         decoderOf[ToolCalled],
	KindToolReturned:       decoderOf[ToolReturned],
	KindRetrievalStarted:   decoderOf[RetrievalStarted],
	KindRetrievalFinished:  decoderOf[RetrievalFinished],
	KindGraded:             decoderOf[Graded],
	KindReranked:           decoderOf[Reranked],
	KindGenerationStarted:  decoderOf[GenerationStarted],
	KindReasoned:           decoderOf[Reasoned],
	KindToken:              decoderOf[Token],
	KindCited:              decoderOf[Cited],
	KindGenerationFinished: decoderOf[GenerationFinished],
	KindVerified:           decoderOf[Verified],
	KindAttributed:         decoderOf[Attributed],
	KindSettled:            decoderOf[Settled],
	KindModelUsed:          decoderOf[ModelUsed],
	KindWarned:             decoderOf[Warned],
	KindRunFinished:        decoderOf[RunFinished],
	KindRunFailed:          decoderOf[RunFailed],
}
