package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// timeLayout is RFC 3339 in UTC to the microsecond.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// AppendJSON appends the event as one line of JSON without its newline: {"seq":…,"at":…,"kind":…,"body":{…}}.
// It does not allocate for a [Token] while dst has room.
func AppendJSON(dst []byte, e Event) ([]byte, error) {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, uint64(e.Seq), 10)
	dst = append(dst, `,"at":"`...)
	dst = e.At.UTC().AppendFormat(dst, timeLayout)
	dst = append(dst, `","kind":"`...)
	dst = append(dst, e.Body.Kind()...)
	dst = append(dst, `","body":`...)
	if t, ok := e.Body.(Token); ok {
		dst = append(dst, `{"text":`...)
		dst = AppendString(dst, t.Text)
		return append(dst, "}}"...), nil
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return dst, fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	dst = append(dst, body...)
	return append(dst, '}'), nil
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string on one line: what is not valid UTF-8 becomes U+FFFD, and control characters,
// U+2028 and U+2029 are escaped; <, > and & are not.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
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
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&15])
			start = i + n
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

type envelope struct {
	Seq  Seq             `json:"seq"`
	At   time.Time       `json:"at"`
	Kind Kind            `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// ParseJSON reads what [AppendJSON] wrote. An unknown kind or a field of a wrong type is an error; unknown fields are
// ignored, so that an older program reads a newer one's log as far as it can.
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
	KindQueryAnalyzed:      decoderOf[QueryAnalyzed],
	KindCacheChecked:       decoderOf[CacheChecked],
	KindToolCalled:         decoderOf[ToolCalled],
	KindToolReturned:       decoderOf[ToolReturned],
	KindRetrievalStarted:   decoderOf[RetrievalStarted],
	KindRetrievalFinished:  decoderOf[RetrievalFinished],
	KindGraded:             decoderOf[Graded],
	KindReranked:           decoderOf[Reranked],
	KindGenerationStarted:  decoderOf[GenerationStarted],
	KindToken:              decoderOf[Token],
	KindCited:              decoderOf[Cited],
	KindGenerationFinished: decoderOf[GenerationFinished],
	KindVerified:           decoderOf[Verified],
	KindAttributed:         decoderOf[Attributed],
	KindWarned:             decoderOf[Warned],
	KindRunFinished:        decoderOf[RunFinished],
	KindRunFailed:          decoderOf[RunFailed],
}
