// Package mail parses messages (RFC 5322, MIME: RFC 2045 to 2047) and files of messages (mbox, RFC 4155).
package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// Limits of a message.
const (
	maxParts = 1_000
	maxDepth = 16 // of parts in parts
)

// Parse parses a message. Its subject is a heading, followed by the main fields of its header, the text, and the attachments that can be
// read, each under its name. Of alternatives, the first one is read, which mostly is the plain text, unless it only stands for another one.
func Parse(ctx context.Context, src document.Source) (document.Parsed, error) {
	p, err := message(ctx, src, src.Data, 1)
	if err == nil && len(p.Blocks) == 0 {
		err = document.Refuse(nil, "holds no text")
	}
	return p, err
}

// ParseMbox parses the messages of a file one after the other. A damaged message is left out.
func ParseMbox(ctx context.Context, src document.Source) (document.Parsed, error) {
	var p document.Parsed
	size := 0
	for data := src.Data; len(data) > 0; {
		_, rest, ok := bytes.Cut(data, []byte("\n")) // the line that begins with From
		if !ok {
			break
		}
		end := bytes.Index(rest, []byte("\nFrom "))
		if end < 0 {
			end = len(rest) - 1
		}
		data = rest[end+1:]
		m, err := message(ctx, src, unquote(rest[:end+1]), 1)
		if ctx.Err() != nil {
			return document.Parsed{}, ctx.Err()
		}
		if err != nil {
			continue
		}
		for _, b := range m.Blocks {
			size += len(b.Text)
		}
		if p.Blocks = append(p.Blocks, m.Blocks...); size > src.Limits.Text || len(p.Blocks) > src.Limits.Blocks {
			break // package parse refuses it
		}
	}
	return p, nil
}

var quotedFrom = regexp.MustCompile(`(?m)^>(>*From )`)

func unquote(data []byte) []byte { return quotedFrom.ReplaceAll(data, []byte("$1")) }

// Looks reports whether data begins like a message: with fields of a header, among them usual ones.
func Looks(data []byte) bool {
	head := data[:min(len(data), 8<<10)]
	usual := 0
	for i, line := range bytes.Split(head, []byte("\n")) {
		name, _, ok := bytes.Cut(line, []byte(":"))
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			return usual >= 2
		case line[0] == ' ' || line[0] == '\t':
			if i == 0 {
				return false
			}
		case !ok || bytes.ContainsAny(name, " \t"):
			return false
		default:
			switch strings.ToLower(string(name)) {
			case "from", "received", "message-id", "mime-version", "return-path", "delivered-to", "content-type":
				usual++
			}
		}
	}
	return false
}

var words = mime.WordDecoder{CharsetReader: charset.NewReaderLabel}

func field(h textproto.MIMEHeader, name string) string {
	v := h.Get(name)
	if s, err := words.DecodeHeader(v); err == nil {
		v = s
	}
	return document.OneLine(v)
}

// reader collects the parts of a message.
type reader struct {
	ctx   context.Context
	src   document.Source
	level int
	parts int
	out   []document.Block
}

func message(ctx context.Context, src document.Source, data []byte, level int) (document.Parsed, error) {
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return document.Parsed{}, document.Refuse(err, "not a valid message")
	}
	h := textproto.MIMEHeader(m.Header)
	p := document.Parsed{Title: field(h, "Subject")}
	p.Meta = corpus.DublinCore{Title: p.Title, Creator: field(h, "From"), Language: field(h, "Content-Language"), Identifier: strings.Trim(field(h, "Message-Id"), "<>")}
	if t, err := m.Header.Date(); err == nil {
		p.Meta.Date = t.Format(time.DateOnly)
	}
	r := &reader{ctx: ctx, src: src, level: level}
	if p.Title != "" {
		r.out = append(r.out, document.Block{Kind: document.Heading, Level: level, Text: p.Title})
	}
	var lines []string
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if v := field(h, name); v != "" {
			lines = append(lines, name+": "+document.Clip(v, 1000))
		}
	}
	if len(lines) > 0 {
		r.out = append(r.out, document.Block{Kind: document.Paragraph, Text: strings.Join(lines, "\n")})
	}
	if err := r.part(h, m.Body, 0); err != nil {
		return document.Parsed{}, err
	}
	p.Blocks = r.out
	return p, nil
}

// part reads a part. Damaged parts end early, and attachments that cannot be read are left out.
func (r *reader) part(h textproto.MIMEHeader, body io.Reader, depth int) error {
	if r.parts++; r.parts > maxParts || depth > maxDepth {
		return document.TooLarge("holds more than %d parts, or parts nested more than %d deep", maxParts, maxDepth)
	}
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		media, params = "text/plain", nil
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Transfer-Encoding"))) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	if strings.HasPrefix(media, "multipart/") {
		return r.multipart(media, params["boundary"], body, depth)
	}
	data, _ := io.ReadAll(body)
	_, disposition, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := disposition["filename"]
	if name == "" {
		name = params["name"]
	}
	if s, err := words.DecodeHeader(name); err == nil {
		name = s
	}
	attached := name != ""
	switch {
	case media == "message/rfc822" && !attached:
		name, attached = "message.eml", true
	case attached:
	case media == "text/html":
		name = "part.html"
	case media == "text/plain":
		name = "part.txt"
	default:
		return nil
	}
	if label := params["charset"]; label != "" && strings.HasPrefix(media, "text/") {
		if u, err := charset.NewReaderLabel(label, bytes.NewReader(data)); err == nil {
			if s, err := io.ReadAll(u); err == nil {
				data = s
			}
		}
	}
	return r.embed(name, data, attached)
}

func (r *reader) embed(name string, data []byte, attached bool) error {
	p, err := r.src.Embed(r.ctx, document.Source{Name: name, Data: data})
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if errors.Is(err, document.ErrEmbedded) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // an attachment such as a picture
	}
	level := r.level
	if attached {
		level++
		r.out = append(r.out, document.Block{Kind: document.Heading, Level: level, Text: name})
	}
	r.out = append(r.out, document.Embedded(p.Blocks, level)...)
	return nil
}

func (r *reader) multipart(media, boundary string, body io.Reader, depth int) error {
	if boundary == "" {
		return nil
	}
	m := multipart.NewReader(body, boundary)
	before := len(r.out)
	for {
		p, err := m.NextRawPart()
		if err != nil {
			return nil //nolint:nilerr // the end, or a part that is cut off
		}
		from := len(r.out)
		if err := r.part(p.Header, p, depth+1); err != nil {
			return err
		}
		if media != "multipart/alternative" || len(r.out) == before {
			continue
		}
		if first := size(r.out[before:from]); size(r.out[from:]) > longer*first {
			r.out = slices.Delete(r.out, before, from)
		} else {
			r.out = r.out[:from]
		}
		if size(r.out[before:]) > maxNotice {
			return nil
		}
	}
}

// A text of at most maxNotice bytes, such as "This newsletter needs a program that shows HTML", stands for an alternative whose text is several times longer.
const maxNotice, longer = 500, 3

// size returns the number of bytes of the text of blocks.
func size(blocks []document.Block) (n int) {
	for _, b := range blocks {
		n += len(b.Text)
	}
	return n
}
