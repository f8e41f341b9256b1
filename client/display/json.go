package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/client"
)

// JSON prints snapshots as they are, an object a line.
type JSON struct {
	out    io.Writer
	stream bool
	told   int // events of the last snapshot that was printed
}

// NewJSON prints to out: one object at the end, or, with stream, each state as it comes; the last of them is the end too.
func NewJSON(out io.Writer, stream bool) *JSON { return &JSON{out: out, stream: stream} }

// Step implements [Display].
func (j *JSON) Step(s *client.Snapshot, _ int) error { return j.state(s) }

// Reasoning implements [Display].
func (j *JSON) Reasoning(s *client.Snapshot) error { return j.state(s) }

// Answer implements [Display].
func (j *JSON) Answer(s *client.Snapshot) error { return j.state(s) }

// Warning implements [Display].
func (j *JSON) Warning(s *client.Snapshot, _ int) error { return j.state(s) }

// state prints a snapshot once, whatever of it has changed.
func (j *JSON) state(s *client.Snapshot) error {
	if !j.stream || s.Events == j.told || s.Status.Final() {
		return nil
	}
	return j.print(s)
}

// Close implements [Display].
func (j *JSON) Close(s *client.Snapshot, _ error) error { return j.print(s) }

func (j *JSON) print(s *client.Snapshot) error {
	j.told = s.Events
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	shown := *s
	if shown.Steps == nil {
		shown.Steps = []client.Step{}
	}
	if shown.Citations == nil {
		shown.Citations = []client.Citation{}
	}
	if err := enc.Encode(shown); err != nil {
		return err
	}
	_, err := j.out.Write(visible(b.Bytes()))
	return err
}

// visible escapes what encoding/json leaves as it is and a terminal may heed: the controls behind ASCII and the directions of writing.
func visible(b []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b[i:])
		}
		if r >= 0x7F && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			out = append(out, b[from:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			from = i + n
		}
		i += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}
