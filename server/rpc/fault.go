package rpc

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/forrst"
	wireforrst "github.com/sluice-rag/sluice/wire/forrst"
)

// callError converts an error of a function to one of the protocol. Errors that have a code of the protocol are returned as they are; so are
// those of a context, whose reason package forrst adds, and those without a code, which it logs and hides.
func callError(err error) error {
	if err == nil {
		return nil
	}
	if _, coded := errors.AsType[*forrst.CallError](err); coded {
		return err
	}
	_, coded := errors.AsType[*fault.Error](err)
	if !coded && !fault.DiskFull(err) {
		return err
	}
	f := fault.Public(err)
	if f.Code == fault.Internal || errors.Is(err, context.Canceled) {
		return err
	}
	public := wireforrst.ErrorOf(f)
	e := forrst.Errorf(forrst.Code(public.Code), "%s", public.Message)
	e.Details = public.Details
	switch {
	case f.Code == fault.InvalidRequest:
		e.Code = forrst.InvalidArguments
		if f.Field != "" {
			e = e.At(pointerTo(f.Field))
		}
	case f.Code == fault.NoSpace:
		e.RetryAfter = time.Minute
	}
	if l, ok := errors.AsType[*auth.LimitError](err); ok {
		e.RetryAfter = l.After
	}
	return e
}

// pointerTo returns the JSON pointer to a field of the arguments, which is written as in filter.filters[2].key.
func pointerTo(field string) string {
	field = strings.NewReplacer("~", "~0", "/", "~1").Replace(field)
	return "/call/arguments/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(field)
}

// notFound is the error of an object that does not exist, or that the caller cannot see.
func notFound(what, argument string) *forrst.CallError {
	return forrst.Errorf(forrst.NotFound, "no such %s", what).At(pointerTo(argument))
}
