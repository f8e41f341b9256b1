package filelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// A segment is a sequence of records. A record holds the events of one run that were written together. Its parts, numbers little
// endian:
//
//	 0  4  magic
//	 4  4  length of everything after the sum
//	 8  4  CRC-32C of the length and of everything after this
//	12  1  1 if the last event ends the run, 2 if the record was wiped, 3 if it says that the run was deleted, else 0
//	13  1  n, the length of the run's id
//	14  8  sequence number of the first event
//	22  4  number of events
//	26  8  time of the last event, microseconds since 1970
//	34 20  place of the run's record before this one: segment (8), offset (8), length (4); zeros for the first
//	54  n  the run's id
//	    …  the events, each a line as by event.AppendJSON, with its newline
const (
	magic     = "\xffSl\xfe" // never in valid UTF-8
	sumEnd    = 12
	headBytes = 54
	maxRecord = 1 << 30
)

// Values of byte 12 of a record. A wiped record keeps its length and place and has spaces instead of events. A record with markDeleted follows the
// last record of a deleted run and holds no events.
const (
	markEnded   = 1
	markWiped   = 2
	markDeleted = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place is the position of a record. The zero value is no record.
type place struct {
	Seg uint64 `json:"seg"`
	Off uint64 `json:"off"`
	Len uint32 `json:"len"`
}

type record struct {
	run   event.RunID
	first event.Seq
	count uint32
	at    int64 // of the last event
	ended bool
	mark  byte // [markWiped], [markDeleted] or 0
	prev  place
	lines []byte
}

func (r record) last() event.Seq { return r.first + event.Seq(r.count) - 1 }

// follows reports whether the first event directly follows another one, or follows the gap that Open leaves.
func (r record) follows(last event.Seq) bool {
	return r.first == last+1 || r.ended && r.count == 1 && last < event.Gap && r.first == last+event.Gap+1
}

func (r record) time() time.Time { return time.UnixMicro(r.at).UTC() }

func appendRecord(dst []byte, r record) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, magic...)
	dst = le.AppendUint32(dst, uint32(headBytes-sumEnd+len(r.run)+len(r.lines)))
	dst = le.AppendUint32(dst, 0)
	mark := r.mark
	if r.ended && mark == 0 {
		mark = markEnded
	}
	dst = append(dst, mark, byte(len(r.run)))
	dst = le.AppendUint64(dst, uint64(r.first))
	dst = le.AppendUint32(dst, r.count)
	dst = le.AppendUint64(dst, uint64(r.at))
	dst = le.AppendUint64(dst, r.prev.Seg)
	dst = le.AppendUint64(dst, r.prev.Off)
	dst = le.AppendUint32(dst, r.prev.Len)
	dst = append(dst, r.run...)
	dst = append(dst, r.lines...)
	le.PutUint32(dst[start+8:], checksum(dst[start:]))
	return dst
}

func checksum(rec []byte) uint32 {
	sum := crc32.Update(0, castagnoli, rec[4:8])
	return crc32.Update(sum, castagnoli, rec[sumEnd:])
}

var errRecord = errors.New("not a record")

// parseRecord parses the record at the beginning of data and returns its length. Its lines share data.
func parseRecord(data []byte) (record, int, error) {
	if len(data) < headBytes || string(data[:4]) != magic {
		return record{}, 0, errRecord
	}
	le := binary.LittleEndian
	n := int64(le.Uint32(data[4:])) + sumEnd
	id := int64(data[13])
	if n < headBytes+id || n > int64(len(data)) || n > maxRecord {
		return record{}, 0, errRecord
	}
	data = data[:n]
	if le.Uint32(data[8:]) != checksum(data) {
		return record{}, 0, errRecord
	}
	r := record{
		run:   event.RunID(data[headBytes : headBytes+id]),
		first: event.Seq(le.Uint64(data[14:])),
		count: le.Uint32(data[22:]),
		at:    int64(le.Uint64(data[26:])),
		ended: data[12] == markEnded,
		prev:  place{Seg: le.Uint64(data[34:]), Off: le.Uint64(data[42:]), Len: le.Uint32(data[50:])},
		lines: data[headBytes+id:],
	}
	if data[12] > markEnded {
		r.mark = data[12]
	}
	if !r.run.Valid() || r.first == 0 || r.first > 1<<62 || r.count == 0 || (r.first == 1) != (r.prev == place{}) {
		return record{}, 0, errRecord
	}
	return r, int(n), nil
}

// span is a part of a segment.
type span struct{ from, to int }

// scan reads the records of a segment beginning at an offset. Where no valid record begins, it searches for the next one. bad are the skipped
// spans, end is the end of the last record.
func scan(data []byte, from int, each func(off, n int, r record)) (end int, bad []span) {
	end = from
	for pos := from; pos < len(data); {
		r, n, err := parseRecord(data[pos:])
		if err == nil {
			if pos > end {
				bad = append(bad, span{end, pos})
			}
			each(pos, n, r)
			pos += n
			end = pos
			continue
		}
		next := bytes.Index(data[pos+1:], []byte(magic))
		if next < 0 {
			break
		}
		pos += 1 + next
	}
	return end, bad
}

// line returns the first line of b, without its newline, and the rest.
func line(b []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(b, []byte("\n"))
	return first, rest
}

// lastLine returns the last line of b without its newline.
func lastLine(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return b[bytes.LastIndexByte(b, '\n')+1:]
}
