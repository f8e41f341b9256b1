package inverted

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

const (
	fileManifest  = "manifest"
	segmentSuffix = ".seg"
)

// manifest is the file that lists the segments: JSON, and its CRC-32C in 4 bytes.
type manifest struct {
	Tag      []byte            `json:"tag"`
	Next     uint64            `json:"next"`
	Segments []manifestSegment `json:"segments"`
}

type manifestSegment struct {
	Number uint64 `json:"number"`
	// Deleted are ranges of deleted documents: for each, the distance from the end of the one before to its begin, and its length (uvarints).
	Deleted []byte `json:"deleted,omitempty"`
}

// writeManifest replaces the manifest. fresh means that it lists a new file, whose name is made durable before.
func (x *Index) writeManifest(segments []live, tag []byte, fresh bool) error {
	if fresh {
		if err := atomicfile.SyncDir(x.dir); err != nil {
			return err
		}
	}
	m := manifest{Tag: tag, Next: x.next, Segments: make([]manifestSegment, len(segments))}
	for i, s := range segments {
		m.Segments[i].Number = s.number
		end := uint32(0)
		for _, r := range s.deleted.ranges(s.docs) {
			m.Segments[i].Deleted = binary.AppendUvarint(m.Segments[i].Deleted, uint64(r[0]-end))
			m.Segments[i].Deleted = binary.AppendUvarint(m.Segments[i].Deleted, uint64(r[1]-r[0]))
			end = r[1]
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return atomicfile.WriteSync(filepath.Join(x.dir, fileManifest), b, permFile)
}

// load reads the manifest and opens the segments that it lists. It removes the others.
func (x *Index) load() error {
	path := filepath.Join(x.dir, fileManifest)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return x.removeOthers(nil)
	}
	if err != nil {
		return err
	}
	n := len(b) - 4
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return fmt.Errorf("%s: %w: checksum", path, ErrDamaged)
	}
	var m manifest
	if err := json.Unmarshal(b[:n], &m); err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	x.tag, x.next = m.Tag, m.Next
	listed := map[string]bool{}
	for _, s := range m.Segments {
		if s.Number >= m.Next || listed[x.path(s.Number)] {
			return fmt.Errorf("%s: %w: number of a segment", path, ErrDamaged)
		}
		listed[x.path(s.Number)] = true
	}
	if err := x.removeOthers(listed); err != nil {
		return err
	}
	for _, s := range m.Segments {
		seg, err := openSegment(x.path(s.Number), s.Number, x.opts.Fields, x.files)
		if err != nil {
			return err
		}
		l := live{Segment: seg}
		x.segments = append(x.segments, l)
		if err := safely(func() error { return l.readDeleted(s.Deleted) }); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		x.segments[len(x.segments)-1] = l
	}
	return nil
}

// readDeleted reads ranges of deleted documents.
func (s *live) readDeleted(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.deleted = NewBits(s.docs)
	end := uint64(0)
	for len(b) > 0 {
		var skip, n uint64
		skip, b = uvarint(b)
		n, b = uvarint(b)
		if skip > uint64(s.docs) || n > uint64(s.docs) || end+skip+n > uint64(s.docs) {
			return fmt.Errorf("%w: deleted documents", ErrDamaged)
		}
		for i := end + skip; i < end+skip+n; i++ {
			s.deleted.Set(uint32(i))
		}
		end += skip + n
		s.gone += int(n)
	}
	return nil
}

// removeOthers removes the segments that are not listed. Those that cannot be removed are tried again later.
func (x *Index) removeOthers(listed map[string]bool) error {
	files, err := os.ReadDir(x.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(x.dir, f.Name())
		if filepath.Ext(path) == segmentSuffix && !listed[path] && !x.files.remove(path) {
			x.unlisted = append(x.unlisted, path)
		}
	}
	return nil
}
