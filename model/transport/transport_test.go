package transport

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// server answers while it is up.
type server struct {
	asked int
	up    bool
}

var errDown = errors.New("down")

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if !s.up {
		return nil, errDown
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// closing tells when it is closed.
type closing struct {
	*strings.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func TestServerThatIsDownIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := &failFast{next: s}
		ask := func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.example/", nil)
			require.NoError(t, err)
			res, err := r.RoundTrip(req)
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		}
		for range 5 {
			if err := ask(t.Context()); !errors.Is(err, errDown) {
				t.Error(err)
			}
		}
		if s.asked != 1 {
			t.Errorf("asked %d times", s.asked)
		}
		body := &closing{Reader: strings.NewReader("x")}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.example/", body)
		if _, err := r.RoundTrip(req); !errors.Is(err, errDown) || body.closed != 1 {
			t.Errorf("%v, and the body was closed %d times", err, body.closed)
		}
		s.up = true
		time.Sleep(memory) // of the bubble
		if err := ask(t.Context()); err != nil || s.asked != 2 {
			t.Errorf("a moment later: %v, asked %d times", err, s.asked)
		}
		// One connection that breaks says little of a server that has just answered.
		s.up = false
		_ = ask(t.Context())
		s.up = true
		if err := ask(t.Context()); err != nil {
			t.Errorf("after one failure of a server that answers: %v", err)
		}
		time.Sleep(recentReply)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_ = ask(gone)
		if err := ask(t.Context()); err != nil {
			t.Errorf("after a caller that left: %v", err)
		}
	})
}
