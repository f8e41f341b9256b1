package natslog

import (
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

// ConnOptions configure a [Conn]. The zero value works.
type ConnOptions struct {
	Credentials string // path of a credentials file; empty: what the URLs hold
	Log         *slog.Logger
}

// Conn is a connection to a NATS server or cluster, which the logs of all tenants of a process share. It reconnects by itself. Close it after the
// logs.
type Conn struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	log *slog.Logger
}

// Times of a connection.
const (
	connectTimeout = 5 * time.Second
	pingEvery      = 2 * time.Second // a server that does not reply to two pings is lost
	reconnectWait  = 100 * time.Millisecond
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
func Connect(urls string, o ConnOptions) (*Conn, error) {
	if err := CheckURLs(urls); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options := []nats.Option{
		nats.Name("sluice"), nats.Timeout(connectTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), // a message must not be sent after its Append has failed
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
		return nil, fmt.Errorf("connect to NATS: %w", withoutURL(err))
	}
	if v := nc.ConnectedServerVersion(); tooOld(v) {
		nc.Close()
		return nil, fmt.Errorf("connect to NATS: the server has version %s, but %s or later is needed", v, leastVersion)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return &Conn{nc: nc, js: js, log: o.Log}, nil
}

// leastVersion is the first version of NATS with direct gets of several messages.
const leastVersion = "2.11.0"

func tooOld(version string) bool { return semver.Compare("v"+version, "v"+leastVersion) < 0 }

// withoutURL returns an error without the URL that it may contain.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.nc.Close()
	return nil
}
