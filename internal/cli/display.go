package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/wire/forge"
)

// display prints a run for a person: steps to the standard error, the answer and its sources to the standard output.
type display struct {
	out, err         io.Writer
	onOut, onErr     func(code, text string) string
	asked            string
	answering, ended bool
	verification     forge.Verification
	sources          forge.Sources
}

func newDisplay(e *env) *display {
	return &display{out: e.Out, err: e.Err, onOut: paint(e.Out), onErr: paint(e.Err)}
}

func decode[T any](ev client.Event) (v T, err error) {
	if err = json.Unmarshal(ev.Data, &v); err != nil {
		err = fmt.Errorf("read %s: %w", ev.Name, err)
	}
	return v, err
}

// show prints one event.
func (d *display) show(ev client.Event) error {
	switch ev.Name {
	case "token":
		t, err := decode[forge.Token](ev)
		if !d.answering {
			d.answering = true
			fmt.Fprintln(d.err)
		}
		fmt.Fprint(d.out, t.Content)
		return err
	case "verification":
		v, err := decode[forge.Verification](ev)
		d.verification = v
		return err
	case "sources":
		s, err := decode[forge.Sources](ev)
		d.sources = s
		return err
	case "done":
		v, err := decode[forge.Done](ev)
		d.done(v, ev.Run)
		return err
	case "error":
		v, err := decode[forge.Error](ev)
		d.failed(v)
		return err
	}
	return d.step(ev)
}

// step prints the events before the answer, a line each.
func (d *display) step(ev client.Event) error {
	switch ev.Name {
	case "query_analysis":
		v, err := decode[forge.QueryAnalysis](ev)
		d.asked = v.Query
		d.line("analyze", fmt.Sprintf("%s question, %s", v.Complexity, v.EstimatedMode), -1)
		return err
	case "cache_hit":
		v, err := decode[forge.CacheHit](ev)
		d.line("cache", fmt.Sprintf("answered before: %q (%.2f)", v.OriginalQuery, v.Similarity), -1)
		return err
	case "retrieval_start":
		v, err := decode[forge.RetrievalStart](ev)
		switch {
		case v.Reason != "" && v.Query != d.asked:
			d.line("plan", fmt.Sprintf("%s: %q", v.Reason, shorten(v.Query, 70)), -1)
		case v.Reason != "" && v.Iteration > 1:
			d.line("plan", v.Reason, -1)
		case v.Iteration > 1:
			d.line("again", fmt.Sprintf("%q", shorten(v.Query, 70)), -1)
		}
		return err
	case "retrieval_result":
		v, err := decode[forge.RetrievalResult](ev)
		d.line("search", fmt.Sprintf("%s found %d, best %.2f", v.Tool, v.ChunksFound, v.TopScore), int64(v.DurationMS))
		return err
	case "tool_call":
		v, err := decode[forge.ToolCall](ev)
		if v.Reason != "" {
			d.line("plan", v.Reason, -1)
		}
		return err
	case "tool_result":
		v, err := decode[forge.ToolResult](ev)
		d.tool(v)
		return err
	case "crag_evaluation":
		v, err := decode[forge.CRAGEvaluation](ev)
		d.line("grade", fmt.Sprintf("%d correct, %d ambiguous (%d expanded), %d incorrect: %s",
			v.Correct, v.Ambiguous, v.Expanded, v.Incorrect, v.Action), -1)
		return err
	case "rerank_result":
		v, err := decode[forge.RerankResult](ev)
		d.line("rerank", fmt.Sprintf("%s, %d of %d kept", v.Method, v.OutputCount, v.InputCount), int64(v.DurationMS))
		return err
	case "generation_start":
		v, err := decode[forge.GenerationStart](ev)
		d.line("generate", fmt.Sprintf("%s reads %s, about %d tokens", v.Model, count(v.ContextChunks, "passage"), v.TotalContextTokens), -1)
		return err
	}
	return nil
}

// tool prints what a tool that is no search gave.
func (d *display) tool(v forge.ToolResult) {
	var result struct {
		Parts    []string `json:"sub_queries"`
		Entities []string `json:"entities"`
		Found    int      `json:"passages_found"`
	}
	_ = json.Unmarshal(v.Result, &result) // a result of another form has its name shown
	switch {
	case len(result.Parts) > 0:
		for _, q := range result.Parts {
			d.line("part", shorten(q, 90), -1)
		}
	case len(result.Entities) > 0 || result.Found > 0:
		d.line("graph", fmt.Sprintf("%s found %d, from %s", v.Tool, result.Found, shorten(strings.Join(result.Entities, ", "), 70)), int64(v.DurationMS))
	default:
		d.line("tool", v.Tool, int64(v.DurationMS))
	}
}

func (d *display) line(step, text string, ms int64) {
	took := ""
	if ms >= 0 {
		took = d.onErr(dim, fmt.Sprintf("  %d ms", ms))
	}
	fmt.Fprintf(d.err, "%s %s%s\n", d.onErr(green, fmt.Sprintf("%9s", step)), text, took)
}

func (d *display) done(v forge.Done, run string) {
	d.closeAnswer()
	d.listSources()
	confidence := fmt.Sprintf("confidence %.2f", v.Confidence)
	if n := d.verification.ClaimsChecked; n > 0 {
		confidence += fmt.Sprintf(", %d of %d claims supported", d.verification.ClaimsSupported, n)
	}
	if v.Incomplete {
		fmt.Fprintf(d.err, "%s the answer is incomplete\n", d.onErr(amber, fmt.Sprintf("%9s", "warning")))
	}
	if d.verification.Flagged {
		fmt.Fprintf(d.err, "%s the sources do not carry this answer\n", d.onErr(amber, fmt.Sprintf("%9s", "warning")))
	}
	if u := v.Usage; u != nil {
		confidence += fmt.Sprintf(" · %s: %d tokens read, %d written in %s", strings.Join(u.Models, ", "), u.InputTokens, u.OutputTokens, count(u.Calls, "call"))
	}
	fmt.Fprintln(d.err, d.onErr(dim, fmt.Sprintf("%s · %d ms · %s", confidence, v.TotalTimeMS, run)))
}

func (d *display) failed(v forge.Error) {
	colour, word := red, "failed"
	if v.Recoverable {
		colour, word = amber, "warning"
		if d.answering {
			fmt.Fprintln(d.err) // the answer's line may be a part
		}
	} else {
		d.closeAnswer()
		d.listSources()
	}
	fmt.Fprintf(d.err, "%s %s (%s)\n", d.onErr(colour, fmt.Sprintf("%9s", word)), v.Message, v.Code)
	if v.Code == "NO_DOCUMENTS" {
		fmt.Fprintln(d.err, "          add some with: sluice ingest PATH")
	}
}

func (d *display) closeAnswer() {
	if d.answering && !d.ended {
		d.ended = true
		fmt.Fprint(d.out, "\n\n")
	}
}

// listSources prints the sources that are cited, by their numbers, with the share of the answer that each carries.
func (d *display) listSources() {
	others := 0
	for i, s := range d.sources.Sources {
		if !s.Cited {
			others++
			continue
		}
		where := s.Title
		if s.Heading != "" && s.Heading != s.Title {
			where += " › " + s.Heading
		}
		if len(s.PageNumbers) > 0 {
			where += fmt.Sprintf(", p. %d", s.PageNumbers[0])
		}
		fmt.Fprintf(d.out, "%s %s  %s\n", d.onOut(bold, fmt.Sprintf("[%d]", i+1)), where,
			d.onOut(dim, fmt.Sprintf("%s, score %.2f, %.0f %% of the answer", s.ChunkID, s.Score, 100*s.Weight)))
	}
	if others > 0 {
		fmt.Fprintln(d.err, d.onErr(dim, fmt.Sprintf("%s read and not cited", count(others, "passage"))))
	}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// shorten cuts s at n characters and puts it on one line.
func shorten(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
