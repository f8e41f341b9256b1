package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// cancelResult reports how soon the provider saw the end of cancelled requests.
type cancelResult struct {
	Cancelled    latencyRange `json:"by_request"` // since the request to cancel the run
	Disconnected latencyRange `json:"by_leaving"` // since the only reader closed its connection
	Streams      int          `json:"streams"`    // number of answers that were started
	// Connections is the number of open connections to the provider at the end. Idle connections may be kept open.
	Connections int64 `json:"connections_left"`
}

// latencyRange is a distribution in milliseconds.
type latencyRange struct {
	Answers int     `json:"answers"`
	P50     float64 `json:"p50"`
	Max     float64 `json:"max"`
}

func latencyRangeOf(delays []int64) latencyRange {
	slices.Sort(delays)
	return latencyRange{Answers: len(delays), P50: percentile(delays, 0.5), Max: percentile(delays, 1)}
}

// cancel starts concurrent answers, then cancels half of them by request and the other half by closing the connection.
func (m *modelBench) cancel(ctx context.Context, p *child, s *sluiceServer) (*cancelResult, error) {
	var l readerSet
	defer l.close()
	runs, tags, readers := make([]string, m.options.Cancels), make([]string, m.options.Cancels), make([]*reader, m.options.Cancels)
	t := answers(serverSluice, s)
	var err error
	for i := range m.options.Cancels {
		var question string
		question, tags[i] = m.question()
		if runs[i], readers[i], err = l.open(ctx, t.ask(question)); err != nil {
			return nil, err
		}
	}
	if _, err := p.until(ctx, "the answers to start", func(s providerStats) bool { return s.Open == int64(m.options.Cancels) }); err != nil {
		return nil, err
	}
	if err := wait(ctx, m.options.Warmup); err != nil {
		return nil, err
	}
	began := make([]time.Time, m.options.Cancels)
	for i, run := range runs {
		began[i] = time.Now()
		if i%2 == 0 {
			err = post(ctx, s.url+"/runs/"+run+"/cancel")
		} else {
			readers[i].close()
		}
		if err != nil {
			return nil, err
		}
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	seen, err := p.until(ctx, "the provider to see the end of the requests", func(s providerStats) bool {
		for _, tag := range tags {
			if s.Cancelled[tag] == 0 {
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	var cancelled, disconnected []int64
	for i, tag := range tags {
		d := seen.Cancelled[tag] - began[i].UnixNano()
		if i%2 == 0 {
			cancelled = append(cancelled, d)
		} else {
			disconnected = append(disconnected, d)
		}
	}
	return &cancelResult{Cancelled: latencyRangeOf(cancelled), Disconnected: latencyRangeOf(disconnected), Streams: m.options.Cancels, Connections: seen.Connections}, nil
}

func post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("post %s: %s", url, res.Status)
	}
	return nil
}
