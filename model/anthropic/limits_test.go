package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	reply := ""
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; r.URL.Path != "/v1/models/claude-new" {
			t.Errorf("request of %s", r.URL.Path)
		}
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		reply string
		set   int
		want  model.Limits
	}{
		"reported":      {`{"type":"model","id":"claude-new","max_input_tokens":500000,"max_tokens":70000}`, 0, model.Limits{Context: 500000, Output: 70000}},
		"reported, set": {`{"max_input_tokens":500000,"max_tokens":70000}`, 9000, model.Limits{Context: 9000, Output: 70000}},
		"not reported":  {`{"max_tokens":70000}`, 0, model.Limits{Context: 200000}},
		"nonsense":      {`{"max_input_tokens":-5,"max_tokens":1e99}`, 0, model.Limits{Context: 200000}},
		"no JSON":       {`<html>`, 0, model.Limits{Context: 200000}},
		"long reply":    {strings.Repeat(" ", 1<<20) + `{"max_input_tokens":1}`, 0, model.Limits{Context: 200000}},
		"huge number":   {`{"max_input_tokens":99999999999}`, 0, model.Limits{Context: 200000}},
	} {
		reply, requests = test.reply, 0
		c := open(t, anthropic.Options{URL: server.URL, Model: "claude-new", Context: test.set})
		for range 3 {
			if got := c.Limits(t.Context()); got != test.want {
				t.Errorf("%s: got %+v, want %+v", name, got, test.want)
			}
		}
		if requests != 1 {
			t.Errorf("%s: %d requests", name, requests)
		}
	}
}

func TestLimitsOfFamilies(t *testing.T) {
	t.Parallel()
	url := plain(t)
	for name, want := range map[string]model.Limits{
		"claude-3-haiku-20240307": {Context: 200000, Output: 4096}, "claude-3-5-haiku-latest": {Context: 200000, Output: 8192},
		"claude-opus-4-1": {Context: 200000, Output: 32000}, "claude-opus-4-5-20251101": {Context: 200000, Output: 64000},
		"claude-sonnet-4-20250514": {Context: 200000, Output: 64000}, "other": {},
	} {
		if got := open(t, anthropic.Options{URL: url, Model: name}).Limits(t.Context()); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if name := open(t, anthropic.Options{URL: url}).Name(); !strings.HasPrefix(name, "claude-") {
		t.Errorf("without a name the model is %q", name)
	}
}

// TestCountIsNotTooLow compares the estimate with Anthropic's documentation: 3.5 characters of English per token.
func TestCountIsNotTooLow(t *testing.T) {
	t.Parallel()
	c := open(t, anthropic.Options{})
	for text, least := range map[string]int{
		strings.Repeat("The water carries the gravel away and the gold remains. ", 20): 20 * 56 * 2 / 7,
		strings.Repeat("3.14159 ", 10): 40, strings.Repeat("金", 10): 20, strings.Repeat("🙂", 10): 20,
		strings.Repeat("{}[]", 10): 20, strings.Repeat("ä", 10): 10,
	} {
		if got := c.Count(context.Background(), text); got < least || got > 3*least {
			t.Errorf("%.10q has %d tokens, not %d or somewhat more", text, got, least)
		}
	}
}
