package filelog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/event"
)

// Bytes that are read at once while reading a segment backwards. The size doubles while a read contains several records of the run, and halves
// otherwise.
const (
	firstAhead = 16 << 10
	mostAhead  = 256 << 10
)

// backReader reads records at descending places.
type backReader struct {
	dir  string
	num  uint64
	file *os.File
	size int64
	off  int64 // of data in the file
	data []byte
	used int // records found in data
	step int64
}

func (b *backReader) open(num uint64) error {
	if b.file != nil && b.num == num {
		return nil
	}
	b.close()
	f, err := os.Open(segmentPath(b.dir, num))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	b.num, b.file, b.size, b.off, b.data = num, f, info.Size(), 0, nil
	return nil
}

func (b *backReader) close() {
	if b.file != nil {
		_ = b.file.Close() // it was only read
		b.file = nil
	}
}

var errOutside = errors.New("a record lies outside its segment")

// bytes returns the bytes at a place. They are never changed.
func (b *backReader) bytes(p place) ([]byte, error) {
	if err := b.open(p.Seg); err != nil {
		return nil, err
	}
	off, end := int64(p.Off), int64(p.Off)+int64(p.Len)
	if off < 0 || end > b.size || p.Len < headBytes {
		return nil, errOutside
	}
	if off < b.off || end > b.off+int64(len(b.data)) {
		switch {
		case b.step == 0:
			b.step = firstAhead
		case b.used > 1:
			b.step = min(b.step*2, mostAhead)
		default:
			b.step = max(b.step/2, 1)
		}
		b.used = 0
		b.off = max(min(off, end-b.step), 0)
		b.data = make([]byte, end-b.off)
		if _, err := b.file.ReadAt(b.data, b.off); err != nil {
			return nil, err
		}
	}
	b.used++
	return b.data[off-b.off : end-b.off], nil
}

// read reads a run from its last record back to its first and decodes it.
func (l *Log) read(id event.RunID, tail place, last event.Seq) ([]event.Event, error) {
	b := &backReader{dir: l.dir}
	defer b.close()
	damaged := func(p place, err error) error {
		return fmt.Errorf("read run %s: %w: segment %d at byte %d: %w", id, ErrDamaged, p.Seg, p.Off, err)
	}
	var recs []record // from the last to the first
	for p := tail; ; {
		data, err := b.bytes(p)
		switch {
		case errors.Is(err, errOutside) || errors.Is(err, os.ErrNotExist):
			return nil, damaged(p, err)
		case err != nil:
			return nil, fmt.Errorf("read run %s: %w", id, err)
		}
		r, n, err := parseRecord(data)
		before := len(recs) == 0 && r.last() == last || len(recs) > 0 && recs[len(recs)-1].follows(r.last())
		if err != nil || n != len(data) || r.run != id || !before {
			return nil, damaged(p, errRecord)
		}
		recs = append(recs, r)
		if r.first == 1 {
			break
		}
		if r.prev.Seg > p.Seg || r.prev.Seg == p.Seg && r.prev.Off >= p.Off {
			return nil, damaged(p, errRecord)
		}
		p = r.prev
	}
	var es []event.Event
	for i, r := range slices.Backward(recs) {
		rest := r.lines
		for seq := r.first; seq <= r.last(); seq++ {
			var text []byte
			text, rest = line(rest)
			e, err := parseLine(text)
			if err == nil && e.Seq != seq {
				err = errRecord
			}
			if err != nil {
				return nil, damaged(tail, fmt.Errorf("event %d: %w", seq, err))
			}
			es = append(es, e)
		}
		recs[i] = record{}
	}
	return es, nil
}

// The parts of a token's line as event.AppendJSON writes it.
const (
	beforeSeq  = `{"seq":`
	beforeTime = `,"at":"`
	beforeText = `Z","kind":"token","body":{"text":"`
	afterText  = `"}}`
	timeChars  = len("2006-01-02T15:04:05.000000")
)

// parseLine parses the line of an event. Most are tokens without escapes, which need no JSON decoder.
func parseLine(text []byte) (event.Event, error) {
	if e, ok := parseToken(text); ok {
		return e, nil
	}
	return event.ParseJSON(text)
}

func parseToken(text []byte) (event.Event, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(beforeSeq))
	i := bytes.IndexByte(rest, ',')
	if !ok || i < 1 || i > 19 {
		return event.Event{}, false
	}
	seq, ok1 := digits(rest[:i])
	rest, ok2 := bytes.CutPrefix(rest[i:], []byte(beforeTime))
	if !ok1 || !ok2 || len(rest) < timeChars {
		return event.Event{}, false
	}
	at, ok1 := parseTime(rest[:timeChars])
	rest, ok2 = bytes.CutPrefix(rest[timeChars:], []byte(beforeText))
	said, ok3 := bytes.CutSuffix(rest, []byte(afterText))
	if !ok1 || !ok2 || !ok3 || bytes.IndexByte(said, '\\') >= 0 || bytes.IndexByte(said, '"') >= 0 {
		return event.Event{}, false
	}
	return event.Event{Seq: event.Seq(seq), At: at, Body: event.Token{Text: string(said)}}, true
}

func parseTime(s []byte) (time.Time, bool) {
	var part [7]int // year, month, day, hour, minute, second, microsecond
	for i, at := range [7][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 26}} {
		n, ok := digits(s[at[0]:at[1]])
		if !ok {
			return time.Time{}, false
		}
		part[i] = int(n)
	}
	t := time.Date(part[0], time.Month(part[1]), part[2], part[3], part[4], part[5], part[6]*1000, time.UTC)
	return t, true
}

func digits(s []byte) (uint64, bool) {
	var n uint64
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}
