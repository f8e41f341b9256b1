package corpus

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/fault"
)

// Limits in bytes.
const (
	MaxElement = 2000 // of an element of [DublinCore]
	MaxAccount = 128  // of the name of an account
)

// Element is a named element of [DublinCore].
type Element struct {
	Name  string // as in requests and replies, such as dc_title
	Value *string
}

// Elements returns the elements of m in a fixed order, for reading and writing.
func (m *DublinCore) Elements() []Element {
	return []Element{{"dc_title", &m.Title}, {"dc_creator", &m.Creator}, {"dc_subject", &m.Subject}, {"dc_description", &m.Description},
		{"dc_publisher", &m.Publisher}, {"dc_date", &m.Date}, {"dc_language", &m.Language}, {"dc_rights", &m.Rights}, {"dc_source", &m.Source},
		{"dc_identifier", &m.Identifier}}
}

// Validate checks metadata that a user sets. Errors are [fault.InvalidRequest] with the name of the element.
func (m DublinCore) Validate() error {
	for _, e := range m.Elements() {
		switch v := *e.Value; {
		case len(v) > MaxElement:
			return fault.Invalid(e.Name, "want at most %d bytes", MaxElement)
		case !utf8.ValidString(v):
			return fault.Invalid(e.Name, "not valid UTF-8")
		case strings.ContainsFunc(v, unicode.IsControl):
			return fault.Invalid(e.Name, "no control characters")
		}
	}
	return nil
}

// Or returns m with its empty elements taken from other.
func (m DublinCore) Or(other DublinCore) DublinCore {
	from := other.Elements()
	for i, e := range m.Elements() {
		if *e.Value == "" {
			*e.Value = *from[i].Value
		}
	}
	return m
}

// Metadata returns what is known of the document: what a user set, and otherwise what the document states.
func (d Document) Metadata() DublinCore { return d.Given.Or(d.Meta) }

// The accounts of the ledger itself. Neither an asker nor a contributor can have these names.
const (
	PlatformAccount = "platform" // earns what is not distributed to contributors
	IssuerAccount   = "issuer"   // credits come from it
)

// WantAccount describes the names that [ValidAccount] accepts, for errors.
const WantAccount = "want the name of an account: 1 to 128 bytes of printable UTF-8 without a space at either end, and not platform or issuer"

// ValidAccount reports whether an asker or a contributor can have the name: 1 to [MaxAccount] bytes of printable UTF-8 that do not begin or end
// with a space, and not the name of an account of the ledger itself.
func ValidAccount(name string) bool {
	return name != "" && len(name) <= MaxAccount && name != PlatformAccount && name != IssuerAccount && utf8.ValidString(name) &&
		strings.TrimSpace(name) == name && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}
