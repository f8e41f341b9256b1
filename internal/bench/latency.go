package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

type askOptions struct {
	paths     []string // documents
	questions []string // asked one after another, repeated if there are fewer than times
	times     int      // number of questions in each mode
	modes     []string // direct, agentic
	data      string   // folder whose index is used or, if it is empty, made; a temporary one if ""
	profile   string   // file for the CPU profile of the server from its start; needs data
}

// latencies holds the time from sending a question to the events of its stream, in milliseconds.
type latencies struct {
	Mode      string       `json:"mode"`
	Questions int          `json:"questions"`
	First     distribution `json:"first_event_ms"`
	Token     distribution `json:"first_token_ms"`
	Done      distribution `json:"done_ms"`
	CPU       float64      `json:"cpu_ms"` // mean processor time of the server for a question
}

type distribution struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// latencyReport is the result of the command ask, by mode.
type latencyReport []latencies

// measureAsk starts a server over the documents and asks it the questions one after another, each in every mode before the next.
func measureAsk(ctx context.Context, exe string, o askOptions) (latencyReport, error) {
	args := make([]string, 0, 2*len(o.paths)+2)
	for _, p := range o.paths {
		args = append(args, "--docs", p)
	}
	env := os.Environ()
	if o.data != "" {
		kept := []string{"--data", o.data} // instead of the temporary folder
		if err := indexOnce(ctx, exe, o.data, append(args, kept...)); err != nil {
			return nil, err
		}
		args, env = kept, append(env, profileEnv+"="+o.profile)
	}
	p, err := startSluice(ctx, exe, env, args)
	if err != nil {
		return nil, err
	}
	d, err := askAll(ctx, p, o)
	return d, errors.Join(err, p.stop())
}

// indexOnce indexes the documents in a process of its own, unless the folder has files already. If that fails, it empties the folder.
func indexOnce(ctx context.Context, exe, data string, args []string) error {
	files, err := os.ReadDir(data)
	if len(files) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p, err := startSluice(ctx, exe, nil, args)
	if err == nil {
		err = p.stop()
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(data))
	}
	return nil
}

func askAll(ctx context.Context, p *sluiceServer, o askOptions) (latencyReport, error) {
	type times struct {
		first, token, done []int64
		cpu                time.Duration
	}
	all := make([]times, len(o.modes))
	warmup := o.times/10 + 1 // not measured: they fill connection pools and caches
	for i := range o.times + warmup {
		for m, mode := range o.modes {
			before, err := p.cpu(ctx)
			if err != nil {
				return nil, err
			}
			f, t, d, err := askOnce(ctx, p.url+"/api/query/stream", o.questions[i%len(o.questions)], mode)
			if err != nil {
				return nil, err
			}
			after, err := p.cpu(ctx)
			if err != nil {
				return nil, err
			}
			if i >= warmup {
				all[m].first, all[m].token, all[m].done = append(all[m].first, f), append(all[m].token, t), append(all[m].done, d)
				all[m].cpu += after - before
			}
		}
	}
	var out latencyReport
	for m, mode := range o.modes {
		out = append(out, latencies{Mode: mode, Questions: o.times, First: distributionOf(all[m].first), Token: distributionOf(all[m].token), Done: distributionOf(all[m].done),
			CPU: float64(all[m].cpu) / float64(time.Millisecond) / float64(o.times)})
	}
	return out, nil
}

func distributionOf(v []int64) distribution {
	slices.Sort(v)
	return distribution{percentile(v, 0.5), percentile(v, 0.99)}
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

// writeTable writes the report as text.
func (all latencyReport) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "mode\tevent\tp50 ms\tp99 ms\t")
	for _, d := range all {
		fmt.Fprintf(t, "%s\tfirst event\t%.2f\t%.2f\t\n", d.Mode, d.First.P50, d.First.P99)
		fmt.Fprintf(t, "%s\tfirst token\t%.2f\t%.2f\t\n", d.Mode, d.Token.P50, d.Token.P99)
		fmt.Fprintf(t, "%s\tdone\t%.2f\t%.2f\t\n", d.Mode, d.Done.P50, d.Done.P99)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range all {
		if _, err := fmt.Fprintf(w, "%s: %.1f ms of processor time per question\n", d.Mode, d.CPU); err != nil {
			return err
		}
	}
	return nil
}
