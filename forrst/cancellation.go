package forrst

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
)

// Cancellation is the cancellation extension: a call that has a token can be ended by another call. It gets its reply at once,
// with the code CANCELLED, and the context of its function ends.
type Cancellation struct{ tokens TokenStore }

// NewCancellation returns the extension with a store of tokens. Servers that share calls need a shared store. Nil: memory.
func NewCancellation(tokens TokenStore) *Cancellation {
	if tokens == nil {
		tokens = NewMemoryTokens()
	}
	return &Cancellation{tokens}
}

const cancellationURN = "urn:forrst:ext:cancellation"

// URN returns urn:forrst:ext:cancellation.
func (*Cancellation) URN() string { return cancellationURN }

// Capability returns the name of the function that cancels.
func (*Cancellation) Capability() map[string]any {
	return map[string]any{"functions": []string{cancellationURN + ":fn:cancel"}}
}

// tokenPattern is what a token looks like.
const tokenPattern = `^[A-Za-z0-9_-]{1,100}$`

var validToken = regexp.MustCompile(tokenPattern)

func tokenOf(asked *Asked) (token string, ok bool) {
	raw := asked.Option("token")
	ok = kindOf(raw) == '"' && json.Unmarshal(raw, &token) == nil && validToken.MatchString(token)
	return token, ok
}

// Check validates the token.
func (*Cancellation) Check(_ *Call, asked *Asked) error {
	if _, ok := tokenOf(asked); !ok {
		return asked.Invalid("token", "token must be 1 to 100 letters, digits, _ and -")
	}
	return nil
}

// Run registers the token for the time of the call.
func (c *Cancellation) Run(ctx context.Context, call *Call, asked *Asked, next Next) Outcome {
	if asked == nil {
		return next(ctx)
	}
	token, _ := tokenOf(asked) // Check has accepted it
	key := TokenKey{call.Caller, token}
	cancelled, err := c.tokens.Register(ctx, key)
	if errors.Is(err, ErrTokenInUse) {
		return Failed(Errorf(Conflict, "another call uses the token").At(pointer(asked.pointer(), "options", "token")).With(tokenDetails(token)))
	}
	if err != nil {
		return Failed(Errorf(Unavailable, "the token cannot be stored"))
	}
	defer func() { // the token is released even if the client has disconnected
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		_ = c.tokens.Finish(ctx, key) // the store expires what it keeps
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with the call
		select {
		case <-cancelled:
			cancel(Errorf(Cancelled, "the call was cancelled").With(tokenDetails(token)))
		case <-done:
		}
	}()
	return next(ctx)
}

func tokenDetails(token string) map[string]any { return map[string]any{"token": token} }

type cancelArguments struct {
	Token string `json:"token" required:"true" minLength:"1" description:"The token of the call to cancel."`
}

type cancelResult struct {
	Cancelled bool   `json:"cancelled"`
	Token     string `json:"token"`
}

// Functions returns the function that cancels a call of the same caller.
func (c *Cancellation) Functions() []Function {
	f := describe[cancelArguments, cancelResult](cancellationURN+":fn:cancel", "1.0.0")
	f.Description = "Cancels the call that has a token."
	f.SideEffects = []string{"update"}
	f.Call = func(ctx context.Context, call *Call) (any, error) {
		in, err := arguments[cancelArguments](call)
		if err != nil {
			return nil, err
		}
		switch err := c.tokens.Cancel(ctx, TokenKey{call.Caller, in.Token}); {
		case errors.Is(err, ErrTokenUnknown):
			return nil, Errorf(CancellationTokenUnknown, "no call has the token").With(tokenDetails(cut(in.Token)))
		case errors.Is(err, ErrTokenFinished):
			return nil, Errorf(CancellationTooLate, "the call has finished").With(tokenDetails(in.Token))
		case err != nil:
			return nil, err
		}
		return cancelResult{true, in.Token}, nil
	}
	return []Function{f}
}
