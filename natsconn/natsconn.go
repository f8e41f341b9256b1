// Package natsconn connects to NATS servers, and tells which errors of them may be gone at the next attempt.
package natsconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/semver"
)

// Options configure a [Conn]. The zero value works.
type Options struct {
	Credentials string // path of a credentials file; empty: what the URLs hold
	Log         *slog.Logger
}

// Conn is a connection to a NATS server or cluster, which the tenants of a process share. It reconnects by itself. Close it after what uses it.
type Conn struct {
	NC  *nats.Conn
	JS  jetstream.JetStream
	Log *slog.Logger // not nil
}

// Timeout bounds an attempt to connect.
const Timeout = 5 * time.Second

// Times of a connection.
const (
	pingEvery     = 2 * time.Second // a server that does not reply to two pings is lost
	reconnectWait = 100 * time.Millisecond
)

// CheckURLs returns an error unless text is a comma separated list of NATS addresses: nats://, tls://, ws:// or wss://, with a host, and with
// no path. The error does not contain the text, which may hold a password.
func CheckURLs(text string) error {
	for i, s := range strings.Split(text, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		switch {
		case err != nil:
			return fmt.Errorf("address %d is not a URL", i+1)
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return fmt.Errorf("address %d must begin with nats://, tls://, ws:// or wss://", i+1)
		case u.Hostname() == "":
			return fmt.Errorf("address %d has no host", i+1)
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("address %d must end after the host and port", i+1)
		}
	}
	return nil
}

// Connect connects to the NATS servers of a comma separated list of URLs: see [CheckURLs]. Errors and log messages hold no passwords.
func Connect(urls string, o Options) (*Conn, error) {
	if err := CheckURLs(urls); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options := []nats.Option{
		nats.Name("sluice"), nats.Timeout(Timeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // a message must not be sent after its call has failed
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("the connection to NATS is lost; it is opened again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { o.Log.Info("connected to NATS again", "server", nc.ConnectedServerName()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Log.Debug("NATS error", "error", err) }),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	nc, err := nats.Connect(urls, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", WithoutURL(err))
	}
	if v := nc.ConnectedServerVersion(); tooOld(v) {
		nc.Close()
		return nil, fmt.Errorf("connect to NATS: %w", TooOldError(v))
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return &Conn{NC: nc, JS: js, Log: o.Log}, nil
}

// LeastVersion is the first version of NATS with direct gets of several messages, which the run log needs.
const LeastVersion = "2.11.0"

// TooOldError is the version of a server that is too old.
type TooOldError string

// Error says which version is needed.
func (e TooOldError) Error() string {
	return fmt.Sprintf("the server has version %s, but %s or later is needed", string(e), LeastVersion)
}

func tooOld(version string) bool { return semver.Compare("v"+version, "v"+LeastVersion) < 0 }

// WithoutURL returns an error without the URL that it may contain.
func WithoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.NC.Close()
	return nil
}

// Codes of errors: https://github.com/nats-io/nats-server/blob/main/server/errors.json
const (
	noStorage         = 10047 // JetStream cannot reserve the maximum size of a stream
	wrongLast         = 10071 // the last sequence is another
	wrongLastConstant = 10164 // the same in a cluster; also if a message of the subject is being stored
	duplicateStored   = 10158 // a cluster is storing a message with the same id
)

// WrongSequence reports whether a message was refused because the last sequence of its subject is not the expected one.
func WrongSequence(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == wrongLast || api.ErrorCode == wrongLastConstant)
}

// NoStorage reports whether a stream was refused because JetStream cannot reserve its maximum size.
func NoStorage(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == noStorage
}

// Transient reports whether an error may be gone at the next attempt: NATS did not reply, has no leader, or is still storing the message that
// an earlier attempt sent.
func Transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode != noStorage && api.Code >= 500 || api.Code == 408 || api.Code == 429 || api.ErrorCode == duplicateStored
	}
	for _, e := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
		jetstream.ErrNoStreamResponse, context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// CreateReplicated calls create with the number of servers that store a new stream: want, or, if that is 0, as many as the cluster allows, at most 3. It
// returns the number that create succeeded with.
func CreateReplicated(want int, create func(replicas int) error) (int, error) {
	if want > 0 {
		return want, create(want)
	}
	for n := 3; ; n-- {
		if err := create(n); n == 1 || !TooFew(err) {
			return n, err
		}
	}
}

// TooFew reports whether a stream was refused because there are too few servers for its replicas.
func TooFew(err error) bool {
	const noPeers, notClustered = 10005, 10074
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == noPeers || api.ErrorCode == notClustered)
}
