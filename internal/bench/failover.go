package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// failoverResult holds the latencies of answers while the first model is down and the second one is up. The times are from the
// question to the first token, in milliseconds.
type failoverResult struct {
	First      string `json:"first_model"`
	Concurrent bool   `json:"at_once"`  // false: one after another
	Attempts   int64  `json:"attempts"` // connections to the first model; -1 if unknown
	// FirstAnswer is the latency of the first answer. Concurrent questions have none.
	FirstAnswer float64 `json:"first_answer_ms,omitempty"`
	P50         float64 `json:"p50_ms"` // of the other answers
	P99         float64 `json:"p99_ms"`
	// The differences to the same server with only the second model.
	FirstAnswerAdded float64 `json:"first_answer_adds_ms,omitempty"`
	P50Added         float64 `json:"p50_adds_ms"`
}

// The states of the first model.
const (
	firstAlive   = "none"
	firstRefuses = "refuses connections"
	firstResets  = "resets connections"
)

// The provider gives short answers, so that its own latency is small.
const (
	shortRate   = 500
	shortTokens = len(sentenceTokens)
)

// measureFailover measures each state of the first model with a server of its own, because servers remember failed models.
func (m *modelBench) measureFailover(ctx context.Context, r *modelReport) (err error) {
	p, err := m.startProvider(ctx, shortRate, shortTokens)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for _, concurrent := range []bool{false, true} {
		var alive failoverResult
		for _, state := range []string{firstAlive, firstRefuses, firstResets} {
			order := "one after another"
			if concurrent {
				order = "concurrently"
			}
			m.progress(fmt.Sprintf("%d questions %s: %s", m.options.Questions, order, state))
			d, err := m.measureFirst(ctx, p, state, concurrent)
			if err != nil {
				return fmt.Errorf("measure the failover from the first model: %w", err)
			}
			if state == firstAlive {
				alive = d
			} else {
				d.P50Added = d.P50 - alive.P50
				d.FirstAnswerAdded = d.FirstAnswer - alive.FirstAnswer
			}
			r.Dead = append(r.Dead, d)
		}
	}
	return nil
}

func (m *modelBench) measureFirst(ctx context.Context, p *child, state string, concurrent bool) (d failoverResult, err error) {
	d = failoverResult{First: state, Concurrent: concurrent}
	var models []string
	if state != firstAlive {
		c, err := newDeadModel(ctx, state == firstRefuses)
		if err != nil {
			return d, err
		}
		defer func() {
			c.close()
			if d.Attempts = c.attempts.Load(); state == firstRefuses {
				d.Attempts = -1
			}
		}()
		models = append(models, c.addr)
	}
	s, err := m.startServer(ctx, nil, append(models, p.addr)...)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	latencies, err := m.firstTokens(ctx, s, concurrent)
	if err != nil {
		return d, err
	}
	if !concurrent {
		d.FirstAnswer = float64(latencies[0]) / 1e6
		latencies = latencies[min(1, len(latencies)-1):]
	}
	slices.Sort(latencies)
	d.P50, d.P99 = percentile(latencies, 0.5), percentile(latencies, 0.99)
	return d, nil
}

// firstTokens asks the questions and returns the latency of the first token of each answer in nanoseconds.
func (m *modelBench) firstTokens(ctx context.Context, p *sluiceServer, concurrent bool) ([]int64, error) {
	latencies, errs := make([]int64, m.options.Questions), make([]error, m.options.Questions)
	var wg sync.WaitGroup
	for i := range m.options.Questions {
		ask := func() {
			question, _ := m.question()
			_, latencies[i], _, errs[i] = askOnce(ctx, p.url+"/api/query/stream", question, "direct")
		}
		if concurrent {
			wg.Go(ask)
		} else {
			ask()
		}
	}
	wg.Wait()
	return latencies, errors.Join(errs...)
}

// deadModel is the address of a model that does not answer.
type deadModel struct {
	addr     string
	attempts atomic.Int64
	listener net.Listener
	wg       sync.WaitGroup
}

// newDeadModel returns an address where nobody listens if closed is true, or one that resets each connection.
func newDeadModel(ctx context.Context, closed bool) (*deadModel, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c := &deadModel{addr: l.Addr().String(), listener: l}
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
				_ = tcp.SetLinger(0) // send a reset instead of closing the connection in an orderly way
			}
			_ = conn.Close()
		}
	})
	return c, nil
}

func (c *deadModel) close() {
	_ = c.listener.Close()
	c.wg.Wait()
}
