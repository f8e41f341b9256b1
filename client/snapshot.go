package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Status is the status of a run, a step or an answer.
type Status string

// Values of Status. The last four are final.
const (
	Waiting    Status = "waiting" // no event yet
	Running    Status = "running"
	Completed  Status = "completed"
	Incomplete Status = "incomplete" // the end is missing
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Final reports whether the status is final.
func (s Status) Final() bool {
	return s == Completed || s == Incomplete || s == Failed || s == Cancelled
}

// Kind is the kind of a step.
type Kind string

// Values of Kind. A step of an unknown kind has the name that the protocol uses.
const (
	Stage  Kind = "stage"  // of the pipeline: analysis, cache, grading, reranking, generation
	Search Kind = "search" // of files or documents
	Tool   Kind = "tool"   // any other tool
)

// Snapshot is the state of a run at one moment, in a form that does not depend on the protocol. A snapshot does not change.
// Its slices must not be modified.
type Snapshot struct {
	Run      string `json:"run_id,omitempty"`
	Question string `json:"question,omitempty"`
	Mode     string `json:"mode,omitempty"`  // agentic, direct, or an effort
	Model    string `json:"model,omitempty"` // that writes the answer
	Status   Status `json:"status"`
	Cached   bool   `json:"cached,omitempty"` // answered from the cache

	Steps     []Step `json:"steps"`
	Reasoning string `json:"reasoning,omitempty"` // reasoning of the models; not part of the answer
	// Text is the answer so far, in Markdown. A marker ⟦⟦n⟧⟧ follows text that citation n supports; see [Snapshot.Plain].
	Text      string     `json:"text"`
	Answer    Status     `json:"answer"`            // status of the text
	Citations []Citation `json:"citations"`         // by number; in forge they are only known at the end
	Uncited   int        `json:"uncited,omitempty"` // number of passages that were read but not cited

	Confidence   float64      `json:"confidence"`              // estimated probability that the answer is right, 0..1; 0 for an abstention
	ClaimSupport float64      `json:"claim_support,omitempty"` // share of the claims that the sources support, 0..1; 0 if nothing was verified
	Verification Verification `json:"verification,omitzero"`   // zero if there was none
	Usage        Usage        `json:"usage,omitzero"`          // zero if no model was called
	Elapsed      event.Millis `json:"elapsed_ms,omitempty"`    // of the run, measured by the server; 0 until it ends
	Abstained    bool         `json:"abstained,omitempty"`     // the documents do not hold an answer
	Warnings     []Warning    `json:"warnings,omitempty"`      // failures that did not end the run
	Failure      *Failure     `json:"error,omitempty"`         // why the run failed or was cancelled
	// Events is the number of folded events. It serves to compare two snapshots of a run cheaply.
	Events int `json:"-"`
}

// Step is a step of the run before the answer.
type Step struct {
	ID     string       `json:"id,omitempty"` // from the protocol; may be empty
	Kind   Kind         `json:"kind"`
	Name   string       `json:"name"`           // short name, for example search
	Tool   string       `json:"tool,omitempty"` // name of the tool
	Query  string       `json:"query,omitempty"`
	Reason string       `json:"reason,omitempty"` // why the agent chose the tool
	Detail string       `json:"detail"`           // a line for people: what the step does or has found
	Status Status       `json:"status"`
	Timed  bool         `json:"-"` // the server reported the duration
	Took   event.Millis `json:"took_ms,omitempty"`
}

// Citation is a passage that the answer cites.
type Citation struct {
	N        int      `json:"n"` // from 1, as in the markers of the text
	Document string   `json:"document_id,omitempty"`
	Chunk    string   `json:"chunk_id,omitempty"`
	Title    string   `json:"title,omitempty"` // of the document; the name of the file if there is none
	Heading  string   `json:"heading,omitempty"`
	File     string   `json:"file,omitempty"`  // path of the file below the indexed folder, or its name
	Pages    []int    `json:"pages,omitempty"` // that contain the cited text
	Quote    string   `json:"quote,omitempty"` // the cited sentence
	Segment  int      `json:"segment,omitempty"`
	Snippet  string   `json:"snippet,omitempty"`
	URL      string   `json:"url,omitempty"`
	Score    float64  `json:"score,omitempty"`   // 0..1; 0 if the protocol does not report it
	Weight   float64  `json:"weight,omitempty"`  // share of the answer, 0..1; 0 if the protocol does not report it
	Path     []string `json:"path,omitempty"`    // path in the graph that led to the passage
	AlsoIn   []string `json:"also_in,omitempty"` // documents with about the same passage, of the same or an older version
}

// PageList formats the pages, for example as "p. 3" or "pp. 3–5, 9". It is empty if there are none.
func (c Citation) PageList() string {
	if len(c.Pages) == 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(c.Pages); {
		last := i
		for last+1 < len(c.Pages) && c.Pages[last+1] == c.Pages[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, c.Pages[i])
		if last > i {
			fmt.Fprintf(&b, "–%d", c.Pages[last])
		}
		i = last + 1
	}
	if len(c.Pages) > 1 {
		return "pp. " + b.String()
	}
	return "p. " + b.String()
}

// Verification counts the claims of the answer by verdict.
type Verification struct {
	Checked   int     `json:"claims_checked"`
	Supported int     `json:"claims_supported"`
	Partial   int     `json:"claims_partially_supported"`
	Claims    []Claim `json:"claims,omitempty"`
	Flagged   bool    `json:"flagged,omitempty"` // the sources do not support the answer
}

// Claim is a claim of the answer.
type Claim struct {
	Text    string `json:"claim"`
	Verdict string `json:"verdict"`
}

// Usage counts the tokens that models have processed.
type Usage struct {
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens,omitempty"`    // part of Input
	Reasoning int      `json:"reasoning_tokens,omitempty"` // part of Output
	Calls     int      `json:"calls,omitempty"`
	Models    []string `json:"models,omitempty"`
	Estimated bool     `json:"estimated,omitempty"`
}

// Warning is a failure that did not end the run.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Failure is the reason why a run failed or was cancelled.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Plain returns the text with citations in the form [n].
func (s *Snapshot) Plain() string { return Plain(s.Text) }

const opening, closing = "⟦⟦", "⟧⟧"

// Plain returns a text with citations in the form [n] instead of markers.
func Plain(text string) string {
	if !strings.Contains(text, opening) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		before, rest, found := strings.Cut(text, opening)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n, after, closed := cutMarker(rest)
		if !closed {
			b.WriteString(opening)
			text = rest
			continue
		}
		b.WriteString("[" + n + "]")
		text = after
	}
}

// cutMarker splits s after the number and the closing brackets of a marker.
func cutMarker(s string) (number, rest string, ok bool) {
	n := 0
	for n < len(s) && n < 6 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	rest, ok = strings.CutPrefix(s[n:], closing)
	return s[:n], rest, ok && n > 0
}

// marker returns the marker of citation n.
func marker(n int) string { return opening + strconv.Itoa(n) + closing }
