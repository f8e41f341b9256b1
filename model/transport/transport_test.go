package transport

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestServerThatIsDownIsDialledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials, up := 0, false
		down := errors.New("down")
		d := &dialer{dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials++
			if up {
				a, b := net.Pipe()
				b.Close()
				return a, nil
			}
			return nil, errors.Join(down, ctx.Err())
		}}
		dial := func(ctx context.Context, address string) error {
			conn, err := d.DialContext(ctx, "tcp", address)
			if err == nil {
				conn.Close()
			}
			return err
		}
		for range 5 {
			if err := dial(t.Context(), "a:1"); !errors.Is(err, down) {
				t.Error(err)
			}
		}
		if dials != 1 {
			t.Errorf("%d dials", dials)
		}
		if err := dial(t.Context(), "b:1"); !errors.Is(err, down) || dials != 2 {
			t.Errorf("another address: %v, %d dials", err, dials)
		}
		up = true
		time.Sleep(forget) // of the bubble
		if err := dial(t.Context(), "a:1"); err != nil || dials != 3 {
			t.Errorf("a moment later: %v, %d dials", err, dials)
		}
		up = false
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_ = dial(gone, "a:1")
		up = true
		if err := dial(t.Context(), "a:1"); err != nil {
			t.Errorf("after a caller that left: %v", err)
		}
	})
}
