// Package source keeps documents in step with the places that they come from, such as folders. The connector of each kind of place is a sub-package,
// and passes the suite of sourcetest.
package source

import (
	"context"
	"crypto/tls"
	"errors"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
)

// Connector lists and reads the documents of one place. Read may be called concurrently.
type Connector interface {
	// List lists all documents. An error means that nothing is known about the place, so no document is removed. Its message is fit for users if
	// it is a [fault.Error].
	List(ctx context.Context) (Listing, error)
	// Read returns the bytes of a listed document, which must not be changed. More than limit bytes are an error. The errors are shown to users.
	Read(ctx context.Context, d Document, limit int64) ([]byte, error)
	// Close releases what List has opened.
	Close() error
}

// Watcher is a [Connector] that can watch its place for changes.
type Watcher interface {
	// Watch calls changed for changes of the place until ctx ends, or until it fails: the error says why, and is shown to users. The arguments are URIs of documents and folders that may have
	// changed. The function does not block. Its first call has no URIs, and means that the watch has begun. A later call without URIs means that changes were missed.
	Watch(ctx context.Context, changed func(uris ...string)) error
	// ListChanged is List for these URIs and what is inside them.
	ListChanged(ctx context.Context, uris []string) (Listing, error)
}

// Document is a document as its place lists it.
type Document struct {
	URI  string // identifies it in all places: an absolute path or a URL; its extension selects the format
	Path string // the part of it that Include and Exclude match, with slashes and without the place
	Name string // is shown to users
	File string // a name whose extension selects the format, if that of URI does not
	// Version changes whenever the bytes may have changed; for instance, it is made of the size and the time of the last change. A document whose
	// version has not changed is not read. Empty: unknown.
	Version string
}

// Listing is what a place has.
type Listing struct {
	Documents []Document
	Failed    []ingest.Failure // what cannot be listed or read
	Unread    []string         // prefixes of URIs that could not be listed; their documents are kept
	Gone      []string         // URIs that are known to have no document any more, although Unread has them
	Ignored   int              // files that are not documents
}

// Settings are what users set for a source.
type Settings struct {
	Kind     string
	Location string // path or URL
	Include  []string
	Exclude  []string
	// Credentials names credentials of the server: env:SLUICE_SOURCE_NAME or file:NAME. Empty: none.
	Credentials string
	// Collection of the documents; empty: that of [Options].
	Collection string
	// Every is the time between two syncs; 0: no schedule. At least [MinEvery].
	Every time.Duration
	// Watch makes the service watch the place and index changes at once.
	Watch bool
	// Meta and Contributor are set on all documents; see [corpus.Document].
	Meta        corpus.DublinCore
	Contributor string
	// Attributes is further metadata of all documents: texts, numbers and truth values by their names.
	Attributes map[string]any
}

// Changes are what users change of a source. Nil fields stay as they are.
type Changes struct {
	Every       *time.Duration
	Watch       *bool
	Meta        *corpus.DublinCore // replaces all elements
	Contributor *string
	Attributes  map[string]any // replaces all; empty but not nil: removes them
}

// Apply applies the changes to the settings of a new source.
func (c Changes) Apply(set *Settings) {
	if c.Every != nil {
		set.Every = *c.Every
	}
	if c.Watch != nil {
		set.Watch = *c.Watch
	}
	if c.Meta != nil {
		set.Meta = *c.Meta
	}
	if c.Contributor != nil {
		set.Contributor = *c.Contributor
	}
	set.Attributes = c.Attributes
}

// SyncOptions are what users choose for one sync.
type SyncOptions struct {
	Full         bool // reads all documents, whatever their versions
	AllowRemoval bool // removes all documents that have vanished, even if the place is [ingest.Incomplete]
}

// Kind is a kind of connector.
type Kind struct {
	// Local is set if the connector reads the disk of the server. Users of the network may not add such sources.
	Local bool
	// Shared are locations of a Local kind that users of the network may add nevertheless, and what is inside them.
	Shared []string
	// Watches is set if the connectors are of the type [Watcher].
	Watches bool
	// Suits reports whether a location is of this kind, if users do not name one. The first kind is used in the order of their names.
	Suits func(location string) bool
	// Locate returns the one form of a location. Documents of the place have URIs that begin with it. Errors are of the type [fault.Error].
	Locate func(location string) (string, error)
	// Documents returns the URIs that a location of the kind names, which two sources may not share; those inside lists at such a URI are not compared.
	// nil: a location has all documents whose URIs begin with it.
	Documents func(location string) []string
	// Open returns the connector of a location that Locate has returned. It reads nothing yet.
	Open func(location string) (Connector, error)
	// OpenWith is Open with credentials, which must not be in errors. nil: sources of the kind have none.
	OpenWith func(location, credentials string) (Connector, error)
	// Forget removes what connectors keep of a location on the disk, after its documents were removed. nil: they keep nothing.
	Forget func(location string) error
}

// SharedPlace returns which of the locations in Shared a location is, or is inside; empty: none.
func (k Kind) SharedPlace(location string) string {
	for _, place := range k.Shared {
		if within(location, place) {
			return place
		}
	}
	return ""
}

// Limits of what users set.
const (
	maxPatterns = 100
	maxPattern  = 1000     // bytes
	maxLocation = 64 << 10 // bytes
	// MinEvery and MaxEvery limit the time between two syncs.
	MinEvery = time.Minute
	MaxEvery = 366 * 24 * time.Hour
)

// checkPatterns returns an error of the type [fault.Error] if a pattern is not valid.
func checkPatterns(field string, patterns []string) error {
	if len(patterns) > maxPatterns {
		return fault.Invalid(field, "want at most %d patterns", maxPatterns)
	}
	for _, p := range patterns {
		if p == "" || len(p) > maxPattern || !doublestar.ValidatePattern(p) || strings.Count(p, "**") > 4 {
			return fault.Invalid(field, "want patterns such as *.pdf or reports/**, of at most %d bytes and with ** at most 4 times", maxPattern)
		}
	}
	return nil
}

// selects reports whether a document passes the patterns: it matches one of include, if there are any, and none of exclude.
func selects(include, exclude []string, name string) bool {
	return (len(include) == 0 || matches(include, name)) && !matches(exclude, name)
}

// matches reports whether a path matches a pattern. A pattern without a slash is for the last element of the path.
func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		of := name
		if !strings.Contains(p, "/") {
			of = path.Base(name)
		}
		if ok, err := doublestar.Match(strings.TrimPrefix(p, "/"), of); err == nil && ok {
			return true
		}
	}
	return false
}

// Printable reports whether a text is valid UTF-8 and has only characters that can be printed, as names of documents must have.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Unreachable returns the error of a request to a host for users, without the address and texts of its server: the error of the context outer, one that has a
// code, or that the host does not answer.
func Unreachable(outer context.Context, host string, err error) error {
	coded, isCoded := errors.AsType[*fault.Error](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case outer.Err() != nil:
		return outer.Err()
	case isCoded:
		return coded
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, "%q took too long", host)
	case untrusted:
		return fault.New(fault.Unavailable, "the certificate of %q is not trusted", host)
	}
	return fault.New(fault.Unavailable, "%q could not be reached, or its reply could not be read", host)
}
