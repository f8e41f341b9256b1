package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/probe"
)

type modelsCmd struct {
	Check modelsCheckCmd `cmd:"" help:"Test what the configured models can do."`
}

type modelsCheckCmd struct {
	config.Models
	Within time.Duration `default:"1m" help:"Timeout of all tests together (duration)."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Help returns the long help text.
func (modelsCheckCmd) Help() string {
	return `Each model gets three short requests: to count, to call a tool and to answer in JSON of a given schema. An embedder gets a
sentence to embed. Sluice works without the abilities that a model lacks: for example, rules judge if a model cannot answer in
JSON. The exit status is 1 if a model does not answer.`
}

// modelCheck is the result for one model. Unknown values are 0 or empty.
type modelCheck struct {
	Kind       string `json:"kind"` // chat or embedder
	Name       string `json:"name"`
	Answers    bool   `json:"answers"`
	Problem    string `json:"problem,omitempty"`
	Stream     bool   `json:"stream"`
	Tools      bool   `json:"tools"`
	JSON       bool   `json:"json"`
	Usage      bool   `json:"usage"`
	Reasoning  bool   `json:"reasoning"`
	Context    int    `json:"context_tokens,omitempty"`
	Output     int    `json:"output_tokens,omitempty"`
	Tokenizer  string `json:"tokenizer,omitempty"`
	Dimensions int    `json:"dimensions,omitempty"`
	PerToken   bool   `json:"per_token"`
	MS         int64  `json:"ms"` // time to the first token, or to the vector
}

// Run checks the models and prints the results.
func (c *modelsCheckCmd) Run(e *env) error {
	ctx, cancel := context.WithTimeout(e.ctx, c.Within)
	defer cancel()
	m, err := app.OpenModels(ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	if len(m.Chats) == 0 && m.Embedder == nil && !c.JSON {
		fmt.Fprintf(e.Out, "no model is configured: %s writes, rules judge, static vectors embed\n", m.Local.Name())
		return nil
	}
	all := check(ctx, m)
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(all)
	} else {
		err = printChecks(e, all)
	}
	for _, m := range all {
		if !m.Answers {
			return errors.Join(err, exit(1))
		}
	}
	return err
}

// check tests all models concurrently.
func check(ctx context.Context, m *app.Models) []modelCheck {
	all := make([]modelCheck, len(m.Chats), len(m.Chats)+1)
	var wg sync.WaitGroup
	for i, chat := range m.Chats {
		wg.Go(func() {
			a := probe.Chat(ctx, chat)
			all[i] = modelCheck{Kind: "chat", Name: chat.Name(), Answers: a.Err == nil, Problem: problem(a.Err), Stream: a.Stream,
				Tools: a.Tools, JSON: a.JSON, Usage: a.Usage, Reasoning: a.Reasoning, Context: a.Context, Output: a.Output,
				Tokenizer: a.Tokenizer, MS: a.FirstToken.Milliseconds()}
		})
	}
	var embedder modelCheck
	if m.Embedder != nil {
		wg.Go(func() {
			a := probe.Embedder(ctx, m.Embedder)
			embedder = modelCheck{Kind: "embedder", Name: m.Embedder.Name(), Answers: a.Err == nil, Problem: problem(a.Err),
				Dimensions: a.Dim, PerToken: a.PerToken, MS: a.Took.Milliseconds()}
		})
	}
	wg.Wait()
	if m.Embedder != nil {
		all = append(all, embedder)
	}
	return all
}

// problem returns why a model did not answer, without any text of its reply.
func problem(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e.Public()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "took too long"
	}
	return "failed"
}

// printChecks prints a block for each model with a line for each ability.
func printChecks(e *env, all []modelCheck) error {
	colour := paint(e.Out)
	yes := func(ok bool) string {
		if ok {
			return colour(green, "yes")
		}
		return colour(amber, "no")
	}
	number := func(n int) string {
		if n == 0 {
			return "unknown"
		}
		return strconv.Itoa(n) + " tokens"
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	for i, m := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\t%s\n", m.Kind, colour(bold, m.Name))
		if !m.Answers {
			fmt.Fprintf(w, "  error\t%s\n", colour(red, m.Problem))
			continue
		}
		if m.Kind == "embedder" {
			fmt.Fprintf(w, "  dimensions\t%d\n  latency\t%d ms\n  token vectors\t%s\n", m.Dimensions, m.MS, yes(m.PerToken))
			continue
		}
		fmt.Fprintf(w, "  streaming\t%s, first token in %d ms\n  tool calls\t%s\n  JSON schema\t%s\n  reports usage\t%s\n  reasoning\t%s\n",
			yes(m.Stream), m.MS, yes(m.Tools), yes(m.JSON), yes(m.Usage), yes(m.Reasoning))
		fmt.Fprintf(w, "  context\t%s\n  maximum output\t%s\n", number(m.Context), number(m.Output))
		if m.Tokenizer != "" {
			fmt.Fprintf(w, "  tokenizer\t%s\n", m.Tokenizer)
		}
	}
	return w.Flush()
}
