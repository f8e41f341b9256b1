package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestServeRaw reads events from the server of single writes, and ends it while a stream and an idle reader are open.
func TestServeRaw(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l, control, err := listen(ctx, 0)
	require.NoError(t, err)
	defer control.Close()
	begin := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- serveRaw(ctx, l, 100, begin) }()
	var readers []*bufio.Scanner
	for _, query := range []string{idleQuery, "go"} {
		res, err := http.Post("http://"+l.Addr().String(), "application/json", strings.NewReader(`{"query":"`+query+`"}`))
		require.NoError(t, err)
		defer res.Body.Close()
		readers = append(readers, bufio.NewScanner(res.Body))
	}
	close(begin)
	for n, live := 1, readers[1]; n <= 3; {
		if !live.Scan() {
			t.Fatalf("the stream ended before event %d: %v", n, live.Err())
		}
		if id, ok := strings.CutPrefix(live.Text(), "id: "); ok {
			if id != fmt.Sprint(n) {
				t.Fatalf("event %s instead of %d", id, n)
			}
			n++
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if readers[0].Scan() {
		t.Errorf("the idle reader got %q", readers[0].Text())
	}
}
