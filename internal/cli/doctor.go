package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/server/documents"
)

type doctorCmd struct {
	config.Store
	config.Index
	config.Keep
	config.Models
	Within time.Duration `default:"1m" help:"Timeout of all checks together (duration)."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Help returns the long help text.
func (doctorCmd) Help() string {
	return `It checks the data folder, the run log, the database of the records, the index, the store of uploaded files and the servers of
models: whether they reply, their versions, rights and clocks, and how long a request takes. A server may be running. What the checks write, they remove. The exit
status is 1 if something is wrong.`
}

// Run checks the engines of the settings and prints what it finds.
func (c *doctorCmd) Run(e *env) error {
	ctx, cancel := context.WithTimeout(e.ctx, c.Within)
	defer cancel()
	found := app.Diagnose(ctx, e.cfg)
	if at, ok := running(ctx, e.cfg.Store.Data); ok && isEmpty(ctx, at) {
		app.NothingIndexed(&found[0])
	}
	var err error
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(found)
	} else {
		_, err = e.Out.Write([]byte(describe(found, paint(e.Out))))
	}
	for _, f := range found {
		if err == nil && f.Failed() {
			return exit(1)
		}
	}
	return err
}

// isEmpty reports whether a server says that it has no documents.
func isEmpty(ctx context.Context, at remote) bool {
	cl, err := at.client()
	if err != nil {
		return false
	}
	var all documents.DocumentList
	return cl.Get(ctx, "/api/documents?limit=1", &all) == nil && all.Total == 0
}

// describe returns a block of lines for each finding.
func describe(found []doctor.Finding, colour func(code, text string) string) string {
	var out strings.Builder
	for _, f := range found {
		state := colour(green, "ok")
		if f.Failed() {
			state = colour(red, "wrong")
		}
		facts := []string{state, strings.TrimSpace(f.Engine + " " + f.Version)}
		if f.Address != "" {
			facts = append(facts, f.Address)
		}
		if f.RoundTrip > 0 {
			facts = append(facts, fmt.Sprintf("round trip %.1f ms", f.RoundTrip))
		}
		if f.Skew != nil {
			facts = append(facts, fmt.Sprintf("clock %+.1f ms", *f.Skew))
		}
		fmt.Fprintf(&out, "%s %s\n", colour(bold, fmt.Sprintf("%-8s", f.Part)), strings.Join(facts, " · "))
		for _, detail := range f.Details {
			fmt.Fprintf(&out, "  %s\n", detail)
		}
		for _, p := range f.Problems {
			mark := colour(red, "wrong: ")
			if p.Warning {
				mark = colour(amber, "warning: ")
			}
			fmt.Fprintf(&out, "  %s%s\n    → %s\n", mark, p.Text, p.Fix)
		}
	}
	return out.String()
}
