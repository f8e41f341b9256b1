package anthropic_test

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/modeltest"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	modeltest.Exercise(t, func(url string, stall time.Duration) model.Chat {
		return open(t, anthropic.Options{URL: url, Key: modeltest.Key, Model: "claude-sonnet-4-6", Stall: stall})
	}, os.DirFS("testdata"))
}

func open(t testing.TB, o anthropic.Options) *anthropic.Chat {
	t.Helper()
	c, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
