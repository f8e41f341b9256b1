package server

import (
	"net/http"
	"net/netip"
)

// headerClient is the header by which clients name themselves, so that those who share a run and an address can each cancel
// their own questions alone.
const headerClient = "Sluice-Client"

// CallerOf returns who sends a request, for [engine.Caller]: the name in the header Sluice-Client, or else the address.
func CallerOf(r *http.Request) string {
	if name := r.Header.Get(headerClient); name != "" && len(name) <= 128 {
		return "name " + name
	}
	return "address " + addressOf(r)
}

// addressOf returns the address of a request's sender: of IPv6 the first 64 bits, since one host has all of the others.
func addressOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := at.Addr().Unmap().WithZone("")
	switch {
	case ip == netip.IPv6Loopback():
		return "127.0.0.1" // one client may use both
	case ip.Is6():
		p, _ := ip.Prefix(64) // 64 bits are within an address of version 6
		return p.String()
	}
	return ip.String()
}
