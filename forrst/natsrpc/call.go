package natsrpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

var errSlow = errors.New("natsrpc: the client does not read")

// call is the reply to one call. It implements [forrst.Writer].
type call struct {
	server *server
	id     string
	reply  string // subject
	ctx    context.Context
	cancel context.CancelCauseFunc
	header http.Header
	lease  *time.Timer
	acked  chan struct{} // has a value after an ack

	mu       sync.Mutex
	sent     uint64        // number of the last message
	confirm  uint64        // number of the last message that was acked
	bytes    int64         // of all messages so far
	ends     [Window]int64 // bytes up to each of the last messages, by number
	hasBegun bool          // the headers are sent
}

// gone ends the call, because its client has left.
func (c *call) gone() { c.cancel(nil) }

// ack records that the client has used the messages up to a number. Invalid numbers only renew the lease.
func (c *call) ack(seq uint64) {
	c.lease.Reset(c.server.o.Lease)
	c.mu.Lock()
	if seq > c.confirm && seq <= c.sent {
		c.confirm = seq
	}
	c.mu.Unlock()
	select {
	case c.acked <- struct{}{}:
	default:
	}
}

// reserve takes the next number for a message of some size, if the client has room for it.
func (c *call) reserve(size int64) (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent-c.confirm >= Window || c.bytes-c.ends[c.confirm%Window] >= WindowBytes {
		return 0, false
	}
	c.sent++
	c.bytes += size
	c.ends[c.sent%Window] = c.bytes
	return c.sent, true
}

// wait reserves a message as soon as the client has room for it.
func (c *call) wait(size int64) (uint64, error) {
	seq, ok := c.reserve(size)
	if ok {
		return seq, nil
	}
	timeout := time.NewTimer(c.server.s.WriteTimeout())
	defer timeout.Stop()
	for {
		select {
		case <-c.acked:
			if seq, ok = c.reserve(size); ok {
				return seq, nil
			}
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		case <-timeout.C:
			return 0, errSlow
		}
	}
}

// Header implements [forrst.Writer].
func (c *call) Header() http.Header { return c.header }

// Reply implements [forrst.Writer].
func (c *call) Reply(status int, document []byte) error {
	c.header.Set(headerStatus, strconv.Itoa(status))
	return c.send(document, true)
}

// Begin implements [forrst.Writer].
func (c *call) Begin() error { return nil }

// Event implements [forrst.Writer].
func (c *call) Event(event []byte, last bool) error { return c.send(event, last) }

// partOverhead is the room for the headers of this package in a message, in bytes.
const partOverhead = 256

// send sends a payload in as many messages as it needs. The connection copies it.
func (c *call) send(payload []byte, last bool) error {
	for {
		m := nats.NewMsg(c.reply)
		room := c.server.nc.MaxPayload() - partOverhead
		if !c.hasBegun {
			c.hasBegun = true
			maps.Copy(m.Header, nats.Header(c.header))
			for name, values := range c.header {
				for _, v := range values {
					room -= int64(len(name) + len(v) + len(": \r\n"))
				}
			}
		}
		if room <= 0 {
			return fmt.Errorf("natsrpc: %w", nats.ErrMaxPayload)
		}
		m.Data = payload[:min(int64(len(payload)), room)]
		payload = payload[len(m.Data):]
		seq, err := c.wait(int64(len(m.Data)))
		if err != nil {
			return err
		}
		m.Header.Set(headerSeq, strconv.FormatUint(seq, 10))
		switch {
		case len(payload) > 0:
			m.Header.Set(headerMore, "true")
		case last:
			m.Header.Set(headerLast, "true")
		}
		if err := c.server.nc.PublishMsg(m); err != nil {
			return err
		}
		if len(payload) == 0 {
			return nil
		}
	}
}

// httpHeader returns headers of NATS with the spelling of those of HTTP.
func httpHeader(h nats.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		name = textproto.CanonicalMIMEHeaderKey(name)
		out[name] = append(out[name], values...)
	}
	return out
}
