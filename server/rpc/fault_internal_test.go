package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/server"
)

func TestCallError(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		err     error
		code    forrst.Code
		status  int
		pointer string
		after   time.Duration
	}{
		"an argument":         {fmt.Errorf("x: %w", fault.Invalid("filter.filters[2].key", "required")), forrst.InvalidArguments, http.StatusBadRequest, "/call/arguments/filter/filters/2/key", 0},
		"an odd name":         {fault.Invalid("a/b~c", "no"), forrst.InvalidArguments, http.StatusBadRequest, "/call/arguments/a~1b~0c", 0},
		"not found":           {fault.New(fault.NotFound, "no"), forrst.NotFound, http.StatusNotFound, "", 0},
		"conflict":            {fault.New(fault.Conflict, "no"), forrst.Conflict, http.StatusConflict, "", 0},
		"a full disk":         {fmt.Errorf("write /secret: %w", syscall.ENOSPC), forrst.Unavailable, http.StatusServiceUnavailable, "", time.Minute},
		"the index":           {fault.New(fault.Index, "no"), forrst.DependencyError, http.StatusBadGateway, "", 0},
		"a model":             {fault.New(fault.Model, "no"), forrst.DependencyError, http.StatusBadGateway, "", 0},
		"stopping":            {fault.New(fault.Unavailable, "no"), forrst.Unavailable, http.StatusServiceUnavailable, "", 0},
		"a limit":             {&auth.LimitError{Fault: fault.New(fault.Quota, "no"), After: time.Hour}, forrst.RateLimited, http.StatusTooManyRequests, "", time.Hour},
		"one that has a code": {forrst.Errorf(forrst.Gone, "no"), forrst.Gone, http.StatusGone, "", 0},
	} {
		err := callError(c.err)
		e, ok := errors.AsType[*forrst.CallError](err)
		if !ok {
			t.Errorf("%s: %v", what, err)
			continue
		}
		pointer := ""
		if e.Source != nil {
			pointer = *e.Source.Pointer
		}
		if e.Code != c.code || e.Code.Status() != c.status || pointer != c.pointer || e.RetryAfter != c.after {
			t.Errorf("%s: %v at %q, retry after %v", what, e, pointer, e.RetryAfter)
		}
	}
	// Package forrst logs and hides the others.
	for _, err := range []error{errors.New("secret"), fault.New(fault.Internal, "secret"), context.Canceled, nil} {
		if got := callError(err); !errors.Is(got, err) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	parts := map[string]server.Part{"good": {Status: server.PartOK}, "poor": {Status: server.PartDegraded, Detail: "run sluice reconcile"}, "bad": {Status: server.PartFailed, Detail: "secret"}}
	s, err := New(Options{PartNames: []string{"good", "poor", "bad", "missing"}, Parts: func(context.Context) map[string]server.Part { return parts },
		Models: func(context.Context) server.Part { return server.Part{Status: server.PartOK} }})
	require.NoError(t, err)
	got := checks(s.o)
	for name, healthy := range map[string]bool{"good": true, "poor": false, "bad": false, "missing": false, "model": true} {
		if err := got[name](t.Context()); (err == nil) != healthy {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d checks", len(got))
	}
}
