package forrst

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Status is the state of a component, a function or the service.
type Status string

// The states. Functions are healthy, degraded, disabled or in maintenance.
const (
	Healthy       Status = "healthy"
	StateDegraded Status = "degraded"
	Unhealthy     Status = "unhealthy"
	disabled      Status = "disabled"
	maintenance   Status = "maintenance"
)

// degraded is an error of a component that still works.
type degraded struct{ message string }

func (d degraded) Error() string { return d.message }

// Degraded returns the result of a check of a component that works with restrictions. Clients see the message.
func Degraded(format string, args ...any) error { return degraded{fmt.Sprintf(format, args...)} }

// ComponentHealth is the state of a component.
type ComponentHealth struct {
	Status    Status    `json:"status"`
	Latency   *Duration `json:"latency,omitempty"`
	Message   string    `json:"message,omitempty"`
	LastCheck time.Time `json:"last_check,omitzero"`
}

// FunctionHealth is the state of a function that is degraded, disabled or in maintenance.
type FunctionHealth struct {
	Status     Status    `json:"status"`
	Message    string    `json:"message,omitempty"`
	RetryAfter *Duration `json:"retry_after,omitempty"`
}

// Health is the state of a service.
type Health struct {
	Status     Status                     `json:"status"`
	Timestamp  time.Time                  `json:"timestamp"`
	Components map[string]ComponentHealth `json:"components,omitempty"`
	Functions  map[string]FunctionHealth  `json:"functions,omitempty"`
	Version    string                     `json:"version,omitempty"`
}

// checkAge is how long the result of a check is used again, so that clients cannot load the components with checks.
const checkAge = time.Second

// checks runs the checks of the components.
type checks struct {
	checks map[string]*check
}

type check struct {
	run func(ctx context.Context) error

	mu      sync.Mutex
	busy    chan struct{} // closed when the check in progress ends; nil without one
	last    ComponentHealth
	checked time.Time
}

func newChecks(runs map[string]func(ctx context.Context) error) *checks {
	c := &checks{checks: map[string]*check{}}
	for name, run := range runs {
		c.checks[name] = &check{run: run}
	}
	return c
}

// start returns the result of a check that is new enough, or starts one and returns the channel that is closed at its end.
// A component has one check at a time.
func (c *check) start(ctx context.Context, running *sync.WaitGroup) (ComponentHealth, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy != nil {
		return ComponentHealth{}, c.busy
	}
	if !c.checked.IsZero() && time.Since(c.checked) < checkAge {
		return c.last, nil
	}
	c.busy = make(chan struct{})
	done := c.busy
	// The check serves all who wait for it, so it does not end with the first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultCheckTimeout)
	running.Go(func() {
		defer cancel()
		began := time.Now()
		err := errors.New("the check panicked")
		defer func() {
			_ = recover() // a check that panics is unhealthy
			now := time.Now()
			latency := millis(now.Sub(began))
			last := ComponentHealth{Status: Healthy, Latency: &latency, LastCheck: milliseconds(now)}
			var part degraded
			switch {
			case errors.As(err, &part):
				last.Status, last.Message = StateDegraded, part.message
			case err != nil:
				last.Status, last.Message = Unhealthy, "the check failed"
			}
			c.mu.Lock()
			c.last, c.checked, c.busy = last, now, nil
			c.mu.Unlock()
			close(done)
		}()
		err = c.run(ctx)
	})
	return ComponentHealth{}, done
}

// result waits for the result of a check.
func (c *check) result(ctx context.Context, running *sync.WaitGroup) ComponentHealth {
	last, done := c.start(ctx, running)
	if done == nil {
		return last
	}
	select {
	case <-done:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.last
	case <-ctx.Done():
		return ComponentHealth{Status: Unhealthy, Message: "the check takes too long"}
	}
}

type healthArguments struct {
	Component      string `json:"component,omitempty" description:"One component. self is the process. Default: all."`
	IncludeDetails *bool  `json:"include_details,omitempty" default:"true" description:"Whether the components and functions are listed."`
}

func (s *Server) health(ctx context.Context, in healthArguments) (Health, error) {
	out := Health{Status: Healthy, Timestamp: milliseconds(time.Now())}
	if in.Component == "self" {
		return out, nil
	}
	names := slices.Sorted(maps.Keys(s.checks.checks))
	if in.Component != "" {
		if s.checks.checks[in.Component] == nil {
			return out, Errorf(InvalidArguments, "the component does not exist").At("/call/arguments/component").
				With(map[string]any{"components": append(names, "self")})
		}
		names = []string{in.Component}
	}
	out.Version = s.options.Version
	out.Components = s.components(ctx, names)
	for _, c := range out.Components {
		out.Status = worse(out.Status, c.Status)
	}
	if in.Component == "" {
		out.Functions = s.functionHealth(ctx)
		if len(out.Functions) > 0 {
			out.Status = worse(out.Status, StateDegraded)
		}
	}
	if in.IncludeDetails != nil && !*in.IncludeDetails {
		out.Components, out.Functions = nil, nil
	}
	out.Timestamp = milliseconds(time.Now())
	return out, nil
}

// components checks components at the same time.
func (s *Server) components(ctx context.Context, names []string) map[string]ComponentHealth {
	ctx, cancel := context.WithTimeout(ctx, defaultCheckTimeout)
	defer cancel()
	var mu sync.Mutex
	var wait sync.WaitGroup
	out := map[string]ComponentHealth{}
	for _, name := range names {
		wait.Go(func() {
			c := s.checks.checks[name].result(ctx, &s.running)
			mu.Lock()
			defer mu.Unlock()
			out[name] = c
		})
	}
	wait.Wait()
	return out
}

// functionHealth returns the functions that cannot be called now.
func (s *Server) functionHealth(ctx context.Context) map[string]FunctionHealth {
	out := map[string]FunctionHealth{}
	for name, versions := range s.functions {
		f := newest(versions)
		if f == nil || f.Unavailable == nil {
			continue
		}
		e := f.Unavailable(ctx)
		if e == nil {
			continue
		}
		h := FunctionHealth{Status: StateDegraded, Message: e.Message}
		switch e.Code {
		case FunctionDisabled:
			h.Status = disabled
		case FunctionMaintenance:
			h.Status = maintenance
		}
		if e.RetryAfter > 0 {
			d := seconds(e.RetryAfter)
			h.RetryAfter = &d
		}
		out[name] = h
	}
	return out
}

// worse returns the worse of two states.
func worse(a, b Status) Status {
	order := []Status{Healthy, StateDegraded, Unhealthy}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}
