package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

func read(r io.Reader, most int) (evs []sse.Event, err error) {
	for ev, err := range sse.NewReader(r, most).All() {
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
	}
	return evs, nil
}

// message returns an event without a name.
func message(id, data string) sse.Event { return sse.Event{ID: id, Name: "message", Data: data} }

// standard holds the examples in section 9.2.6 of the HTML standard, and a case for each of its parsing rules.
var standard = map[string]struct {
	in   string
	want []sse.Event
}{
	"three lines":                 {"data: YHOO\ndata: +2\ndata: 10\n\n", []sse.Event{message("", "YHOO\n+2\n10")}},
	"four blocks":                 {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", []sse.Event{message("1", "first event"), message("", "second event"), message("", " third event")}},
	"empty data":                  {"data\n\ndata\ndata\n\ndata:", []sse.Event{message("", ""), message("", "\n")}},
	"one space is no part":        {"data:test\n\ndata: test\n\n", []sse.Event{message("", "test"), message("", "test")}},
	"nothing":                     {"", nil},
	"only comments":               {": keep-alive\n\n:\n\n", nil},
	"byte order mark":             {"\ufeffdata: x\n\n", []sse.Event{message("", "x")}},
	"two byte order marks":        {"\ufeff\ufeffdata: x\n\ndata: y\n\n", []sse.Event{message("", "y")}},
	"part of a byte order mark":   {"\xef\xbbdata: x\n\n", nil},
	"CR":                          {"data: x\rdata: y\r\r", []sse.Event{message("", "x\ny")}},
	"CRLF":                        {"data: x\r\ndata: y\r\n\r\n", []sse.Event{message("", "x\ny")}},
	"all three":                   {"data: x\rdata: y\r\ndata: z\n\r\n", []sse.Event{message("", "x\ny\nz")}},
	"LF CR is two ends":           {"data: x\n\rdata: y\n\r", []sse.Event{message("", "x"), message("", "y")}},
	"name":                        {"event: add\ndata: 1\n\ndata: 2\n\n", []sse.Event{{Name: "add", Data: "1"}, message("", "2")}},
	"name without data":           {"event: add\n\ndata: 2\n\n", []sse.Event{message("", "2")}},
	"last name counts":            {"event: a\nevent: b\ndata: 1\n\n", []sse.Event{{Name: "b", Data: "1"}}},
	"id stays":                    {"id: 1\ndata: x\n\ndata: y\n\n", []sse.Event{message("1", "x"), message("1", "y")}},
	"id without data":             {"id: 1\n\ndata: y\n\n", []sse.Event{message("1", "y")}},
	"id with NUL":                 {"id: 1\ndata: x\n\nid: 2\x00\ndata: y\n\n", []sse.Event{message("1", "x"), message("1", "y")}},
	"field of another case":       {"Data: x\ndata: y\n\n", []sse.Event{message("", "y")}},
	"unknown field":               {"foo: x\nfoo\ndata: y\n\n", []sse.Event{message("", "y")}},
	"space before the field":      {" data: x\ndata: y\n\n", []sse.Event{message("", "y")}},
	"colons in the value":         {"data: a:b: c\n\n", []sse.Event{message("", "a:b: c")}},
	"no blank line at the end":    {"data: x\n\ndata: y\n", []sse.Event{message("", "x")}},
	"no line's end":               {"data: x\n\ndata: y", []sse.Event{message("", "x")}},
	"invalid UTF-8":               {"data: a\xffb\n\n", []sse.Event{message("", "a\ufffdb")}},
	"other line ends are no ends": {"data: a\u2028b\u0085c\vd\n\n", []sse.Event{message("", "a\u2028b\u0085c\vd")}},
	"padding":                     {":    \nid: 1\n\n\ndata: x\n:\n\n", []sse.Event{message("1", "x")}},
}

func TestReadsAsTheStandardSays(t *testing.T) {
	t.Parallel()
	for name, c := range standard {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.in), "by bytes": iotest.OneByteReader(strings.NewReader(c.in)),
				"by halves": iotest.HalfReader(strings.NewReader(c.in)), "with the end": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := read(r, 0)
				if err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		in    string
		wants int // events before the error
		ok    bool
	}{
		"a line":              {"data: y\n\ndata: " + long, 1, false},
		"a line without end":  {long + "x", 0, false},
		"a comment":           {": " + long + "\n\n", 0, false},
		"many lines":          {strings.Repeat("data: 12345678\n", 70) + "\n", 0, false},
		"many comment lines":  {strings.Repeat(": 12345678\n", 100) + "\n", 0, false},
		"many small events":   {strings.Repeat("data: 12345678\n\n", 1000), 1000, true},
		"many small comments": {strings.Repeat(": 12345678\n\n", 1000) + "data: x\n\n", 1, true},
		"just fits":           {"data: " + long[:993] + "\n\n", 1, true},
		"just does not":       {"data: " + long[:994] + "\n\n", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(strings.NewReader(c.in), 1000)
			if len(got) != c.wants || (err == nil) != c.ok || err != nil && !errors.Is(err, sse.ErrTooLong) {
				t.Errorf("%d events, %v", len(got), err)
			}
		})
	}
}

func TestErrorOfTheReaderIsTold(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	got, err := read(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(boom)), 0)
	if !errors.Is(err, boom) || len(got) != 1 {
		t.Errorf("%d events, %v", len(got), err)
	}
}

// TestReturnsEventBeforeNextByte: a reader that waited for an LF after the CR would return events one event late.
func TestReturnsEventBeforeNextByte(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		pr, pw := io.Pipe()
		r := sse.NewReader(pr, 0)
		go func() { _, _ = io.WriteString(pw, "data: x"+end+end) }()
		if ev, err := r.Next(); err != nil || ev.Data != "x" {
			t.Errorf("%q: %v, %v", end, ev, err)
		}
		pw.Close()
	}
}

func TestWriterWritesWhatReaderReads(t *testing.T) {
	t.Parallel()
	frame := wire.Frame{ID: wire.Cursor{Seq: 7, Frame: 2}, Event: "token", Data: []byte(`{"a":"<&>"}`)}
	b := sse.AppendFrame([]byte("x"), frame)
	if want := "xid: 7.2\nevent: token\ndata: {\"a\":\"<&>\"}\n\n"; string(b) != want {
		t.Errorf("%q", b)
	}
	if b := sse.AppendFrame(nil, wire.Frame{ID: wire.Cursor{Seq: 7}, Data: []byte(`{}`)}); string(b) != "id: 7\ndata: {}\n\n" {
		t.Errorf("%q", b)
	}
}

func TestPaddingIsOfItsLengthAndIgnored(t *testing.T) {
	t.Parallel()
	for n := range 70 {
		b := sse.AppendPadding([]byte("id: 3\ndata: x\n"), n)
		if len(b) != 14+n {
			t.Fatalf("%d bytes for %d", len(b)-14, n)
		}
		b = append(sse.AppendPadding(append(b, '\n'), n), "data: y\n\n"...)
		got, err := read(bytes.NewReader(b), 0)
		if diff := cmp.Diff([]sse.Event{message("3", "x"), message("3", "y")}, got); err != nil || diff != "" {
			t.Fatalf("%d: %v %s", n, err, diff)
		}
	}
}

// FuzzReader checks that the events do not depend on how the bytes are split, and that no event exceeds the limit.
func FuzzReader(f *testing.F) {
	for _, c := range standard {
		f.Add([]byte(c.in), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		const most = 64
		want, wantErr := read(bytes.NewReader(in), most)
		got, gotErr := read(&pieces{in, int(piece)%7 + 1}, most)
		if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("%v, in pieces %v\n%s", wantErr, gotErr, diff)
		}
		for _, ev := range got {
			if len(ev.Data) > 3*most || strings.ContainsAny(ev.ID+ev.Name, "\r\n") { // an invalid byte is replaced by three bytes
				t.Fatalf("%+v", ev)
			}
		}
	})
}

type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(p.n, len(b))], p.b)
	p.b = p.b[n:]
	return n, nil
}

// FuzzRoundTrip checks that the reader returns what the writer wrote, for any data on one line.
func FuzzRoundTrip(f *testing.F) {
	f.Add(uint64(3), uint16(0), "token", "{}")
	f.Add(uint64(1<<63-1), uint16(9), "", " leading: colon")
	f.Fuzz(func(t *testing.T, seq uint64, frame uint16, name, data string) {
		clean := strings.NewReplacer("\n", "", "\r", "")
		name, data = strings.ToValidUTF8(clean.Replace(name), ""), strings.ToValidUTF8(clean.Replace(data), "")
		in := wire.Frame{ID: wire.Cursor{Seq: event.Seq(seq), Frame: int(frame)}, Event: name, Data: []byte(data)}
		b := sse.AppendComment(sse.AppendFrame(sse.AppendComment(nil, "keep-alive"), in), "keep-alive")
		want := sse.Event{ID: in.ID.String(), Name: name, Data: data}
		if name == "" {
			want.Name = "message"
		}
		got, err := read(bytes.NewReader(b), 0)
		if diff := cmp.Diff([]sse.Event{want}, got); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
