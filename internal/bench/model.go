package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// ModelOptions say what is measured of the way that a model's tokens take.
type ModelOptions struct {
	Streams   int           // answers at once
	Rate      float64       // tokens a second of each
	Warmup    time.Duration // before what is counted
	Duration  time.Duration // of what is counted, each turn
	Turns     int           // each side's; 0 leaves the streams out
	Cancels   int           // answers that are broken off; 0 leaves that out
	Questions int           // asked while the first model is dead, one after another and then at once; 0 leaves that out
	Progress  func(string)  // told what is being done; may be nil
}

// Through is what lies between a provider and its readers in one turn.
type Through struct {
	Side            string  `json:"side"`
	Tokens          int64   `json:"tokens"` // that the provider sent
	TokensPerSecond float64 `json:"tokens_per_second"`
	P50             float64 `json:"p50_ms"` // from just before sending to receipt
	P99             float64 `json:"p99_ms"`
	P999            float64 `json:"p99_9_ms"`
	CPU             float64 `json:"cpu_us_per_token"` // of the process between, user and system, without what it uses idle
	Idle            float64 `json:"idle_cpu_percent"` // of that process, of one processor
	ReaderCPU       float64 `json:"reader_cpu_us_per_token"`
	ProviderCPU     float64 `json:"provider_cpu_us_per_token"`
}

// The sides of a turn, besides [Sluice].
const (
	Direct  = "provider alone"
	Relayed = "reverse proxy" // of the standard library
)

// between are the sides of a turn, in their order.
var between = []string{Direct, Relayed, Sluice}

// ModelReport is a measurement.
type ModelReport struct {
	Streams int       `json:"streams"`
	Rate    float64   `json:"tokens_per_second_of_a_stream"`
	Seconds float64   `json:"seconds_a_turn"`
	Turns   []Through `json:"turns,omitempty"`
	// What Sluice adds to the way of a token, and what the reverse proxy does: differences within a turn, medians of the turns.
	Added      *Added  `json:"sluice_adds,omitempty"`
	ProxyAdded *Added  `json:"proxy_adds,omitempty"`
	CPURatio   float64 `json:"cpu_ratio_to_proxy,omitempty"` // median of the turns
	Cancel     *Freed  `json:"cancel,omitempty"`
	Dead       []Dying `json:"dead_first_model,omitempty"`
}

// Added is what a side adds to the provider alone.
type Added struct {
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99_9_ms"`
	CPU  float64 `json:"cpu_us_per_token"`
}

// modelBench is a measurement under way.
type modelBench struct {
	exe      string
	provider []string
	o        ModelOptions
	docs     string
	asked    atomic.Int64 // lamps
}

// Model measures what this program adds to the way from a model to a reader, how soon a provider learns that nobody wants its
// answer any more, and what a dead first model costs. exe is this program, which is started as a server, and with
// provider's arguments as what it asks: see [Provide] and [Relay].
func Model(ctx context.Context, exe string, provider []string, o ModelOptions) (r *ModelReport, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	docs, err := os.MkdirTemp("", "sluice-bench-docs-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(docs)) }()
	for name, text := range documents {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	m := &modelBench{exe: exe, provider: provider, o: o, docs: docs}
	r = &ModelReport{Streams: o.Streams, Rate: o.Rate, Seconds: o.Duration.Seconds()}
	if o.Turns > 0 || o.Cancels > 0 {
		if err := m.streams(ctx, r); err != nil {
			return nil, err
		}
	}
	if o.Questions > 0 {
		if err := m.dead(ctx, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// documents are what is asked about. None holds a [mark] or names a lamp by its number.
var documents = map[string]string{
	"keepers.md": "# Keepers\n\nThe keeper trims the wick of each lamp at dusk and again at midnight. At dawn the keeper puts the lamp out and " +
		"writes into the book how much oil it took. A keeper who falls ill is replaced before dusk.\n",
	"lamps.md": "# Lamps\n\nEach lamp burns rape oil in a brass font. A lamp is cleaned once a week, its glass every day. The lamps of the " +
		"north pier are lit first, since ships come from there.\n",
	"harbour.md": "# The harbour\n\nShips wait outside until a pilot comes. The harbour master counts them at noon. What the keeper of a lamp " +
		"sees in the night is told to the harbour master in the morning.\n",
}

// question gives one that was not asked before, and the number by which a provider knows it.
func (m *modelBench) question() (text, tag string) {
	tag = strconv.FormatInt(m.asked.Add(1), 10)
	return "What does the keeper do at lamp " + tag + "?", tag
}

func (m *modelBench) startProvider(ctx context.Context, rate float64, tokens int) (*side, error) {
	return start(ctx, m.exe, append(slices.Clip(m.provider), "--rate", strconv.FormatFloat(rate, 'g', -1, 64), "--tokens", strconv.Itoa(tokens)))
}

// startSluice starts a server whose models stand at the addresses. What it may spend is more than any measurement needs, and
// a run ends with its last reader.
func (m *modelBench) startSluice(ctx context.Context, models ...string) (*program, error) {
	args := []string{
		"--docs", m.docs, "--judge", "none", "--deadline", "24h", "--grace", "0s", "--max-runs", "1000000",
		"--answer-tokens", strconv.Itoa(longest), "--model-context", strconv.Itoa(100 * longest), "--log-level", "error",
	}
	for _, addr := range models {
		args = append(args, "--model", "openai", "--model-url", "http://"+addr+"/v1")
	}
	return serve(ctx, m.exe, ownSettings(), args)
}

// longest is more tokens than any answer has.
const longest = 1_000_000

func (s *side) seen(ctx context.Context) (p Provided, err error) {
	err = getJSON(ctx, "http://"+s.control+"/seen", &p)
	return p, err
}

// until waits for the provider to have seen something.
func (s *side) until(ctx context.Context, what string, seen func(Provided) bool) (Provided, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last int64
	for {
		p, err := s.seen(ctx)
		if err == nil && seen(p) {
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
