package knowledge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/files"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of a form without its file.
const (
	maxField  = 64 << 10  // bytes of one field
	maxFields = 256 << 10 // bytes of all fields
)

// form reads the form of an upload. Fields may follow the file; these are read after the file.
type form struct {
	parts  *multipart.Reader // nil at the end of the form
	pairs  io.Reader         // body of a form of key and value pairs, which has no file
	body   *source
	fields map[string]string
	size   int // bytes of the fields so far
	file   *multipart.Part
	name   string // of the file
}

// openForm returns the form of an upload. It reads nothing of the body yet.
func openForm(r *http.Request) (*form, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	f := &form{fields: map[string]string{}, body: &source{Reader: r.Body}}
	switch kind {
	case "application/x-www-form-urlencoded":
		f.pairs = f.body
		return f, nil
	case "multipart/form-data":
		boundary := params["boundary"]
		if boundary == "" || len(boundary) > 70 { // RFC 2046, section 5.1.1
			return nil, fault.Invalid("Content-Type", "want a boundary of 1 to 70 characters")
		}
		f.parts = multipart.NewReader(f.body, boundary)
		return f, nil
	}
	return nil, server.UnsupportedMedia("Content-Type", "want multipart/form-data with a file, or application/x-www-form-urlencoded with a url")
}

func (f *form) urlencoded(r io.Reader) error {
	body, err := io.ReadAll(io.LimitReader(r, maxFields+1))
	if err != nil {
		return err
	}
	if len(body) > maxFields {
		return fault.New(fault.TooLarge, "body: over the limit of %d bytes", maxFields)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return fault.Invalid("body", "not a form")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := f.checkField(name); err != nil {
			return err
		}
		if len(values[name]) > 1 {
			return fault.Invalid(name, "given twice")
		}
		f.fields[name] = values.Get(name)
	}
	return nil
}

// formFields are the names of the fields.
var formFields = []string{"file", "url", "name", "file_type", "purpose", "id", "md5", "skip_exists", "parse_options", "request_id", "contributor",
	"dc_title", "dc_creator", "dc_subject", "dc_description", "dc_publisher", "dc_date", "dc_language", "dc_rights", "dc_source", "dc_identifier"}

// checkField returns an error for an unknown or repeated field.
func (f *form) checkField(name string) error {
	if !slices.Contains(formFields, name) {
		return wire.UnknownField("", shown(name), formFields)
	}
	if _, again := f.fields[name]; again {
		return fault.Invalid(name, "given twice")
	}
	return nil
}

// next reads fields up to the file or the end of the form.
func (f *form) next() error {
	if f.pairs != nil {
		return f.urlencoded(f.pairs)
	}
	for f.parts != nil {
		part, err := f.parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			f.parts = nil
			return nil
		}
		if err != nil {
			return f.broken()
		}
		name, isFile := part.FormName(), hasFilename(part)
		switch {
		case name == "file" && f.file != nil:
			return fault.Invalid("file", "want one")
		case name == "file" && !isFile:
			return fault.Invalid("file", "want the part to have a filename")
		case name == "file":
			f.file = part
			f.name, err = filename(part.Header.Get("Content-Disposition"))
			return err
		case isFile:
			return fault.Invalid("file", "a file's part is named \"file\"")
		}
		if err := f.checkField(name); err != nil {
			return err
		}
		if err := f.field(name, part); err != nil {
			return err
		}
	}
	return nil
}

func (f *form) field(name string, part io.Reader) error {
	limit := min(maxField, maxFields-f.size)
	value, err := io.ReadAll(io.LimitReader(part, int64(limit)+1))
	if err != nil {
		return f.broken()
	}
	if len(value) > limit {
		return &fault.Error{Code: fault.TooLarge, Field: shown(name), Message: fmt.Sprintf("%s: over the limit of %d bytes, or of %d in all fields",
			shown(name), maxField, maxFields)}
	}
	f.size += len(value) + len(name)
	f.fields[name] = string(value)
	return nil
}

// shown returns the name of a field for an error.
func shown(name string) string {
	if len(name) > 64 || !printable(name) || name == "" {
		return "body"
	}
	return name
}

// source keeps the error of reading the body, because the reader of forms only reports that the form is incomplete.
type source struct {
	io.Reader
	err error
}

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// broken returns the reason why the form is incomplete.
func (f *form) broken() error {
	if f.body.err != nil {
		return f.body.err
	}
	return fault.Invalid("body", "not a whole form")
}

// fileBody reads the file. An incomplete form is an error, and not the end of the file.
type fileBody struct{ form *form }

// Read implements [io.Reader].
func (b fileBody) Read(p []byte) (int, error) {
	n, err := b.form.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.form.broken()
	}
	return n, err
}

// rest reads the fields after the file.
func (f *form) rest() error {
	if f.parts == nil || f.file == nil {
		return nil
	}
	return f.next()
}

func hasFilename(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, ok := params["filename"]
	return err == nil && ok
}

// filename returns the name of a file without its folders. The parameter filename* takes precedence; filename may be
// percent-encoded, as browsers and aiohttp do.
func filename(disposition string) (string, error) {
	_, params, err := mime.ParseMediaType(disposition)
	if err != nil {
		return "", fault.Invalid("file", "the part's Content-Disposition is not valid")
	}
	name := params["filename"]
	if !strings.Contains(strings.ToLower(disposition), "filename*") {
		if plain, err := url.PathUnescape(name); err == nil && utf8.ValidString(plain) {
			name = plain
		}
	}
	return files.CleanName(name)
}

// Upload has the fields of an upload: a multipart form with the part "file", or a form of key and value pairs with a URL.
type Upload struct {
	URL          string `formData:"url" description:"http or https URL to fetch in the background, instead of the part \"file\"."`
	Name         string `formData:"name" description:"Name of the file of the URL."`
	FileType     string `formData:"file_type" description:"Media type of the file."`
	Purpose      string `formData:"purpose" default:"general"`
	ID           string `formData:"id" description:"Id of the file."`
	MD5          string `formData:"md5" description:"Expected MD5: 32 hexadecimal digits."`
	SkipExists   bool   `formData:"skip_exists" description:"If a file with the same bytes exists, the reply is that file."`
	ParseOptions string `formData:"parse_options" description:"A JSON object. Stored with the file."`
	RequestID    string `formData:"request_id"`
	Contributor  string `formData:"contributor" maxLength:"128" description:"Account that earns a share of the answers that use the file. By default that of the key."`
	Title        string `formData:"dc_title" maxLength:"2000" description:"Dublin Core; this and the next fields take precedence over what the file states."`
	Creator      string `formData:"dc_creator" maxLength:"2000"`
	Subject      string `formData:"dc_subject" maxLength:"2000"`
	Description  string `formData:"dc_description" maxLength:"2000"`
	Publisher    string `formData:"dc_publisher" maxLength:"2000"`
	Date         string `formData:"dc_date" maxLength:"2000"`
	Language     string `formData:"dc_language" maxLength:"2000"`
	Rights       string `formData:"dc_rights" maxLength:"2000"`
	Source       string `formData:"dc_source" maxLength:"2000"`
	Identifier   string `formData:"dc_identifier" maxLength:"2000"`
}

// upload returns the upload that the fields describe, without the name and the type of the file.
func (f *form) upload() (files.Upload, error) {
	u := files.Upload{ID: f.fields["id"], Purpose: f.fields["purpose"], MD5: f.fields["md5"], Options: json.RawMessage(strings.TrimSpace(f.fields["parse_options"])),
		Contributor: f.fields["contributor"]}
	for _, e := range u.Meta.Elements() {
		*e.Value = f.fields[e.Name]
	}
	if err := u.Validate(); err != nil {
		return u, err
	}
	if v := f.fields["skip_exists"]; v != "" {
		skip, err := strconv.ParseBool(v)
		if err != nil {
			return u, fault.Invalid("skip_exists", "want true or false")
		}
		u.SkipExists = skip
	}
	if f.file == nil {
		u.URL = f.fields["url"]
		u.MediaType = f.fields["file_type"]
		if name := f.fields["name"]; name != "" {
			var err error
			if u.Name, err = files.CleanName(name); err != nil {
				return u, fault.Invalid("name", "want a file's name without control characters")
			}
		}
	}
	return u, nil
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
