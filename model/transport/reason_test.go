package transport_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

const (
	sentKey    = "sk-proj-AbCdEfGh0123456789wxyz"
	sentPrompt = "The reservoir of Ålesund holds 4,711 barrels of secret wine, said the keeper on Tuesday."
)

// sent returns a request as the SDKs send it.
func sent(t testing.TB, key, prompt string) *http.Request {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"model":    "meta-llama/Llama-3.1-70B-Instruct",
		"messages": []map[string]string{{"role": "user", "content": prompt}},
	})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://user:hunter22@models.test/v1?sig=QUERYSECRET", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

// TestReason uses error messages in the formats that the providers document.
func TestReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure       model.Failure
		status        int
		code, message string
		want          string
	}{
		"OpenAI quota": {model.RateLimited, 429, "insufficient_quota",
			"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
			"insufficient_quota: You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs…"},
		"OpenAI rate": {model.RateLimited, 429, "rate_limit_exceeded",
			"Rate limit reached for gpt-4o in organization org-ZyXwVuTsRqPoNmLkJiHgFeDc on tokens per min (TPM): Limit 30000, Used 28000, Requested 5000.",
			"rate_limit_exceeded: Rate limit reached for gpt-4o in organization […] on tokens per min (TPM): Limit 30000, Used 28000, Requested 5000."},
		"OpenAI context": {model.TooLong, 400, "context_length_exceeded",
			"This model's maximum context length is 8192 tokens. However, your messages resulted in 10224 tokens.",
			"context_length_exceeded: This model's maximum context length is 8192 tokens. However, your messages resulted in 10224 tokens."},
		"vLLM model": {model.Rejected, 404, "NotFoundError", "The model `meta-llama/Llama-3.1-70B-Instruct` does not exist.",
			"The model `meta-llama/Llama-3.1-70B-Instruct` does not exist."},
		"Azure filter": {model.Rejected, 400, "content_filter",
			"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
			"content_filter: The response was filtered due to the prompt triggering Azure OpenAI's content management policy."},
		"OpenAI parameter": {model.Rejected, 400, "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			"unsupported_parameter: Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
		"Anthropic overloaded": {model.ServerError, 529, "overloaded_error", "Overloaded", "overloaded_error: Overloaded"},
		"in a stream":          {model.ServerError, 0, "overloaded_error", "Overloaded", "overloaded_error: Overloaded"},
		"Anthropic credit": {model.RateLimited, 400, "invalid_request_error",
			"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
			"invalid_request_error: Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},
		"Ollama model":     {model.Rejected, 404, "", `model "qwen3:8b" not found, try pulling it first`, `model "qwen3:8b" not found, try pulling it first`},
		"lines, controls":  {model.Rejected, 400, "", "bad\n\x1b[31m\u202erequest\x00", "bad [31mrequest"},
		"URL":              {model.Rejected, 400, "", "see https://a:b@docs.test/errors?token=abc#x (help)", "see https://docs.test/errors (help)"},
		"other keys":       {model.Rejected, 400, "", "no sk-other, Bearer xyz, 5f4dcc3b5aa765d61d8327deb882cf99 or ***abc", "no […] […] […] or […]"},
		"refused key":      {model.Unauthorized, 401, "invalid_api_key", "Incorrect API key provided.", ""},
		"crash":            {model.ServerError, 500, "", "panic: index out of range", ""},
		"no message":       {model.Rejected, 400, "", "", ""},
		"key":              {model.Rejected, 400, "", "the key " + sentKey + " is odd", ""},
		"end of the key":   {model.Rejected, 400, "", "the key that ends in wxyz is odd", ""},
		"part of a key":    {model.Rejected, 400, "", "the key cdefgh01 is odd", ""},
		"password":         {model.Rejected, 400, "", "hunter22 is odd", ""},
		"query":            {model.Rejected, 400, "", "querysecret is odd", ""},
		"prompt":           {model.Rejected, 400, "", "cannot read: " + sentPrompt, ""},
		"part of a prompt": {model.Rejected, 400, "", "cannot read 'barrels of secret wine'", ""},
		"prompt as JSON":   {model.Rejected, 400, "", `cannot read "THE\nRESERVOIR\tOF Ålesund"`, ""},
		"escaped prompt":   {model.Rejected, 400, "", `cannot read "\u00c5lesund%20holds"`, ""},
	} {
		r := sent(t, sentKey, sentPrompt)
		got := transport.Reason(r, c.status, transport.Problem{Failure: c.failure, Code: c.code, Message: c.message})
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := transport.Reason(nil, 400, transport.Problem{Failure: model.Rejected, Message: "x"}); got != "" {
		t.Errorf("without a request the reason is %q", got)
	}
}

// FuzzReason checks that no reason holds a part of the key or the prompt, and that it is one short line.
func FuzzReason(f *testing.F) {
	f.Add("context_length_exceeded", "This model's maximum context length is 8192 tokens.", sentKey, sentPrompt)
	f.Add("", "echo "+sentKey+" "+sentPrompt, sentKey, sentPrompt)
	f.Add("", "see https://u:p@x.test/?k="+sentKey, sentKey, "a b c d e f g h i j k l m n o p")
	f.Add("", "a b c d e f g h i j k l m n o p", "short", "A  B\nC D E F G H I J K L M N O P")
	f.Fuzz(func(t *testing.T, code, message, key, prompt string) {
		key = strings.Map(func(r rune) rune {
			if r <= ' ' || r >= 0x7f {
				return -1
			}
			return r
		}, key)
		got := transport.Reason(sent(t, key, prompt), 400, transport.Problem{Failure: model.Rejected, Code: code, Message: message})
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 200 || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("got %q", got)
		}
		for at := 0; at+8 <= len(key); at++ {
			if strings.Contains(got, key[at:at+8]) {
				t.Fatalf("%q holds a part of the key %q", got, key)
			}
		}
		runes := []rune(strings.ToValidUTF8(prompt, ""))
		for at := 0; at+20 <= len(runes); at++ {
			if run := string(runes[at : at+20]); strings.TrimSpace(run) != "" && strings.Contains(got, run) && !strings.Contains(run, "…") {
				t.Fatalf("%q holds %q of the prompt", got, run)
			}
		}
	})
}
