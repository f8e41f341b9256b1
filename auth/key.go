package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
)

// Key is an API key without its secret.
type Key struct {
	ID      string    `json:"id"` // public
	Tenant  string    `json:"tenant"`
	Account string    `json:"account"`
	Name    string    `json:"name,omitempty"` // for people
	Scopes  []Scope   `json:"scopes"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Rate    Limit     `json:"rate,omitzero"`    // of requests
	Quota   Limit     `json:"quota,omitzero"`   // of questions
	Origins []string  `json:"origins,omitempty"`
	// Collections are those that questions with the key may search; empty: all. Such a key can be public: see [Identity.Limited].
	Collections []string  `json:"collections,omitempty"`
	Created     time.Time `json:"created"`
	Used        time.Time `json:"used,omitzero"` // to the minute
	Revoked     time.Time `json:"revoked,omitzero"`
}

// Validate returns an error that names the first invalid field.
func (k Key) Validate() error {
	if err := ValidateTenant(k.Tenant); err != nil {
		return err
	}
	if !corpus.ValidAccount(k.Account) {
		return fault.Invalid("account", "%s", corpus.WantAccount)
	}
	if len(k.Name) > 128 || strings.ContainsFunc(k.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.Invalid("name", "want at most 128 bytes without control characters")
	}
	if len(k.Scopes) == 0 {
		return fault.Invalid("scope", "want one or more of ask, read, write, admin, tenants")
	}
	for _, s := range k.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fault.Invalid("scope", "want ask, read, write, admin or tenants, not %.20q", s)
		}
	}
	for _, o := range k.Origins {
		if err := CheckOrigin(o); err != nil {
			return err
		}
	}
	return k.validateCollections()
}

// maxCollections limits the collections of a key.
const maxCollections = 64

// validateCollections checks the collections of a key. Everybody may see such a key, so it must permit nothing but to ask, and must not share an
// account, whose runs and sessions it can use.
func (k Key) validateCollections() error {
	if len(k.Collections) == 0 {
		return nil
	}
	if len(k.Collections) > maxCollections {
		return fault.Invalid("collections", "want at most %d", maxCollections)
	}
	for _, name := range k.Collections {
		if s, err := corpus.ParseScope(name); err != nil || name == "" || s.String() != name || strings.Contains(name, ",") {
			return fault.Invalid("collections", "want names of collections or vector stores, or file: and the id of a document, not %.80q", name)
		}
	}
	if !slices.Equal(k.Scopes, []Scope{Ask}) {
		return fault.Invalid("scope", "a key with collections can only have the scope ask")
	}
	if k.Account == Owner {
		return fault.Invalid("account", "a key with collections needs an account of its own, not %s", Owner)
	}
	return nil
}

// CheckOrigin returns an error if a text is not the origin of a web page as browsers send it, such as https://app.example.com.
func CheckOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Scheme+"://"+u.Host != text || strings.ToLower(text) != text ||
		strings.ContainsAny(u.Host, "*,;") || u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return fault.Invalid("origin", "want a scheme and a host in lower case, such as https://app.example.com, not %.80q", text)
	}
	return nil
}

// Live returns an error if the key was revoked or has expired.
func (k Key) Live(at time.Time) error {
	switch {
	case !k.Revoked.IsZero():
		return fault.New(fault.Unauthenticated, "the key was revoked")
	case !k.Expires.IsZero() && !at.Before(k.Expires):
		return fault.New(fault.Unauthenticated, "the key has expired")
	}
	return nil
}

// Identity returns who sends a request with the key.
func (k Key) Identity() Identity {
	return Identity{Tenant: k.Tenant, Account: k.Account, Key: k.ID, Scopes: k.Scopes, Collections: k.Collections}
}

// Credential is a key with the hashes of its secrets.
type Credential struct {
	Key
	Hash []byte
	// Old is the hash of the secret before the last rotation. It is valid until OldUntil.
	Old      []byte
	OldUntil time.Time
}

// verify reports whether a secret is the current or the old one of the credential. It takes the same steps whatever the result.
func (c Credential) verify(secret string, at time.Time) (current, old bool) {
	sum := Hash(secret)
	current = subtle.ConstantTimeCompare(sum, c.Hash) == 1
	old = subtle.ConstantTimeCompare(sum, c.Old) == 1 && at.Before(c.OldUntil)
	return current, old
}

// A key in the form of text is sluice_ID_SECRET: ten characters of the public id, and 59 of the secret, the last seven of which are a checksum.
// So a mistyped key is found without the database, and scanners of source code recognize keys.
const (
	prefix    = "sluice_"
	idLen     = 10
	secretLen = 52 // of 32 random bytes
	sumLen    = 7  // of 4 bytes
)

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return encoding.EncodeToString(b)
}

// NewID returns a random public id.
func NewID() string { return random(7)[:idLen] }

// NewSecret returns a random secret of 256 bits.
func NewSecret() string { return random(32) }

// Text returns the text form of a key.
func Text(id, secret string) string {
	text := prefix + id + "_" + secret
	return text + encoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text))))
}

// Hash returns the hash by which a secret is stored. Since secrets are random and have 256 bits, nobody can try them all, so a slow hash
// as for passwords would only slow down each request.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Proof returns a proof for a challenge that its sender has a token: the HMAC-SHA256 of the challenge, in hexadecimal digits. It does not reveal
// the token.
func Proof(token, challenge string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// Headers of the challenge that a command sends to the health check of the server on its machine before it sends its token.
const (
	HeaderChallenge = "Sluice-Challenge"
	HeaderProof     = "Sluice-Proof"
)

// ErrMalformed means that a text is not a key.
var ErrMalformed = errors.New("not a key")

// Parse parses the text form of a key. It returns [ErrMalformed] without the text.
func Parse(text string) (id, secret string, err error) {
	const length = len(prefix) + idLen + 1 + secretLen + sumLen
	if len(text) != length || !strings.HasPrefix(text, prefix) || text[len(prefix)+idLen] != '_' {
		return "", "", ErrMalformed
	}
	id, secret = text[len(prefix):len(prefix)+idLen], text[length-secretLen-sumLen:length-sumLen]
	if strings.ContainsFunc(id+secret, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '2' || r > '7') }) || Text(id, secret) != text {
		return "", "", ErrMalformed
	}
	return id, secret, nil
}
