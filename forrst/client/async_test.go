package client_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := forrst.Func("slow", "1.0.0", func(ctx context.Context, in number) (number, error) {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
				return number{}, ctx.Err()
			}
			if in.N < 0 {
				return number{}, forrst.Errorf("SLOW_NEGATIVE", "negative")
			}
			return number{2 * in.N}, nil
		})
		s, err := forrst.New([]forrst.Function{slow}, forrst.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		c := client.New(&direct{Handler: s}, client.Options{})
		ctx := t.Context()
		op, err := c.Start(ctx, "slow", number{4})
		if err != nil || op.ID == "" {
			t.Fatal(op, err)
		}
		if state, err := op.Status(ctx); err != nil || state.Status != "pending" && state.Status != "processing" {
			t.Error(state, err)
		}
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if err := op.Wait(short, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var out number
		if err := c.Operation(op.ID).Wait(ctx, &out); err != nil || out.N != 8 {
			t.Error(out, err)
		}
		if err := op.Cancel(ctx); client.CodeOf(err) != "ASYNC_CANNOT_CANCEL" {
			t.Error(err)
		}
		if op, err = c.Start(ctx, "slow", number{-1}); err != nil {
			t.Fatal(err)
		}
		if err := op.Wait(ctx, &out); client.CodeOf(err) != "ASYNC_OPERATION_FAILED" {
			t.Error(err)
		}
		if op, err = c.Start(ctx, "slow", number{1}); err != nil {
			t.Fatal(err)
		}
		if err := op.Cancel(ctx); err != nil {
			t.Error(err)
		}
		if err := op.Wait(ctx, &out); client.CodeOf(err) != forrst.Cancelled {
			t.Error(err)
		}
		if _, err := c.Operation("op_none").Status(ctx); client.CodeOf(err) != "ASYNC_OPERATION_NOT_FOUND" {
			t.Error(err)
		}
		// Functions of the protocol are answered at once.
		if op, err = c.Start(ctx, "forrst.ping", nil); err != nil || op.ID != "" || op.Wait(ctx, nil) != nil || op.Cancel(ctx) == nil {
			t.Error(op, err)
		}
		if err := s.Wait(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestStatesOfOtherServers checks states that end the wait, and how often a server may be asked.
func TestStatesOfOtherServers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, status := range []string{"failed", "future", ""} {
		c := reply(t, 200, "application/json", head+`"result":{"status":"`+status+`"}}`)
		if err := c.Operation("op").Wait(ctx, nil); !errors.Is(err, client.ErrResponse) {
			t.Errorf("%s: %v", status, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d := &direct{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			answer := `"result":null,"extensions":[{"urn":"urn:forrst:ext:async","data":{"operation_id":"op","retry_after":{"value":1000,"unit":"day"}}}]}`
			if strings.Contains(string(body), ":fn:status") {
				answer = `"result":{"status":"processing"}}`
			}
			_, _ = io.WriteString(w, strings.Replace(head, "@ID", string(idOf(body)), 1)+answer)
		})}
		op, err := client.New(d, client.Options{}).Start(t.Context(), "slow", nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := op.Wait(ctx, nil); !errors.Is(err, context.DeadlineExceeded) || len(d.requests) < 5 {
			t.Error(len(d.requests), err)
		}
	})
}
