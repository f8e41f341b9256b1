package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
)

// JSON prints snapshots as JSON, one object per line.
type JSON struct {
	out     io.Writer
	stream  bool
	printed int // number of events of the last printed snapshot
}

// NewJSON returns a display that prints one object at the end, or with stream an object after each change.
func NewJSON(out io.Writer, stream bool) *JSON { return &JSON{out: out, stream: stream} }

// Step implements [Display].
func (j *JSON) Step(s *client.Snapshot, _ int) error { return j.state(s) }

// Reasoning implements [Display].
func (j *JSON) Reasoning(s *client.Snapshot) error { return j.state(s) }

// Answer implements [Display].
func (j *JSON) Answer(s *client.Snapshot) error { return j.state(s) }

// Warning implements [Display].
func (j *JSON) Warning(s *client.Snapshot, _ int) error { return j.state(s) }

// state prints a snapshot once, also if several parts have changed.
func (j *JSON) state(s *client.Snapshot) error {
	if !j.stream || s.Events == j.printed || s.Status.Final() {
		return nil
	}
	return j.print(s)
}

// Close implements [Display].
func (j *JSON) Close(s *client.Snapshot, _ error) error { return j.print(s) }

// report is the JSON form of a snapshot, described in docs/cli.md.
type report struct {
	Run          string               `json:"run"`
	Question     string               `json:"question"`
	Status       client.Status        `json:"status"`
	Answer       string               `json:"answer"` // with citations as [1]
	Abstained    bool                 `json:"abstained"`
	Confidence   *float64             `json:"confidence"` // null if the answer makes no claims
	Citations    []client.Citation    `json:"citations"`
	Sources      []source             `json:"sources"`
	Cached       bool                 `json:"cached"`
	Mode         string               `json:"mode,omitempty"`
	Model        string               `json:"model,omitempty"`
	Steps        []client.Step        `json:"steps"`
	Uncited      int                  `json:"uncited"`
	Verification *client.Verification `json:"verification,omitempty"`
	Usage        *client.Usage        `json:"usage,omitempty"`
	Elapsed      event.Millis         `json:"elapsed_ms"`
	Reasoning    string               `json:"reasoning,omitempty"`
	Warnings     []client.Warning     `json:"warnings,omitempty"`
	Failure      *client.Failure      `json:"error,omitempty"`
}

// source is a document that the answer cites.
type source struct {
	Document  string `json:"document_id,omitempty"`
	Title     string `json:"title,omitempty"`
	File      string `json:"file,omitempty"`
	Pages     []int  `json:"pages,omitempty"` // cited pages
	Citations []int  `json:"citations"`       // numbers of the citations
}

func reportOf(s *client.Snapshot) report {
	r := report{Run: s.Run, Question: s.Question, Status: s.Status, Answer: s.Plain(), Abstained: s.Abstained, Citations: s.Citations, Sources: []source{},
		Cached: s.Cached, Mode: s.Mode, Model: s.Model, Steps: s.Steps, Uncited: s.Uncited, Elapsed: s.Elapsed, Reasoning: s.Reasoning, Warnings: s.Warnings,
		Failure: s.Failure}
	if s.Verification.Checked > 0 {
		r.Verification = &s.Verification
	}
	if s.Verification.Checked > 0 || s.Status.Final() && len(s.Citations) > 0 {
		r.Confidence = &s.Confidence
	}
	if s.Usage.Input+s.Usage.Output > 0 {
		r.Usage = &s.Usage
	}
	if r.Steps == nil {
		r.Steps = []client.Step{}
	}
	if r.Citations == nil {
		r.Citations = []client.Citation{}
	}
	for _, c := range s.Citations {
		i := slices.IndexFunc(r.Sources, func(o source) bool { return o.Document == c.Document && o.File == c.File && o.Title == c.Title })
		if i < 0 {
			i = len(r.Sources)
			r.Sources = append(r.Sources, source{Document: c.Document, Title: c.Title, File: c.File})
		}
		o := &r.Sources[i]
		o.Citations = append(o.Citations, c.N)
		o.Pages = slices.Compact(slices.Sorted(slices.Values(append(o.Pages, c.Pages...))))
	}
	return r
}

func (j *JSON) print(s *client.Snapshot) error {
	j.printed = s.Events
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(reportOf(s)); err != nil {
		return err
	}
	_, err := j.out.Write(visible(b.Bytes()))
	return err
}

// visible escapes characters that encoding/json does not escape but terminals can interpret: C1 controls and bidirectional controls.
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
