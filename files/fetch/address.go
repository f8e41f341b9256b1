package fetch

import (
	"net/netip"
	"slices"
)

// special are ranges that are not public, from IANA's registries of special-purpose addresses: loopback, private, link-local (with the metadata
// services of clouds), shared, multicast, documentation and reserved.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	global    = netip.MustParsePrefix("2000::/3") // the allocated part of IPv6
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

// permitted reports whether connections to an address are allowed. An IPv6 address that embeds an IPv4 address is checked as that address.
func permitted(addr netip.Addr, allow []netip.Prefix) bool {
	addr = addr.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case slices.ContainsFunc(allow, in):
		return true
	case slices.ContainsFunc(special, in):
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
