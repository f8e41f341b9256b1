package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/forge"
)

func decode[T any](ev Event) (v T, err error) {
	if err = json.Unmarshal(ev.Data, &v); err != nil {
		err = fmt.Errorf("read event %s: not of its form", clip(ev.Name, 60))
	}
	return v, err
}

// on decodes an event and calls f with the result.
func on[T any](ev Event, f func(T)) error {
	v, err := decode[T](ev)
	if err == nil {
		f(v)
	}
	return err
}

func (f *Fold) addForge(ev Event) error {
	if f.s.Status == "" {
		f.s.Status = Running
	}
	switch ev.Name {
	case "token":
		return on(ev, func(v forge.Token) { f.addText(f.marked(v)) })
	case "verification":
		return on(ev, f.verified)
	case "sources":
		return on(ev, f.sources)
	case "done":
		return on(ev, f.done)
	case "error":
		return on(ev, f.failed)
	case "query_analysis":
		return on(ev, f.analysed)
	case "cache_hit":
		return on(ev, func(v forge.CacheHit) {
			f.s.Cached = true
			f.stage("cache", "Found the answer to the same question, asked before: "+quoted(v.OriginalQuery))
		})
	case "retrieval_start":
		return on(ev, f.searching)
	case "retrieval_result":
		return on(ev, func(v forge.RetrievalResult) {
			f.finish(Search, v.CallID, v.Tool, foundPassages(v.ChunksFound), v.DurationMS)
		})
	case "tool_call":
		return on(ev, f.calling)
	case "tool_result":
		return on(ev, f.returned)
	}
	return f.addForgeStage(ev)
}

func (f *Fold) addForgeStage(ev Event) error {
	switch ev.Name {
	case "crag_evaluation":
		return on(ev, func(v forge.CRAGEvaluation) {
			f.stage("grade", judged(v))
		})
	case "rerank_result":
		return on(ev, func(v forge.RerankResult) {
			f.addStep(Step{Kind: Stage, Name: "rerank", Detail: fmt.Sprintf("Choosing the best passages: %d of %d", v.OutputCount, v.InputCount),
				Status: Completed, Timed: true, Took: v.DurationMS})
		})
	case "generation_start":
		return on(ev, func(v forge.GenerationStart) {
			f.s.Model, f.s.Answer = clip(v.Model, 200), Running
			if v.ContextChunks > 0 {
				f.stage("generate", fmt.Sprintf("Writing the answer from %s, with the model %s", count(v.ContextChunks, "passage"), v.Model))
			}
		})
	}
	return nil
}

// stage adds a completed step.
func (f *Fold) stage(name, detail string) {
	f.addStep(Step{Kind: Stage, Name: name, Detail: detail, Status: Completed})
}

func (f *Fold) analysed(v forge.QueryAnalysis) {
	f.s.Question, f.s.Mode = fitting(v.Query, maxField), clip(string(v.EstimatedMode), 60)
	f.stage("analyze", "Reading the question: "+difficulty(v.Complexity))
	f.understood(v.StandaloneQuery, v.SummarizedTurns)
}

// understood adds steps for a history that was summarized and a question that was rewritten.
func (f *Fold) understood(standalone string, summarized int) {
	if summarized > 0 {
		f.stage("summarize", "Summarizing the conversation: "+count(summarized, "message"))
	}
	if standalone != "" {
		f.stage("rewrite", "Understood as: "+clip(standalone, maxLine))
	}
}

func (f *Fold) searching(v forge.RetrievalStart) {
	if v.Iteration > 1 {
		f.stage("plan", reasonOf(v.Reason))
	}
	f.addStep(Step{ID: callID(v.CallID), Kind: Search, Name: "search", Tool: v.Tool, Query: v.Query, Reason: clip(v.Reason, maxLine),
		Detail: searchFor(v.Tool, v.Query), Status: Running})
}

func (f *Fold) calling(v forge.ToolCall) {
	if v.Iteration > 1 {
		f.stage("plan", reasonOf(v.Reason))
	}
	name := "tool"
	if v.Tool == event.ToolGraphTraverse {
		name = "graph"
	}
	f.addStep(Step{ID: callID(v.CallID), Kind: Tool, Name: name, Tool: v.Tool, Reason: clip(v.Reason, maxLine), Detail: useOf(v.Tool), Status: Running})
}

// returned adds the result of a tool that is not a search. Each part of a decomposed question becomes a step.
func (f *Fold) returned(v forge.ToolResult) {
	var result struct {
		Parts    []string `json:"sub_queries"`
		Entities []string `json:"entities"`
		Found    int      `json:"passages_found"`
	}
	_ = json.Unmarshal(v.Result, &result) // the result may have another form
	outcome := ""
	switch {
	case len(result.Parts) > 0:
		outcome = count(len(result.Parts), "part")
	case len(result.Entities) > 0:
		outcome = fmt.Sprintf("%s, from %s", foundPassages(result.Found), shorten(strings.Join(result.Entities, ", "), 70))
	case result.Found > 0:
		outcome = foundPassages(result.Found)
	}
	f.finish(Tool, v.CallID, v.Tool, outcome, v.DurationMS)
	for _, q := range result.Parts {
		f.stage("part", "Part of the question: "+quoted(q))
	}
}

// callID returns the id of the step of a call. It is empty if the server does not number its calls.
func callID(n event.CallID) string {
	if n <= 0 {
		return ""
	}
	return "call_" + strconv.Itoa(int(n))
}

// finish ends the step of a call. If the server does not number its calls, it is the oldest open call of the tool.
func (f *Fold) finish(kind Kind, call event.CallID, tool, outcome string, took event.Millis) {
	id := callID(call)
	tool = clip(tool, 200)
	for i, s := range f.s.Steps {
		if s.Kind == kind && s.Tool == tool && s.Status == Running && s.ID == id {
			f.changeStep(i, func(s *Step) {
				if s.Status, s.Timed, s.Took = Completed, true, max(took, 0); outcome != "" {
					s.Detail += ": " + outcome
				}
			})
			return
		}
	}
}

func (f *Fold) verified(v forge.Verification) {
	if f.s.Answer == Running {
		f.s.Answer = Completed
	}
	f.s.ClaimSupport = v.Confidence
	if v.ClaimsChecked > 0 {
		f.stage("verify", checkedClaims(v))
	}
	f.s.Verification = Verification{Checked: v.ClaimsChecked, Supported: v.ClaimsSupported, Partial: v.ClaimsPartial, Flagged: v.Flagged}
	for _, d := range v.Details[:min(len(v.Details), maxClaims)] {
		f.s.Verification.Claims = append(f.s.Verification.Claims, Claim{Text: clip(d.Claim, maxLine), Verdict: clip(string(d.Verdict), 60)})
	}
}

func (f *Fold) sources(v forge.Sources) {
	f.s.Citations, f.s.Uncited = nil, 0
	for i, s := range v.Sources {
		if !s.Cited || len(f.s.Citations) >= maxCitations {
			f.s.Uncited++
			continue
		}
		c := Citation{N: i + 1, Document: clip(s.DocumentID, 300), Chunk: clip(s.ChunkID, 300), Title: clip(s.Title, maxLine), Heading: clip(s.Heading, maxLine),
			File: clip(cmp.Or(s.URL, s.File), maxLine), Pages: s.PageNumbers[:min(len(s.PageNumbers), maxPages)], Quote: excerpt(s.Quote), Snippet: excerpt(s.Text), Score: s.Score, Weight: s.Weight}
		for _, p := range s.Path[:min(len(s.Path), maxNames)] {
			c.Path = append(c.Path, clip(p, 300))
		}
		for _, a := range s.AlsoIn[:min(len(s.AlsoIn), maxNames)] {
			c.AlsoIn = append(c.AlsoIn, clip(a, maxLine))
		}
		f.s.Citations = append(f.s.Citations, c)
	}
}

func (f *Fold) done(v forge.Done) {
	status := Completed
	if v.Incomplete {
		status = Incomplete
	}
	f.s.Confidence, f.s.Mode, f.s.Cached, f.s.Elapsed, f.s.Abstained = v.Confidence, clip(string(v.Mode), 60), v.Cached, max(v.TotalTimeMS, 0), v.Abstained && f.s.Verification.Checked == 0
	if u := v.Usage; u != nil {
		f.s.Usage = Usage{Input: u.InputTokens, Output: u.OutputTokens, Calls: u.Calls, Estimated: u.Estimated}
		for _, m := range u.Models[:min(len(u.Models), maxNames)] {
			f.s.Usage.Models = append(f.s.Usage.Models, clip(m, 200))
		}
	}
	f.s.Answer = status
	f.ended(status)
}

func (f *Fold) failed(v forge.Error) {
	if v.Recoverable {
		f.warn(v.Code, v.Message)
		return
	}
	f.s.Failure = &Failure{Code: fault.Code(clip(v.Code, 60)), Message: clip(v.Message, maxLine)}
	status := Failed
	if f.s.Failure.Code == fault.Cancelled {
		status = Cancelled
	}
	f.ended(status)
}

// marked converts a token to the form that the text of a snapshot has. As in the knowledge protocol, there is no space
// before a citation that follows a space or another citation. Text that looks like a marker is escaped with an invisible
// joiner.
func (f *Fold) marked(token forge.Token) string {
	n := token.Citation
	if n < 1 {
		const apart = "⟦\u2060⟦"
		text := strings.ReplaceAll(strings.ReplaceAll(token.Content, opening, apart), opening, apart)
		if strings.HasPrefix(text, "⟦") && strings.HasSuffix(f.text.String(), "⟦") {
			return "\u2060" + text
		}
		return text
	}
	have := f.text.String()
	if last, _ := utf8.DecodeLastRuneInString(have); have == "" || unicode.IsSpace(last) || strings.HasSuffix(have, closing) {
		return marker(n)
	}
	return " " + marker(n)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// shorten returns s on one line of at most n characters.
func shorten(s string, n int) string {
	r := []rune(clip(s, 4*n))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
