package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Limits of the history: number of entries, bytes of an entry, and size of the file above which it is rewritten.
const (
	maxEntries = 1000
	maxEntry   = 16 << 10
	maxHistory = 1 << 20
)

// history is the input history, oldest first. The file holds one JSON string per line. Several processes can append to it, and only its
// owner can read it. A history is not safe for concurrent use.
type history struct {
	path    string // empty keeps no file
	entries []string
	at      int    // index of the shown entry; len(entries) is the draft
	draft   string // text that was typed before going back
}

// openHistory reads a history. If it cannot be read, openHistory returns an empty history and an error.
func openHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > 4*maxHistory { // read only the end
		if _, err := f.Seek(-4*maxHistory, 2); err != nil {
			return h, fmt.Errorf("read history: %w", err)
		}
	}
	size, lines := 0, bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		var entry string
		size += len(lines.Bytes()) + 1
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry != "" { // skip lines that a crash has cut
			h.push(entry)
		}
	}
	h.at = len(h.entries)
	if size > maxHistory {
		err = h.rewrite()
	}
	return h, err
}

func (h *history) push(entry string) {
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	if len(h.entries) > maxEntries {
		h.entries = h.entries[1:]
	}
}

// rewrite replaces the file with the entries in memory.
func (h *history) rewrite() error {
	var b bytes.Buffer
	from, size := len(h.entries), 0
	for from > 0 && size < maxHistory/2 {
		from--
		size += len(h.entries[from])
	}
	for _, e := range h.entries[from:] {
		b.Write(encodeEntry(e))
	}
	if err := replace(h.path, strings.NewReader(b.String())); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func encodeEntry(e string) []byte {
	line, _ := json.Marshal(e) // strings can always be encoded
	return append(line, '\n')
}

// secret matches a user name and password in a URL.
var secret = regexp.MustCompile(`://[^/\s?#]*@`)

// add appends an entry, unless it contains a password or is too long.
func (h *history) add(entry string) error {
	h.at, h.draft = len(h.entries), ""
	entry = strings.TrimSpace(entry)
	if entry == "" || len(entry) > maxEntry || secret.MatchString(entry) {
		return nil
	}
	n := len(h.entries)
	same := n > 0 && h.entries[n-1] == entry
	h.push(entry)
	h.at = len(h.entries)
	if h.path == "" || same {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	defer f.Close()
	if err = f.Chmod(0o600); err == nil { // the file may exist with wider permissions
		_, err = f.Write(encodeEntry(entry))
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// back returns the entry before the shown one, if there is one.
func (h *history) back(shown string) (entry string, ok bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = shown
	}
	h.at--
	return h.entries[h.at], true
}

// forth returns the entry after the shown one, and finally the draft.
func (h *history) forth() (entry string, ok bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	if h.at++; h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
