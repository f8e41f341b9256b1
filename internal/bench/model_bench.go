package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// relayResult is the result of one relay between the provider and the readers in one turn.
type relayResult struct {
	Relay           string  `json:"side"`
	Tokens          int64   `json:"tokens"` // sent by the provider
	TokensPerSecond float64 `json:"tokens_per_second"`
	P50             float64 `json:"p50_ms"` // from sending to receipt
	P99             float64 `json:"p99_ms"`
	P999            float64 `json:"p99_9_ms"`
	CPU             float64 `json:"cpu_us_per_token"` // user and system time of the relay, minus its idle time
	Idle            float64 `json:"idle_cpu_percent"` // of the relay, as a share of one processor
	ReaderCPU       float64 `json:"reader_cpu_us_per_token"`
	ProviderCPU     float64 `json:"provider_cpu_us_per_token"`
}

// The relays that are compared with serverSluice.
const (
	relayNone    = "provider alone"
	relayProxy   = "reverse proxy" // httputil.ReverseProxy
	relaySeveral = "three servers" // with a shared run log
)

const severalServers = 3

// modelReport is the result of the command model.
type modelReport struct {
	Streams int           `json:"streams"`
	Rate    float64       `json:"tokens_per_second_of_a_stream"`
	Seconds float64       `json:"seconds_a_turn"`
	Turns   []relayResult `json:"turns,omitempty"`
	// The differences to the provider alone within a turn, as medians of the turns.
	Added      *overhead        `json:"sluice_adds,omitempty"`
	ProxyAdded *overhead        `json:"proxy_adds,omitempty"`
	CPURatio   float64          `json:"cpu_ratio_to_proxy,omitempty"` // median of the turns
	Cancel     *cancelResult    `json:"cancel,omitempty"`
	Dead       []failoverResult `json:"dead_first_model,omitempty"`
}

// overhead is the difference of a relay to the provider alone.
type overhead struct {
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99_9_ms"`
	CPU  float64 `json:"cpu_us_per_token"`
}

// modelBench holds the state of the command model.
type modelBench struct {
	exe      string
	options  *modelCmd
	progress func(string)
	docs     string
	asked    atomic.Int64 // number of questions
}

// measureModel measures the overhead of Sluice between a model and a reader, how soon a provider sees the cancellation of an
// answer, and what a failed first model costs. It starts exe as the process of each server.
func measureModel(ctx context.Context, exe string, o *modelCmd, progress func(string)) (r *modelReport, err error) {
	m, remove, err := newModelBench(exe, o, progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r = &modelReport{Streams: o.Streams, Rate: o.Rate, Seconds: o.Duration.Seconds()}
	if o.Turns > 0 || o.Cancels > 0 {
		if err := m.streams(ctx, r); err != nil {
			return nil, err
		}
	}
	if o.Questions > 0 {
		if err := m.measureFailover(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// newModelBench writes the documents. Call remove to remove them.
func newModelBench(exe string, o *modelCmd, progress func(string)) (m *modelBench, remove func() error, err error) {
	docs, err := os.MkdirTemp("", "sluice-bench-docs-")
	if err != nil {
		return nil, nil, err
	}
	for name, text := range documents {
		err = errors.Join(err, os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600))
	}
	remove = func() error { return os.RemoveAll(docs) }
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return &modelBench{exe: exe, options: o, progress: progress, docs: docs}, remove, nil
}

// documents are the documents of the server. None holds timeMark or a lamp number.
var documents = map[string]string{
	"keepers.md": "# Keepers\n\nThe keeper trims the wick of each lamp at dusk and again at midnight. At dawn the keeper puts the lamp out and " +
		"writes into the book how much oil it took. A keeper who falls ill is replaced before dusk.\n",
	"lamps.md": "# Lamps\n\nEach lamp burns rape oil in a brass font. A lamp is cleaned once a week, its glass every day. The lamps of the " +
		"north pier are lit first, since ships come from there.\n",
	"harbour.md": "# The harbour\n\nShips wait outside until a pilot comes. The harbour master counts them at noon. What the keeper of a lamp " +
		"sees in the night is told to the harbour master in the morning.\n",
}

// question returns a question that was not asked before, and the number by which the provider identifies it.
func (m *modelBench) question() (text, number string) {
	number = strconv.FormatInt(m.asked.Add(1), 10)
	return "What does the keeper do at lamp " + number + "?", number
}

func (m *modelBench) startProvider(ctx context.Context, rate float64, tokens int) (*child, error) {
	return start(ctx, m.exe, []string{"model-provider", "--rate", strconv.FormatFloat(rate, 'g', -1, 64), "--tokens", strconv.Itoa(tokens)})
}

// startServer starts a server with models at the addresses. Its limits are higher than any measurement needs, and a run is
// cancelled when its last reader leaves.
func (m *modelBench) startServer(ctx context.Context, more []string, models ...string) (*sluiceServer, error) {
	args := []string{
		"--docs", m.docs, "--judge", "none", "--deadline", "24h", "--grace", "0s", "--max-runs", "1000000",
		"--answer-tokens", strconv.Itoa(maxTokens), "--model-context", strconv.Itoa(100 * maxTokens), "--log-level", "error",
	}
	args = append(args, more...)
	for _, addr := range models {
		args = append(args, "--model", "openai", "--model-url", "http://"+addr+"/v1")
	}
	env := cleanEnv()
	if m.options.Profile != "" && len(models) == 1 && more == nil { // the server with several models answers few questions
		env = append(env, profileEnv+"="+m.options.Profile)
	}
	return startSluice(ctx, m.exe, env, args)
}

// maxTokens is more than any answer has.
const maxTokens = 1_000_000

func (s *child) stats(ctx context.Context) (p providerStats, err error) {
	err = getJSON(ctx, "http://"+s.control+"/stats", &p)
	return p, err
}

// until waits until the statistics of the provider satisfy done. what describes the condition in an error.
func (s *child) until(ctx context.Context, what string, done func(providerStats) bool) (providerStats, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	var last int64
	for {
		p, err := s.stats(ctx)
		if err == nil && done(p) {
			return p, nil
		}
		if err == nil {
			last = p.Open
			err = wait(ctx, 20*time.Millisecond)
		}
		if err != nil {
			return p, fmt.Errorf("wait for %s: the provider has %d requests open: %w", what, last, err)
		}
	}
}
