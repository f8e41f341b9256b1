package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// AskOptions say what is asked of which documents.
type AskOptions struct {
	Paths     []string // documents
	Questions []string // asked one after another, from the beginning again where there are fewer than Times
	Times     int      // questions in each mode
	Modes     []string // direct, agentic
}

// Delays are the times from sending a question to what its stream brings, in milliseconds.
type Delays struct {
	Mode      string  `json:"mode"`
	Questions int     `json:"questions"`
	First     Quantum `json:"first_event_ms"`
	Token     Quantum `json:"first_token_ms"`
	Done      Quantum `json:"done_ms"`
}

// Quantum is a distribution.
type Quantum struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// AllDelays are the delays of each mode.
type AllDelays []Delays

// Ask starts this program as a server of the documents and asks it questions, one after another, from this process: each in
// every mode before the next.
func Ask(ctx context.Context, exe string, o AskOptions) (AllDelays, error) {
	args := make([]string, 0, 2*len(o.Paths))
	for _, p := range o.Paths {
		args = append(args, "--docs", p)
	}
	p, err := serve(ctx, exe, nil, args)
	if err != nil {
		return nil, err
	}
	d, err := askAll(ctx, p.url+"/api/query/stream", o)
	return d, errors.Join(err, p.stop())
}

func askAll(ctx context.Context, url string, o AskOptions) (AllDelays, error) {
	type times struct{ first, token, done []int64 }
	all := make([]times, len(o.Modes))
	warm := o.Times/10 + 1 // the first ones warm the connection and the caches
	for i := range o.Times + warm {
		for m, mode := range o.Modes {
			f, t, d, err := askOnce(ctx, url, o.Questions[i%len(o.Questions)], mode)
			if err != nil {
				return nil, err
			}
			if i >= warm {
				all[m].first, all[m].token, all[m].done = append(all[m].first, f), append(all[m].token, t), append(all[m].done, d)
			}
		}
	}
	var out AllDelays
	for m, mode := range o.Modes {
		out = append(out, Delays{Mode: mode, Questions: o.Times, First: quantum(all[m].first), Token: quantum(all[m].token), Done: quantum(all[m].done)})
	}
	return out, nil
}

func quantum(v []int64) Quantum {
	slices.Sort(v)
	return Quantum{percentile(v, 0.5), percentile(v, 0.99)}
}

func askOnce(ctx context.Context, url, question, mode string) (first, token, done int64, err error) {
	body, err := json.Marshal(map[string]any{"query": question, "mode": mode, "no_cache": true})
	if err != nil {
		return 0, 0, 0, fmt.Errorf("ask: %w", err)
	}
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return 0, 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("ask: %w", err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		since := time.Since(began).Nanoseconds()
		switch line := lines.Text(); {
		case first == 0 && strings.HasPrefix(line, "data: "):
			first = since
		case token == 0 && line == "event: token":
			token = since
		case line == "event: done":
			done = since
		}
	}
	if done == 0 {
		return 0, 0, 0, errors.Join(errors.New("ask: the stream did not end with done"), lines.Err())
	}
	return first, token, done, nil
}

// WriteTable writes the delays for a person.
func (all AllDelays) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "mode\tquestion to\tp50 ms\tp99 ms\t")
	for _, d := range all {
		fmt.Fprintf(t, "%s\tfirst event\t%.2f\t%.2f\t\n", d.Mode, d.First.P50, d.First.P99)
		fmt.Fprintf(t, "%s\tfirst token\t%.2f\t%.2f\t\n", d.Mode, d.Token.P50, d.Token.P99)
		fmt.Fprintf(t, "%s\tdone\t%.2f\t%.2f\t\n", d.Mode, d.Done.P50, d.Done.P99)
	}
	return t.Flush()
}
