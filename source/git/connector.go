package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/source"
)

const (
	maxDepth = 200      // of folders
	maxPath  = 2048     // bytes of the path of a file
	maxTree  = 64 << 20 // bytes of the list of a folder
)

type connector struct {
	place
	options        Options
	user, password string
	packs          *packs                   // set by List
	blobs          map[string]plumbing.Hash // by URI; set by List
}

func open(o Options, location, credentials string) (source.Connector, error) {
	p, err := parseLocation(location)
	if err != nil {
		return nil, err
	}
	c := &connector{place: p, options: o}
	if credentials == "" {
		return c, nil
	}
	if c.user, c.password, err = source.UserPassword(credentials); err != nil {
		return nil, err
	}
	if p.scheme != "https" {
		return nil, fault.New(fault.InvalidRequest, "credentials are only sent with TLS: use git+https://")
	}
	return c, nil
}

// List implements [source.Connector]. Hidden files and folders of dependencies are left out, as in folders, and so are symbolic links and submodules.
func (c *connector) List(outer context.Context) (out source.Listing, err error) {
	if err := c.Close(); err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(outer, c.options.Time)
	defer cancel()
	if out, err = c.list(ctx); err == nil {
		return out, nil
	}
	switch {
	case outer.Err() != nil:
		err = outer.Err()
	case ctx.Err() != nil:
		err = fault.New(fault.Timeout, "%q took too long", c.host)
	case errors.Is(err, errDamaged), errors.Is(err, errMissing), errors.Is(err, errBroken):
		err = fault.New(fault.Unavailable, "%q sends a repository that is incomplete or damaged", c.host)
	}
	return source.Listing{}, err
}

func (c *connector) list(ctx context.Context) (out source.Listing, err error) {
	if c.packs, err = openPacks(dirOf(c.options.Dir, c.location(c.inside)), c.options.Limits); err != nil {
		return out, err
	}
	r, err := newRemote(c.place, c.options, c.user, c.password)
	if err != nil {
		return out, err
	}
	defer r.transport.CloseIdleConnections()
	commit, t, err := r.tip(ctx)
	if err != nil {
		return out, err
	}
	if err := c.update(ctx, r, commit); err != nil {
		return out, err
	}
	out, err = c.walk(ctx, commit, t)
	if errors.Is(err, errMissing) || errors.Is(err, errBroken) { // the server left out more than is kept, or what is kept is damaged
		if err := c.packs.reset(); err != nil {
			return out, err
		}
		if err := c.update(ctx, r, commit); err != nil {
			return out, err
		}
		out, err = c.walk(ctx, commit, t)
	}
	return out, err
}

// update downloads the missing objects of a commit.
func (c *connector) update(ctx context.Context, r *remote, commit plumbing.Hash) error {
	var filter int64
	if r.filters() {
		filter = c.options.MaxFile + 1
	}
	same := c.packs.state.Filter == filter
	if same && c.packs.commit() == commit {
		return nil
	}
	if !same || c.packs.full() {
		if err := c.packs.reset(); err != nil {
			return err
		}
	}
	have := c.packs.commit()
	receive := func() error {
		return c.packs.receive(ctx, commit, filter, func(w io.Writer) error { return r.download(ctx, commit, have, filter, w) })
	}
	err := receive()
	if errors.Is(err, errDamaged) && !have.IsZero() { // perhaps the server is wrong about what is kept
		have = plumbing.ZeroHash
		if err = c.packs.reset(); err == nil {
			err = receive()
		}
	}
	return err
}

// walk lists the files of a commit.
func (c *connector) walk(ctx context.Context, commit plumbing.Hash, t tip) (source.Listing, error) {
	data, err := c.packs.read(commit, plumbing.CommitObject, maxTree)
	if err != nil {
		return source.Listing{}, err
	}
	tree, ok := treeOf(data)
	if !ok {
		return source.Listing{}, errDamaged
	}
	w := &walk{connector: c, ctx: ctx, tip: t, left: c.options.Objects, blobs: map[string]plumbing.Hash{}}
	if c.inside != "" {
		for folder := range strings.SplitSeq(c.inside, "/") {
			entries, err := w.entries(tree)
			if err != nil {
				return source.Listing{}, err
			}
			i := slices.IndexFunc(entries, func(e entry) bool { return e.name == folder && e.mode == modeTree })
			if i < 0 {
				return source.Listing{}, fault.Invalid("location", "the branch has no folder %q", c.inside)
			}
			tree = entries[i].hash
		}
	}
	if err := w.folder(tree, "", 0); err != nil {
		return source.Listing{}, err
	}
	c.blobs = w.blobs
	return w.out, nil
}

// walk is one pass over the files of a commit.
type walk struct {
	*connector
	ctx   context.Context
	tip   tip
	left  int // entries: a small repository can name the same folder very often
	blobs map[string]plumbing.Hash
	out   source.Listing
}

func (w *walk) entries(tree plumbing.Hash) ([]entry, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if tree == emptyTree {
		return nil, nil
	}
	data, err := w.packs.read(tree, plumbing.TreeObject, maxTree)
	if err != nil {
		return nil, err
	}
	entries, ok := parseTree(data)
	if !ok {
		return nil, errDamaged
	}
	if w.left -= len(entries); w.left < 0 {
		return nil, fault.New(fault.TooLarge, "the branch has more than %d files and folders", w.options.Objects)
	}
	return entries, nil
}

// folder lists the files of a folder, whose path is relative to the location and ends in a slash unless it is empty.
func (w *walk) folder(tree plumbing.Hash, at string, depth int) error {
	entries, err := w.entries(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inside := at + e.name
		switch {
		case e.mode == modeLink || e.mode == modeTree && ingest.Skipped(inside+"/x") || ingest.Skipped(inside):
		case e.mode == modeSubmodule:
			w.out.Ignored++
		case e.name == "" || strings.Contains(e.name, "/") || !source.Printable(e.name):
			w.fail(inside, "its name has characters that are not permitted")
		case len(inside) > maxPath || depth > maxDepth:
			w.fail(inside, "its path is too long")
		case e.mode == modeTree:
			if err := w.folder(e.hash, inside+"/", depth+1); err != nil {
				return err
			}
		case !parse.Supported(e.name) && !slices.Contains(w.options.Extensions, strings.ToLower(path.Ext(e.name))):
			w.out.Ignored++
		default:
			w.file(e, inside)
		}
	}
	return nil
}

func (w *walk) file(e entry, inside string) {
	uri := w.uri(w.tip, path.Join(w.inside, inside))
	if _, twice := w.blobs[uri]; twice {
		w.fail(inside, "its folder has two files of this name")
		return
	}
	w.blobs[uri] = e.hash
	w.out.Documents = append(w.out.Documents, source.Document{URI: uri, Path: inside, Name: path.Join(w.name(), w.inside, inside), File: e.name, Version: e.hash.String()})
}

func (w *walk) fail(inside, reason string) {
	w.out.Failed = append(w.out.Failed, ingest.Failure{Path: parse.PrintableName(inside), Reason: reason})
}

// pointer is the beginning of a file that is stored with Git LFS.
var pointer = []byte("version https://git-lfs.github.com/spec/")

// Read implements [source.Connector].
func (c *connector) Read(ctx context.Context, d source.Document, limit int64) ([]byte, error) {
	hash, ok := c.blobs[d.URI]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := c.packs.read(hash, plumbing.BlobObject, limit)
	switch {
	case errors.Is(err, errMissing) && c.packs.state.Filter > 0:
		return nil, tooLarge(c.packs.state.Filter - 1)
	case errors.Is(err, errMissing), errors.Is(err, errBroken):
		return nil, errors.Join(fault.New(fault.Unavailable, "is missing or damaged; the next sync downloads the repository again"), c.packs.forget())
	case err == nil && bytes.HasPrefix(data, pointer):
		return nil, fault.New(fault.InvalidRequest, "is stored with Git LFS, which is not supported")
	}
	return data, err
}

// Close implements [source.Connector].
func (c *connector) Close() error {
	if c.packs == nil {
		return nil
	}
	err := c.packs.close()
	c.packs = nil
	return err
}
