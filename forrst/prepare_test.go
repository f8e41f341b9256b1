package forrst_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
)

type ctxKey struct{}

// prepared returns a streamable function whose preparation fails for calls with the id "refused" and blocks for those with the id "blocked". It
// appends to the log what happens.
func prepared(log *[]string) forrst.Function {
	note := func(s string) { *log = append(*log, s) }
	f := producer("ai.prepared", func(ctx context.Context, yield func(forrst.Chunk, error) bool) {
		note("run")
		yield(forrst.Done(ctx.Value(ctxKey{})), nil)
	})
	f.Prepare = func(ctx context.Context, call *forrst.Call) (context.Context, error) {
		note("prepare")
		context.AfterFunc(ctx, func() { note("ended") })
		switch call.ID {
		case "refused":
			return nil, forrst.Errorf(forrst.Conflict, "not now")
		case "blocked":
			<-ctx.Done()
			return nil, errors.New("blocked")
		case "panics":
			panic("secret")
		}
		call.ReplyHeader().Set("X-Prepared", "yes")
		return context.WithValue(ctx, ctxKey{}, "value"), nil
	}
	return f
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id     string
		stream bool
		status int
		want   string // in the body
		header string
		log    []string
	}{
		"call":           {"1", false, 200, `"result":"value"`, "yes", []string{"prepare", "run", "ended"}},
		"stream":         {"1", true, 200, "event: done\ndata: \"value\"", "yes", []string{"prepare", "run", "ended"}},
		"refused call":   {"refused", false, 409, `"message":"not now"`, "", []string{"prepare", "ended"}},
		"refused stream": {"refused", true, 409, `"message":"not now"`, "", []string{"prepare", "ended"}},
		"deadline":       {"blocked", true, 408, `DEADLINE_EXCEEDED`, "", []string{"prepare", "ended"}},
		"panic":          {"panics", true, 500, `INTERNAL_ERROR`, "", []string{"prepare", "ended"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log []string
				s := server(t, forrst.Options{}, prepared(&log))
				extensions := []string{deadline("5", "second")}
				if c.stream {
					extensions = append(extensions, streamExt)
				}
				w := post(s, strings.Replace(call("ai.prepared", "{}", extensions...), `"id":"r1"`, `"id":"`+c.id+`"`, 1))
				synctest.Wait()
				if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || w.Header().Get("X-Prepared") != c.header || strings.Contains(w.Body.String(), "secret") {
					t.Errorf("%d %q: %s", w.Code, w.Header().Get("X-Prepared"), w.Body)
				}
				if diff := cmp.Diff(c.log, log); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestPrepareDisconnect: the context of the preparation ends although the function never ran.
func TestPrepareDisconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log []string
		s := server(t, forrst.Options{}, prepared(&log))
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan *httptest.ResponseRecorder)
		go func() {
			done <- postContext(ctx, s, strings.Replace(call("ai.prepared", "{}", streamExt), `"id":"r1"`, `"id":"blocked"`, 1))
		}()
		synctest.Wait()
		leave()
		w := <-done
		synctest.Wait()
		if diff := cmp.Diff([]string{"prepare", "ended"}, log); diff != "" || w.Body.Len() > 0 {
			t.Errorf("(-want +got):\n%s%s", diff, w.Body)
		}
	})
}

// detach is an extension that runs calls in a context that does not end.
type detach struct{}

func (detach) URN() string                             { return "urn:acme:forrst:ext:detach" }
func (detach) Capability() map[string]any              { return nil }
func (detach) Check(*forrst.Call, *forrst.Asked) error { return nil }
func (detach) Run(ctx context.Context, _ *forrst.Call, _ *forrst.Asked, next forrst.Next) forrst.Outcome {
	return next(context.WithoutCancel(ctx))
}

// TestPrepareDetached: the context of the preparation ends with the call, also if an extension keeps the one of the call from ending.
func TestPrepareDetached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log []string
		s := server(t, forrst.Options{Extensions: []forrst.Extension{detach{}, forrst.Stream{}}}, prepared(&log))
		post(s, call("ai.prepared", "{}", streamExt))
		synctest.Wait()
		if diff := cmp.Diff([]string{"prepare", "run", "ended"}, log); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
