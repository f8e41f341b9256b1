package git

import (
	"bytes"
	"encoding/hex"

	"github.com/go-git/go-git/v5/plumbing"
)

// Modes of the entries of a folder that are no files.
const (
	modeTree      = "40000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// emptyTree is the hash of a folder without entries, which servers need not send.
var emptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// entry is an entry of a folder.
type entry struct {
	mode, name string
	hash       plumbing.Hash
}

// parseTree parses the object of a folder: entries of the form MODE SP NAME NUL and the 20 bytes of a hash.
func parseTree(data []byte) (out []entry, ok bool) {
	for len(data) > 0 {
		mode, rest, ok := bytes.Cut(data, []byte(" "))
		if !ok {
			return nil, false
		}
		name, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(rest) < len(plumbing.ZeroHash) {
			return nil, false
		}
		e := entry{mode: string(bytes.TrimLeft(mode, "0")), name: string(name)}
		data = rest[copy(e.hash[:], rest):]
		out = append(out, e)
	}
	return out, true
}

// treeOf returns the folder of a commit, which is its first line: tree SP HEX.
func treeOf(commit []byte) (tree plumbing.Hash, ok bool) {
	line, _, _ := bytes.Cut(commit, []byte("\n"))
	text, ok := bytes.CutPrefix(line, []byte("tree "))
	if !ok || len(text) != hex.EncodedLen(len(tree)) {
		return tree, false
	}
	_, err := hex.Decode(tree[:], text)
	return tree, err == nil
}
