// Package archive reads archives within limits: ZIP files, of which many are documents, tar, and files compressed by gzip, bzip2, xz or Zstandard.
package archive

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of a ZIP file. The ratio applies to members over ratioFloor.
const (
	MaxMembers = 20_000
	MaxSize    = 256 << 20 // bytes of all members that are read, decompressed
	maxRatio   = 300       // of decompressed to compressed bytes
	ratioFloor = 4 << 20
)

// Zip is a ZIP file. Names of members are clean relative paths; members with other names cannot be read.
type Zip struct {
	Members []string // in their order, without folders
	files   map[string]*zip.File
	left    int64
}

// Open reads the directory of a ZIP file. It checks the sizes that the directory states; Read checks the real ones.
func Open(data []byte) (*Zip, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, document.Refuse(err, "not a valid ZIP file")
	}
	if len(r.File) > MaxMembers {
		return nil, document.TooLarge("holds more than %d files", MaxMembers)
	}
	z := &Zip{files: make(map[string]*zip.File, len(r.File)), left: MaxSize}
	var total uint64
	for _, f := range r.File {
		name := strings.ReplaceAll(f.Name, "\\", "/")
		if !f.Mode().IsRegular() || !local(name) {
			continue
		}
		if f.Flags&1 != 0 {
			return nil, document.Refuse(nil, "is protected by a password")
		}
		if total += f.UncompressedSize64; f.UncompressedSize64 > MaxSize || total > MaxSize {
			return nil, document.TooLarge("holds more than %d bytes when it is decompressed", MaxSize)
		}
		if f.UncompressedSize64 > ratioFloor && f.UncompressedSize64/maxRatio > f.CompressedSize64 {
			return nil, document.TooLarge("a file in it is compressed more than %d times", maxRatio)
		}
		if z.files[name] == nil {
			z.Members, z.files[name] = append(z.Members, name), f
		}
	}
	return z, nil
}

// local reports whether a member's name is a clean relative path.
func local(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean("/"+name) == "/"+name
}

// Has reports whether there is a member with a name.
func (z *Zip) Has(name string) bool { return z.files[name] != nil }

// Read returns the bytes of a member. It returns nil without an error if there is none with the name.
func (z *Zip) Read(name string) ([]byte, error) {
	f := z.files[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, document.Refuse(err, "a file in it cannot be read")
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, z.left+1))
	if err != nil {
		return nil, document.Refuse(err, "a file in it cannot be read")
	}
	if z.left -= int64(len(data)); z.left < 0 {
		return nil, document.TooLarge("holds more than %d bytes when it is decompressed", MaxSize)
	}
	return data, nil
}

// Resolve returns the name of the member that a reference in another member names. It returns "" for a reference out of the file.
func Resolve(from, reference string) string {
	if strings.Contains(reference, "://") {
		return ""
	}
	if strings.HasPrefix(reference, "/") {
		return strings.TrimPrefix(path.Clean(reference), "/")
	}
	name := path.Join(path.Dir(from), reference)
	if name == ".." || strings.HasPrefix(name, "../") {
		return ""
	}
	return name
}
