package webdav

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// entry is a file or folder in a reply.
type entry struct {
	name                   string
	folder                 bool
	status                 int // of HTTP
	etag, modified, length string
	listed                 time.Time // by the clock of the server; zero: unknown
}

// statusError is the status of a reply that is no success.
type statusError struct{ status int }

func (e *statusError) Error() string { return "status " + strconv.Itoa(e.status) }

const query = `<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><resourcetype/><getetag/><getlastmodified/><getcontentlength/></prop></propfind>`

// propfind returns the entries of a folder. A reply without an entry for the folder itself is an error, so the page of a proxy or the reply of another server is not taken for an
// empty folder.
func (c *connector) propfind(ctx context.Context, at string) (out []entry, err error) {
	header := http.Header{"Depth": {"1"}, "Content-Type": {"application/xml; charset=utf-8"}}
	res, err := c.request(ctx, "PROPFIND", at+"/", header, strings.NewReader(query))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	switch res.StatusCode {
	case http.StatusMultiStatus:
	case http.StatusOK, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return nil, c.noServer()
	default:
		return nil, &statusError{res.StatusCode}
	}
	listed, _ := http.ParseTime(res.Header.Get("Date"))
	body := &io.LimitedReader{R: res.Body, N: c.options.Reply + 1}
	found := false
	err = decode(body, func(r *response) error {
		name, ok := c.nameOf(at, r.Href)
		switch e := r.entry(); {
		case !ok: // it leads out of the folder
		case name == "":
			if !e.folder {
				return fault.New(fault.Unavailable, "the location is not a folder")
			}
			found = true
		default:
			e.name, e.listed = name, listed
			out = append(out, e)
		}
		return nil
	})
	_, isXML := errors.AsType[*xml.SyntaxError](err)
	switch {
	case body.N <= 0:
		return nil, fault.New(fault.TooLarge, "the list of a folder is larger than %d bytes", c.options.Reply)
	case isXML, errors.Is(err, errNoMultistatus), err == nil && !found:
		return nil, c.noServer()
	}
	return out, err
}

func (c *connector) noServer() error {
	return fault.New(fault.Unavailable, "%q does not answer as a WebDAV server", c.host)
}

// nameOf returns the name of an entry of a folder by its href, or "" for the folder itself. If ok is false, the href is of another place, or inside a subfolder.
func (c *connector) nameOf(folder, href string) (name string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil || u.Host != "" && !strings.EqualFold(u.Hostname(), (&url.URL{Host: c.host}).Hostname()) || !strings.HasPrefix(u.Path, "/") {
		return "", false
	}
	at := strings.TrimSuffix(path.Clean(u.Path), "/")
	if at == folder {
		return "", true
	}
	name, ok = strings.CutPrefix(at, folder+"/")
	return name, ok && !strings.Contains(name, "/")
}

// response is an element of a multistatus: RFC 4918, section 14.24.
type response struct {
	Href   string `xml:"DAV: href"`
	Status string `xml:"DAV: status"`
	Props  []struct {
		Status string `xml:"DAV: status"`
		Prop   struct {
			Type *struct {
				Folder *struct{} `xml:"DAV: collection"`
			} `xml:"DAV: resourcetype"`
			ETag     string `xml:"DAV: getetag"`
			Modified string `xml:"DAV: getlastmodified"`
			Length   string `xml:"DAV: getcontentlength"`
		} `xml:"DAV: prop"`
	} `xml:"DAV: propstat"`
}

// entry returns the entry without its name. Properties that the server does not have are in a propstat of their own, with another status.
func (r *response) entry() entry {
	e := entry{status: http.StatusOK}
	if r.Status != "" {
		e.status = statusOf(r.Status)
	}
	known, failed := false, false
	for _, p := range r.Props {
		switch status := statusOf(p.Status); {
		case status != http.StatusOK:
			failed = failed || p.Prop.Type != nil && status != http.StatusNotFound
		default:
			known = true
			e.folder = e.folder || p.Prop.Type != nil && p.Prop.Type.Folder != nil
			e.etag, e.modified, e.length = e.etag+p.Prop.ETag, e.modified+p.Prop.Modified, e.length+p.Prop.Length
		}
	}
	if (!known || failed && !e.folder) && e.status == http.StatusOK { // it may be a folder
		e.status = http.StatusForbidden
	}
	return e
}

// statusOf returns the code of a status line such as HTTP/1.1 200 OK, or 500 if it is none.
func statusOf(line string) int {
	if fields := strings.Fields(line); len(fields) > 1 {
		if code, err := strconv.Atoi(fields[1]); err == nil && code >= 100 && code <= 599 {
			return code
		}
	}
	return http.StatusInternalServerError
}

var errNoMultistatus = errors.New("the reply is no multistatus")

// decode calls a function for each response of a multistatus. Other elements are ignored. A reply that ends early is an error.
func decode(in io.Reader, each func(*response) error) error {
	d := xml.NewDecoder(in)
	inside := false
	for {
		token, err := d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errNoMultistatus // it ends before the end of its root
			}
			return fmt.Errorf("read multistatus: %w", err)
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
			if _, end := token.(xml.EndElement); end {
				return nil
			}
		case !inside:
			if start.Name != (xml.Name{Space: "DAV:", Local: "multistatus"}) {
				return errNoMultistatus
			}
			inside = true
		case start.Name == xml.Name{Space: "DAV:", Local: "response"}:
			var r response
			if err := d.DecodeElement(&r, &start); err != nil {
				return fmt.Errorf("read multistatus: %w", err)
			}
			if err := each(&r); err != nil {
				return err
			}
		default:
			if err := d.Skip(); err != nil {
				return fmt.Errorf("read multistatus: %w", err)
			}
		}
	}
}
