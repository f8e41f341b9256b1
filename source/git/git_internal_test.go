package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestURI checks the URLs of files on known hosts.
func TestURI(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"https://github.com/org/repo.git":                       "https://github.com/org/repo/blob/HEAD/docs/a%20%23.md",
		"https://github.com/org/repo.git#feature/x:docs":        "https://github.com/org/repo/blob/feature/x/docs/a%20%23.md",
		"https://gitlab.com/group/sub/repo.git#main":            "https://gitlab.com/group/sub/repo/-/blob/main/docs/a%20%23.md",
		"https://gitlab.example.org:8443/group/repo":            "https://gitlab.example.org:8443/group/repo/-/blob/HEAD/docs/a%20%23.md",
		"https://bitbucket.org/org/repo.git":                    "https://bitbucket.org/org/repo/src/HEAD/docs/a%20%23.md",
		"https://codeberg.org/org/repo.git":                     "https://codeberg.org/org/repo/src/branch/trunk/docs/a%20%23.md",
		"https://git.example.org/org/repo.git#main":             "git+https://git.example.org/org/repo.git#main:/docs/a%20%23.md",
		"https://github.com.evil.example.org/org/repo.git#main": "https://github.com.evil.example.org/org/repo/blob/main/docs/a%20%23.md",
	} {
		p, err := parseLocation(location)
		require.NoError(t, err)
		if got := p.uri(tip{branch: "trunk"}, "docs/a #.md"); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
	p, err := parseLocation("https://codeberg.org/org/repo.git#v1")
	if got := p.uri(tip{tag: true}, "a.md"); err != nil || got != "https://codeberg.org/org/repo/src/tag/v1/a.md" {
		t.Errorf("a tag: %s, %v", got, err)
	}
}

// object is an object of a pack, whose header claims a size.
func object(kind plumbing.ObjectType, size uint64, reference, content string) []byte {
	first := byte(kind)<<4 | byte(size&0x0f)
	out := []byte{first}
	if size >>= 4; size > 0 {
		out[0] |= 0x80
		out = binary.AppendUvarint(out, size)
	}
	out = append(out, reference...)
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	return append(out, b.Bytes()...)
}

func packOf(count uint32, objects ...[]byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), count)
	for _, o := range objects {
		out = append(out, o...)
	}
	return append(out, make([]byte, 20)...)
}

var small = Limits{Bytes: 1 << 20, Object: 1 << 16, Objects: 100}

// hostile packs claim or contain more than the limits permit, or are damaged.
func hostile() map[string][]byte {
	const base = "the base of a delta, long enough to be copied"
	blob := object(plumbing.BlobObject, uint64(len(base)), "", base)
	hash := plumbing.ComputeHash(plumbing.BlobObject, []byte(base))
	bomb := string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(base))), 1<<40)) + strings.Repeat("\x90\x20", 1000)
	var many [][]byte
	for range 100 {
		many = append(many, object(plumbing.BlobObject, 1<<16, "", strings.Repeat("x", 1<<16)))
	}
	return map[string][]byte{
		"a large object":    packOf(1, object(plumbing.BlobObject, 1<<40, "", "x")),
		"a large content":   packOf(1, object(plumbing.BlobObject, 10, "", strings.Repeat("x", 1<<20))),
		"many objects":      packOf(1<<31, blob),
		"missing objects":   packOf(3, blob),
		"a large sum":       packOf(100, many...),
		"a delta bomb":      packOf(2, blob, object(plumbing.REFDeltaObject, uint64(len(bomb)), string(hash[:]), bomb)),
		"a delta of none":   packOf(1, object(plumbing.REFDeltaObject, 2, strings.Repeat("x", 20), "\x01\x01")),
		"an empty delta":    packOf(2, blob, object(plumbing.REFDeltaObject, 0, string(hash[:]), "")),
		"a delta of itself": packOf(1, object(plumbing.OFSDeltaObject, 2, "\x00", "\x01\x01")),
		"no pack":           []byte("PACK"),
		"empty":             {},
	}
}

func TestHostilePacks(t *testing.T) {
	t.Parallel()
	for name, data := range hostile() {
		if _, err := indexPack(t.Context(), bytes.NewReader(data), small); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := indexPack(ctx, bytes.NewReader(hostile()["a large sum"]), small); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzPack checks that no pack stops the process, and that errors are fit for users.
func FuzzPack(f *testing.F) {
	for _, data := range hostile() {
		f.Add(data)
	}
	f.Add(packOf(1, object(plumbing.BlobObject, 4, "", "text")))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, err := indexPack(t.Context(), bytes.NewReader(data), small)
		if err != nil && fault.CodeOf(err) == "" && !errors.Is(err, errDamaged) {
			t.Errorf("%v", err)
		}
		if err == nil && index == nil {
			t.Error("no index")
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add([]byte("100644 a.md\x00" + strings.Repeat("x", 20) + "40000 \x00" + strings.Repeat("y", 20)))
	f.Add([]byte("tree " + strings.Repeat("a", 40) + "\n"))
	f.Add([]byte("100644 a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, ok := parseTree(data); ok && len(entries) > len(data)/22 {
			t.Errorf("%d entries in %d bytes", len(entries), len(data))
		}
		treeOf(data)
	})
}
