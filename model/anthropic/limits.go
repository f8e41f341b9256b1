package anthropic

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
)

// families are the limits of models by prefix of their names; the longest prefix counts. The API reports those of newer models.
var families = map[string]model.Limits{
	"claude-":           {Context: 200_000},
	"claude-3-":         {Context: 200_000, Output: 4096},
	"claude-3-5-":       {Context: 200_000, Output: 8192},
	"claude-3-7-":       {Context: 200_000, Output: 64_000},
	"claude-opus-4":     {Context: 200_000, Output: 32_000},
	"claude-opus-4-5":   {Context: 200_000, Output: 64_000},
	"claude-opus-4-6":   {Context: 200_000, Output: 128_000},
	"claude-opus-4-7":   {Context: 1_000_000, Output: 128_000},
	"claude-opus-4-8":   {Context: 1_000_000, Output: 128_000},
	"claude-sonnet-4":   {Context: 200_000, Output: 64_000},
	"claude-haiku-4-5":  {Context: 200_000, Output: 64_000},
	"claude-sonnet-5":   {Context: 200_000, Output: 64_000},
	"claude-haiku-5":    {Context: 200_000, Output: 64_000},
	"claude-opus-5":     {Context: 200_000, Output: 64_000},
	"claude-fable-5":    {Context: 200_000, Output: 64_000},
	"claude-mythos-5":   {Context: 200_000, Output: 64_000},
	"claude-mythos-pre": {Context: 200_000, Output: 64_000},
}

const (
	leastOutput = 4096     // supported by all models
	mostOutput  = 16 << 10 // enough for any answer; a higher limit counts against the rate limit
	askAgain    = time.Minute
	perMessage  = 4 // tokens of the structure of a message
)

// familyLimits returns the limits that are known for a name.
func familyLimits(name string) (known model.Limits) {
	longest := 0
	for beginning, l := range families {
		if len(beginning) > longest && strings.HasPrefix(name, beginning) {
			longest, known = len(beginning), l
		}
	}
	return known
}

// defaultOutput returns the limit of an answer for requests without one, since the API requires it.
func defaultOutput(name string) int {
	if out := familyLimits(name).Output; out > 0 {
		return min(out, mostOutput)
	}
	return leastOutput
}

// Limits returns the configured context window, and the other limits as reported by the API or known of the model's family. The
// API is asked at the first call, for 3 seconds at most, and again after a minute if it failed.
func (c *Chat) Limits(ctx context.Context) model.Limits {
	limits := familyLimits(c.name)
	if reported := c.fetchLimits(ctx); reported != nil {
		limits = *reported
	}
	if c.contextLimit > 0 {
		limits.Context = c.contextLimit
	}
	return limits
}

// fetchLimits returns the limits that the API reports, or nil.
func (c *Chat) fetchLimits(ctx context.Context) *model.Limits {
	if l := c.limits.Load(); l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.limits.Load(); l != nil || time.Now().Before(c.retryAt) {
		return l
	}
	l := c.requestLimits(ctx)
	if l != nil {
		c.limits.Store(l)
	} else if ctx.Err() == nil {
		c.retryAt = time.Now().Add(askAgain)
	}
	return l
}

func (c *Chat) requestLimits(ctx context.Context) *model.Limits {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	res, err := c.send(ctx, http.MethodGet, c.base.JoinPath("v1/models", url.PathEscape(c.name)), http.NoBody)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var info struct {
		Context int `json:"max_input_tokens"`
		Output  int `json:"max_tokens"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&info); err != nil {
		return nil
	}
	const most = 1 << 30
	if info.Context <= 0 || info.Context > most || info.Output < 0 || info.Output > most {
		return nil
	}
	return &model.Limits{Context: info.Context, Output: info.Output}
}

// Count returns an upper estimate: the vocabulary is not public, and the API needs a request for each text.
func (c *Chat) Count(_ context.Context, text string) int { return estimate(text) }

// The weights of characters in twelfths of a token. Measured on other vocabularies of this size, English comes to 4.2 letters
// a token with its space and newer ones of Claude's make a third more of it; digits and marks come to one token each or
// less, and what is not ASCII to no more than three quarters of a token a byte.
const (
	aToken = 12
	letter = 4
	space  = 3
	digit  = 8
	mark   = 12
	beyond = 9
)

func estimate(text string) int {
	sum := 0
	for i := range len(text) {
		switch b := text[i]; {
		case b >= utf8.RuneSelf:
			sum += beyond
		case b == ' ':
			sum += space
		case b|0x20 >= 'a' && b|0x20 <= 'z':
			sum += letter
		case b >= '0' && b <= '9':
			sum += digit
		default:
			sum += mark
		}
	}
	return (sum + aToken - 1) / aToken
}

// estimateRequest estimates the tokens of a request.
func estimateRequest(r model.Request) (n int) {
	for _, m := range r.Messages {
		n += perMessage + estimate(m.Text)
		for _, c := range m.ToolCalls {
			n += perMessage + estimate(c.Name) + estimate(string(c.Input))
		}
	}
	for _, t := range r.Tools {
		n += perMessage + estimate(t.Name+t.Description) + estimate(string(t.Parameters))
	}
	if r.Schema != nil {
		n += estimate(string(r.Schema.JSON))
	}
	return n
}
