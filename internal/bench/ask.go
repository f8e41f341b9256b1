package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Delays are the times from sending a question to what its stream brings, in milliseconds.
type Delays struct {
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

// Ask starts this program as a server of the documents at the paths and asks it n questions, one after another, from this
// process.
func Ask(ctx context.Context, exe string, paths []string, question string, n int) (*Delays, error) {
	args := make([]string, 0, 2*len(paths))
	for _, p := range paths {
		args = append(args, "--docs", p)
	}
	p, err := serve(ctx, exe, nil, args)
	if err != nil {
		return nil, err
	}
	d, err := askAll(ctx, p.url+"/api/query/stream", question, n)
	return d, errors.Join(err, p.stop())
}

func askAll(ctx context.Context, url, question string, n int) (*Delays, error) {
	var first, token, done []int64
	for i := range n + n/10 + 1 {
		f, t, d, err := askOnce(ctx, url, question)
		if err != nil {
			return nil, err
		}
		if i > n/10 { // the first ones warm the connection and the caches
			first, token, done = append(first, f), append(token, t), append(done, d)
		}
	}
	return &Delays{Questions: n, First: quantum(first), Token: quantum(token), Done: quantum(done)}, nil
}

func quantum(v []int64) Quantum {
	slices.Sort(v)
	return Quantum{percentile(v, 0.5), percentile(v, 0.99)}
}

func askOnce(ctx context.Context, url, question string) (first, token, done int64, err error) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"query":%q,"mode":"direct"}`, question)))
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
func (d *Delays) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "question to\tp50 ms\tp99 ms\t")
	fmt.Fprintf(t, "first event\t%.2f\t%.2f\t\n", d.First.P50, d.First.P99)
	fmt.Fprintf(t, "first token\t%.2f\t%.2f\t\n", d.Token.P50, d.Token.P99)
	fmt.Fprintf(t, "done\t%.2f\t%.2f\t\n", d.Done.P50, d.Done.P99)
	return t.Flush()
}
