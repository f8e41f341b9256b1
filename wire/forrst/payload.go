package forrst

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire"
)

// Limits of texts of an answer, in bytes.
const (
	maxSourceText = 1500
	maxTitle      = 300 // of headings, file names and claims too
)

// The data of the events.
type (
	// Greeting is the first data event.
	Greeting struct {
		Status string `json:"status" enum:"connected"`
	}
	// Content is a data event with the next piece of the answer, or with a citation of the text since the previous one. The pieces add up to
	// the text of the answer.
	Content struct {
		Content  string `json:"content"` // empty with a citation
		Citation *Cited `json:"citation,omitempty"`
	}
	// Cited is a citation in the stream.
	Cited struct {
		Index int `json:"index"` // number of the source, from 1
		Place
		Quote string `json:"quote,omitempty"` // the cited sentence
	}
	// Place is where a passage stands.
	Place struct {
		ChunkID     string `json:"chunk_id"`
		DocumentID  string `json:"document_id"`
		Title       string `json:"title"`
		File        string `json:"file,omitempty"` // path of the file below the indexed folder, or its name
		Heading     string `json:"heading,omitempty"`
		PageNumbers []int  `json:"page_numbers"`
	}
	// Progress is a step of the run. Total is the number of steps that are planned and of those that were added and are done. The percentage never
	// decreases.
	Progress struct {
		Current int    `json:"current"`
		Total   int    `json:"total"`
		Percent int    `json:"percent"`
		Message string `json:"message"`
	}
	// Failure is the error event, with the members of [Error].
	Failure struct {
		Code    string   `json:"code"`
		Message string   `json:"message"`
		Details *Details `json:"details"`
	}
)

// Answer is the done event, and the result of a call without a stream.
type Answer struct {
	Content      string        `json:"content"` // the whole text
	Citations    []Citation    `json:"citations"`
	Sources      []Source      `json:"sources"`       // the cited ones in the order of their first citation, then the others; if the run abstained, only those that the text names
	Confidence   float64       `json:"confidence"`    // estimated probability that the answer is right, 0..1; 0 for an abstention
	ClaimSupport float64       `json:"claim_support"` // share of the claims in the answer that the sources support, 0..1
	Verification *Verification `json:"verification,omitempty"`
	Mode         event.Mode    `json:"mode" enum:"agentic,direct"`
	RunID        event.RunID   `json:"run_id"`
	SessionID    string        `json:"session_id,omitempty"`
	MessageID    string        `json:"message_id"` // of the answer
	// StandaloneQuery is the question that was searched for, if it was rewritten.
	StandaloneQuery string       `json:"standalone_query,omitempty"`
	ToolsUsed       []string     `json:"tools_used"`
	Iterations      int          `json:"iterations"`
	Cached          bool         `json:"cached"`
	Cache           *Cache       `json:"cache,omitempty"`      // where a cached answer comes from
	Incomplete      bool         `json:"incomplete,omitempty"` // the end of the answer is missing
	Abstained       bool         `json:"abstained,omitempty"`  // the documents do not hold an answer
	Usage           *wire.Usage  `json:"usage,omitempty"`      // left out if no model was called
	Cost            *Cost        `json:"cost,omitempty"`       // left out if nothing was charged
	DurationMS      event.Millis `json:"duration_ms"`
}

type (
	// Citation refers to the source that supports a part of the answer. Start and End are positions in its text, in Unicode code points; End is
	// that of the first character after the part.
	Citation struct {
		Index int `json:"index"` // of the source, from 1
		Start int `json:"start"`
		End   int `json:"end"`
	}
	// Source is a passage that the answer is based on.
	Source struct {
		Index int `json:"index"` // from 1
		Place
		Text   string  `json:"text"`            // at most 1,500 bytes
		Quote  string  `json:"quote,omitempty"` // the sentence that the first citation refers to
		Score  float64 `json:"score"`
		Weight float64 `json:"weight"` // share of the answer that it supports, 0..1
		Cited  bool    `json:"cited"`
	}
	// Verification is the check of the answer against its sources.
	Verification struct {
		ClaimsChecked     int     `json:"claims_checked"`
		ClaimsSupported   int     `json:"claims_supported"`
		ClaimsPartial     int     `json:"claims_partially_supported"`
		ClaimsUnsupported int     `json:"claims_unsupported"`
		Claims            []Claim `json:"claims"`
		Flagged           bool    `json:"flagged,omitempty"` // the sources do not support the answer
	}
	// Claim is a statement of the answer with its verdict.
	Claim struct {
		Text    string        `json:"text"`
		Verdict event.Verdict `json:"verdict" enum:"SUPPORTED,PARTIALLY_SUPPORTED,UNSUPPORTED"`
	}
	// Cache describes the question whose answer was reused.
	Cache struct {
		Similarity    float64 `json:"similarity"`
		OriginalQuery string  `json:"original_query"`
		CachedAt      string  `json:"cached_at" format:"date-time"`
	}
	// Cost is what the account of the caller paid.
	Cost struct {
		Fee          json.Number `json:"fee"` // in credits
		BalanceAfter json.Number `json:"balance_after"`
		Transaction  string      `json:"transaction"`
	}
)

// AnswerOf returns the result of a run.
func AnswerOf(log []event.Event) Answer {
	s := event.Fold(log)
	return answerOf(&s)
}

func answerOf(s *event.State) Answer {
	a := Answer{Content: string(s.Text), Citations: citationsOf(s), Sources: []Source{}, Confidence: wire.Round(s.Confidence), ClaimSupport: wire.Round(s.ClaimSupport()), Verification: verificationOf(s.Check),
		Mode: s.Mode, RunID: s.Run, SessionID: s.Session, MessageID: s.Run.AnswerID(), ToolsUsed: append([]string{}, s.Tools...), Iterations: s.Iterations, Cached: s.Cached(),
		Incomplete: s.Incomplete() || s.Failure != nil, Abstained: s.Abstained(), Usage: wire.UsageOf(s), DurationMS: event.MillisOf(s.Elapsed())}
	if s.Analysis != nil {
		a.Mode, a.StandaloneQuery = s.Analysis.Mode, s.Analysis.Standalone
	}
	if s.Cached() {
		a.Cache = &Cache{wire.Round(s.Cache.Similarity), s.Cache.Query, wire.Timestamp(s.Cache.CachedAt)}
	}
	if paid := s.Settlement; paid != nil && paid.Fee > 0 {
		a.Cost = &Cost{credits(paid.Fee), credits(paid.After), paid.Transaction}
	}
	for i := range s.Sources {
		a.Sources = append(a.Sources, sourceOf(&s.Sources[i]))
	}
	return a
}

// citationsOf locates the citations. Several at the same place refer to the same part of the text.
func citationsOf(s *event.State) []Citation {
	out := []Citation{}
	start, at, end := 0, 0, 0 // the part begins at the character start; it ends at the byte at, which is the character end
	for _, c := range s.Citations {
		if c.At > at {
			part, from := string(s.Text[at:c.At]), at
			at, end = c.At, end+utf8.RuneCountInString(part)
			if from > 0 {
				part = wire.TrimSentenceEnd(part)
			}
			if strings.TrimSpace(part) != "" {
				start = end - utf8.RuneCountInString(strings.TrimLeft(part, " \t\n"))
			}
		}
		out = append(out, Citation{c.N, start, end})
	}
	return out
}

func placeOf(s *event.Source) Place {
	return Place{ChunkID: string(s.Chunk), DocumentID: string(s.Document), Title: wire.Clip(s.Title, maxTitle), File: wire.Clip(cmp.Or(s.File, s.Name), maxTitle),
		Heading: wire.Clip(s.Heading, maxTitle), PageNumbers: append([]int{}, s.Pages...)}
}

func sourceOf(s *event.Source) Source {
	return Source{Index: s.N, Place: placeOf(s), Text: wire.Clip(s.Text, maxSourceText), Quote: wire.Clip(s.CitedText(), maxSourceText), Score: wire.Round(s.Score),
		Weight: wire.Round(s.Weight), Cited: s.Cited}
}

func verificationOf(v *event.Verified) *Verification {
	if v == nil {
		return nil
	}
	out := &Verification{len(v.Claims), v.Count(event.Supported), v.Count(event.PartiallySupported), v.Count(event.Unsupported), []Claim{}, v.Flagged}
	for _, c := range v.Claims {
		out.Claims = append(out.Claims, Claim{wire.Clip(c.Text, maxTitle), c.Verdict})
	}
	return out
}

// credits formats an amount with six decimals.
func credits(c event.Credits) json.Number {
	sign := ""
	if c < 0 {
		sign = "-"
	}
	whole, part := c/1_000_000, c%1_000_000
	return json.Number(fmt.Sprintf("%s%d.%06d", sign, max(whole, -whole), max(part, -part)))
}
