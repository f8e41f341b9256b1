//go:build linux

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/wire/sse"
)

// variants are the parameters of the streams that are not read as they are by default: knowledge limits the rate of its frames, which can miss states.
var variants = map[string]string{"knowledge": "&mode=delta"}

// protocols are the streams of a run, as parameters of its route. That of MCP is not among them: it belongs to a session on one server.
var protocols = func() (all []string) {
	for _, e := range app.Protocols() {
		all = append(all, e.Name()+variants[e.Name()])
	}
	return all
}()

// patience is how long a reader waits for the next frame before it counts as lost.
const patience = 2 * time.Minute

// silence is how long a connection can send nothing. There is a heartbeat every half second, except in turns.
const silence = 2 * time.Second

// reader reads one run in one protocol, and resumes until the end.
type reader struct {
	base     string
	run      string
	protocol string
	server   int // the server that it prefers

	frames []sse.Event // the bytes of a turns stream are one frame
	gaps   []gap
	broken int // connections that ended early, and requests that were refused
}

// gap is a pause between two frames.
type gap struct{ from, to time.Time }

// slow is the pause between two frames from which on it counts as a recovery. The model pauses for less.
const slow = 500 * time.Millisecond

var errNoFrame = errors.New("the stream neither goes on nor ends")

// read reads the run to its end.
func (r *reader) read(ctx context.Context) error {
	last := time.Now()
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	waiting := time.AfterFunc(patience, func() { give(errNoFrame) })
	defer waiting.Stop()
	seen := func(e sse.Event) {
		waiting.Reset(patience)
		now := time.Now()
		if now.Sub(last) > slow {
			r.gaps = append(r.gaps, gap{last, now})
		}
		last = now
		if r.protocol == "turns" && len(r.frames) > 0 {
			r.frames[0].Data += e.Data
			return
		}
		r.frames = append(r.frames, e)
	}
	for {
		err := r.once(ctx, seen)
		if errors.Is(context.Cause(ctx), errNoFrame) {
			return fmt.Errorf("run %s in %s on server %d, after %d frames: %w: %w", r.run, r.protocol, r.server%3, len(r.frames), errNoFrame, err)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.broken++
		r.server++ // as a load balancer does
		<-time.After(50 * time.Millisecond)
	}
}

// once reads from one connection. It returns nil at the end of the run.
func (r *reader) once(ctx context.Context, seen func(sse.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(silence, cancel)
	defer idle.Stop()
	url := fmt.Sprintf("%s/runs/%s/stream?protocol=%s", r.base, r.run, r.protocol)
	if r.protocol == "turns" && len(r.frames) > 0 {
		url += fmt.Sprintf("&offset=%d", len(r.frames[0].Data))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set(preferred, strconv.Itoa(r.server))
	if n := len(r.frames); n > 0 && r.protocol != "turns" {
		req.Header.Set("Last-Event-ID", r.frames[n-1].ID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		return nil
	default:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	body := &watched{res.Body, idle}
	if r.protocol != "turns" {
		for e, err := range sse.NewReader(body, 4<<20).All() {
			if err != nil {
				return err
			}
			if !strings.HasPrefix(e.Data, `{"type":"heartbeat"`) && e.Name != "ping" { // of ragevents and anthropic; those of others are comments
				seen(e)
			}
		}
		return nil
	}
	text := make([]byte, 64<<10)
	for {
		n, err := body.Read(text)
		if n > 0 {
			seen(sse.Event{Data: string(text[:n])})
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watched postpones a timer with each read. Streams of turns have no heartbeats, but their text pauses for less.
type watched struct {
	io.Reader
	timer *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.timer.Reset(silence)
	return n, err
}
