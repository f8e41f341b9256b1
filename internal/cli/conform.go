package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/conform"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/server"
)

type conformCmd struct {
	keyFlag
	Protocol       string        `required:"" help:"Protocol to check, such as forge."`
	Question       string        `default:"What are the documents about?" help:"Question whose stream is checked. Its answer should be long enough to be cut."`
	CancelQuestion string        `name:"cancel-question" help:"Question that is cancelled; its answer should take some time. The default is --question."`
	Tool           string        `default:"ask" help:"With mcp: tool that is asked."`
	Argument       string        `default:"query" help:"With mcp: argument of the tool with the question."`
	Timeout        time.Duration `default:"30s" help:"Timeout of each check (duration)."`
	Only           []string      `placeholder:"CHECK" help:"Checks to run, such as stream; docs/conform.md lists them. The default is all."`
	JSON           bool          `name:"json" help:"Print JSON, one object per check."`
	URL            string        `arg:"" help:"Server, such as http://localhost:8000."`
}

// Help returns the long help text.
func (conformCmd) Help() string {
	return `It checks the order and the schema of the frames, reading again, resuming after each frame, a cut connection, a slow reader, cancelling and errors, and asks the
question several times. The server need not be Sluice. The exit status is 1 if a check has failed.`
}

// Run checks the server and prints a line for each check.
func (c *conformCmd) Run(e *env) error {
	protocols, endpoints := conform.Protocols(), app.Descriptions()
	i := slices.IndexFunc(protocols, func(p conform.Protocol) bool { return p.Name == c.Protocol })
	if i < 0 {
		var names []string
		for _, p := range protocols {
			names = append(names, p.Name)
		}
		return fmt.Errorf("conform: there is no protocol %q to check; there are %s", c.Protocol, strings.Join(names, ", "))
	}
	o := conform.Options{URL: c.URL, Key: c.over(remote{}).key.Reveal(), Question: c.Question, CancelQuestion: c.CancelQuestion, Tool: c.Tool, Argument: c.Argument, Timeout: c.Timeout, Only: c.Only}
	if j := slices.IndexFunc(endpoints, func(p server.Description) bool { return p.Name == c.Protocol }); j >= 0 {
		var err error
		if o.Schema, err = server.Schema(endpoints[j]); err != nil {
			return err
		}
	}
	colour := paint(e.Out)
	counts := map[conform.Status]int{}
	colours := map[conform.Status]string{conform.OK: green, conform.Fail: red, conform.Skip: amber}
	start := time.Now()
	err := conform.Run(e.ctx, protocols[i], o, func(r conform.Result) {
		counts[r.Status]++
		if c.JSON {
			line, _ := json.Marshal(r) // strings and a number
			fmt.Fprintf(e.Out, "%s\n", line)
			return
		}
		fmt.Fprintf(e.Out, "%s  %-8s %6d ms\n", colour(colours[r.Status], fmt.Sprintf("%-4s", r.Status)), r.Name, r.DurationMS)
		if r.Reason != "" {
			fmt.Fprintf(e.Out, "      %s\n", strings.Map(printable, r.Reason))
		}
	})
	if err != nil {
		return fmt.Errorf("conform: %w", err)
	}
	if !c.JSON {
		fmt.Fprintf(e.Out, "%d ok, %d failed, %d skipped in %.1f s\n", counts[conform.OK], counts[conform.Fail], counts[conform.Skip], time.Since(start).Seconds())
	}
	if counts[conform.Fail] > 0 {
		return exit(1)
	}
	return nil
}

// printable replaces control characters, which a hostile server could send to a terminal.
func printable(r rune) rune {
	if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
		return '\ufffd'
	}
	return r
}
