package natslog

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
)

// The headers of a message. Its body holds the events of one or more calls of Append, each event a line as by [event.AppendJSON]. A record
// that is larger than a message may be is split into parts, which all have the same headers but for headerPart.
const (
	headerFirst = "Sluice-First" // number of the first event
	headerLast  = "Sluice-Last"  // number of the last event
	headerWrite = "Sluice-Write" // id of the record, so that a writer without an acknowledgement recognizes its own message
	headerEnd   = "Sluice-End"   // "1": the last event is terminal
	headerPart  = "Sluice-Part"  // "2/3": the second part of three; absent: the record has one part
	headerClaim = "Sluice-Claim" // server that has claimed the run, in a message without events: see Log.Claim
)

// maxParts bounds the parts of a record.
const maxParts = 1 << 16

// record is a message of a run without its position, or several parts of a record joined.
type record struct {
	first, last event.Seq
	write       string
	end         bool
	part, parts int    // from 1
	claim       string // server; empty: the record is no claim
	data        []byte
}

var errRecord = errors.New("the stored message is not a part of a run")

// whole reports whether the message completes its record.
func (r record) whole() bool { return r.part == r.parts }

// header returns the headers of the message.
func (r record) header() nats.Header {
	h := nats.Header{
		headerFirst: {strconv.FormatUint(uint64(r.first), 10)},
		headerLast:  {strconv.FormatUint(uint64(r.last), 10)},
		headerWrite: {r.write},
	}
	if r.end {
		h[headerEnd] = []string{"1"}
	}
	if r.parts > 1 {
		h[headerPart] = []string{fmt.Sprintf("%d/%d", r.part, r.parts)}
	}
	if r.claim != "" {
		h[headerClaim] = []string{r.claim}
	}
	return h
}

// parseRecord returns the record of a message. It shares data.
func parseRecord(h nats.Header, data []byte) (record, error) {
	r := record{write: h.Get(headerWrite), end: h.Get(headerEnd) == "1", part: 1, parts: 1, claim: h.Get(headerClaim), data: data}
	first, err1 := strconv.ParseUint(h.Get(headerFirst), 10, 62)
	last, err2 := strconv.ParseUint(h.Get(headerLast), 10, 62)
	r.first, r.last = event.Seq(first), event.Seq(last)
	if err1 != nil || err2 != nil || first == 0 || last < first || r.write == "" {
		return record{}, errRecord
	}
	text := h.Get(headerPart)
	if text == "" {
		return r, nil
	}
	part, parts, _ := strings.Cut(text, "/")
	r.part, err1 = strconv.Atoi(part)
	r.parts, err2 = strconv.Atoi(parts)
	if err1 != nil || err2 != nil || r.part < 1 || r.parts < 2 || r.part > r.parts || r.parts > maxParts {
		return record{}, errRecord
	}
	return r, nil
}

// events returns the events of a record that is not split.
func (r record) events() ([]event.Event, error) {
	n := bytes.Count(r.data, []byte("\n"))
	if n == 0 || uint64(n) != uint64(r.last-r.first)+1 { //nolint:gosec // n is positive
		return nil, errRecord
	}
	es := make([]event.Event, 0, n)
	for rest := r.data; len(rest) > 0; {
		line, tail, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, errRecord
		}
		e, err := event.ParseJSON(line)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		if e.Seq != r.first+event.Seq(len(es)) { //nolint:gosec // a length
			return nil, errRecord
		}
		es, rest = append(es, e), tail
	}
	return es, nil
}

// split returns the messages of a record, each with at most limit bytes of its data.
func (r record) split(limit int) []record {
	parts := max((len(r.data)+limit-1)/limit, 1)
	out := make([]record, parts)
	for i := range out {
		out[i] = r
		out[i].part, out[i].parts = i+1, parts
		out[i].data = r.data[i*limit : min((i+1)*limit, len(r.data))]
	}
	return out
}

// joiner joins the parts of records. A record whose last part is missing, because its writer ended before, is skipped.
type joiner struct {
	key sealer
	record
	data []byte // of the parts so far
}

// add returns the events of the record that r completes, and none before.
func (j *joiner) add(r record) ([]event.Event, error) {
	r, err := j.key.open(r)
	if err != nil {
		return nil, err
	}
	if r.parts == 1 {
		j.record.write = ""
		return r.events()
	}
	switch {
	case r.part == 1:
		j.record, j.data = r, append([]byte(nil), r.data...)
	case r.write == j.write && r.part == j.part+1 && r.parts == j.parts && r.first == j.first && r.last == j.last:
		j.part, j.data = r.part, append(j.data, r.data...)
	default:
		j.record.write = ""
		return nil, nil // its beginning is missing
	}
	if !r.whole() {
		return nil, nil
	}
	whole := r
	whole.data, j.data = j.data, nil
	return whole.events()
}
