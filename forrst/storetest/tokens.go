package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Tokens checks a TokenStore.
func Tokens(t *testing.T, open func(t *testing.T) forrst.TokenStore) {
	key := forrst.TokenKey{Caller: "ann", Token: "t"}
	register := func(t *testing.T, s forrst.TokenStore, key forrst.TokenKey) <-chan struct{} {
		t.Helper()
		cancelled, err := s.Register(ctx(), key)
		if err != nil {
			t.Fatal(err)
		}
		return cancelled
	}
	is := func(t *testing.T, what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	run(t, "Cancel", open, func(t *testing.T, s forrst.TokenStore) {
		is(t, "cancel before", s.Cancel(ctx(), key), forrst.ErrTokenUnknown)
		cancelled, other := register(t, s, key), register(t, s, forrst.TokenKey{Caller: "bob", Token: "t"})
		_, err := s.Register(ctx(), key)
		is(t, "register twice", err, forrst.ErrTokenInUse)
		is(t, "cancel", s.Cancel(ctx(), key), nil)
		<-cancelled
		is(t, "cancel again", s.Cancel(ctx(), key), nil)
		select {
		case <-other:
			t.Error("the token of another caller was cancelled")
		default:
		}
		is(t, "finish", s.Finish(ctx(), key), nil)
		is(t, "cancel a cancelled call after its end", s.Cancel(ctx(), key), nil)
		is(t, "finish", s.Finish(ctx(), forrst.TokenKey{Caller: "bob", Token: "t"}), nil)
	})
	run(t, "Finish", open, func(t *testing.T, s forrst.TokenStore) {
		register(t, s, key)
		is(t, "finish", s.Finish(ctx(), key), nil)
		is(t, "finish again", s.Finish(ctx(), key), nil)
		is(t, "finish unknown", s.Finish(ctx(), forrst.TokenKey{Caller: "ann", Token: "unknown"}), nil)
		is(t, "cancel after", s.Cancel(ctx(), key), forrst.ErrTokenFinished)
		cancelled := register(t, s, key) // again
		is(t, "cancel", s.Cancel(ctx(), key), nil)
		<-cancelled
		is(t, "finish", s.Finish(ctx(), key), nil)
	})
	run(t, "Expire", open, func(t *testing.T, s forrst.TokenStore) {
		register(t, s, key)
		time.Sleep(time.Hour)
		_, err := s.Register(ctx(), key)
		is(t, "a call of an hour keeps its token", err, forrst.ErrTokenInUse)
		is(t, "finish", s.Finish(ctx(), key), nil)
		time.Sleep(4 * time.Minute)
		is(t, "cancel after 4 minutes", s.Cancel(ctx(), key), forrst.ErrTokenFinished)
		time.Sleep(2 * time.Minute)
		is(t, "cancel after 6 minutes", s.Cancel(ctx(), key), forrst.ErrTokenUnknown)
	})
}
