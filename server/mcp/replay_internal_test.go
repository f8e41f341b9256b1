package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// read returns the messages of a stream after an index.
func read(t *testing.T, r *replay, session, stream string, index int) (all []string, err error) {
	t.Helper()
	for data, err := range r.After(t.Context(), session, stream, index) {
		if err != nil {
			return nil, err
		}
		all = append(all, string(data))
	}
	return all, nil
}

// write opens a stream and appends n messages of a size.
func write(t *testing.T, r *replay, session, stream string, n, size int) {
	t.Helper()
	require.NoError(t, r.Open(t.Context(), session, stream))
	for range n {
		require.NoError(t, r.Append(t.Context(), session, stream, bytes.Repeat([]byte("x"), size)))
	}
}

// TestReplayOfSessions: a session that sends much loses its own messages, and no others.
func TestReplayOfSessions(t *testing.T) {
	t.Parallel()
	r := newReplay(1000, 600)
	write(t, r, "small", "a", 3, 10)
	for i := range 5 {
		write(t, r, fmt.Sprint("large", i), "a", 100, 50)
		if r.bytes > r.max {
			t.Errorf("%d bytes are kept, the limit is %d", r.bytes, r.max)
		}
	}
	if all, err := read(t, r, "small", "a", -1); err != nil || len(all) != 3 {
		t.Errorf("%q %v: messages of the small session are lost", all, err)
	}
	if all, err := read(t, r, "small", "a", 1); err != nil || len(all) != 1 {
		t.Errorf("after the second message: %q %v", all, err)
	}
	if all, err := read(t, r, "small", "a", 7); err != nil || len(all) != 0 {
		t.Errorf("after the end: %q %v", all, err)
	}
	if _, err := read(t, r, "large4", "a", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("the first message of a large session: %v", err)
	}
	if all, err := read(t, r, "large4", "a", 98); err != nil || len(all) != 1 {
		t.Errorf("the last message of a large session: %q %v", all, err)
	}
	write(t, r, "huge", "a", 2, 5000)
	if all, err := read(t, r, "huge", "a", 0); err != nil || len(all) != 1 {
		t.Errorf("a message above the limit is not kept: %q %v", all, err)
	}
	for id := range r.sessions {
		require.NoError(t, r.SessionClosed(t.Context(), id))
	}
	if err := r.Append(t.Context(), "small", "a", []byte("late")); err != nil || r.bytes != 0 || len(r.sessions) != 0 {
		t.Errorf("%v: %d bytes of %d sessions are kept after their end", err, r.bytes, len(r.sessions))
	}
	if _, err := read(t, r, "small", "a", -1); err == nil {
		t.Error("a session that has ended can be replayed")
	}
}

// TestReplayStreams: a session keeps the newest streams of its requests, and always the stream without a request.
func TestReplayStreams(t *testing.T) {
	t.Parallel()
	r := newReplay(maxReplay, maxSessionReplay)
	write(t, r, "s", "", 1, 10)
	for i := range maxStreams + 5 {
		write(t, r, "s", fmt.Sprint(i), 2, 10)
	}
	if _, err := read(t, r, "s", "4", -1); err == nil {
		t.Error("the oldest streams are kept")
	}
	for _, id := range []string{"", "5", fmt.Sprint(maxStreams + 4)} {
		if all, err := read(t, r, "s", id, -1); err != nil || len(all) == 0 {
			t.Errorf("stream %q: %q %v", id, all, err)
		}
	}
	if want := 10 + 20*maxStreams; r.bytes != want || len(r.sessions["s"].appended) != 1+2*maxStreams {
		t.Errorf("%d bytes, want %d", r.bytes, want)
	}
}
