package auth

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-rag/sluice/fault"
)

// Errors of stores.
var (
	ErrNotFound = errors.New("no such key")
	ErrQuota    = errors.New("the quota is used up")
	ErrLost     = errors.New("keys were added before, but the key database has none")
)

// Session is a login of a browser: with a key, or as somebody whom another service has authenticated.
type Session struct {
	Hash    []byte // of the random text that the browser has: see [Hash]
	Key     string // id of the key
	Secret  []byte // hash of the secret of the key with which the browser logged in
	Expires time.Time
	// Person is who logged in without a key; Key and Secret are not used then. Its Key is the id of the settings of the login, which is no id of a
	// key. It has no Collections.
	Person Identity
}

// MaxSessions is how many sessions a key can have, or an account whose people log in without one. A further login ends the oldest one.
const MaxSessions = 100

// Store is what a server needs to know about keys. It is safe for concurrent use, and several processes may use the same keys: each call
// sees what others have changed before.
type Store interface {
	// Any reports whether a key was ever added, also if it was revoked or has expired.
	Any(ctx context.Context) (bool, error)
	// Key returns a key, also one that was revoked or has expired, or [ErrNotFound].
	Key(ctx context.Context, id string) (Credential, error)
	// AllowsOrigin reports whether a key that is live at a time allows an origin.
	AllowsOrigin(ctx context.Context, origin string, at time.Time) (bool, error)
	// Use records that a key was used, and counts questions against its quota, all or none of them: in the day or month of the time at, or in the
	// next one if it has begun by the clock of another server. A number below zero gives back questions that were counted at that time, if their day
	// or month is still the current one. Errors: [ErrNotFound], [ErrQuota].
	Use(ctx context.Context, id string, at time.Time, questions int) error
	// Session returns who has the session that has the hash and has not expired at a time, or [ErrNotFound]. The key is zero if the login was
	// without one.
	Session(ctx context.Context, hash []byte, at time.Time) (Identity, Key, error)
	// PutSession adds a session, which ends with its secret at the latest. It returns [ErrNotFound] if the key is not live or the secret is
	// not valid at the time. A session that has expired at the time ends the one with the same hash.
	PutSession(ctx context.Context, s Session, at time.Time) error
}

// Rates counts requests against rates. It is safe for concurrent use.
type Rates interface {
	// Take takes one request of a key at a rate, or returns how long to wait until the next one may be taken. Limit.N requests can be taken at once,
	// and then one after each [Limit.Interval]: a token bucket. full is how long after at it is full, if no other request is taken: see [Limit.Left].
	Take(ctx context.Context, key string, rate Limit, at time.Time) (wait, full time.Duration, err error)
}

// Manager changes keys. It is safe for concurrent use.
type Manager interface {
	// Add adds a key, whose id must be new.
	Add(ctx context.Context, c Credential) error
	// List returns all keys, the oldest first.
	List(ctx context.Context) ([]Key, error)
	// Revoke ends a key and its sessions for ever. Revoking it again changes nothing. Errors: [ErrNotFound].
	Revoke(ctx context.Context, id string, at time.Time) error
	// Rotate replaces the secret of a live key. The old secret and the sessions of the key end at a time. Errors: [ErrNotFound], also for a
	// key that was revoked or has expired.
	Rotate(ctx context.Context, id string, hash []byte, at, until time.Time) error
	// EndTenant revokes all keys of a tenant and ends the logins of its accounts. It returns how many keys it revoked.
	EndTenant(ctx context.Context, tenant string, at time.Time) (keys int, err error)
}

// Create adds a key with a new id and secret, and returns its text form. The text cannot be found out later. Errors name the invalid field.
func Create(ctx context.Context, m Manager, k Key, at time.Time) (text string, added Key, err error) {
	if err := k.Validate(); err != nil {
		return "", k, err
	}
	if !k.Expires.IsZero() && !k.Expires.After(at) {
		return "", k, fault.Invalid("expires", "want a time in the future")
	}
	secret := NewSecret()
	k.ID, k.Created, k.Used, k.Revoked = NewID(), at, time.Time{}, time.Time{}
	return Text(k.ID, secret), k, m.Add(ctx, Credential{Key: k, Hash: Hash(secret)})
}

// Rotate gives a key a new secret and returns its text form. The old secret is valid for the overlap. See [Manager] for errors.
func Rotate(ctx context.Context, m Manager, id string, at time.Time, overlap time.Duration) (text string, err error) {
	secret := NewSecret()
	return Text(id, secret), m.Rotate(ctx, id, Hash(secret), at, at.Add(overlap))
}

// nobody is compared with the secrets of unknown keys, so that they take the same steps as wrong secrets of known ones.
var nobody = Credential{Hash: Hash(""), Old: Hash("")}

// Authenticate returns the live key of a text form. With the secret before a rotation, the key expires at the end of the overlap. The error for
// anything but a right secret is the same, so it does not tell which keys exist. Errors have the code [fault.Unauthenticated], unless the
// store failed.
func Authenticate(ctx context.Context, s Store, text string, at time.Time) (Key, error) {
	invalid := fault.New(fault.Unauthenticated, "the key is not valid")
	id, secret, err := Parse(text)
	if err != nil {
		return Key{}, invalid
	}
	c, err := s.Key(ctx, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Key{}, err
	}
	if err != nil {
		c = nobody
	}
	current, old := c.verify(secret, at)
	if err != nil || !current && !old {
		return Key{}, invalid
	}
	if !current && (c.Expires.IsZero() || c.OldUntil.Before(c.Expires)) {
		c.Expires = c.OldUntil
	}
	if err := c.Live(at); err != nil {
		return Key{}, err
	}
	return c.Key, nil
}
