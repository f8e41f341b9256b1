package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Freed is how soon a provider saw the end of requests whose answers nobody wanted any more, in milliseconds.
type Freed struct {
	Asked   Ending `json:"by_request"` // from the request to cancel the run
	Left    Ending `json:"by_leaving"` // from the close of its only reader's connection
	Streams int    `json:"streams"`    // at the beginning
	// Connections are those to the provider that were open at the end: one may be kept for what comes next.
	Connections int64 `json:"connections_left"`
}

// Ending is a distribution, in milliseconds.
type Ending struct {
	Answers int     `json:"answers"`
	P50     float64 `json:"p50"`
	Max     float64 `json:"max"`
}

func ending(delays []int64) Ending {
	all := sorted([][]int64{delays})
	return Ending{Answers: len(all), P50: percentile(all, 0.5), Max: percentile(all, 1)}
}

// cancel breaks off answers while the others go on: every other one by request, and the rest by leaving.
func (m *modelBench) cancel(ctx context.Context, p *side, s *program) (*Freed, error) {
	var l load
	defer l.close()
	runs, tags := make([]string, m.o.Cancels), make([]string, m.o.Cancels)
	t := answers(s)
	var err error
	for i := range m.o.Cancels {
		var question string
		question, tags[i] = m.question()
		if runs[i], err = l.open(ctx, t.addr, "POST", t.path, t.body(question)); err != nil {
			return nil, err
		}
	}
	if _, err := p.until(ctx, "the answers to begin", func(s Provided) bool { return s.Open == int64(m.o.Cancels) }); err != nil {
		return nil, err
	}
	if err := wait(ctx, m.o.Warmup); err != nil {
		return nil, err
	}
	began := make([]time.Time, m.o.Cancels)
	for i, run := range runs {
		began[i] = time.Now()
		if i%2 == 0 {
			err = post(ctx, s.url+"/runs/"+run+"/cancel")
		} else {
			err = l.conns[i].Close()
		}
		if err != nil {
			return nil, err
		}
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	seen, err := p.until(ctx, "the provider to see that", func(s Provided) bool {
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
	var asked, left []int64
	for i, tag := range tags {
		d := seen.Cancelled[tag] - began[i].UnixNano()
		if i%2 == 0 {
			asked = append(asked, d)
		} else {
			left = append(left, d)
		}
	}
	return &Freed{Asked: ending(asked), Left: ending(left), Streams: m.o.Cancels, Connections: seen.Connections}, nil
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
