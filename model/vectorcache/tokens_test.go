package vectorcache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/vectorcache"
)

// words embeds each word of a text as a vector that holds its length.
type words struct {
	calls [][]string
	err   error
}

func (w *words) EmbedTokens(_ context.Context, texts []string, p model.Purpose) ([][]model.TokenVector, error) {
	w.calls = append(w.calls, texts)
	out := make([][]model.TokenVector, len(texts))
	for i, t := range texts {
		for s := range strings.FieldsSeq(t) {
			out[i] = append(out[i], model.TokenVector{Token: s, Weight: 1, Vector: []float32{float32(len(s)), float32(p)}})
		}
	}
	return out, w.err
}

func TestTokens(t *testing.T) {
	w := &words{}
	c := vectorcache.NewTokens(w, func() string { return "s" }, 0)
	get := func(c *vectorcache.Tokens, p model.Purpose, texts ...string) {
		t.Helper()
		got, err := c.EmbedTokens(t.Context(), texts, p)
		require.NoError(t, err)
		want, _ := (&words{}).EmbedTokens(t.Context(), texts, p)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("vectors (-want +got):\n%s", d)
		}
	}
	get(c, model.ForPassage, "a bb", "", "ccc", "a bb")
	get(c, model.ForPassage, "ccc", "d")
	get(c, model.ForQuery, "ccc")
	if d := cmp.Diff([][]string{{"a bb", "", "ccc"}, {"d"}, {"ccc"}}, w.calls); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if s := c.Stats(); s.Hits != 1 || s.Misses != 5 || s.Entries != 5 {
		t.Errorf("stats %+v", s)
	}

	const maxBytes = 10_000
	w = &words{}
	c = vectorcache.NewTokens(w, func() string { return "s" }, maxBytes)
	for i := range 200 {
		get(c, model.ForPassage, fmt.Sprint("text ", i), "used all the time")
		if s := c.Stats(); s.Bytes > maxBytes {
			t.Fatalf("%d bytes", s.Bytes)
		}
	}
	w.calls = nil
	get(c, model.ForPassage, "used all the time", "text 199", "text 0", strings.Repeat("long ", 1000))
	if len(w.calls) != 1 || len(w.calls[0]) != 2 {
		t.Errorf("calls %.100q", w.calls)
	}
	w.err = errors.New("boom")
	if _, err := c.EmbedTokens(t.Context(), []string{"x"}, model.ForQuery); !errors.Is(err, w.err) {
		t.Errorf("error %v", err)
	}
}
