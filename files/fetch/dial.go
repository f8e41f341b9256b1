package fetch

import (
	"context"
	"net"
)

// Dial connects to HOST:PORT for a client of another protocol. It checks the addresses as [Fetcher.Fetch] does.
func (f *Fetcher) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return f.dial(ctx, network, address)
}
