package natslog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func testKey(t testing.TB) sealer {
	t.Helper()
	s, err := newSealer(bytes.Repeat([]byte{7}, keyBytes))
	require.NoError(t, err)
	return s
}

func lines(t testing.TB, first event.Seq, texts ...string) record {
	t.Helper()
	r := record{first: first, last: first + event.Seq(len(texts)) - 1, write: "w", part: 1, parts: 1}
	for i, s := range texts {
		var err error
		r.data, err = event.AppendJSON(r.data, event.Event{Seq: first + event.Seq(i), At: epoch, Body: event.Token{Text: s}})
		require.NoError(t, err)
		r.data = append(r.data, '\n')
	}
	return r
}

// FuzzRecord parses headers and bodies of messages. What is accepted has the events that its headers name.
func FuzzRecord(f *testing.F) {
	good := lines(f, 3, "a", "b")
	f.Add("3", "4", "w", "", good.data)
	f.Add("3", "4", "w", "1/2", good.data[:10])
	f.Add("3", "4", "w", "2/2", good.data)
	f.Add("0", "18446744073709551615", "w", "65537/65537", []byte("\n"))
	f.Add("", "", "", "/", []byte(nil))
	key := testKey(f)
	f.Fuzz(func(t *testing.T, first, last, write, part string, data []byte) {
		h := nats.Header{headerFirst: {first}, headerLast: {last}, headerWrite: {write}}
		if part != "" {
			h.Set(headerPart, part)
		}
		r, err := parseRecord(h, data)
		if err != nil {
			return
		}
		if _, err := key.open(r); err == nil {
			t.Error("bytes that were not sealed are opened")
		}
		again, err := parseRecord(r.header(), r.data)
		if err != nil || again.first != r.first || again.last != r.last || again.part != r.part || again.parts != r.parts {
			t.Errorf("%+v is %+v after its headers were written, error %v", r, again, err)
		}
		j := joiner{key: key}
		es, err := j.add(key.seal(r))
		if err != nil || r.parts > 1 && len(es) == 0 {
			return
		}
		if len(es) == 0 || es[0].Seq != r.first || es[len(es)-1].Seq != r.last {
			t.Errorf("record %d to %d has events %v", r.first, r.last, es)
		}
	})
}

// TestJoiner checks that a record without its last part, which its writer left behind, does not hide the next one.
func TestJoiner(t *testing.T) {
	key := testKey(t)
	old := lines(t, 3, strings.Repeat("x", 100), "y")
	old.write = "old"
	parts := old.split(50)
	next := lines(t, 3, "z")
	big := lines(t, 4, strings.Repeat("w", 100)).split(60)
	j := joiner{key: key}
	var got []string
	for _, r := range slices.Concat(parts[1:2], parts[:2], []record{next}, parts[2:], big) {
		es, err := j.add(key.seal(r))
		require.NoError(t, err)
		for _, e := range es {
			got = append(got, fmt.Sprint(e.Seq, e.Body.(event.Token).Text[:1]))
		}
	}
	if want := []string{"3z", "4w"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if _, err := j.add(next); !errors.Is(err, errRecord) {
		t.Errorf("a record that is not encrypted: %v", err)
	}
	moved := key.seal(next)
	moved.first, moved.last = 9, 9
	if _, err := j.add(moved); !errors.Is(err, errRecord) {
		t.Errorf("a record at another place: %v", err)
	}
}

func TestTokens(t *testing.T) {
	for _, id := range []event.RunID{"a", "12345678", "123456789", "1234567890", "12345678901", "run_01k5abcdefghjkmnpqrstvwxyz", event.RunID(strings.Repeat("x", 64))} {
		n := newNames("sluice", "one")
		subject := n.run(id)
		if got := runID(subject); got != id || strings.Count(subject, ".") != 5 {
			t.Errorf("run %s: subject %s is run %s", id, subject, got)
		}
	}
	for _, s := range []string{"", "a.b", "x.=.=.=", "sluice.runs.one.a b.=.="} {
		if got := runID(s); got != "" && !got.Valid() {
			t.Errorf("subject %q is run %q", s, got)
		}
	}
}
