package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Bounds of the history: entries, bytes of one, and bytes of the file over which it is written anew.
const (
	maxEntries = 1000
	maxEntry   = 16 << 10
	maxHistory = 1 << 20
)

// history is what was typed, the oldest first. It is a file of JSON texts, a line each, that several programs may add to at once and nobody else
// may read. It is for one goroutine.
type history struct {
	path    string // empty: it is not kept
	entries []string
	at      int    // the entry that is shown; len(entries): what is being typed
	draft   string // what was being typed
}

// openHistory reads a history. One that cannot be read is begun anew, and the error says why.
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
	if info, err := f.Stat(); err == nil && info.Size() > 4*maxHistory { // its end is what is wanted
		if _, err := f.Seek(-4*maxHistory, 2); err != nil {
			return h, fmt.Errorf("read history: %w", err)
		}
	}
	size, lines := 0, bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxEntry)
	for lines.Scan() {
		var entry string
		size += len(lines.Bytes()) + 1
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry != "" { // half a line is what a crash leaves
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

// rewrite puts a file of what is in memory in the place of the one that has grown.
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
	f, err := os.CreateTemp(filepath.Dir(h.path), ".chat_history*") // which nobody else may read
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	_, err = f.Write(b.Bytes())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func encodeEntry(e string) []byte {
	line, _ := json.Marshal(e) // texts can always be written
	return append(line, '\n')
}

// secret tells of a user name and password in an address.
var secret = regexp.MustCompile(`://[^/\s?#]*@`)

// add keeps what was typed. What holds a password, or is very long, is not.
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
	if err = f.Chmod(0o600); err == nil { // it may have been made with wider rights
		_, err = f.Write(encodeEntry(entry))
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// back gives the entry before the one that is shown; ok tells whether there is one.
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

// forth gives the one behind it, and at last what was being typed.
func (h *history) forth() (entry string, ok bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	if h.at++; h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
