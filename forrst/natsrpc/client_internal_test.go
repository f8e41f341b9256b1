package natsrpc

import (
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestRenewalKeepsUnusedBytes renews the lease while a large message is not used yet. The server waits for the ack of that message, so the
// client must not wait for the next renewal.
func TestRenewalKeepsUnusedBytes(t *testing.T) {
	t.Parallel()
	r := &receiver{t: &Transport{}, control: "c", limit: 1 << 30}
	m := nats.NewMsg("inbox")
	m.Data = make([]byte, 2*WindowBytes)
	for n := uint64(1); n < 3; n++ {
		if _, err := r.take(m, strconv.FormatUint(n, 10)); err != nil {
			t.Fatal(err)
		}
		r.ack() // the renewal
		r.used()
		if r.acked != n || r.unacked != 0 {
			t.Errorf("message %d: acked %d, %d bytes are not", n, r.acked, r.unacked)
		}
	}
}
