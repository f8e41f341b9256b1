package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/disk/atomicfile"
)

// Limits of the file of a location. If a file is lost or too large, pages are downloaded that have not changed.
const (
	memoryVersion = 1
	maxMemory     = 128 << 20 // bytes of the file
	maxKept       = 48 << 20  // bytes of links, about
)

// memory is what is kept of the pages of a location between two listings.
type memory struct {
	Version  int             `json:"version"`
	Complete bool            `json:"complete"` // has all pages of the last listing that was complete
	Sitemap  bool            `json:"sitemap"`  // the last listing was that of a sitemap
	Pages    map[string]Page `json:"pages"`
}

func recall(dir, location string) (path string, m memory) {
	sum := sha256.Sum256([]byte(location))
	path = filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxMemory {
		return path, memory{}
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &m) != nil || m.Version != memoryVersion {
		return path, memory{}
	}
	return path, m
}

// HadSitemap reports whether the last listing was that of a sitemap.
func (s *Session) HadSitemap() bool { return s.before.Sitemap }

// Save keeps what is known of the pages for the next listing. Without complete, pages that were not visited stay known.
func (s *Session) Save(complete, sitemap bool) error {
	if s.path == "" {
		return nil
	}
	m := memory{Version: memoryVersion, Complete: complete || s.before.Complete, Sitemap: sitemap, Pages: map[string]Page{}}
	if !complete {
		maps.Copy(m.Pages, s.before.Pages)
	}
	maps.Copy(m.Pages, s.seen)
	size := 0
	for u, p := range m.Pages {
		for _, l := range p.Links {
			size += len(l)
		}
		if size > maxKept {
			delete(m.Pages, u)
			m.Complete = false
		}
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = atomicfile.Write(s.path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep pages of source: %w", err)
	}
	return nil
}

// Keep keeps what is known of a page that could not be visited.
func (s *Session) Keep(u string) {
	if p, ok := s.before.Pages[u]; ok {
		s.seen[u] = p
	}
}
