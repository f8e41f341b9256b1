package forrst

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEndedOperationsAreForgotten checks that the extension keeps nothing of operations that have ended.
func TestEndedOperationsAreForgotten(t *testing.T) {
	t.Parallel()
	a := NewAsync(AsyncOptions{CallbackSecret: []byte("s"), CallbacksAnywhere: true})
	for _, err := range []error{nil, errors.New("no")} {
		s, _ := New([]Function{Func("f", "1.0.0", func(context.Context, struct{}) (int, error) { return 1, err })}, Options{Extensions: []Extension{a}, Logger: slog.New(slog.DiscardHandler)})
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"f"},
			"extensions":[{"urn":"urn:forrst:ext:async","options":{"preferred":true,"callback_url":"`+refusing(t)+`"}}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if err := s.Wait(t.Context()); err != nil || !strings.Contains(w.Body.String(), "operation_id") {
			t.Errorf("%v, %s", err, w.Body)
		}
	}
	if len(a.running) > 0 || len(a.pending) > 0 {
		t.Errorf("%d running, %d callbacks", len(a.running), len(a.pending))
	}
}

// refusing returns the address of a receiver that refuses the callback.
func refusing(t *testing.T) string {
	s := httptest.NewServer(nil) // replies 404
	t.Cleanup(s.Close)
	return s.URL + "/hook"
}
