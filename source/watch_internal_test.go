package source

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-rag/sluice/store"
)

// TestTaken checks that changes are taken once: a wake without changes would have everything synced.
func TestTaken(t *testing.T) {
	t.Parallel()
	c := newChanges()
	c.add("/docs/a.md")
	if got, some := c.take(); !some || !slices.Equal(got, []string{"/docs/a.md"}) {
		t.Errorf("taken: %q", got)
	}
	select {
	case <-c.wake:
		t.Error("woken without changes")
	default:
	}
	if _, some := c.take(); some {
		t.Error("taken twice")
	}
}

// failingStore is a store that cannot be read.
type failingStore struct{ records }

type records = store.Sources

func (failingStore) Sources(context.Context) ([]store.Source, error) { return nil, errors.New("busy") }

// TestChangesAgain checks that changes are synced later if a sync could not be started.
func TestChangesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Store: failingStore{}, Logger: slog.New(slog.DiscardHandler)})
		defer s.Close()
		c := newChanges()
		c.add("/docs/a.md")
		<-c.wake
		began := time.Now()
		if !s.syncChanges(t.Context(), "src-1", c) {
			t.Error("the watch has ended")
		}
		select {
		case <-c.wake:
		default:
			t.Error("the changes are not tried again")
		}
		if time.Since(began) < time.Second {
			t.Error("the changes are tried again without a pause")
		}
	})
}

// TestFollowAfterFailure checks that what changes while a watch begins is synced, also if the first watch has failed.
func TestFollowAfterFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		watches, noticed, synced, start := 0, time.Time{}, time.Time{}, time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			FollowChanges(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context, changed func(uris ...string)) error {
				if watches++; watches == 1 {
					return errors.New("too many watchers")
				}
				_ = wait(ctx, 10*time.Second) // a large folder
				noticed = time.Now()
				changed()
				<-ctx.Done()
				return ctx.Err()
			}, func(context.Context, []string) time.Duration { synced = time.Now(); return 0 })
		}()
		_ = wait(ctx, 5*time.Minute) // of the fake clock
		cancel()
		<-done
		if began := noticed.Sub(start); began > 12*time.Second {
			t.Errorf("the second watch began %v after the first one", began)
		}
		if watches != 2 || !synced.After(noticed) {
			t.Errorf("%d watches, noticed from %v on, last synced at %v", watches, noticed, synced)
		}
	})
}

// TestFailedSyncOfChanges checks that changes whose sync failed are synced again, also if nothing else changes.
func TestFailedSyncOfChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var synced []string
		began, tries := time.Now(), 0
		FollowChanges(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context, changed func(uris ...string)) error {
			changed()
			changed("/docs/a.md")
			<-ctx.Done()
			return ctx.Err()
		}, func(_ context.Context, uris []string) time.Duration {
			if tries++; tries < 3 {
				return 10 * time.Second
			}
			synced = uris
			cancel()
			return 0
		})
		if took := time.Since(began); !slices.Equal(synced, []string{"/docs/a.md"}) || took < 20*time.Second || took > time.Minute {
			t.Errorf("synced %q after %d tries and %v", synced, tries, took)
		}
	})
}
