package client

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
)

// Status is where a run, a step or an answer is.
type Status string

// The statuses. The last four are final.
const (
	Waiting    Status = "waiting" // nothing was heard of it
	Running    Status = "running"
	Completed  Status = "completed"
	Incomplete Status = "incomplete" // it lacks its end
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Final tells whether nothing follows.
func (s Status) Final() bool {
	return s == Completed || s == Incomplete || s == Failed || s == Cancelled
}

// Kind is what sort of step it is.
type Kind string

// The kinds. A server may tell of others, which keep the names that its protocol has for them; who does not know one passes it over.
const (
	Stage  Kind = "stage"  // of the pipeline: analysis, cache, grading, reranking, generation
	Search Kind = "search" // of files or documents
	Tool   Kind = "tool"   // anything else that was called
)

// Snapshot is all that is known of a run at one moment, whatever protocol told it. Snapshots are values: nothing in them changes, so
// they may be kept and read anywhere; their slices are not to be written to.
type Snapshot struct {
	Run      string `json:"run_id,omitempty"`
	Question string `json:"question,omitempty"`
	Mode     string `json:"mode,omitempty"`  // as the server says: agentic, direct; an effort
	Model    string `json:"model,omitempty"` // that writes the answer
	Status   Status `json:"status"`
	Cached   bool   `json:"cached,omitempty"` // the answer was given before, to a question that means the same

	Steps     []Step `json:"steps"`
	Reasoning string `json:"reasoning,omitempty"` // what models thought; no part of the answer
	// Text is the answer so far, in Markdown. ⟦⟦n⟧⟧ stands behind what citation n carries; see [Snapshot.Plain].
	Text      string     `json:"text"`
	Answer    Status     `json:"answer"`            // of the text
	Citations []Citation `json:"citations"`         // by number; those of the protocols that list sources last come with them
	Uncited   int        `json:"uncited,omitempty"` // passages that were read and are not cited

	Confidence   float64      `json:"confidence"`            // 0..1; 0 where nothing was verified
	Verification Verification `json:"verification,omitzero"` // zero where there was none
	Usage        Usage        `json:"usage,omitzero"`        // zero where no model was asked
	Elapsed      event.Millis `json:"elapsed_ms,omitempty"`  // of the run, by the server's clock; 0 until it ended
	Abstained    bool         `json:"abstained,omitempty"`   // the documents hold no answer
	Warnings     []Warning    `json:"warnings,omitempty"`    // what the run survived
	Failure      *Failure     `json:"error,omitempty"`       // why it is not completed
	// Events counts what the snapshot is folded from, so that two of a run can be told apart at no cost.
	Events int `json:"-"`
}

// Step is something that the run does before it answers.
type Step struct {
	ID     string       `json:"id,omitempty"` // of the protocol; may be empty
	Kind   Kind         `json:"kind"`
	Name   string       `json:"name"`           // a word for it, such as search
	Tool   string       `json:"tool,omitempty"` // the tool's name
	Query  string       `json:"query,omitempty"`
	Reason string       `json:"reason,omitempty"` // why the agent chose it
	Detail string       `json:"detail"`           // one line for people: what it is to do or has given
	Status Status       `json:"status"`
	Timed  bool         `json:"-"` // the server told how long it took
	Took   event.Millis `json:"took_ms,omitempty"`
}

// Citation is a passage that the answer rests on.
type Citation struct {
	N        int      `json:"n"` // from 1, as in the text's markers
	Document string   `json:"document_id,omitempty"`
	Chunk    string   `json:"chunk_id,omitempty"`
	Title    string   `json:"title,omitempty"` // the document's, or its file's name
	Heading  string   `json:"heading,omitempty"`
	File     string   `json:"file,omitempty"`  // path of the document's file below the indexed folder, or its name
	Pages    []int    `json:"pages,omitempty"` // that hold what is cited
	Quote    string   `json:"quote,omitempty"` // the sentence that is cited
	Segment  int      `json:"segment,omitempty"`
	Snippet  string   `json:"snippet,omitempty"`
	URL      string   `json:"url,omitempty"`
	Score    float64  `json:"score,omitempty"`  // 0..1; 0 where the protocol has none
	Weight   float64  `json:"weight,omitempty"` // share of the answer, 0..1; 0 where the protocol has none
	Path     []string `json:"path,omitempty"`   // how the graph led to it
}

// PageList names the pages as people write them, such as "p. 3" or "pp. 3–5, 9"; empty if there are none.
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

// Verification counts the claims of the answer by what the sources say of them.
type Verification struct {
	Checked   int     `json:"claims_checked"`
	Supported int     `json:"claims_supported"`
	Partial   int     `json:"claims_partially_supported"`
	Claims    []Claim `json:"claims,omitempty"`
	Flagged   bool    `json:"flagged,omitempty"` // the sources do not carry the answer
}

// Claim is one of them.
type Claim struct {
	Text    string `json:"claim"`
	Verdict string `json:"verdict"`
}

// Usage is what models cost, in tokens.
type Usage struct {
	Input     int      `json:"input_tokens"`
	Output    int      `json:"output_tokens"`
	Cached    int      `json:"cached_tokens,omitempty"`    // part of Input
	Reasoning int      `json:"reasoning_tokens,omitempty"` // part of Output
	Calls     int      `json:"calls,omitempty"`
	Models    []string `json:"models,omitempty"`
	Estimated bool     `json:"estimated,omitempty"`
}

// Warning is something that went wrong and was survived.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Failure is why a run is not completed.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Plain is the text with its markers as [n], each behind a space.
func (s *Snapshot) Plain() string { return Plain(s.Text) }

const opening, closing = "⟦⟦", "⟧⟧"

// Plain gives a text's markers as [n].
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

// cutMarker cuts a marker's number and its end off.
func cutMarker(s string) (number, rest string, ok bool) {
	n := 0
	for n < len(s) && n < 6 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	rest, ok = strings.CutPrefix(s[n:], closing)
	return s[:n], rest, ok && n > 0
}

// marker gives the text's form of a citation.
func marker(n int) string { return opening + strconv.Itoa(n) + closing }
