package forrst

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	maxCallbackURL   = 2048 // bytes
	callbackAttempts = 4
	callbackTimeout  = 10 * time.Second // of one attempt
	maxCallbackReply = 4 << 10          // bytes that are read of it
)

// callbacks sends the ends of operations to addresses of clients.
type callbacks struct {
	secret   []byte
	hosts    []string
	anywhere bool
	client   *http.Client
}

func newCallbacks(o AsyncOptions) *callbacks {
	c := &callbacks{secret: slices.Clone(o.CallbackSecret), anywhere: o.CallbacksAnywhere}
	for _, h := range o.CallbackHosts {
		c.hosts = append(c.hosts, strings.ToLower(h))
	}
	dialer := &net.Dialer{Timeout: callbackTimeout, Control: c.control}
	c.client = &http.Client{
		Timeout: callbackTimeout,
		// No proxy: it would make the connection, and the address could not be checked.
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			TLSHandshakeTimeout: callbackTimeout, MaxResponseHeaderBytes: 16 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// errNotPublic is the error of a connection to an address that is not public.
var errNotPublic = errors.New("the address is not public")

// control checks the address of a connection, after the name was resolved and before it is opened, so that a name cannot
// resolve to another address in between.
func (c *callbacks) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !c.anywhere && !publicAddress(to.Addr()) {
		return errNotPublic
	}
	return nil
}

// special are ranges that are not public, from IANA's registries of special-purpose addresses. Of IPv6, the ranges that embed
// IPv4 addresses (6to4, Teredo) are among them.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// allocated is the part of IPv6 from which public addresses are.
var allocated = netip.MustParsePrefix("2000::/3")

// publicAddress reports whether an address can be reached from the whole Internet.
func publicAddress(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return (a.Is4() || allocated.Contains(a)) && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// check validates a callback_url. Its error completes a sentence about it.
func (c *callbacks) check(raw json.RawMessage) error {
	var text string
	if c == nil {
		return errors.New("is not supported: the server has no secret for callbacks")
	}
	if kindOf(raw) != '"' || json.Unmarshal(raw, &text) != nil || text == "" || len(text) > maxCallbackURL {
		return fmt.Errorf("must be a string of 1 to %d bytes", maxCallbackURL)
	}
	u, err := url.Parse(text)
	host := ""
	if err == nil {
		host = strings.ToLower(u.Hostname())
	}
	switch {
	case err != nil || host == "" || u.Opaque != "":
		return errors.New("must be an absolute URL")
	case u.Scheme != "https" && !(c.anywhere && u.Scheme == "http"):
		return errors.New("must have the scheme https")
	case u.User != nil:
		return errors.New("must have no credentials")
	case u.Fragment != "":
		return errors.New("must have no fragment")
	case len(c.hosts) > 0 && !slices.Contains(c.hosts, host):
		return errors.New("has a host that is not allowed")
	case c.anywhere:
		return nil
	}
	name := strings.TrimSuffix(host, ".")
	if a, err := netip.ParseAddr(name); err == nil && !publicAddress(a) || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return errors.New("must have a public host")
	}
	return nil
}

// callbackDocument is the body of a callback.
type callbackDocument struct {
	Protocol protocol     `json:"protocol"`
	Callback callbackBody `json:"callback"`
}

type callbackBody struct {
	OperationID       string          `json:"operation_id"`
	OriginalRequestID string          `json:"original_request_id"`
	Status            OperationStatus `json:"status"`
	Result            json.RawMessage `json:"result,omitempty"`
	Errors            Errors          `json:"errors,omitempty"`
	CompletedAt       string          `json:"completed_at"`
}

// errRefused is the reply of a receiver that will not change.
var errRefused = errors.New("the receiver refuses the callback")

// send posts the end of an operation. Network errors and replies that may go away are tried again.
func (c *callbacks) send(ctx context.Context, to string, op Operation, out Outcome) {
	body := callbackBody{OperationID: op.ID, OriginalRequestID: op.RequestID, Status: op.Status, Errors: out.Errors, CompletedAt: timestamp(op.Completed)}
	if len(out.Errors) == 0 {
		if body.Result = out.Result; body.Result == nil {
			body.Result = json.RawMessage("null")
		}
	}
	text, err := encodeJSON(callbackDocument{protocol{"forrst", version}, body})
	if err != nil {
		return // operate has encoded the outcome before
	}
	_ = retry(ctx, callbackAttempts, func() error { // the client can still ask for the state
		if err := c.post(ctx, to, text); !errors.Is(err, errRefused) && !errors.Is(err, errNotPublic) {
			return err
		}
		return nil
	})
}

// post sends the body once. The receiver verifies the signature with the same secret, over the body as it was received.
func (c *callbacks) post(ctx context.Context, to string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return errRefused
	}
	mac := hmac.New(sha256.New, c.secret)
	mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "forrst/"+version)
	req.Header.Set("X-Forrst-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	reply, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	_, _ = io.CopyN(io.Discard, reply.Body, maxCallbackReply) // of no interest
	switch status := reply.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		return fmt.Errorf("the receiver replied with status %d", status)
	}
	return errRefused
}

// noReply is the reply of a call whose client has one already.
type noReply struct{}

func (noReply) Header() http.Header     { return http.Header{} }
func (noReply) Reply(int, []byte) error { return nil }
func (noReply) Begin() error            { return nil }

func (noReply) Event([]byte, bool) error { return nil }
