package git

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/sluice-rag/sluice/fault"
)

const (
	dialTimeout  = 30 * time.Second
	replyTimeout = 5 * time.Minute // until a reply begins: the server may have to make a pack first
	maxRefs      = 64 << 20        // bytes of the list of branches and tags
	maxPrologue  = 1 << 20         // bytes of a reply before its pack
	maxError     = 64 << 10        // bytes of the text of an error
)

// remote is a repository on a server.
type remote struct {
	place
	limits    Limits
	transport *http.Transport
	session   transport.UploadPackSession
	caps      *capability.List // of the server; set by tip

	left atomic.Int64 // bytes that may still be read from the reply
	mu   sync.Mutex
	err  error // of the last request; the errors of the library do not contain it
}

func newRemote(p place, o Options, user, password string) (*remote, error) {
	r := &remote{place: p, limits: o.Limits}
	r.transport = &http.Transport{DialContext: o.Dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: replyTimeout, MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout: dialTimeout, DisableCompression: true, ForceAttemptHTTP2: true}
	// The library follows redirects of the first request only, never from https to http, and sends no credentials to another host.
	client := githttp.NewClientWithOptions(&http.Client{Transport: r}, &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})
	var auth transport.AuthMethod
	if user != "" {
		auth = &githttp.BasicAuth{Username: user, Password: password}
	}
	host, port := p.host, 0
	if h, n, err := net.SplitHostPort(p.host); err == nil {
		if port, err = strconv.Atoi(n); err != nil {
			return nil, fault.Invalid("location", "has a port that is not valid")
		}
		if host = h; strings.Contains(h, ":") {
			host = "[" + h + "]"
		}
	}
	var err error
	r.session, err = client.NewUploadPackSession(&transport.Endpoint{Protocol: p.scheme, Host: host, Port: port, Path: (&url.URL{Path: p.path}).EscapedPath()}, auth)
	return r, err
}

var errTooMuch = errors.New("the server sends too much")

// RoundTrip implements [http.RoundTripper]. It limits the replies.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.transport.RoundTrip(req)
	if err != nil {
		r.note(err)
		return nil, err
	}
	left := &r.left
	if res.StatusCode != http.StatusOK {
		left = new(atomic.Int64)
		left.Store(maxError)
	}
	res.Body = &body{res.Body, r, left}
	return res, nil
}

func (r *remote) note(err error) {
	r.mu.Lock()
	r.err = err
	r.mu.Unlock()
}

// body is the body of a reply.
type body struct {
	io.ReadCloser
	r    *remote
	left *atomic.Int64 // bytes
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left.Add(-int64(n)) < 0 {
		err = errTooMuch
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.r.note(err)
	}
	return n, err
}

// tip asks the server for the commit of the ref.
func (r *remote) tip(ctx context.Context) (commit plumbing.Hash, t tip, err error) {
	r.left.Store(maxRefs)
	adv, err := guarded(func() (*packp.AdvRefs, error) { return r.session.AdvertisedReferencesContext(ctx) })
	if err != nil {
		return commit, t, r.describe(ctx, err)
	}
	r.caps = adv.Capabilities
	if r.ref == head {
		if adv.Head == nil {
			return commit, t, fault.Invalid("location", "the repository has no default branch: name one after #")
		}
		for _, s := range adv.Capabilities.Get(capability.SymRef) {
			if name, ok := strings.CutPrefix(s, "HEAD:refs/heads/"); ok && validRef(name) {
				t.branch = name
			}
		}
		return *adv.Head, t, nil
	}
	if commit, ok := adv.References["refs/heads/"+r.ref]; ok {
		return commit, tip{branch: r.ref}, nil
	}
	commit, ok := adv.Peeled["refs/tags/"+r.ref] // the commit of a tag with a message
	if !ok {
		if commit, ok = adv.References["refs/tags/"+r.ref]; !ok {
			return commit, t, fault.Invalid("location", "the repository has no branch or tag %q", r.ref)
		}
	}
	return commit, tip{tag: true}, nil
}

// filters reports whether the server can leave large files out. It needs tip.
func (r *remote) filters() bool { return r.caps.Supports(capability.Filter) }

// download writes the pack of a commit without its history to w. Objects of the commit have are left out, unless it is zero. It needs tip.
func (r *remote) download(ctx context.Context, commit, have plumbing.Hash, filter int64, w io.Writer) error {
	if !r.caps.Supports(capability.Shallow) {
		return fault.New(fault.Unavailable, "%q cannot send a commit without its history", r.host)
	}
	req := packp.NewUploadPackRequestFromCapabilities(r.caps)
	err := req.Capabilities.Set(capability.Shallow)
	if err == nil && r.caps.Supports(capability.NoProgress) {
		err = req.Capabilities.Set(capability.NoProgress)
	}
	if err == nil && filter > 0 {
		req.Filter = packp.FilterBlobLimit(uint64(filter), packp.BlobLimitPrefixNone)
		err = req.Capabilities.Set(capability.Filter)
	}
	if err != nil {
		return err
	}
	req.Wants, req.Depth = []plumbing.Hash{commit}, packp.DepthCommits(1)
	if !have.IsZero() {
		req.Haves, req.Shallows = []plumbing.Hash{have}, []plumbing.Hash{have}
		if err := req.Capabilities.Set(capability.ThinPack); err != nil { // see [packs.complete]
			return err
		}
	}
	r.left.Store(maxPrologue)
	reply, err := guarded(func() (*packp.UploadPackResponse, error) { return r.session.UploadPack(ctx, req) })
	if err != nil {
		return r.describe(ctx, err)
	}
	r.left.Store(r.limits.Bytes)
	var pack io.Reader = reply
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, reply)
	case req.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, reply)
	}
	_, err = guarded(func() (int64, error) { return io.Copy(writer{w}, pack) })
	err = errors.Join(err, reply.Close())
	if ours, ok := errors.AsType[*writeError](err); ok {
		return ours.error
	}
	return r.describe(ctx, err)
}

// writer wraps the errors of a writer in writeError.
type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &writeError{err}
	}
	return n, err
}

type writeError struct{ error }

// guarded returns a panic as an error, because the library may panic on what a server sends.
func guarded[T any](do func() (T, error)) (out T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errDamaged
		}
	}()
	return do()
}

var errDamaged = errors.New("the server sends data that cannot be decoded")

// describe returns the error for users. It contains no text of the server, and no address.
func (r *remote) describe(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	last := r.err
	r.mu.Unlock()
	coded, isCoded := errors.AsType[*fault.Error](errors.Join(err, last))
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](last)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isCoded:
		return coded
	case errors.Is(last, errTooMuch):
		return fault.New(fault.TooLarge, "%q sends more than the limit of %d bytes", r.host, r.limits.Bytes)
	case untrusted:
		return fault.New(fault.Unavailable, "the certificate of %q is not trusted", r.host)
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fault.New(fault.Unavailable, "the repository is empty")
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return fault.New(fault.Forbidden, "%q refuses access: the repository needs other credentials, or does not exist", r.host)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return fault.New(fault.Unavailable, "%q has no such repository, or it needs credentials", r.host)
	case last == nil:
		return fault.New(fault.Unavailable, "%q does not answer as a Git server", r.host)
	}
	return fault.New(fault.Unavailable, "%q could not be reached, or its reply could not be read", r.host)
}
