package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Dying is what a first model costs that is dead, while the second one lives. The times go from the question to the answer's
// first token, in milliseconds.
type Dying struct {
	First    string `json:"first_model"`
	Together bool   `json:"at_once"`  // else one after another
	Attempts int64  `json:"attempts"` // connections that the dead one saw; -1 where none can be seen
	// Earliest is the delay of the answer that was asked for first. Of questions that are asked at once there is none.
	Earliest float64 `json:"first_answer_ms,omitempty"`
	P50      float64 `json:"p50_ms"` // of the other answers
	P99      float64 `json:"p99_ms"`
	// What the dead one adds, by the same server with the living one alone.
	EarliestAdded float64 `json:"first_answer_adds_ms,omitempty"`
	P50Added      float64 `json:"p50_adds_ms"`
}

// The states of a first model.
const (
	Alive   = "no dead one"
	Refuses = "port is closed"
	Resets  = "accepts and resets"
)

// A provider of short answers, so that their delay is that of the way.
const (
	shortRate   = 500
	shortTokens = len(sentence)
)

// dead measures each state of the first model with servers of their own, as they learn.
func (m *modelBench) dead(ctx context.Context, r *ModelReport) (err error) {
	p, err := m.startProvider(ctx, shortRate, shortTokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for _, together := range []bool{false, true} {
		var alive Dying
		for _, state := range []string{Alive, Refuses, Resets} {
			order := "one after another"
			if together {
				order = "at once"
			}
			m.o.Progress(fmt.Sprintf("%d questions %s: %s", m.o.Questions, order, state))
			d, err := m.dying(ctx, p, state, together)
			if err != nil {
				return fmt.Errorf("measure a first model that is dead: %w", err)
			}
			if state == Alive {
				alive = d
			} else {
				d.P50Added = d.P50 - alive.P50
				d.EarliestAdded = d.Earliest - alive.Earliest
			}
			r.Dead = append(r.Dead, d)
		}
	}
	return nil
}

func (m *modelBench) dying(ctx context.Context, p *side, state string, together bool) (d Dying, err error) {
	d = Dying{First: state, Together: together}
	var chain []string
	if state != Alive {
		c, err := newCorpse(ctx, state == Refuses)
		if err != nil {
			return d, err
		}
		defer func() {
			c.close()
			if d.Attempts = c.attempts.Load(); state == Refuses {
				d.Attempts = -1
			}
		}()
		chain = append(chain, c.addr)
	}
	s, err := m.startSluice(ctx, append(chain, p.addr)...)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	delays, err := m.askFor(ctx, s, together)
	if err != nil {
		return d, err
	}
	if !together {
		d.Earliest = float64(delays[0]) / 1e6
		delays = delays[min(1, len(delays)-1):]
	}
	all := sorted([][]int64{delays})
	d.P50, d.P99 = percentile(all, 0.5), percentile(all, 0.99)
	return d, nil
}

// askFor gives the delay to each answer's first token, in nanoseconds and the order of asking.
func (m *modelBench) askFor(ctx context.Context, p *program, together bool) ([]int64, error) {
	delays, errs := make([]int64, m.o.Questions), make([]error, m.o.Questions)
	var wg sync.WaitGroup
	for i := range m.o.Questions {
		ask := func() {
			question, _ := m.question()
			_, delays[i], _, errs[i] = askOnce(ctx, p.url+"/api/query/stream", question, "direct")
		}
		if together {
			wg.Go(ask)
		} else {
			ask()
		}
	}
	wg.Wait()
	return delays, errors.Join(errs...)
}

// corpse is the address of a model that is dead.
type corpse struct {
	addr     string
	attempts atomic.Int64
	listener net.Listener
	wg       sync.WaitGroup
}

// newCorpse takes an address where nobody listens, or one that resets each connection.
func newCorpse(ctx context.Context, closed bool) (*corpse, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c := &corpse{addr: l.Addr().String(), listener: l}
	if closed {
		return c, l.Close()
	}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.attempts.Add(1)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset in place of an orderly end
			}
			_ = conn.Close()
		}
	})
	return c, nil
}

func (c *corpse) close() {
	_ = c.listener.Close()
	c.wg.Wait()
}
