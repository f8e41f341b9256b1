package server

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
)

// headerClient is the header by which clients name themselves, so that those who share a run and an address can each cancel
// their own questions alone.
const headerClient = "Sluice-Client"

// CallerOf returns who sends a request, for [engine.Caller]: the account, if the request has a key, and the name in the header
// Sluice-Client, or else the address.
func CallerOf(r *http.Request) string {
	who := ""
	if i, ok := auth.From(r.Context()); ok && i.Key != "" {
		who = "account " + i.Account + ", "
	}
	if name := r.Header.Get(headerClient); name != "" && len(name) <= 128 {
		return who + "name " + name
	}
	return who + "address " + AddressOf(r)
}

// accountOf returns the account of the sender of a request; empty for requests without a key.
func accountOf(ctx context.Context) string {
	i, _ := auth.From(ctx)
	return i.Account
}

// RunCaller returns the caller of a question in a protocol. Requests with a key share the run slots of their account, others those of their
// address.
func RunCaller(r *http.Request, protocol string) engine.Caller {
	i, _ := auth.From(r.Context())
	c := engine.Caller{ID: CallerOf(r), Client: AddressOf(r), Account: i.Account, Protocol: protocol}
	if i.Key != "" {
		c.Client = "account " + i.Tenant + "/" + i.Account
	}
	return c
}

// AddressOf returns the address of a request's sender: of IPv6 the first 64 bits, since one host has all of the others.
func AddressOf(r *http.Request) string {
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
