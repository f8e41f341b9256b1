package forrst

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LimitScope is whose calls a limit counts.
type LimitScope string

// The scopes of the protocol.
const (
	// LimitGlobal counts all calls.
	LimitGlobal LimitScope = "global"
	// LimitService counts the calls of each service, by context.caller. Clients choose this name, so the limit divides calls
	// between services that trust each other and is no protection.
	LimitService LimitScope = "service"
	// LimitFunction counts the calls of each function, in all its versions.
	LimitFunction LimitScope = "function"
	// LimitUser counts the calls of each authenticated caller: see Options.Caller. Calls without one count as those of one
	// caller.
	LimitUser LimitScope = "user"
)

var scopes = []LimitScope{LimitGlobal, LimitService, LimitFunction, LimitUser}

// Limit is how many calls may begin within any window of time.
type Limit struct {
	// Name identifies the limit in responses and in the store. Default: the scope, and the function after a colon.
	Name  string
	Scope LimitScope
	// Function is the only function that the limit counts. Empty: all functions other than those of the protocol.
	Function string
	Limit    int64         // 1 to 1,000,000,000
	Window   time.Duration // whole seconds, at most 366 days
}

const (
	maxLimit  = 1_000_000_000
	maxWindow = 366 * 24 * time.Hour
)

// RateLimit is the rate-limit extension: calls above a limit are refused with RATE_LIMITED. The limits hold for all calls,
// whether or not a request lists the extension. Requests that are invalid or not authorized are not counted, and neither are
// calls of the functions of the protocol, such as ping and the cancellation of a call. Place it after [Retry],
// for example by appending it to [Extensions].
type RateLimit struct {
	limits []Limit
	store  LimitStore
}

// NewRateLimit returns the extension with some limits. Servers that share limits need a shared store. Nil: memory. While the
// store fails, calls that have a limit are refused with UNAVAILABLE.
func NewRateLimit(limits []Limit, store LimitStore) (*RateLimit, error) {
	if store == nil {
		store = NewMemoryLimits()
	}
	r := &RateLimit{slices.Clone(limits), store}
	var errs []error
	names := map[string]bool{}
	for i := range r.limits {
		l := &r.limits[i]
		if l.Name == "" {
			l.Name = string(l.Scope)
			if l.Function != "" {
				l.Name += ":" + l.Function
			}
		}
		wrong := ""
		switch {
		case !slices.Contains(scopes, l.Scope):
			wrong = "the scope is none of global, service, function and user"
		case l.Limit < 1 || l.Limit > maxLimit:
			wrong = "the limit is not from 1 to 1,000,000,000"
		case l.Window < time.Second || l.Window > maxWindow || l.Window%time.Second != 0:
			wrong = "the window is not in whole seconds from 1 s to 366 days"
		case reserved(l.Function):
			wrong = "functions of the protocol have no limits"
		case names[l.Name]:
			wrong = "the name is used twice"
		}
		if wrong != "" {
			errs = append(errs, fmt.Errorf("forrst: rate limit %q: %s", l.Name, wrong))
		}
		names[l.Name] = true
	}
	return r, errors.Join(errs...)
}

// URN returns urn:forrst:ext:rate-limit.
func (*RateLimit) URN() string { return "urn:forrst:ext:rate-limit" }

// Capability returns the scopes of the limits. The limits themselves are the member rate_limits of the capabilities.
func (r *RateLimit) Capability() map[string]any {
	used := []LimitScope{}
	for _, s := range scopes {
		if slices.ContainsFunc(r.limits, func(l Limit) bool { return l.Scope == s }) {
			used = append(used, s)
		}
	}
	return map[string]any{"scopes": used}
}

// PublicLimit is a limit in the capabilities.
type PublicLimit struct {
	Scope    LimitScope `json:"scope" enum:"global,service,function,user"`
	Function string     `json:"function,omitempty"`
	Limit    int64      `json:"limit"`
	Window   Duration   `json:"window"`
}

func (r *RateLimit) public() (out []PublicLimit) {
	for _, l := range r.limits {
		out = append(out, PublicLimit{l.Scope, l.Function, l.Limit, wholeUnits(l.Window)})
	}
	return out
}

// wholeUnits returns a time of whole seconds in the largest unit that expresses it.
func wholeUnits(d time.Duration) Duration {
	for _, u := range []string{"hour", "minute"} {
		if d%units[u] == 0 {
			return Duration{int64(d / units[u]), u}
		}
	}
	return seconds(d)
}

// scopeOf returns the scope that a request asks for, and false if it is not valid. Without the option it is empty.
func scopeOf(asked *Asked) (scope LimitScope, ok bool) {
	raw := asked.Option("scope")
	if raw == nil {
		return "", true
	}
	ok = json.Unmarshal(raw, &scope) == nil && slices.Contains(scopes, scope)
	return scope, ok
}

// Check validates the scope.
func (*RateLimit) Check(_ *Call, asked *Asked) error {
	if _, ok := scopeOf(asked); !ok {
		return asked.Invalid("scope", "scope must be global, service, function or user")
	}
	return nil
}

// ObservesRefusals makes the extension an [Observer]: replies to refused calls have the headers too.
func (*RateLimit) ObservesRefusals() {}

// Run counts the call, and refuses it if a limit is reached. The headers and the data describe the time when it is counted.
func (r *RateLimit) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	limits, keys := r.applying(call)
	var usages []Usage
	counted := true
	if len(keys) > 0 {
		var err error
		if call.refused {
			usages, err = r.store.Peek(ctx, keys)
		} else {
			usages, counted, err = r.store.Take(ctx, keys)
		}
		switch {
		case err == nil:
		case call.refused:
			return next(ctx)
		default:
			return Failed(Errorf(Unavailable, "the limit of calls cannot be checked"))
		}
	}
	states := make([]limitState, len(keys))
	for i, u := range usages {
		states[i] = stateOf(limits[i], u)
	}
	slices.SortStableFunc(states, compareStates)
	setLimitHeader(call, states)
	var out Outcome
	if counted {
		out = next(ctx)
	} else {
		out = Failed(states[0].exceeded(call))
	}
	if asked != nil {
		scope, _ := scopeOf(asked) // Check has accepted it, or the call is refused
		out.Add(asked.URN, dataOf(states, scope))
	}
	return out
}

// applying returns the limits that count a call, and their keys.
func (r *RateLimit) applying(call *Call) (limits []Limit, keys []LimitKey) {
	if call.function == nil || reserved(call.Function) {
		return nil, nil
	}
	for _, l := range r.limits {
		if l.Function != "" && l.Function != call.Function {
			continue
		}
		k := LimitKey{Name: l.Name, Limit: l.Limit, Window: l.Window}
		switch l.Scope {
		case LimitGlobal:
		case LimitFunction:
			k.Subject = shortSubject(call.Function)
		case LimitUser:
			k.Subject = shortSubject(call.Caller)
		case LimitService:
			name := string(call.Context["caller"])
			_ = json.Unmarshal(call.Context["caller"], &name) // any other value names the service by its JSON
			k.Subject = shortSubject(name)
		}
		limits, keys = append(limits, l), append(keys, k)
	}
	return limits, keys
}

// shortSubject returns a hash in place of a long name, because clients choose some.
func shortSubject(name string) string {
	if len(name) < 2*sha256.Size {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// limitState is the state of one limit in a response.
type limitState struct {
	Limit     int64      `json:"limit"`
	Used      int64      `json:"used"`
	Remaining int64      `json:"remaining"`
	Window    Duration   `json:"window"`
	ResetsIn  Duration   `json:"resets_in"`
	Scope     LimitScope `json:"scope"`
	Warning   string     `json:"warning,omitempty"`

	of Limit
}

func stateOf(l Limit, u Usage) limitState {
	s := limitState{Limit: l.Limit, Used: u.Used, Remaining: max(l.Limit-u.Used, 0), Window: wholeUnits(l.Window),
		ResetsIn: seconds(u.Reset), Scope: l.Scope, of: l}
	if 10*s.Remaining < s.Limit {
		s.Warning = "less than 10 % of the calls are left"
	}
	return s
}

// compareStates orders the limits: those that are reached first, the longest time before the next call first, and then by the
// share that is left.
func compareStates(a, b limitState) int {
	if a.Remaining == 0 && b.Remaining == 0 {
		return cmp.Compare(b.ResetsIn.Value, a.ResetsIn.Value)
	}
	return cmp.Compare(a.Remaining*b.Limit, b.Remaining*a.Limit) // below 2^60
}

// exceeded returns the refusal of a call.
func (s limitState) exceeded(call *Call) *CallError {
	details := map[string]any{"limit": s.Limit, "used": s.Used, "window": s.Window, "retry_after": s.ResetsIn, "scope": s.Scope}
	if s.Scope == LimitFunction || s.of.Function != "" {
		details["function"] = call.Function
	}
	e := Errorf(RateLimited, "too many calls").With(details)
	e.RetryAfter = time.Duration(s.ResetsIn.Value) * time.Second
	return e
}

// limitData is the data of a response: one limit, and all of them by name if there are several.
type limitData struct {
	limitState
	Scopes map[string]limitState `json:"scopes,omitempty"`
}

// dataOf returns the data about the limits of a scope, or of all scopes if it is empty. Without a limit it is nil.
func dataOf(states []limitState, scope LimitScope) any {
	var shown []limitState
	for _, s := range states {
		if scope == "" || s.Scope == scope {
			shown = append(shown, s)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	data := limitData{limitState: shown[0]}
	if len(shown) > 1 {
		data.Scopes = map[string]limitState{}
		for _, s := range shown {
			data.Scopes[s.of.Name] = s
		}
	}
	return data
}

// setLimitHeader sets the headers of draft-ietf-httpapi-ratelimit-headers-06: the limit with the least left, and the policies
// of all.
func setLimitHeader(call *Call, states []limitState) {
	if len(states) == 0 {
		return
	}
	policies := make([]string, len(states))
	for i, s := range states {
		policies[i] = fmt.Sprintf("%d;w=%d", s.Limit, int64(s.of.Window/time.Second))
	}
	h := call.ReplyHeader()
	h.Set("RateLimit-Limit", strconv.FormatInt(states[0].Limit, 10))
	h.Set("RateLimit-Remaining", strconv.FormatInt(states[0].Remaining, 10))
	h.Set("RateLimit-Reset", strconv.FormatInt(states[0].ResetsIn.Value, 10))
	h.Set("RateLimit-Policy", strings.Join(policies, ", "))
}
