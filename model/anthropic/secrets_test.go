package anthropic_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
)

// The secrets, which only the server may receive.
const (
	key      = "sk-ant-api03-THEKEY"
	password = "THEPASSWORD"
	prompt   = "THEPROMPT"
	reply    = "THEREPLY"
)

// TestNoSecretsInErrors plays each recording with secrets in the error messages of the server, and searches errors and logs for them.
func TestNoSecretsInErrors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d recordings: %v", len(files), err)
	}
	failures := map[model.Failure]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range txtar.Parse(text).Files {
			if part.Name != "response" {
				continue
			}
			if e, ok := errors.AsType[*model.Error](checkNoSecrets(t, file, string(part.Data))); ok {
				failures[e.Failure] = true
			}
		}
	}
	for _, status := range []int{302, 418, 429, 503} {
		response := fmt.Sprintf("HTTP/1.1 %d X\nLocation: http://u:%s@other.test/%s\n\n%s", status, password, reply, reply)
		if err := checkNoSecrets(t, fmt.Sprint(status), response); err == nil {
			t.Errorf("status %d is no error", status)
		}
	}
	for _, f := range []model.Failure{
		model.Unauthorized, model.RateLimited, model.ServerError, model.Truncated, model.Malformed, model.Empty, model.TooLong, model.Rejected,
	} {
		if !failures[f] {
			t.Errorf("no recording fails as %s", f)
		}
	}
}

// checkNoSecrets asks a server that sends the response and checks that errors and logs contain no secrets. It returns the error.
func checkNoSecrets(t *testing.T, name, response string) error {
	t.Helper()
	head, body, _ := strings.Cut(response, "\n\n")
	body = strings.ReplaceAll(body, `"message":"`, `"message":"`+reply+key+" ") // a server may repeat the request
	body = strings.ReplaceAll(body, "{{repeat 1200000 x}}", strings.Repeat("x", 1200000))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pass, _ := r.BasicAuth(); pass != password || r.Header.Get("X-Api-Key") != key {
			t.Errorf("%s: the server did not receive the key and the password", name)
		}
		status := 200
		for i, line := range strings.Split(head, "\n") {
			if i == 0 {
				if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
					t.Errorf("%s: no status in %q", name, line)
				}
			} else if k, v, ok := strings.Cut(line, ": "); ok {
				w.Header().Set(k, v)
			}
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	return ask(t, name, strings.Replace(server.URL, "http://", "http://user:"+password+"@", 1), server.Client())
}

func ask(t *testing.T, name, url string, client *http.Client) (failed error) {
	t.Helper()
	var log bytes.Buffer
	c := open(t, anthropic.Options{
		URL: url, Key: key, Model: "claude-sonnet-4-6", Stall: 5 * time.Second, HTTP: client,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	temperature := 0.5
	r := model.Request{
		Messages: []model.Message{{Role: model.User, Text: prompt}}, Temperature: &temperature,
		Schema: &model.Schema{Name: "s", JSON: []byte(`{"type":"object"}`)},
	}
	c.Limits(t.Context())
	for _, err := range c.Complete(t.Context(), r) {
		if err != nil {
			failed = err
		}
	}
	output := log.String()
	for err := failed; err != nil; err = errors.Unwrap(err) {
		output += fmt.Sprintf("\n%+v\n%v\n%q", err, err, err)
		if e, ok := errors.AsType[*model.Error](err); ok {
			output += "\n" + e.Public() + fmt.Sprintf("\n%#v", *e)
		}
	}
	for _, secret := range []string{key, "THEKEY", password, prompt, reply} {
		if strings.Contains(output, secret) {
			t.Errorf("%s: the output contains %s: %s", name, secret, output)
		}
	}
	return failed
}

func TestNoSecretsOfUnreachableURLs(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"refused":      "http://user:" + password + "@127.0.0.1:1",
		"no TLS there": "https://user:" + password + "@" + strings.TrimPrefix(plain(t), "http://"),
	} {
		if e, ok := errors.AsType[*model.Error](ask(t, name, url, nil)); !ok || e.Failure != model.Unreachable {
			t.Errorf("%s: the error is %v", name, e)
		}
	}
	for _, bad := range []string{"http://user:" + password + "@[::1", "ftp://user:" + password + "@x", "http://user:" + password + "@", "http://x/?" + password} {
		_, err := anthropic.New(anthropic.Options{URL: bad})
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := anthropic.New(anthropic.Options{Key: key + "\n"}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("the error is %v", err)
	}
}

func plain(t *testing.T) string {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	return s.URL
}

// TestEnvironmentIsNotRead sets the environment variables that Anthropic's SDK reads, and checks that requests do not use them.
func TestEnvironmentIsNotRead(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked elsewhere") }))
	defer elsewhere.Close()
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": key, "ANTHROPIC_AUTH_TOKEN": key, "ANTHROPIC_BASE_URL": elsewhere.URL,
		"ANTHROPIC_CUSTOM_HEADERS": "X-Odd: " + key, "ANTHROPIC_PROFILE": key, "ANTHROPIC_CONFIG_DIR": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), key) {
				t.Errorf("the header %s is %q", name, values)
			}
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for _, err := range open(t, anthropic.Options{URL: server.URL + "/v1/"}).Complete(t.Context(), model.Request{}) {
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Failure != model.Unauthorized {
			t.Errorf("the error is %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
