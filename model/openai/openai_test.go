package openai_test

import (
	"os"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/modeltest"
	"github.com/sluice-rag/sluice/model/openai"
)

func TestExercise(t *testing.T) {
	t.Parallel()
	modeltest.Exercise(t, func(url string, stall time.Duration) model.Chat {
		return open(t, openai.Options{URL: url, Key: modeltest.Key, Model: "gpt-4o-mini", Stall: stall})
	}, os.DirFS("testdata"))
}

// open makes a model.
func open(t testing.TB, o openai.Options) *openai.Chat {
	t.Helper()
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
