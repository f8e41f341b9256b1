package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/sse"
)

// TestStopsAfterRunsHaveEnded: readers receive the whole stream, and new questions are rejected.
func TestStopsAfterRunsHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{})
		bodies := everything(10, 1)
		s := inMemory(t, stepwise(steps, bodies), engine.Options{}, server.Options{})
		defer s.http.CloseIdleConnections()
		res := s.ask("why?")
		s.stop()
		synctest.Wait()
		for _, c := range []struct {
			method, path, body string
			want               int
		}{{"GET", "/readyz", "", 503}, {"GET", "/healthz", "", 200}, {"POST", "/api/query", question("x"), 503}, {"POST", "/api/query/stream", question("x"), 503},
			{"GET", "/api/runs", "", 200}} {
			reply := s.do(c.method, c.path, c.body)
			if body := slurp(t, reply.Body); reply.StatusCode != c.want {
				t.Errorf("%s: %s: %.100s", c.path, reply.Status, body)
			}
		}
		back := s.do("GET", "/runs/"+res.Header.Get("Sluice-Run-Id")+"/stream", "")
		go func() {
			for range bodies {
				steps <- struct{}{}
			}
		}()
		whole(t, res)
		whole(t, back)
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
}

func TestStopsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, stepwise(nil, everything(10, 1)), engine.Options{Deadline: time.Hour}, server.Options{Drain: 10 * time.Second})
		defer s.http.CloseIdleConnections()
		res := s.ask("why?")
		idle := s.dial() // sends nothing
		began := time.Now()
		s.stop()
		evs := whole(t, res)
		if code := failure(t, evs); code != "CANCELLED" {
			t.Errorf("%s", code)
		}
		if err := <-s.done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 13*time.Second {
			t.Errorf("took %v", took)
		}
		idle.Close()
	})
}

// TestDeadlineListsSourcesFirst: after a timeout, the text so far is followed by the sources and the error, without done.
func TestDeadlineListsSourcesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		steps := make(chan struct{}, 100)
		for range 15 {
			steps <- struct{}{}
		}
		s := inMemory(t, stepwise(steps, everything(50, 1)), engine.Options{Deadline: 30 * time.Second}, server.Options{})
		defer s.close()
		began := time.Now()
		_, evs := s.answered("why?")
		if code := failure(t, evs); code != "TIMEOUT" || time.Since(began) != 30*time.Second {
			t.Errorf("%s after %v", code, time.Since(began))
		}
		if text, _ := textAndNames(evs); text == "" {
			t.Error("the text so far is gone")
		}
	})
}

// damaged is a store whose logs cannot be read or written from one event on.
type damaged struct {
	*eventlog.Memory
	from   event.Seq
	writes bool
}

var errDamaged = errors.New("secret: bad sector")

func (d damaged) Append(ctx context.Context, run event.RunID, es ...event.Event) error {
	if d.writes && es[0].Seq >= d.from {
		return errDamaged
	}
	return d.Memory.Append(ctx, run, es...)
}

func (d damaged) Load(ctx context.Context, run event.RunID, after event.Seq) ([]event.Event, error) {
	es, err := d.Memory.Load(ctx, run, after)
	if d.writes || err != nil {
		return es, err
	}
	if after+1 >= d.from {
		return nil, errDamaged
	}
	return es[:min(len(es), int(d.from-1-after))], nil
}

// TestStoreFailureAbortsStream: the stream is aborted, so that the reader does not take it for complete.
func TestStoreFailureAbortsStream(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "gzip", "zstd"} {
		for _, writes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := damaged{eventlog.NewMemory(), 8, writes}
				s := inMemory(t, saying(everything(5, 1)...), engine.Options{Store: store}, server.Options{})
				defer s.close()
				res := s.ask("why?", "Accept-Encoding", encoding)
				defer res.Body.Close()
				var err error
				var c checker
				n := 0
				for ev, rerr := range sse.NewReader(decoded(t, res), 0).All() {
					if err = rerr; err == nil {
						n++
						err = c.next(ev)
					}
				}
				if n == 0 && encoding == "zstd" {
					return // its decoder treats an incomplete body without data as empty
				}
				if err == nil || c.grammar.Ended() {
					t.Errorf("%q, writes %v: %d events and then %v", encoding, writes, n, err)
				}
				reply := s.do("POST", "/api/query", question("why?"))
				if body := slurp(t, reply.Body); reply.StatusCode != http.StatusInternalServerError || strings.Contains(body, "secret") {
					t.Errorf("%s: %s", reply.Status, body)
				}
			})
		}
	}
}

// TestSlowBody: a slow body is accepted within the time limit.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t, saying(everything(5, 1)...), engine.Options{}, server.Options{})
		defer s.close()
		c := s.dial()
		go func() {
			for i := range len(rawQuestion) {
				if i > len(rawQuestion)-16 {
					time.Sleep(time.Second)
				}
				_, _ = io.WriteString(c, rawQuestion[i:i+1])
			}
		}()
		b, err := io.ReadAll(c)
		if err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.1 200 OK")) || !bytes.HasSuffix(b, []byte("\r\n0\r\n\r\n")) {
			t.Errorf("%v: %.100q", err, b)
		}
	})
}
