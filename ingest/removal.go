package ingest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse"
)

const (
	// fewVanished is how many documents are removed even if they were all of an empty place: people delete them, and they are soon indexed again if the place was only away.
	fewVanished = 2
	// manyFewer is the smallest number of missing documents at which a place that has lost most of its documents, but not all of its files, counts as incomplete.
	manyFewer = 20
)

// Incomplete reports whether a place is probably not mounted or not listed completely, so that documents that it does not have any more must not be removed without a confirmation. The arguments are how many
// documents of the place the index has, how many the place has now, and how many files it has that are no documents. It is incomplete if it is empty and had at least three documents, or if it has
// less than half and at least 20 fewer.
func Incomplete(indexed, now, others int) bool {
	if now+others == 0 {
		return indexed > fewVanished
	}
	return indexed-now >= manyFewer && 2*now < indexed
}

// KeptMessage tells users that documents of incomplete places were kept, and what removes them.
func KeptMessage(kept int, confirm string) string {
	return fmt.Sprintf("%d documents have vanished, which are all or most of them, so they are kept: check that the place is mounted and complete; to remove them, %s", kept, confirm)
}

// within reports whether the URI of a document is that of a file, or in a folder.
func within(uri, folder string) bool { return uri == folder || strings.HasPrefix(uri, folder+"/") }

// folderURIs returns URIs of folders in the form of those of documents.
func folderURIs(folders []string) []string {
	out := make([]string, len(folders))
	for i, f := range folders {
		out[i] = strings.TrimSuffix(parse.PrintableName(f), "/")
	}
	return out
}

// withhold returns which of the missing documents may be removed, and reports the others, which are in incomplete folders.
func (r *run) withhold(ctx context.Context, req Request, files *listing, gone []corpus.DocumentID) (remove []corpus.DocumentID, err error) {
	remove, r.report.NotRemoved = files.withhold(gone, r.known, r.collection)
	if r.report.NotRemoved == 0 || req.Only == nil {
		return remove, nil
	}
	// The parts that were listed do not show whether the rest of a folder has files, such as pictures.
	whole, err := list(ctx, req.Paths, r.opts.Extensions, nil)
	defer whole.close()
	if err == nil {
		remove, r.report.NotRemoved = whole.withhold(gone, r.known, r.collection)
	}
	return remove, err
}

// withhold returns which of the missing documents may be removed, and the number of the others, which are in incomplete folders.
func (l *listing) withhold(gone []corpus.DocumentID, docs map[corpus.DocumentID]corpus.Document, collection string) (remove []corpus.DocumentID, kept int) {
	if len(gone) == 0 {
		return nil, 0
	}
	var added []string
	for uri := range l.seen {
		if _, known := docs[DocumentID(collection, uri)]; !known {
			added = append(added, parse.PrintableName(uri))
		}
	}
	var incomplete []string
	for i, folder := range folderURIs(l.places) {
		indexed := 0
		for _, d := range docs {
			if within(d.URI, folder) {
				indexed++
			}
		}
		now := indexed
		for _, id := range gone {
			if within(docs[id].URI, folder) {
				now--
			}
		}
		for _, uri := range added {
			if within(uri, folder) {
				now++
			}
		}
		if Incomplete(indexed, now, l.others[i]) {
			incomplete = append(incomplete, folder)
		}
	}
	for _, id := range gone {
		if slices.ContainsFunc(incomplete, func(folder string) bool { return within(docs[id].URI, folder) }) {
			kept++
		} else {
			remove = append(remove, id)
		}
	}
	return remove, kept
}

// without returns the listing of paths as if no file were there.
func without(paths []string) (*listing, error) {
	l := &listing{}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return l, fmt.Errorf("remove %s: %w", p, err)
		}
		l.folders = append(l.folders, filepath.ToSlash(abs))
	}
	return l, nil
}

// Root returns the path of the file or folder with which a document was ingested, with slashes. It is empty for documents that are not from files of this machine.
func Root(d corpus.Document) string {
	if !filepath.IsAbs(filepath.FromSlash(d.URI)) {
		return ""
	}
	if above, ok := strings.CutSuffix(d.URI, "/"+d.Path); ok {
		first, _, _ := strings.Cut(d.Path, "/")
		return above + "/" + first
	}
	return d.URI
}

// Within reports whether a path with slashes is that of a file or folder, or inside it.
func Within(path, folder string) bool { return within(path, strings.TrimSuffix(folder, "/")) }
