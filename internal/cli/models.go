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
	Check modelsCheckCmd `cmd:"" help:"Ask each model that the settings name what it can do."`
}

type modelsCheckCmd struct {
	config.Models
	Within time.Duration `default:"1m" help:"How long the models may take, all together (duration)."`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Help says what is asked.
func (modelsCheckCmd) Help() string {
	return `Each model is asked three short questions: to count, to call a tool and to fill in a form. An embedder is asked for the
vector of a sentence. What they cannot do, Sluice does without: a model that fills in no forms leaves judging to rules. The
status is 1 where a model does not answer.`
}

// checked is what is said of one model. What a model turned out not to do is false, what it does not tell is 0 or empty.
type checked struct {
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
	MS         int64  `json:"ms"` // to the first token, or to the vector
}

// Run asks and prints.
func (c *modelsCheckCmd) Run(e *env) error {
	ctx, cancel := context.WithTimeout(e.ctx, c.Within)
	defer cancel()
	m, err := app.OpenModels(ctx, e.cfg, e.logger)
	if err != nil {
		return err
	}
	if len(m.Chats) == 0 && m.Embedder == nil {
		fmt.Fprintf(e.Out, "%s writes, rules judge and static vectors embed: no model is named.\n", m.Local.Name())
		return nil
	}
	all := check(ctx, m)
	if c.JSON {
		enc := json.NewEncoder(e.Out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(all)
	} else {
		err = writeChecked(e, all)
	}
	for _, m := range all {
		if !m.Answers {
			return errors.Join(err, exit(1))
		}
	}
	return err
}

// check asks all models at once.
func check(ctx context.Context, m *app.Models) []checked {
	all := make([]checked, len(m.Chats), len(m.Chats)+1)
	var asked sync.WaitGroup
	for i, chat := range m.Chats {
		asked.Go(func() {
			a := probe.Chat(ctx, chat)
			all[i] = checked{Kind: "chat", Name: chat.Name(), Answers: a.Err == nil, Problem: problem(a.Err), Stream: a.Stream,
				Tools: a.Tools, JSON: a.JSON, Usage: a.Usage, Reasoning: a.Reasoning, Context: a.Context, Output: a.Output,
				Tokenizer: a.Tokenizer, MS: a.FirstToken.Milliseconds()}
		})
	}
	var embedder checked
	if m.Embedder != nil {
		asked.Go(func() {
			a := probe.Embedder(ctx, m.Embedder)
			embedder = checked{Kind: "embedder", Name: m.Embedder.Name(), Answers: a.Err == nil, Problem: problem(a.Err),
				Dimensions: a.Dim, PerToken: a.PerToken, MS: a.Took.Milliseconds()}
		})
	}
	asked.Wait()
	if m.Embedder != nil {
		all = append(all, embedder)
	}
	return all
}

// problem says why a model does not answer, in words that hold nothing of a reply.
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

// writeChecked prints a block for each model, a line for each ability.
func writeChecked(e *env, all []checked) error {
	colour := paint(e.Out)
	yes := func(ok bool) string {
		if ok {
			return colour(green, "yes")
		}
		return colour(amber, "no")
	}
	number := func(n int) string {
		if n == 0 {
			return "not told"
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
			fmt.Fprintf(w, "  answers\t%s\n", colour(red, m.Problem))
			continue
		}
		if m.Kind == "embedder" {
			fmt.Fprintf(w, "  dimensions\t%d\n  vector\tin %d ms\n  a vector a token\t%s\n", m.Dimensions, m.MS, yes(m.PerToken))
			continue
		}
		fmt.Fprintf(w, "  streams\t%s, first token in %d ms\n  calls tools\t%s\n  fills in forms\t%s\n  tells usage\t%s\n  reasons\t%s\n",
			yes(m.Stream), m.MS, yes(m.Tools), yes(m.JSON), yes(m.Usage), yes(m.Reasoning))
		fmt.Fprintf(w, "  context\t%s\n  longest answer\t%s\n", number(m.Context), number(m.Output))
		if m.Tokenizer != "" {
			fmt.Fprintf(w, "  counted by\t%s\n", m.Tokenizer)
		}
	}
	return w.Flush()
}
