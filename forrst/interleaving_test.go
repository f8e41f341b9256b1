package forrst_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// body is a function whose runs end in random ways. It notes the runs of each key.
type body struct {
	t      *testing.T
	mu     sync.Mutex
	random *rand.Rand
	active map[string]bool
	runs   map[string]int
	stored map[string]string // the result that a client was told to be stored
}

func (b *body) roll(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.random.IntN(n)
}

type ofKey struct {
	Key string `json:"key"`
}

func (b *body) begin(key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active[key] {
		b.t.Errorf("key %s runs twice at the same time", key)
	}
	if b.stored[key] != "" {
		b.t.Errorf("key %s runs although its result is stored", key)
	}
	b.active[key] = true
	b.runs[key]++
	return b.runs[key]
}

func (b *body) function() forrst.Function {
	return forrst.StreamFunc[ofKey, any]("f", "1.0.0", func(ctx context.Context, in ofKey) chunks {
		return func(yield func(forrst.Chunk, error) bool) {
			run := b.begin(in.Key)
			defer func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.active[in.Key] = false
			}()
			for range b.roll(4) {
				switch b.roll(4) {
				case 0:
					time.Sleep(time.Duration(b.roll(50)) * time.Second) // ignores its end
				case 1:
					if !yield(forrst.Progress(int64(b.roll(5)), 4, ""), nil) {
						return
					}
				default:
					select {
					case <-ctx.Done():
						yield(forrst.Chunk{}, ctx.Err())
						return
					case <-time.After(time.Duration(b.roll(20)) * time.Second):
					}
				}
			}
			switch b.roll(6) {
			case 0:
				yield(forrst.Error(forrst.Unavailable, "try again", nil), nil)
			case 1:
				yield(forrst.Chunk{}, errors.New("hunter2"))
			case 2:
				panic("hunter2")
			default:
				yield(forrst.Done(fmt.Sprint(in.Key, run)), nil)
			}
		}
	})
}

// visit is one client: it waits, calls with one of a few keys, and perhaps leaves, cancels or has a deadline.
func (b *body) visit(c client, n int) {
	time.Sleep(time.Duration(b.roll(200)) * time.Second)
	key := fmt.Sprint("k", b.roll(3))
	extensions := []string{keyed(key)}
	ctx, leave := context.WithCancel(context.WithValue(context.Background(), callerKey{}, c.caller))
	defer leave()
	token := fmt.Sprintf(`"t%d"`, n)
	switch later := time.Duration(1+b.roll(30))*time.Second + time.Millisecond; b.roll(5) {
	case 0:
		time.AfterFunc(later, leave)
	case 1:
		extensions = append(extensions, deadline(fmt.Sprint(later.Milliseconds()), "millisecond"))
	case 2:
		extensions = append(extensions, withToken(token))
		time.AfterFunc(later, func() { c.call("urn:forrst:ext:cancellation:fn:cancel", `{"token":`+token+`}`, "none") })
	}
	switch b.roll(3) {
	case 0:
		extensions = append(extensions, streamExt)
	case 1:
		extensions = append(extensions, asyncExt)
	}
	w := postContext(ctx, c.s, call("f", fmt.Sprintf(`{"key":%q}`, key), extensions...))
	if w.Body.Len() == 0 || ctx.Err() != nil {
		return
	}
	got := outcomeOf(c.t, w, "idempotency")
	if strings.HasPrefix(got, "200 null") && strings.Contains(got, `"processing"`) && b.roll(2) == 0 {
		time.Sleep(time.Duration(b.roll(40)) * time.Second)
		c.cancel(operationID(parse(c.t, w.Body.String())))
	}
	if strings.Contains(got, `"expires_at"`) {
		b.keep(key, got)
	}
}

// keep notes a stored result. All clients must get the same one.
func (b *body) keep(key, got string) {
	_, result, ok := strings.Cut(got, `"`+key)
	result, _, _ = strings.Cut(result, `"`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if before := b.stored[key]; !ok || before != "" && before != result {
		b.t.Errorf("key %s has the results %s and %s", key, before, got)
	}
	b.stored[key] = result
}

// TestInterleavings has many clients with few keys. No key runs twice at the same time or after its result is stored, all get
// the same result, and at the end no lock and no goroutine is left.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	repeated := 0
	for seed := range uint64(80) {
		synctest.Test(t, func(t *testing.T) {
			b := &body{t: t, random: rand.New(rand.NewPCG(seed, 39)), active: map[string]bool{}, runs: map[string]int{}, stored: map[string]string{}}
			c := client{t, server(t, known(forrst.Options{}), b.function()), "ann"}
			var clients sync.WaitGroup
			for n := range 14 {
				clients.Go(func() { b.visit(c, n) })
			}
			clients.Wait()
			idle(t, c.s)
			repeated += len(b.stored)
			for key := range b.runs {
				if got := c.call("f", fmt.Sprintf(`{"key":%q}`, key), "none", keyed(key)); strings.Contains(got, "IDEMPOTENCY") || strings.HasPrefix(got, "200 null") {
					t.Errorf("seed %d: key %s is still locked: %s", seed, key, got)
				}
			}
			if d := c.call(listFn, `{"status":"processing"}`, "none"); !strings.Contains(d, `"operations":[]`) {
				t.Errorf("seed %d: an operation is left: %s", seed, d)
			}
			idle(t, c.s)
		}) // fails if a goroutine is left that cannot end
	}
	if repeated < 100 {
		t.Errorf("only %d results were stored: the test does not test enough", repeated)
	}
}
