package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/forrst"
)

const lease = 30 * time.Second

// keys are methods of an IdempotencyStore that fail the test instead of returning errors.
type keys struct {
	forrst.IdempotencyStore
	t *testing.T
}

var aKey = forrst.IdempotencyKey{Caller: "ann", Function: "pay", Version: "1.0.0", Key: "k"}

func record(holder string) forrst.IdempotencyRecord {
	return forrst.IdempotencyRecord{Holder: holder, RequestID: "request of " + holder, Fingerprint: "sha256:" + strings.Repeat("0", 64)}
}

// lock locks a key and returns the existing record, or nil.
func (k keys) lock(key forrst.IdempotencyKey, holder string) *forrst.IdempotencyRecord {
	k.t.Helper()
	existing, err := k.Lock(ctx(), key, record(holder), lease)
	if err != nil {
		k.t.Fatal(err)
	}
	return existing
}

func (k keys) is(what string, err, want error) {
	k.t.Helper()
	if !errors.Is(err, want) {
		k.t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// equal compares a record; times may be cut to milliseconds.
func (k keys) equal(got *forrst.IdempotencyRecord, want forrst.IdempotencyRecord) {
	k.t.Helper()
	times := cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond && a.IsZero() == b.IsZero() })
	if diff := cmp.Diff(&want, got, times); diff != "" {
		k.t.Error(diff)
	}
}

// Idempotency checks an IdempotencyStore.
func Idempotency(t *testing.T, open func(t *testing.T) forrst.IdempotencyStore) {
	test := func(name string, f func(k keys)) {
		run(t, name, open, func(t *testing.T, s forrst.IdempotencyStore) { f(keys{s, t}) })
	}
	test("Lock", lockIsExclusive)
	test("Store", storedOutcome)
	test("Lease", leaseOfKey)
	test("Concurrent", oneOfManyLocks)
	test("Holder", onlyTheHolder)
}

func lockIsExclusive(k keys) {
	if k.lock(aKey, "a") != nil {
		k.t.Fatal("a new key is locked")
	}
	k.equal(k.lock(aKey, "b"), record("a"))
	for _, other := range []forrst.IdempotencyKey{
		{Caller: "bob", Function: "pay", Version: "1.0.0", Key: "k"}, {Caller: "ann", Function: "payk", Version: "1.0.0", Key: ""},
		{Caller: "ann", Function: "pay", Version: "1.0.1", Key: "k"}, {Caller: "ann", Function: "pay", Version: "1.0.0", Key: "K"},
		{Caller: "", Function: "annpay", Version: "1.0.0", Key: "k"}, {Caller: "añ\u0000n", Function: "pay", Version: "1.0.0", Key: "k"},
	} {
		if k.lock(other, "c") != nil {
			k.t.Errorf("%q is another key", other)
		}
	}
	k.is("unlock", k.Unlock(ctx(), aKey, "a"), nil)
	k.is("unlock again", k.Unlock(ctx(), aKey, "a"), nil)
	if k.lock(aKey, "b") != nil {
		k.t.Error("the key is still locked")
	}
}

func storedOutcome(k keys) {
	k.lock(aKey, "a")
	k.is("set the operation", k.SetOperation(ctx(), aKey, "a", "op_1"), nil)
	want := record("a")
	want.Operation = "op_1"
	k.equal(k.lock(aKey, "b"), want)
	want.Outcome, want.Stored = []byte(`{"result":{"text":"ä\u2028"}}`), time.Now()
	want.Expires = want.Stored.Add(time.Hour)
	k.is("store", k.Store(ctx(), aKey, "a", want.Outcome, want.Stored, want.Expires), nil)
	k.is("unlock after store", k.Unlock(ctx(), aKey, "a"), nil) // keeps the outcome
	time.Sleep(time.Hour - time.Second)
	k.equal(k.lock(aKey, "b"), want)
	time.Sleep(2 * time.Second)
	if k.lock(aKey, "b") != nil {
		k.t.Error("the outcome has not expired")
	}
	k.equal(k.lock(aKey, "c"), record("b")) // without the outcome of before
}

func leaseOfKey(k keys) {
	k.lock(aKey, "a")
	for range 5 {
		time.Sleep(lease - time.Second)
		k.is("renew", k.Renew(ctx(), aKey, "a", lease), nil)
	}
	time.Sleep(lease - time.Second)
	if k.lock(aKey, "b") == nil {
		k.t.Fatal("a renewed lock was lost")
	}
	time.Sleep(2 * time.Second)
	k.is("renew too late", k.Renew(ctx(), aKey, "a", lease), forrst.ErrLeaseLost)
	k.is("store too late", k.Store(ctx(), aKey, "a", []byte("1"), time.Now(), time.Now().Add(time.Hour)), forrst.ErrLeaseLost)
	if k.lock(aKey, "b") != nil {
		k.t.Error("the lock of a holder that is gone was not freed")
	}
}

func onlyTheHolder(k keys) {
	k.lock(aKey, "a")
	k.is("renew", k.Renew(ctx(), aKey, "b", lease), forrst.ErrLeaseLost)
	k.is("set the operation", k.SetOperation(ctx(), aKey, "b", "op"), forrst.ErrLeaseLost)
	k.is("store", k.Store(ctx(), aKey, "b", []byte("1"), time.Now(), time.Now().Add(time.Hour)), forrst.ErrLeaseLost)
	k.is("unlock", k.Unlock(ctx(), aKey, "b"), nil)
	k.equal(k.lock(aKey, "c"), record("a"))
	now := time.Now()
	k.is("store", k.Store(ctx(), aKey, "a", []byte("1"), now, now.Add(time.Hour)), nil)
	k.is("store twice", k.Store(ctx(), aKey, "a", []byte("2"), now, now.Add(time.Hour)), forrst.ErrLeaseLost)
	k.is("renew after store", k.Renew(ctx(), aKey, "a", lease), forrst.ErrLeaseLost)
	k.is("set the operation after store", k.SetOperation(ctx(), aKey, "a", "op"), forrst.ErrLeaseLost)
	want := record("a")
	want.Outcome, want.Stored, want.Expires = []byte("1"), now, now.Add(time.Hour)
	k.equal(k.lock(aKey, "c"), want)
}

func oneOfManyLocks(k keys) {
	var group sync.WaitGroup
	var mu sync.Mutex
	locked := 0
	for i := range 20 {
		group.Go(func() {
			existing, err := k.Lock(ctx(), aKey, record(fmt.Sprint(i)), lease)
			if err != nil {
				k.t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if existing == nil && err == nil {
				locked++
			}
		})
	}
	group.Wait()
	if locked != 1 {
		k.t.Errorf("%d calls have the lock", locked)
	}
}
