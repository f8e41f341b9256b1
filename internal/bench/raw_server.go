package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/wire/forge"
)

// serveRaw writes each event by one write(2), without net/http, from as many goroutines as there are processors. This is the
// least that an event can cost.
func serveRaw(ctx context.Context, l net.Listener, rate float64, begin <-chan struct{}) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	shards := make([]chan net.Conn, runtime.GOMAXPROCS(0))
	for i := range shards {
		shards[i] = make(chan net.Conn)
		wg.Go(func() { rawShard(ctx, shards[i], begin, rate) })
	}
	for n := 0; ; n++ {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		query, err := acceptRaw(c)
		switch {
		case err != nil:
			_ = c.Close()
		case rateOf(query, rate) == 0: // idle until the process ends
			defer c.Close()
		default:
			select {
			case shards[n%len(shards)] <- c:
			case <-ctx.Done():
				_ = c.Close()
			}
		}
	}
}

// acceptRaw reads the request and writes the header of the reply.
func acceptRaw(c net.Conn) (query string, err error) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return "", err
	}
	var q forge.Request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return "", err
	}
	_, err = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"))
	return q.Query, err
}

// rawStream is a connection and the time of its next event.
type rawStream struct {
	eventWriter
	conn net.Conn
	next time.Time
}

func (s *rawStream) compare(t *rawStream) int { return s.next.Compare(t.next) }

type noFlush struct{}

// Flush implements [http.Flusher].
func (noFlush) Flush() {}

// rawShard writes the events of its connections until ctx ends, when begin is closed. All have the same period, so due is a queue in order of time.
func rawShard(ctx context.Context, added <-chan net.Conn, begin <-chan struct{}, rate float64) {
	period := time.Duration(float64(time.Second) / rate)
	var due []*rawStream
	defer func() {
		for _, s := range due {
			_ = s.conn.Close()
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-added:
			due = append(due, &rawStream{eventWriter: eventWriter{w: c, flusher: noFlush{}}, conn: c})
			if begin != nil {
				continue
			}
			due[len(due)-1].next = time.Now().Add(rand.N(period))
			slices.SortStableFunc(due, (*rawStream).compare)
		case <-begin:
			begin = nil
			for _, s := range due {
				s.next = time.Now().Add(rand.N(period))
			}
			slices.SortStableFunc(due, (*rawStream).compare)
		case <-timer.C:
		}
		for len(due) > 0 && !due[0].next.After(time.Now()) {
			s := due[0]
			due = due[1:]
			if s.write(timeToken(int64(s.n)+1)) != nil {
				_ = s.conn.Close()
				continue
			}
			s.next = s.next.Add(period)
			due = append(due, s)
		}
		if len(due) > 0 {
			timer.Reset(time.Until(due[0].next))
		}
	}
}
