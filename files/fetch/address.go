package fetch

import (
	"net/netip"
	"slices"
)

// refused are the ranges that no document on the public Internet is in, after IANA's registries of special-purpose addresses: loopback,
// private, link-local (with the metadata services of clouds), shared, multicast, documentation, reserved.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	global    = netip.MustParsePrefix("2000::/3") // of IPv6, what else is given out to anybody
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// permitted tells whether an address may be connected to. One that stands for an IPv4 address is judged as that one.
func permitted(addr netip.Addr, allow []netip.Prefix) bool {
	addr = addr.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case slices.ContainsFunc(allow, in):
		return true
	case slices.ContainsFunc(refused, in):
		return false
	case addr.Is4():
		return true
	case nat64.Contains(addr):
		b := addr.As16()
		return permitted(netip.AddrFrom4([4]byte(b[12:16])), allow)
	case sixToFour.Contains(addr):
		b := addr.As16()
		return permitted(netip.AddrFrom4([4]byte(b[2:6])), allow)
	}
	return global.Contains(addr)
}
