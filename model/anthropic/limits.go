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

// families are the limits of models whose names begin so; the longest beginning counts. The API tells those of newer ones.
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
	leastOutput = 4096     // what every model gives
	mostOutput  = 16 << 10 // room for any answer; more is held against an account's rate before it is used
	askAgain    = time.Minute
	perMessage  = 4 // tokens around a message's text
)

// family gives what is known of a model by its name.
func familyLimits(name string) (known model.Limits) {
	longest := 0
	for beginning, l := range families {
		if len(beginning) > longest && strings.HasPrefix(name, beginning) {
			longest, known = len(beginning), l
		}
	}
	return known
}

// defaultOutput gives the length of an answer, which the API wants to be told, where the request does not say it.
func defaultOutput(name string) int {
	if out := familyLimits(name).Output; out > 0 {
		return min(out, mostOutput)
	}
	return leastOutput
}

// Limits gives the model's limits: the context as set, the rest as the API's list of models tells or else as known of the
// model's family. The API is asked at the first call, for 3 seconds at most, and again after a minute if it did not tell.
func (c *Chat) Limits(ctx context.Context) model.Limits {
	limits := familyLimits(c.name)
	if told := c.fetchLimits(ctx); told != nil {
		limits = *told
	}
	if c.contextLimit > 0 {
		limits.Context = c.contextLimit
	}
	return limits
}

// told gives the limits that the API tells; nil if it does not.
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

// Count estimates the tokens of a text, rather too high than too low: the vocabulary is not public, and asking the API costs
// a round trip for each text.
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

// estimateRequest counts what a request sends.
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
