package server

import (
	"net/http"
	"strings"
	"testing"
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
