package server_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire"
)

type wrong struct {
	Wrong string `json:"wrong"`
	Field string `json:"field"`
}

func wrongOf(f *fault.Error) any { return wrong{string(f.Code), f.Field} }

// routed is a server with an additional route.
func routed(t *testing.T, r server.Route) *site {
	t.Helper()
	return routedWith(t, server.Options{}, r)
}

func routedWith(t *testing.T, o server.Options, r server.Route) *site {
	t.Helper()
	r.Method, r.Path, r.Fault, r.Summary, r.Reply, r.Faults = http.MethodPost, "/more/{id}", wrongOf, "More", wrong{}, []int{400, 413}
	r.Request = []any{struct {
		ID string `path:"id"`
	}{}}
	o.Routes = []server.Route{r}
	return inMemory(t, saying(everything(3, 1)...), engine.Options{}, o)
}

// TestAdditionalRoutes: errors have the form of the route and are in the document.
func TestAdditionalRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var result error
		s := routed(t, server.Route{MaxBody: 100, Serve: func(w http.ResponseWriter, r *http.Request) error {
			b, err := server.ReadJSON(r)
			if err != nil {
				return fmt.Errorf("read question: %w", err)
			}
			if result == nil {
				server.ReplyJSON(w, http.StatusOK, wrong{r.PathValue("id"), string(b)})
			}
			return result
		}})
		defer s.close()
		for _, c := range []struct {
			err        error
			body, kind string
			status     int
			reply      string
		}{
			{nil, `{}`, "application/json", 200, `{"wrong":"7","field":"{}"}`},
			{nil, `{}`, "text/plain", 415, `{"wrong":"INVALID_REQUEST","field":"Content-Type"}`},
			{nil, strings.Repeat("x", 101), "application/json", 413, `{"wrong":"TOO_LARGE","field":""}`},
			{fault.Invalid("name", "too long"), `{}`, "application/json", 400, `{"wrong":"INVALID_REQUEST","field":"name"}`},
			{fault.New(fault.NotFound, "no"), `{}`, "application/json", 404, `{"wrong":"NOT_FOUND","field":""}`},
			{errors.New("secret"), `{}`, "application/json", 500, `{"wrong":"INTERNAL","field":""}`},
			{server.UnsupportedMedia("file", "no text"), `{}`, "application/json", 415, `{"wrong":"INVALID_REQUEST","field":"file"}`},
		} {
			result = c.err
			res := s.do("POST", "/more/7", c.body, "Content-Type", c.kind)
			if got := strings.TrimSpace(slurp(t, res.Body)); got != c.reply || res.StatusCode != c.status {
				t.Errorf("%v: %s: %s", c.err, res.Status, got)
			}
		}
		res := s.do("PUT", "/more/7", "")
		if got := slurp(t, res.Body); res.StatusCode != http.StatusMethodNotAllowed || !strings.Contains(got, "wrong") {
			t.Errorf("%s: %s", res.Status, got)
		}
		d := openDocument(t, s)
		if err := d.check("responses/413/content/application~1json", "POST", "/more/{id}", `{"wrong":"a","field":"b"}`); err != nil {
			t.Error(err)
		}
	})
}

// sent sends a body in parts with pauses, and returns the reply.
func sent(s *site, size, piece int, pause time.Duration) string {
	c := s.dial()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.Close()
	wg.Go(func() {
		_, _ = fmt.Fprintf(c, "POST /more/7 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", size)
		for n := 0; n < size; n += piece {
			time.Sleep(pause)
			if _, err := c.Write(make([]byte, min(piece, size-n))); err != nil {
				return
			}
		}
	})
	b, _ := io.ReadAll(c) // received before the connection broke
	return string(b)
}

// TestSlowBodies: with BodyIdle, a large body may take minutes as long as it makes progress.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	counting := func(w http.ResponseWriter, r *http.Request) error {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return fmt.Errorf("read file: %w", err)
		}
		server.ReplyJSON(w, http.StatusOK, n)
		return nil
	}
	for name, c := range map[string]struct {
		idle        time.Duration
		size, piece int
		pause       time.Duration
		want        string
	}{
		"quick":               {0, 1 << 20, 64 << 10, time.Second, "200 OK"},
		"slow, without leave": {0, 1 << 20, 64 << 10, 4 * time.Second, "408 "},
		"slow":                {30 * time.Second, 1 << 20, 64 << 10, 20 * time.Second, "200 OK"},
		"stalls":              {30 * time.Second, 1 << 20, 64 << 10, 31 * time.Second, "408 "},
		"a byte now and then": {30 * time.Second, 1 << 20, 100, 10 * time.Second, "408 "},
		"too large, and slow": {30 * time.Second, 3 << 20, 64 << 10, 20 * time.Second, "413 "},
		"empty":               {30 * time.Second, 0, 1, 0, "200 OK"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := routed(t, server.Route{MaxBody: 2 << 20, BodyIdle: c.idle, Serve: counting})
			defer s.close()
			if got := sent(s, c.size, c.piece, c.pause); !strings.HasPrefix(got, "HTTP/1.1 "+c.want) {
				t.Errorf("%s: %.100q", name, got)
			}
		})
	}
}

// TestSlowReplies: the context ends after Timeout, and a reply may take longer as long as the client reads.
func TestSlowReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 4 << 20
		s := routed(t, server.Route{Timeout: 5 * time.Minute, Serve: func(w http.ResponseWriter, r *http.Request) error {
			switch r.PathValue("id") {
			case "waits":
				<-r.Context().Done()
				return r.Context().Err()
			case "works":
				select {
				case <-time.After(4 * time.Minute):
				case <-r.Context().Done():
					return r.Context().Err()
				}
				server.ReplyJSON(w, http.StatusOK, 1)
			case "tells":
				for range size / 4096 {
					if _, err := w.Write(make([]byte, 4096)); err != nil {
						return err
					}
				}
			}
			return nil
		}})
		defer s.close()
		began := time.Now()
		res := s.do("POST", "/more/waits", "")
		if body := slurp(t, res.Body); res.StatusCode != http.StatusGatewayTimeout || time.Since(began) != 5*time.Minute {
			t.Errorf("%s after %v: %s", res.Status, time.Since(began), body)
		}
		if res := s.do("POST", "/more/works", ""); slurp(t, res.Body) != "1\n" {
			t.Error(res.Status)
		}
		for pause, whole := range map[time.Duration]bool{time.Second: true, 31 * time.Second: false} {
			c := s.dial()
			_, _ = io.WriteString(c, "POST /more/tells HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			if n := slowly(c, pause); (n >= size) != whole {
				t.Errorf("%d bytes with pauses of %v", n, pause)
			}
		}
	})
}

// slowly reads a connection to its end, with pauses.
func slowly(c net.Conn, pause time.Duration) (n int) {
	defer c.Close()
	buf := make([]byte, 64<<10)
	for {
		m, err := c.Read(buf)
		if n += m; err != nil {
			return n
		}
		time.Sleep(pause)
	}
}

// TestStreamingRoute: a route may reply with the stream of a run from any cursor on.
func TestStreamingRoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := routed(t, server.Route{
			Stream: func(_ http.ResponseWriter, r *http.Request) (*server.Replay, error) {
				switch r.URL.Query().Get("stream") {
				case "":
					return nil, nil //nolint:nilnil // no stream, and no error
				case "bad":
					return nil, fault.Invalid("stream", "want true")
				}
				after, err := wire.ParseCursor(r.URL.Query().Get("after"))
				return &server.Replay{Run: event.RunID(r.PathValue("id")), After: after}, err
			},
			Serve: func(w http.ResponseWriter, r *http.Request) error {
				server.ReplyJSON(w, http.StatusOK, "no stream")
				return nil
			}})
		defer s.close()
		run, evs := s.answered("why?")
		if got := slurp(t, s.do("POST", "/more/"+run, "").Body); got != "\"no stream\"\n" {
			t.Error(got)
		}
		for i, ev := range evs[:len(evs)-1] {
			if got := rest(t, s.do("POST", "/more/"+run+"?stream=true&after="+ev.ID, "")); len(got) != len(evs)-i-1 {
				t.Errorf("after %s: %d events of %d", ev.ID, len(got), len(evs)-i-1)
			}
		}
		for path, want := range map[string]int{"/more/" + run + "?stream=bad": 400, "/more/none?stream=true": 404} {
			if res := s.do("POST", path, ""); res.StatusCode != want || !strings.Contains(slurp(t, res.Body), "wrong") {
				t.Errorf("%s: %s", path, res.Status)
			}
		}
	})
}

// TestRepliesThatEnd checks that only failures of the server are logged as errors when a reply is aborted.
func TestRepliesThatEnd(t *testing.T) {
	t.Parallel()
	for name, logged := range map[string]bool{"disconnects": false, "fails": true} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			s := routedWith(t, server.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, server.Route{Serve: func(w http.ResponseWriter, r *http.Request) error {
				for {
					if _, err := w.Write(make([]byte, 4096)); err != nil || logged {
						return cmp.Or(err, errors.New("the disk is broken"))
					}
				}
			}})
			c := s.dial()
			_, _ = io.WriteString(c, "POST /more/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
			if _, _ = io.ReadFull(c, make([]byte, 100)); logged {
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
			synctest.Wait()
			s.close()
			if strings.Contains(log.String(), "reply aborted") != logged {
				t.Errorf("%s: %s", name, log.String())
			}
		})
	}
}
