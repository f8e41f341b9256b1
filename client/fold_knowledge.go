package client

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

const protocolKnowledge = knowledge.Name

// knowledgeFold is the state of a fold of the knowledge protocol that is not in its snapshot.
type knowledgeFold struct { // snapshots only show the beginning of the text
	truncated bool // the text is longer than snapshots show it
}

// frame has the fields of all events of the protocol. Only a snapshot has Object.
type frame struct {
	Object       string                       `json:"object"`
	ID           string                       `json:"id"`
	RunID        string                       `json:"run_id"`
	Model        string                       `json:"model"`
	Effort       string                       `json:"effort"`
	Cached       bool                         `json:"cached"`
	Abstained    bool                         `json:"abstained"`
	AnsweredBy   string                       `json:"answered_by"`
	Standalone   string                       `json:"standalone_query"`
	Summarized   int                          `json:"summarized_turns"`
	Output       []knowledge.Item             `json:"output"`
	Status       string                       `json:"status"`
	Error        *knowledge.ResponseError     `json:"error"`
	Incomplete   *knowledge.IncompleteDetails `json:"incomplete_details"`
	Usage        *knowledge.Usage             `json:"usage"`
	Warnings     []knowledge.Warning          `json:"warnings"`
	Confidence   *float64                     `json:"confidence"`
	ClaimSupport *float64                     `json:"claim_support"`
	Verification *knowledge.Verification      `json:"verification"`
	DurationMS   event.Millis                 `json:"duration_ms"`

	Delta           *string               `json:"delta"`
	AnnotationIndex *int                  `json:"annotation_index"`
	Annotation      *knowledge.Annotation `json:"annotation"`

	Code    string `json:"code"` // of an event named error
	Message string `json:"message"`
}

func (f *Fold) addKnowledge(ev Event) error {
	switch ev.Name {
	case knowledge.EventDone:
		if !f.s.Status.Final() {
			f.ended(Incomplete)
		}
		return nil
	case "error":
		return on(ev, func(v frame) {
			f.s.Failure = &Failure{Code: fault.Code(clip(v.Code, 60)), Message: clip(v.Message, maxLine)}
			f.ended(Failed)
		})
	}
	if !strings.HasPrefix(ev.Name, "response.") {
		return nil
	}
	return on(ev, func(v frame) {
		if f.s.Status == "" {
			f.s.Status = Running // a resumed stream
		}
		switch {
		case v.Object == "response":
			f.snapshot(v)
		case v.Annotation != nil && v.AnnotationIndex != nil:
			f.annotated(*v.AnnotationIndex, *v.Annotation)
		case v.Delta != nil && ev.Name == knowledge.EventTextDelta:
			f.addText(*v.Delta)
		case v.Delta != nil && ev.Name == knowledge.EventReasoningDelta:
			f.reasoning.WriteString(fitting(*v.Delta, maxText-f.reasoning.Len()))
		}
	})
}

// snapshot replaces the whole state.
func (f *Fold) snapshot(v frame) {
	if f.s.Run == "" {
		f.s.Run = clip(v.ID, 300)
	}
	f.s.Model, f.s.Mode, f.s.Cached, f.s.Abstained = clip(cmp.Or(v.AnsweredBy, v.Model), 200), clip(v.Effort, 60), v.Cached, v.Abstained
	f.s.Status, f.s.Elapsed = statusOf(v.Status), max(v.DurationMS, 0)
	f.s.Steps = nil
	f.understood(v.Standalone, v.Summarized)
	var text, reasoning strings.Builder
	var notes []knowledge.Annotation
	truncated := false
	for _, item := range v.Output {
		switch item.Type {
		case knowledge.ItemMessage:
			f.s.Answer = statusOf(item.Status)
			for _, part := range item.Content {
				if part.Type != "output_text" {
					continue
				}
				if text.Len() > 0 {
					text.WriteString("\n\n")
				}
				text.WriteString(fitting(part.Text, maxText-text.Len()))
				notes = append(notes, part.Annotations...)
				truncated = truncated || part.Truncated
			}
		case knowledge.ItemReasoning:
			if strings.Contains(item.ID, "_note_") {
				continue // also in the warnings of the response
			}
			for _, s := range item.Summary {
				if reasoning.Len() > 0 {
					reasoning.WriteString("\n\n")
				}
				reasoning.WriteString(fitting(s.Text, maxText-reasoning.Len()))
			}
		default:
			f.addStep(stepOf(item))
		}
	}
	replace(&f.text, text.String(), truncated)
	replace(&f.reasoning, reasoning.String(), true) // snapshots only show a part of it
	f.knowledge.truncated = truncated && f.text.Len() == text.Len()
	f.s.Citations = nil
	for i, a := range notes[:min(len(notes), maxCitations)] {
		f.s.Citations = append(f.s.Citations, citationOf(i+1, a))
	}
	f.outcome(v)
}

// outcome sets the fields that a response has when it ends.
func (f *Fold) outcome(v frame) {
	f.s.Confidence, f.s.ClaimSupport, f.s.Verification, f.s.Usage, f.s.Failure, f.s.Warnings = 0, 0, Verification{}, Usage{}, nil, nil
	for _, w := range v.Warnings {
		f.warn(w.Code, w.Message)
	}
	if v.Confidence != nil {
		f.s.Confidence = *v.Confidence
	}
	if v.ClaimSupport != nil {
		f.s.ClaimSupport = *v.ClaimSupport
	}
	if c := v.Verification; c != nil {
		f.s.Verification = Verification{Checked: c.Claims, Supported: c.Supported, Partial: c.Partial, Flagged: c.Flagged}
		f.s.Abstained = f.s.Abstained && c.Claims == 0
	}
	if u := v.Usage; u != nil {
		f.s.Usage = Usage{Input: u.InputTokens, Output: u.OutputTokens, Cached: u.InputTokensDetails.CachedTokens,
			Reasoning: u.OutputTokenDetails.ReasoningTokens}
	}
	if e := v.Error; e != nil {
		code := fault.Code(clip(e.Reason, 60))
		if code == "" {
			code = fault.Code(clip(e.Code, 60))
		}
		f.s.Failure = &Failure{Code: code, Message: clip(e.Message, maxLine)}
		if code == fault.Cancelled && f.s.Status == Failed {
			f.s.Status = Cancelled
		}
	}
}

// replace sets the text of b. It only appends if the text has grown. If beginning is set, the text may be incomplete and
// does not replace a longer one.
func replace(b *strings.Builder, text string, beginning bool) {
	have := b.String()
	if rest, grown := strings.CutPrefix(text, have); grown {
		b.WriteString(rest)
		return
	}
	if beginning && strings.HasPrefix(have, text) {
		return
	}
	b.Reset() // earlier snapshots share the old memory
	b.WriteString(text)
}

func (f *Fold) annotated(i int, a knowledge.Annotation) {
	if i == len(f.s.Citations) && i < maxCitations {
		f.s.Citations = append(f.s.Citations, citationOf(i+1, a))
	}
}

func citationOf(n int, a knowledge.Annotation) Citation {
	c := Citation{N: n, Document: clip(a.FileID, 300), Chunk: clip(a.ChunkID, 300), Title: clip(a.Filename, maxLine), Heading: clip(a.Heading, maxLine),
		File: clip(cmp.Or(a.Path, a.Filename), maxLine), Pages: a.Pages[:min(len(a.Pages), maxPages)], Quote: excerpt(a.Quote), Segment: a.Index, Snippet: excerpt(a.Snippet), Score: a.Score}
	if len(c.Pages) == 0 && a.Page > 0 {
		c.Pages = []int{a.Page}
	}
	if c.Title == "" {
		c.Title = c.Document
	}
	return c
}

func statusOf(s string) Status {
	switch s {
	case knowledge.StatusCompleted:
		return Completed
	case knowledge.StatusIncomplete:
		return Incomplete
	case knowledge.StatusFailed:
		return Failed
	case "cancelled":
		return Cancelled
	}
	return Running
}

// quotedAll lists the first queries.
func quotedAll(queries []string) string {
	var all []string
	for _, q := range queries[:min(len(queries), 5)] {
		all = append(all, quoted(q))
	}
	return strings.Join(all, ", ")
}

// stepOf returns the step of a call. A call of an unknown type has that type as its kind.
func stepOf(item knowledge.Item) Step {
	s := Step{ID: item.ID, Kind: Tool, Name: "tool", Tool: item.Tool, Query: strings.Join(item.Queries[:min(len(item.Queries), maxNames)], "; "),
		Status: statusOf(item.Status), Timed: item.DurationMS > 0, Took: max(item.DurationMS, 0)}
	if s.Tool == "" {
		s.Tool = strings.TrimSuffix(item.Type, "_call")
	}
	s.Detail = useOf(s.Tool)
	switch item.Type {
	case knowledge.ItemFileSearch:
		switch s.Tool {
		case event.ToolGraphTraverse:
			s.Name = "graph"
		case event.ToolDecomposeQuery:
			s.Detail += ": " + quotedAll(item.Queries)
		default:
			s.Kind, s.Name, s.Detail = Search, "search", searchFor(s.Tool, s.Query)
		}
		if item.ResultCount != nil && s.Status.Final() && s.Status != Failed {
			s.Detail += ": " + foundPassages(*item.ResultCount)
		}
	case knowledge.ItemWebSearch:
		s.Name, s.Detail = "web", "Looking on the web for "+quoted(s.Query)
	case knowledge.ItemListDocuments:
		s.Name = "list"
		if item.Count > 0 {
			s.Detail += fmt.Sprintf(", at most %d", item.Count)
		}
	case knowledge.ItemPageReader, "file_reader_call":
		s.Name = "read"
		if item.DocumentID != "" {
			title := item.DocumentTitle
			if title == nil || *title == "" {
				title = &item.DocumentID
			}
			s.Detail = fmt.Sprintf("Reading pages %d to %d of %s", item.StartPage, item.EndPage, shorten(*title, 80))
		}
	case "function_call", "code_interpreter_call", "computer_call":
	default:
		s.Kind, s.Name = Kind(clip(item.Type, 60)), item.Type
	}
	return s
}
