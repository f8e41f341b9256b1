package model_test

import (
	"testing"

	"github.com/sluice-rag/sluice/model"
)

func TestTextOfSkippedModel(t *testing.T) {
	t.Parallel()
	e := &model.Error{Model: "m", Failure: model.RateLimited, Status: 429, Reason: "slow down"}
	if got, want := e.Public(), "m is limiting requests (HTTP status 429): slow down"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.Failure, e.SkipReason = model.Skipped, model.RateLimited
	if got, want := e.Public(), "m was limiting requests (HTTP status 429) a moment ago and was not asked: slow down"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
