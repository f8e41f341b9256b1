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

const (
	keep  = 24 * time.Hour
	limit = 3
)

// operations are methods of an OperationStore with checks.
type operations struct {
	forrst.OperationStore
	t *testing.T
}

func operation(caller, id string) forrst.Operation {
	return forrst.Operation{ID: id, Caller: caller, Function: "work", Version: "1.0.0", RequestID: "r-" + id,
		Status: forrst.OperationProcessing, Started: time.Now().UTC().Truncate(time.Millisecond)}
}

func (o operations) create(op forrst.Operation) forrst.Operation {
	o.t.Helper()
	o.is("create", o.Create(ctx(), op, limit, lease, keep), nil)
	return op
}

func (o operations) is(what string, err, want error) {
	o.t.Helper()
	if !errors.Is(err, want) {
		o.t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// holds checks an operation. Its times may be cut to milliseconds.
func (o operations) holds(want forrst.Operation) {
	o.t.Helper()
	got, err := o.Get(ctx(), want.Caller, want.ID)
	o.is("get", err, nil)
	times := cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond && a.IsZero() == b.IsZero() })
	if diff := cmp.Diff(want, got, times); diff != "" {
		o.t.Error(diff)
	}
}

func (o operations) finish(op forrst.Operation, status forrst.OperationStatus, outcome string) error {
	return o.Finish(ctx(), op.Caller, op.ID, status, []byte(outcome), time.Now(), keep)
}

// ids returns the result of a query.
func (o operations) ids(q forrst.OperationQuery) string {
	o.t.Helper()
	found, err := o.List(ctx(), q)
	o.is("list", err, nil)
	var ids []string
	for _, op := range found {
		ids = append(ids, op.ID)
		if op.Outcome != nil || op.Caller != q.Caller {
			o.t.Errorf("list returns an outcome, or an operation of %q", op.Caller)
		}
	}
	return strings.Join(ids, " ")
}

// Operations checks an OperationStore.
func Operations(t *testing.T, open func(t *testing.T) forrst.OperationStore) {
	test := func(name string, f func(o operations)) {
		run(t, name, open, func(t *testing.T, s forrst.OperationStore) { f(operations{s, t}) })
	}
	test("States", states)
	test("Owner", owner)
	test("Lease", leaseOfOperation)
	test("Limit", limitPerCaller)
	test("Concurrent", oneOfManyEnds)
	test("List", list)
	test("Expire", expire)
}

func states(o operations) {
	for i, status := range []forrst.OperationStatus{forrst.OperationCompleted, forrst.OperationFailed, forrst.OperationCancelled} {
		op := o.create(operation("ann", fmt.Sprint("op_", i)))
		o.holds(op)
		o.is("renew", o.Renew(ctx(), op.ID, 0.25, lease), nil)
		op.Progress = 0.25
		o.holds(op)
		time.Sleep(time.Second)
		o.is("finish", o.finish(op, status, `{"result":"ä"}`), nil)
		op.Status, op.Outcome, op.Completed = status, []byte(`{"result":"ä"}`), time.Now()
		if status == forrst.OperationCompleted {
			op.Progress = 1
		}
		o.holds(op)
		o.is("finish again", o.finish(op, forrst.OperationCompleted, "2"), forrst.ErrOperationFinal)
		o.is("renew after", o.Renew(ctx(), op.ID, 0.5, lease), forrst.ErrOperationFinal)
		o.holds(op)
	}
	op := operation("ann", "op_pending")
	op.Status = forrst.OperationPending
	o.create(op)
	o.holds(op)
	o.is("cancel", o.Finish(ctx(), op.Caller, op.ID, forrst.OperationCancelled, nil, time.Now(), keep), nil)
	if got, err := o.Get(ctx(), op.Caller, op.ID); err != nil || got.Outcome != nil {
		o.t.Errorf("a cancelled operation has the outcome %q, %v", got.Outcome, err)
	}
}

func owner(o operations) {
	op := o.create(operation("ann", "op_1"))
	foreign := op
	foreign.Caller = "bob"
	_, err := o.Get(ctx(), "bob", op.ID)
	o.is("get of another caller", err, forrst.ErrOperationNotFound)
	o.is("finish of another caller", o.finish(foreign, forrst.OperationCancelled, "1"), forrst.ErrOperationNotFound)
	_, err = o.Get(ctx(), "ann", "op_2")
	o.is("get of an unknown id", err, forrst.ErrOperationNotFound)
	o.is("renew of an unknown id", o.Renew(ctx(), "op_2", 0, lease), forrst.ErrOperationNotFound)
	o.holds(op)
}

func leaseOfOperation(o operations) {
	op := o.create(operation("ann", "op_1"))
	for range 4 {
		time.Sleep(lease - time.Second)
		o.is("renew", o.Renew(ctx(), op.ID, 0.5, lease), nil)
	}
	op.Progress = 0.5
	o.holds(op)
	crashed := time.Now().Add(lease)
	time.Sleep(lease + time.Minute)
	op.Status, op.Completed = forrst.OperationFailed, crashed
	o.holds(op)
	o.is("renew too late", o.Renew(ctx(), op.ID, 0.6, lease), forrst.ErrOperationFinal)
	o.is("finish too late", o.finish(op, forrst.OperationCompleted, "1"), forrst.ErrOperationFinal)
	o.holds(op)
	if ids := o.ids(forrst.OperationQuery{Caller: "ann", Status: forrst.OperationFailed, Limit: 9}); ids != "op_1" {
		o.t.Errorf("list of failed operations: %q", ids)
	}
	if ids := o.ids(forrst.OperationQuery{Caller: "ann", Function: "work\x00", Limit: 9}); ids != "" {
		o.t.Errorf("list of a function whose name PostgreSQL cannot hold: %q", ids)
	}
	if ids := o.ids(forrst.OperationQuery{Caller: "ann", Status: forrst.OperationProcessing, Limit: 9}); ids != "" {
		o.t.Errorf("list of active operations: %q", ids)
	}
	time.Sleep(keep - 2*time.Minute)
	o.holds(op)
	time.Sleep(2 * time.Minute)
	_, err := o.Get(ctx(), "ann", op.ID)
	o.is("get after its time", err, forrst.ErrOperationNotFound)
}

func limitPerCaller(o operations) {
	for i := range limit {
		o.create(operation("ann", fmt.Sprint("op_", i)))
	}
	o.is("one too many", o.Create(ctx(), operation("ann", "op_x"), limit, lease, keep), forrst.ErrTooManyOperations)
	_, err := o.Get(ctx(), "ann", "op_x")
	o.is("get", err, forrst.ErrOperationNotFound)
	o.create(operation("bob", "op_b"))
	o.is("finish", o.finish(operation("ann", "op_0"), forrst.OperationCompleted, "1"), nil)
	o.create(operation("ann", "op_y"))
	time.Sleep(lease + time.Second) // operations of a crashed server do not count
	for i := range limit {
		o.create(operation("ann", fmt.Sprint("op_z", i)))
	}
}

func oneOfManyEnds(o operations) {
	var group sync.WaitGroup
	var mu sync.Mutex
	created, ended := 0, 0
	o.create(operation("bob", "op_b"))
	for i := range 12 {
		group.Go(func() {
			err := o.Create(ctx(), operation("ann", fmt.Sprint("op_", i)), limit, lease, keep)
			if err != nil && !errors.Is(err, forrst.ErrTooManyOperations) {
				o.t.Error(err)
			}
			err2 := o.finish(operation("bob", "op_b"), forrst.OperationCompleted, fmt.Sprint(i))
			if err2 != nil && !errors.Is(err2, forrst.ErrOperationFinal) {
				o.t.Error(err2)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				created++
			}
			if err2 == nil {
				ended++
			}
		})
	}
	group.Wait()
	if created != limit || ended != 1 {
		o.t.Errorf("%d operations were created, %d calls ended the same one", created, ended)
	}
}

func list(o operations) {
	for i := range 7 {
		op := operation("ann", fmt.Sprint("op_", i))
		if i%2 == 1 {
			op.Function = "other"
		}
		o.create(op)
		if i < 5 {
			o.is("finish", o.finish(op, forrst.OperationCompleted, "1"), nil)
		}
	}
	o.create(operation("bob", "op_9"))
	for _, c := range []struct {
		q    forrst.OperationQuery
		want string
	}{
		{forrst.OperationQuery{Caller: "ann", Limit: 50}, "op_6 op_5 op_4 op_3 op_2 op_1 op_0"},
		{forrst.OperationQuery{Caller: "ann", Limit: 3}, "op_6 op_5 op_4"},
		{forrst.OperationQuery{Caller: "ann", Before: "op_4", Limit: 3}, "op_3 op_2 op_1"},
		{forrst.OperationQuery{Caller: "ann", Before: "op_0", Limit: 3}, ""},
		{forrst.OperationQuery{Caller: "ann", Status: forrst.OperationProcessing, Limit: 9}, "op_6 op_5"},
		{forrst.OperationQuery{Caller: "ann", Function: "other", Limit: 2}, "op_5 op_3"},
		{forrst.OperationQuery{Caller: "ann", Function: "other", Status: forrst.OperationCompleted, Before: "op_3", Limit: 2}, "op_1"},
		{forrst.OperationQuery{Caller: "bob", Limit: 9}, "op_9"},
		{forrst.OperationQuery{Caller: "cyd", Limit: 9}, ""},
	} {
		if got := o.ids(c.q); got != c.want {
			o.t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
}

func expire(o operations) {
	op := o.create(operation("ann", "op_1"))
	o.is("finish", o.finish(op, forrst.OperationCompleted, "1"), nil)
	time.Sleep(keep - time.Second)
	if _, err := o.Get(ctx(), "ann", "op_1"); err != nil {
		o.t.Error(err)
	}
	time.Sleep(2 * time.Second)
	_, err := o.Get(ctx(), "ann", "op_1")
	o.is("get after its time", err, forrst.ErrOperationNotFound)
	if ids := o.ids(forrst.OperationQuery{Caller: "ann", Limit: 9}); ids != "" {
		o.t.Errorf("list after its time: %q", ids)
	}
}
