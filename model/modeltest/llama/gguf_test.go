package llama_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model/modeltest/llama"
)

func TestTinyIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	var first, second, other bytes.Buffer
	for b, seed := range map[*bytes.Buffer]uint64{&first: 1, &second: 1, &other: 2} {
		require.NoError(t, llama.WriteTiny(b, seed))
	}
	if !bytes.HasPrefix(first.Bytes(), []byte("GGUF\x03\x00\x00\x00")) {
		t.Errorf("the file begins with %q", first.Bytes()[:8])
	}
	if n := first.Len(); n > 1<<20 {
		t.Errorf("the tiny model has %d bytes", n)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same seed gave two models")
	}
	if bytes.Equal(first.Bytes(), other.Bytes()) {
		t.Error("two seeds gave the same model")
	}
}

func TestTinyTellsWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if err := llama.WriteTiny(full{}, 1); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestEngine holds that the real engine reads the tiny model's vocabulary as it was meant: words of the story whole,
// letters one by one, and what the vocabulary lacks byte by byte.
func TestEngine(t *testing.T) {
	t.Parallel()
	s := llama.Start(t, llama.Tiny(t), llama.Options{})
	var got []string
	for _, piece := range s.Tokens(t, "hold water é") {
		got = append(got, string(piece))
	}
	want := []string{`"h"`, `"o"`, `"l"`, `"d"`, `" water"`, `" "`, "[195]", "[169]"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("token %d is %s, want %s", i, got[i], want[i])
		}
	}
}
