// Package imap is the connector of folders of e-mail on IMAP servers (RFC 3501 and RFC 9051). It changes nothing on them.
package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/source"
)

// Options configure the kind.
type Options struct {
	// Dial connects to a server: see [fetch.Fetcher.Dial]. It is required.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // nil: the default
}

const (
	listTimeout = 30 * time.Minute
	readTimeout = 5 * time.Minute
	maxMessages = 500_000
	maxFolders  = 16 << 20 // bytes of the list of folders
	maxFolder   = 64 << 20 // bytes of the list of messages of a folder
	maxReplies  = 1 << 20  // bytes of the replies around a message
)

// Kind returns the kind of source. Its locations are imaps://HOST/FOLDER, or imap://HOST/FOLDER for a server that begins TLS when it is asked
// (STARTTLS). Passwords are never sent without TLS. The credentials are USER:PASSWORD.
func Kind(o Options) source.Kind {
	return source.Kind{
		Suits: func(location string) bool {
			return strings.HasPrefix(location, "imaps://") || strings.HasPrefix(location, "imap://")
		},
		Locate: func(location string) (string, error) {
			p, err := parseLocation(location)
			if err != nil {
				return "", err
			}
			return p.uri(p.folder), nil
		},
		Open: func(string) (source.Connector, error) {
			return nil, fault.Invalid("credentials", "an IMAP server needs credentials of the form USER:PASSWORD")
		},
		OpenWith: func(location, credentials string) (source.Connector, error) {
			p, err := parseLocation(location)
			if err != nil {
				return nil, err
			}
			user, password, err := source.UserPassword(credentials)
			if err != nil {
				return nil, err
			}
			return &connector{place: p, options: o, user: user, password: password}, nil
		},
	}
}

// place is a parsed location.
type place struct {
	scheme, host string
	folder       string // with slashes between its parts, and none at its ends; "": all folders
}

func parseLocation(text string) (place, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "imaps" && u.Scheme != "imap" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return place{}, fault.Invalid("location", "want imaps://HOST/FOLDER, or imap://HOST/FOLDER for a server with STARTTLS")
	case u.User != nil:
		return place{}, fault.Invalid("location", "must not contain credentials: name them in the setting credentials")
	}
	folder := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	if !source.Printable(folder) || strings.Contains(folder, ";") {
		return place{}, fault.Invalid("location", "has a folder with a semicolon or with characters that cannot be printed")
	}
	return place{u.Scheme, strings.ToLower(u.Host), folder}, nil
}

// uri returns the URI of a folder or, with the parameters of RFC 5092, of a message.
func (p place) uri(inside string) string {
	u := url.URL{Scheme: p.scheme, Host: p.host, Path: strings.TrimSuffix("/"+inside, "/")}
	return u.String()
}

// contains reports whether a folder belongs to the source: the folder of the location and those below it. The name INBOX has no case.
func (p place) contains(folder string) bool {
	at, want := folder+"/", p.folder+"/"
	if len(at) >= 6 && len(want) >= 6 && strings.EqualFold(at[:6], "INBOX/") && strings.EqualFold(want[:6], "INBOX/") {
		at, want = at[6:], want[6:]
	}
	return p.folder == "" || strings.HasPrefix(at, want)
}

// message is where a message is.
type message struct {
	mailbox string
	uid     imap.UID
}

// connector has one connection, whose commands follow each other.
type connector struct {
	place
	options        Options
	user, password string
	messages       map[string]message // by URI; set by List

	mu       sync.Mutex
	conn     *limited
	client   *imapclient.Client // nil: not connected
	selected string
}

// limited is a connection from which a limited number of bytes can be read.
type limited struct {
	net.Conn
	left atomic.Int64
}

var errTooMuch = errors.New("the server sends too much")

func (c *limited) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left.Add(-int64(n)) < 0 {
		return 0, errTooMuch
	}
	return n, err
}

// List implements [source.Connector]. Deleted messages are left out, and so are folders of drafts, of junk and of what was thrown away, unless the location names
// one of them.
func (c *connector) List(outer context.Context) (source.Listing, error) {
	var out source.Listing
	messages := map[string]message{}
	err := c.do(outer, listTimeout, maxFolders, func() error {
		folders, err := c.client.List("", "*", nil).Collect()
		if err != nil {
			return err
		}
		found := c.folder == ""
		for _, f := range folders {
			name := f.Mailbox
			if f.Delim != 0 {
				name = strings.ReplaceAll(name, string(f.Delim), "/")
			}
			if !c.contains(name) || slices.ContainsFunc(f.Attrs, unreadable) || c.folder != name && slices.ContainsFunc(f.Attrs, unwanted) {
				continue
			}
			found = true
			if !source.Printable(name) || strings.Contains(name, ";") {
				out.Failed = append(out.Failed, ingest.Failure{Path: strconv.Quote(name), Reason: "its name has a semicolon or characters that cannot be printed"})
				continue
			}
			if err := c.listFolder(f.Mailbox, name, &out, messages); err != nil {
				return err
			}
		}
		if !found {
			return fault.Invalid("location", "the server has no folder %q", c.folder)
		}
		return nil
	})
	if err != nil {
		return source.Listing{}, err
	}
	c.messages = messages
	return out, nil
}

func unreadable(a imap.MailboxAttr) bool {
	return a == imap.MailboxAttrNoSelect || a == imap.MailboxAttrNonExistent
}

func unwanted(a imap.MailboxAttr) bool {
	return a == imap.MailboxAttrAll || a == imap.MailboxAttrDrafts || a == imap.MailboxAttrJunk || a == imap.MailboxAttrTrash
}

// listFolder adds the messages of a folder. One that the user may not read is a failure, and its documents are kept.
func (c *connector) listFolder(mailbox, name string, out *source.Listing, messages map[string]message) error {
	c.selected = ""
	c.conn.left.Store(maxFolder)
	data, err := c.client.Select(mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	if refused, ok := errors.AsType[*imap.Error](err); ok && refused.Type == imap.StatusResponseTypeNo {
		out.Unread = append(out.Unread, c.uri(name))
		out.Failed = append(out.Failed, ingest.Failure{Path: name, Reason: "the server does not open the folder"})
		return nil
	}
	if err != nil {
		return err
	}
	c.selected = mailbox
	if data.NumMessages == 0 {
		return nil
	}
	all := imap.SeqSet{}
	all.AddRange(1, 0)
	fetch := c.client.Fetch(all, &imap.FetchOptions{UID: true, Flags: true, RFC822Size: true})
	for m := fetch.Next(); m != nil; m = fetch.Next() {
		uid, size, deleted := itemsOf(m)
		if uid == 0 || deleted {
			continue
		}
		if len(messages) >= maxMessages {
			c.abandon(fetch)
			return fault.New(fault.TooLarge, "the folders have more than %d messages", maxMessages)
		}
		uri := c.uri(fmt.Sprintf("%s;UIDVALIDITY=%d/;UID=%d", name, data.UIDValidity, uid))
		if _, twice := messages[uri]; twice {
			continue
		}
		messages[uri] = message{mailbox, uid}
		inside := strings.TrimPrefix(fmt.Sprintf("%s/%d.eml", name[min(len(name), len(c.folder)):], uid), "/")
		// A message never changes.
		out.Documents = append(out.Documents, source.Document{URI: uri, Path: inside, Name: fmt.Sprintf("%s/%d.eml", name, uid), File: "message.eml", Version: strconv.FormatInt(size, 10)})
	}
	return fetch.Close()
}

// itemsOf reads what was requested of a message, and nothing else that the server may send.
func itemsOf(m *imapclient.FetchMessageData) (uid imap.UID, size int64, deleted bool) {
	for item := m.Next(); item != nil; item = m.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			uid = item.UID
		case imapclient.FetchItemDataRFC822Size:
			size = item.Size
		case imapclient.FetchItemDataFlags:
			deleted = slices.Contains(item.Flags, imap.FlagDeleted)
		}
	}
	return uid, size, deleted
}

// abandon ends a command whose replies have not been read. Package imapclient waits until all of them are read, so the connection is closed first.
func (c *connector) abandon(cmd *imapclient.FetchCommand) {
	_ = c.conn.Close()
	_ = cmd.Close()
}

// Read implements [source.Connector].
func (c *connector) Read(outer context.Context, d source.Document, limit int64) (data []byte, err error) {
	m, ok := c.messages[d.URI]
	if !ok {
		return nil, fs.ErrNotExist
	}
	err = c.do(outer, readTimeout, limit+maxReplies, func() error {
		if c.selected != m.mailbox {
			if _, err := c.client.Select(m.mailbox, &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
				return err
			}
			c.selected = m.mailbox
		}
		data, err = c.fetch(m.uid, limit)
		return err
	})
	return data, err
}

// fetch returns the bytes of a message of the selected folder. It does not mark it as seen.
func (c *connector) fetch(uid imap.UID, limit int64) (data []byte, err error) {
	cmd := c.client.Fetch(imap.UIDSetNum(uid), &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{{Peek: true}}})
	for m := cmd.Next(); m != nil; m = cmd.Next() {
		for item := m.Next(); item != nil; item = m.Next() {
			body, ok := item.(imapclient.FetchItemDataBodySection)
			if !ok || body.Literal == nil || data != nil {
				continue
			}
			if size := body.Literal.Size(); size > limit {
				err = fault.New(fault.TooLarge, "is larger than the limit of %d bytes", limit)
			} else {
				data, err = io.ReadAll(body.Literal)
			}
			if err != nil {
				c.abandon(cmd)
				return nil, err
			}
		}
	}
	if err := cmd.Close(); err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// do runs commands on the connection, which it opens if there is none. The commands may take a limited time and read a limited number of bytes. A connection on which
// something failed is not used again.
func (c *connector) do(outer context.Context, limit time.Duration, bytes int64, commands func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(outer, limit)
	defer cancel()
	if c.client != nil && c.client.State() == imap.ConnStateLogout { // the server has ended it, perhaps because it was idle
		c.disconnect()
	}
	if c.client == nil {
		if err := c.connect(ctx); err != nil {
			c.disconnect()
			return c.describe(outer, ctx, err)
		}
	}
	c.conn.left.Store(bytes)
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the command
	defer stop()
	err := commands()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.disconnect()
	}
	return c.describe(outer, ctx, err)
}

func (c *connector) connect(ctx context.Context) error {
	port := map[string]string{"imaps": "993", "imap": "143"}[c.scheme]
	host := c.host
	if h, p, err := net.SplitHostPort(c.host); err == nil {
		host, port = h, p
	}
	host = strings.Trim(host, "[]")
	raw, err := c.options.Dial(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	c.conn = &limited{Conn: raw}
	c.conn.left.Store(maxReplies)
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	config := &tls.Config{}
	if c.options.TLS != nil {
		config = c.options.TLS.Clone()
	}
	config.ServerName, config.NextProtos = host, []string{"imap"}
	if c.scheme == "imaps" {
		secure := tls.Client(c.conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return err
		}
		c.client = imapclient.New(secure, nil)
	} else if c.client, err = imapclient.NewStartTLS(c.conn, &imapclient.Options{TLSConfig: config}); err != nil {
		return err
	}
	if err := c.client.WaitGreeting(); err != nil {
		return err
	}
	err = c.client.Login(c.user, c.password).Wait()
	if _, ok := errors.AsType[*imap.Error](err); ok {
		return fault.New(fault.Forbidden, "%q refuses the user or the password", c.host)
	}
	return err
}

// disconnect closes the connection.
func (c *connector) disconnect() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is lost
	}
	if c.client != nil {
		_ = c.client.Close()
	}
	c.conn, c.client, c.selected = nil, nil, ""
}

// Close implements [source.Connector].
func (c *connector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disconnect()
	return nil
}

// describe returns the error for users. It has nothing that the server wrote, and no address.
func (c *connector) describe(outer, ctx context.Context, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, refused := errors.AsType[*imap.Error](err); refused && ctx.Err() == nil && fault.CodeOf(err) == "" {
		return fault.New(fault.Unavailable, "%q refuses it", c.host)
	}
	return source.Unreachable(outer, c.host, errors.Join(err, ctx.Err()))
}
