package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
)

func TestCallerOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ remote, name, want string }{
		{"192.0.2.7:4711", "", "address 192.0.2.7"},
		{"[::ffff:192.0.2.7]:1", "", "address 192.0.2.7"},
		{"[2001:db8:1:2:3:4:5:6]:1", "", "address 2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::1]:1", "", "address 2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:1", "", "address fe80::/64"},
		{"127.0.0.1:80", "", "address 127.0.0.1"},
		{"[::1]:80", "", "address 127.0.0.1"},
		{"127.0.0.1:80", "abc", "name abc"},
		{"127.0.0.1:80", strings.Repeat("a", 129), "address 127.0.0.1"},
		{"127.0.0.2:80", "", "address 127.0.0.2"},
		{"@", "", "address @"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		r.Header.Set(headerClient, c.name)
		if got := CallerOf(r); got != c.want {
			t.Errorf("%s, %.10q: %q, want %q", c.remote, c.name, got, c.want)
		}
	}
}

// TestCallerWithKey: a request with a key has the account in its name, and shares the run slots of the account.
func TestCallerWithKey(t *testing.T) {
	t.Parallel()
	r := &http.Request{RemoteAddr: "192.0.2.7:4711", Header: http.Header{}}
	for _, c := range []struct {
		who  auth.Identity
		want engine.Caller
	}{
		{auth.Local(), engine.Caller{ID: "address 192.0.2.7", Client: "192.0.2.7", Account: "owner", Protocol: "forge"}},
		{auth.Identity{Tenant: "a", Account: "alice", Key: "k1"}, engine.Caller{ID: "account alice, address 192.0.2.7", Client: "account a/alice",
			Account: "alice", Protocol: "forge"}},
	} {
		if got := RunCaller(r.WithContext(auth.With(t.Context(), c.who)), "forge"); got != c.want {
			t.Errorf("%+v: %+v", c.who, got)
		}
	}
}
