package webdav

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
)

// listing is one listing of all folders. Each folder is one request, because most servers refuse a request for all of them.
type listing struct {
	*connector
	ctx, outer context.Context
	queue      []folder
	folders    int
	failures   int // in succession
	known      map[string]bool
	out        source.Listing
}

// folder is a folder to list.
type folder struct {
	inside string // its path inside the location, with a slash at its beginning; of the location, ""
	depth  int
}

func (l *listing) run() error {
	for l.queue = []folder{{}}; len(l.queue) > 0; l.queue = l.queue[1:] {
		at := l.queue[0]
		if l.folders++; l.folders > l.options.Folders {
			return fault.New(fault.TooLarge, "the location has more than %d folders", l.options.Folders)
		}
		entries, err := l.propfind(l.ctx, l.path+at.inside)
		if gone, ok := errors.AsType[*statusError](err); ok {
			if at.inside != "" && (gone.status == http.StatusNotFound || gone.status == http.StatusGone) {
				continue // since the folder above was listed
			}
			err = l.refused(gone.status)
		}
		if err != nil {
			err = source.Unreachable(l.outer, l.host, err)
			coded, ok := errors.AsType[*fault.Error](err)
			l.failures++
			if !ok || at.inside == "" || l.ctx.Err() != nil || l.failures >= maxFailures {
				return err
			}
			l.unread(at.inside, coded.Message)
			continue
		}
		l.failures = 0
		for _, e := range entries {
			if err := l.entry(at, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// unread reports a file or folder that could not be listed. Its documents are kept.
func (l *listing) unread(inside, reason string) {
	l.out.Unread = append(l.out.Unread, l.uri(inside))
	l.out.Failed = append(l.out.Failed, failure(inside, reason))
}

// entry adds an entry of a folder.
func (l *listing) entry(in folder, e entry) error {
	inside := in.inside + "/" + e.name
	relative := inside[1:]
	uri := l.uri(inside)
	switch {
	case ingest.Skipped(relative) || e.folder && ingest.Skipped(relative+"/x"):
	case !source.Printable(e.name):
		l.out.Failed = append(l.out.Failed, failure(inside, "its name has characters that cannot be printed"))
	case len(uri) > maxURL || in.depth >= l.options.Depth:
		l.out.Failed = append(l.out.Failed, failure(inside, "its path is too long"))
	case e.status == http.StatusNotFound || e.status == http.StatusGone: // since the server began to list the folder
	case e.status != http.StatusOK:
		l.unread(inside, l.refused(e.status).Error())
	case e.folder:
		l.queue = append(l.queue, folder{inside, in.depth + 1})
	case !l.wanted(e.name):
		l.out.Ignored++
	case l.known[uri]:
		l.out.Failed = append(l.out.Failed, failure(inside, "its folder has two files of this name"))
	case len(l.known) >= l.options.Documents:
		return fault.New(fault.TooLarge, "the location has more than %d documents", l.options.Documents)
	default:
		l.known[uri] = true
		l.out.Documents = append(l.out.Documents, source.Document{URI: uri, Path: relative, Name: path.Join(l.name(), relative), Version: e.version()})
	}
	return nil
}

// settle is the age from which the time of the last change identifies the bytes of a file. The time has a resolution of a second.
const settle = 2 * time.Second

// version returns the version of a file: its ETag, or the time of its last change.
func (e entry) version() string {
	if e.etag != "" && len(e.etag) <= maxVersion {
		return "etag " + e.etag
	}
	if at, err := http.ParseTime(e.modified); err == nil && !e.listed.IsZero() && e.listed.Sub(at) > settle {
		return strings.TrimSpace("modified " + at.UTC().Format(time.RFC3339) + " " + e.length)
	}
	return ""
}
