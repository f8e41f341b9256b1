package filelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/disk/atomicfile"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
)

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

func segmentPath(dir string, num uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d.log", num))
}

func indexPath(dir string, num uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016d.idx", num))
}

// segment is one file. Its times are those of its oldest and newest event.
type segment struct {
	num    uint64
	size   int64
	oldest time.Time
	newest time.Time
	frags  map[event.RunID]*fragment // nil once the segment is full and its index written
}

// fragment describes the records of one run in a segment.
type fragment struct {
	Run     event.RunID       `json:"run"`
	First   event.Seq         `json:"first"`
	Last    event.Seq         `json:"last"`
	Prev    place             `json:"prev"` // of the first record in this segment
	Tail    place             `json:"tail"` // the last record in this segment
	At      time.Time         `json:"at"`   // of the last event
	Bytes   int64             `json:"bytes"`
	Ended   bool              `json:"ended,omitempty"`
	Code    fault.Code        `json:"code,omitempty"`
	Start   *event.RunStarted `json:"start,omitempty"` // if First is 1
	StartAt time.Time         `json:"start_at,omitzero"`
	Damage  string            `json:"damage,omitempty"`
	// Deleted: the run was deleted. Tail is then the last record of the run. Left: records in this segment may not be erased yet.
	Deleted bool `json:"deleted,omitempty"`
	Left    bool `json:"left,omitempty"`
}

// index is the content of an index file: a line with the CRC-32C of the next, in hex, and a line of JSON.
type index struct {
	Covers int64       `json:"covers"` // bytes of the segment that it describes
	Oldest time.Time   `json:"oldest"`
	Newest time.Time   `json:"newest"`
	Runs   []*fragment `json:"runs"`
}

// note adds a record at an offset to the fragments.
func (s *segment) note(off, n int64, r record) {
	at := r.time()
	if s.oldest.IsZero() || at.Before(s.oldest) {
		s.oldest = at
	}
	if at.After(s.newest) {
		s.newest = at
	}
	f := s.frags[r.run]
	switch r.mark {
	case markWiped:
		return
	case markDeleted:
		s.frags[r.run] = &fragment{Run: r.run, At: at, Tail: r.prev, Deleted: true, Left: f != nil}
		return
	}
	if f == nil {
		f = &fragment{Run: r.run, First: r.first, Prev: r.prev}
		s.frags[r.run] = f
		if r.first == 1 {
			f.begin(r)
		}
	} else if !r.follows(f.Last) || r.prev != f.Tail || f.Ended {
		f.Damage = fmt.Sprintf("events %d and %d do not follow each other in segment %d", f.Last, r.first, s.num)
	}
	f.Last, f.Tail, f.At = r.last(), place{Seg: s.num, Off: uint64(off), Len: uint32(n)}, at
	f.Bytes += int64(len(r.lines))
	if r.ended {
		f.Ended = true
		if e, err := event.ParseJSON(lastLine(r.lines)); err == nil {
			if b, ok := e.Body.(event.RunFailed); ok {
				f.Code = b.Code
			}
		}
	}
}

// follows reports whether the first event directly follows another one, or follows the gap that Open leaves.
func (f *fragment) follows(last event.Seq) bool {
	return record{first: f.First, count: uint32(f.Last - f.First + 1), ended: f.Ended}.follows(last)
}

func (f *fragment) begin(r record) {
	first, _ := line(r.lines)
	e, err := event.ParseJSON(first)
	b, ok := e.Body.(event.RunStarted)
	if err != nil || !ok {
		f.Damage = "the first event cannot be read"
		return
	}
	start := eventlog.Brief(b)
	f.Start, f.StartAt = &start, e.At
}

// segments lists the numbers of the segments in dir, ascending.
func segments(dir string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var nums []uint64
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if num, err := strconv.ParseUint(name, 10, 64); ok && err == nil && len(name) == 16 && num > 0 {
			nums = append(nums, num)
		}
	}
	slices.Sort(nums)
	return nums, nil
}

// loadSegment reads the fragments of a segment from its index and, after the part that the index covers, from the segment itself. It returns
// the end of the last record and the spans without records.
func loadSegment(dir string, num uint64) (s *segment, end int64, bad []span, err error) {
	path := segmentPath(dir, num)
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, nil, err
	}
	s = &segment{num: num, size: info.Size(), frags: map[event.RunID]*fragment{}}
	covers := s.loadIndex(dir)
	if covers == s.size {
		return s, covers, nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, nil, err
	}
	e, bad := scan(data, int(covers), func(off, n int, r record) { s.note(int64(off), int64(n), r) })
	return s, int64(e), bad, nil
}

// loadIndex reads the index if it is valid, and returns how many bytes of the segment it covers.
func (s *segment) loadIndex(dir string) int64 {
	data, err := os.ReadFile(indexPath(dir, s.num))
	if err != nil {
		return 0
	}
	sum, body, _ := bytes.Cut(data, []byte("\n"))
	var x index
	if string(sum) != indexSum(body) || json.Unmarshal(body, &x) != nil || x.Covers < 0 || x.Covers > s.size {
		return 0
	}
	for _, f := range x.Runs {
		if f == nil {
			clear(s.frags)
			return 0
		}
		s.frags[f.Run] = f
	}
	s.oldest, s.newest = x.Oldest, x.Newest
	return x.Covers
}

func indexSum(body []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) }

// saveIndex writes the index of a segment, whole or not at all.
func (s *segment) saveIndex(dir string) error {
	x := index{Covers: s.size, Oldest: s.oldest, Newest: s.newest, Runs: make([]*fragment, 0, len(s.frags))}
	for _, f := range s.frags {
		x.Runs = append(x.Runs, f)
	}
	slices.SortFunc(x.Runs, func(a, b *fragment) int { return strings.Compare(string(a.Run), string(b.Run)) })
	body, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return atomicfile.Write(indexPath(dir, s.num), append([]byte(indexSum(body)+"\n"), body...), 0o640)
}

// removeSegment removes a segment and its index, the index first, since a segment does not need one.
func removeSegment(dir string, num uint64) error {
	if err := atomicfile.Remove(indexPath(dir, num)); err != nil {
		return err
	}
	return os.Remove(segmentPath(dir, num))
}
