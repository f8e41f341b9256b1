// Package modeltest holds the conformance tests of chat models, and test servers of providers.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/model"
)

// Key is the key of the models under test. It must only reach the provider.
const Key = "sk-modeltest-0123456789abcdef"

// Open returns the model under test, with [Key] and the idle timeout stall, for the base address of a server (scheme, host and
// port).
type Open func(url string, stall time.Duration) model.Chat

// Cases are the recordings that each adapter must have, as NAME.txtar. It may have more.
var Cases = []string{
	"good", "slow", "cut", "malformed", "limited", "broken", "stalled", "silent", "empty", "unicode", "no_usage",
	"unknown_fields", "tool_call", "reasoning", "stream_error", "unauthorized", "too_long", "rejected", "long_line",
}

// Idle timeouts. Tests that pass never reach longTimeout.
const (
	shortTimeout = 50 * time.Millisecond
	longTimeout  = 20 * time.Second
)

// TestChat tests an implementation of [model.Chat] with each recording of the folder (see [Recording]), and with aborts,
// cancellation, concurrent requests, redirects and error messages with secrets. These use the recordings good, stalled and too_long, too, so
// stalled must begin with a piece.
func TestChat(t *testing.T, open Open, recorded fs.FS) {
	all := load(t, recorded)
	for _, name := range Cases {
		if all[name] == nil {
			t.Errorf("no recording %s.txtar", name)
		}
	}
	if t.Failed() {
		return
	}
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, open, r)
		})
	}
	for name, run := range map[string]func(*testing.T, Open, map[string]*Recording){
		"Break": breakLoop, "BreakStalled": breakStalled, "Cancel": cancel, "CancelSilent": cancelSilent, "Cancelled": cancelled,
		"Redirect": redirect, "Echo": echo, "Unreachable": unreachable, "Concurrent": concurrent, "Count": count,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open, all)
		})
	}
}

// play runs one recording.
func play(t *testing.T, open Open, r *Recording) {
	p := newPlayer(t, r)
	stall := longTimeout
	if strings.HasPrefix(r.Name, "stalled") || strings.HasPrefix(r.Name, "silent") {
		stall = shortTimeout
	}
	chat := open(p.url, stall)
	got := collect(t, t.Context(), chat, r.Ask, -1)
	if diff := cmp.Diff(r.Want, got.lines()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var failed *model.Error
	if got.err != nil && !errors.As(got.err, &failed) {
		t.Errorf("the error is a %T, not a *model.Error: %v", got.err, got.err)
	}
	if got.err != nil {
		if failed != nil {
			failed.Reason = "" // which is in r.Want
		}
		checkNoSecrets(t, got.err.Error(), r)
	}
	p.finished(t)
}

// checkNoSecrets checks that an error contains no text of the key, the prompt or the provider's reply.
func checkNoSecrets(t *testing.T, text string, r *Recording) {
	t.Helper()
	secrets := []string{Key}
	for _, m := range r.Ask.Messages {
		secrets = append(secrets, m.Text)
	}
	for _, x := range r.exchanges {
		for _, quoted := range regexp.MustCompile(`"[^"]{12,}"`).FindAllString(x.body, -1) {
			secrets = append(secrets, strings.Trim(quoted, `"`))
		}
	}
	for _, s := range secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("the error contains %q: %s", s, text)
		}
	}
}

// result is the received stream of an answer.
type result struct {
	pieces []model.Piece
	err    error
	used   []model.Usage
}

// collect asks a model and checks the rules for all answers. It stops after the given number of pieces, unless that is negative.
func collect(t *testing.T, ctx context.Context, chat model.Chat, r model.Request, pieces int) result {
	t.Helper()
	var h result
	var mu sync.Mutex
	ctx = model.WithTrace(ctx, &model.Trace{Used: func(name string, u model.Usage) {
		mu.Lock()
		defer mu.Unlock()
		if name == "" {
			t.Error("usage was reported without a name")
		}
		h.used = append(h.used, u)
	}})
	ended := false
	for p, err := range chat.Complete(ctx, r) {
		if ended {
			t.Fatalf("the sequence continues after its end: %+v, %v", p, err)
		}
		if err != nil {
			h.err, ended = err, true
			continue
		}
		checkPiece(t, p)
		ended = p.Stop != ""
		h.pieces = append(h.pieces, p)
		if len(h.pieces) == pieces {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !ended && pieces < 0 {
		t.Error("the sequence ended without a stop and without an error")
	}
	if len(h.used) > 1 {
		t.Errorf("usage was reported %d times", len(h.used))
	}
	return h
}

// checkPiece checks that a piece has one valid field.
func checkPiece(t *testing.T, p model.Piece) {
	t.Helper()
	set := 0
	for _, is := range []bool{p.Text != "", p.Reasoning != "", p.Call != nil, p.Stop != "", p.Resumed} {
		if is {
			set++
		}
	}
	if set != 1 {
		t.Errorf("a piece with %d fields: %+v", set, p)
	}
	if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Reasoning) {
		t.Errorf("a piece of invalid UTF-8: %q", p.Text+p.Reasoning)
	}
	if p.Call != nil && !json.Valid(p.Call.Input) {
		t.Errorf("a call of %s with invalid JSON: %q", p.Call.Name, p.Call.Input)
	}
}

// lines returns the stream in the format of a recording's want, with adjacent pieces of a kind joined.
func (h result) lines() []string {
	var out []string
	var joined model.Piece
	flush := func() {
		if joined.Text != "" {
			out = append(out, fmt.Sprintf("text %q", joined.Text))
		}
		if joined.Reasoning != "" {
			out = append(out, fmt.Sprintf("reasoning %q", joined.Reasoning))
		}
		joined = model.Piece{}
	}
	for _, p := range h.pieces {
		if (p.Text == "") != (joined.Text == "") || (p.Reasoning == "") != (joined.Reasoning == "") {
			flush()
		}
		joined.Text += p.Text
		joined.Reasoning += p.Reasoning
		switch {
		case p.Call != nil:
			out = append(out, fmt.Sprintf("call %s %s %s", p.Call.ID, p.Call.Name, p.Call.Input))
		case p.Stop != "":
			out = append(out, "stop "+string(p.Stop))
		}
	}
	flush()
	if failed, ok := errors.AsType[*model.Error](h.err); ok {
		line := "error " + string(failed.Failure)
		if failed.Status != 0 {
			line += fmt.Sprint(" status=", failed.Status)
		}
		if failed.RetryAfter != 0 {
			line += fmt.Sprint(" after=", failed.RetryAfter)
		}
		if failed.Reason != "" {
			line += fmt.Sprintf(" reason=%q", failed.Reason)
		}
		out = append(out, line)
	} else if h.err != nil {
		out = append(out, "error "+h.err.Error())
	}
	for _, u := range h.used {
		if u.Estimated {
			line := "used estimated"
			if u.Input <= 0 {
				line += " without input"
			}
			if len(h.pieces) > 0 && u.Output <= 0 {
				line += " without output"
			}
			out = append(out, line)
			continue
		}
		out = append(out, fmt.Sprintf("used input=%d output=%d reasoning=%d cached=%d", u.Input, u.Output, u.Reasoning, u.Cached))
	}
	return out
}

// breakLoop stops reading after each of the pieces. The usage must be reported.
func breakLoop(t *testing.T, open Open, all map[string]*Recording) {
	r := all["good"]
	whole := collect(t, t.Context(), open(newPlayer(t, r).url, longTimeout), r.Ask, -1)
	for n := 1; n <= len(whole.pieces); n++ {
		p := newPlayer(t, r)
		got := collect(t, t.Context(), open(p.url, longTimeout), r.Ask, n)
		if len(got.used) != 1 {
			t.Errorf("stopped after %d of %d pieces: usage was reported %d times", n, len(whole.pieces), len(got.used))
		}
	}
}

// breakStalled stops while the provider is silent. The request must end at once.
func breakStalled(t *testing.T, open Open, all map[string]*Recording) {
	p := newPlayer(t, all["stalled"])
	got := collect(t, t.Context(), open(p.url, longTimeout), all["stalled"].Ask, 1)
	p.checkDisconnected(t, time.Now())
	if len(got.used) != 1 || !got.used[0].Estimated {
		t.Errorf("the reported usage is %+v, not one estimate", got.used)
	}
}

// cancel cancels the context while the provider is silent.
func cancel(t *testing.T, open Open, all map[string]*Recording) {
	p := newPlayer(t, all["stalled"])
	chat := open(p.url, longTimeout)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var ended time.Time
	reported := 0
	ctx = model.WithTrace(ctx, &model.Trace{Used: func(string, model.Usage) { reported++ }})
	for piece, err := range chat.Complete(ctx, all["stalled"].Ask) {
		switch {
		case err != nil && ended.IsZero():
			t.Fatalf("the model failed before the cancellation: %v", err)
		case err != nil && !errors.Is(err, context.Canceled):
			t.Errorf("the error is %v, not the context's", err)
		case err == nil && piece.Stop != "":
			t.Error("the model ended before the cancellation")
		case err == nil && ended.IsZero():
			ended = time.Now()
			end()
		}
	}
	p.checkDisconnected(t, ended)
	if reported != 1 {
		t.Errorf("usage was reported %d times", reported)
	}
}

// cancelSilent cancels the context before the first byte of the reply.
func cancelSilent(t *testing.T, open Open, all map[string]*Recording) {
	p := newPlayer(t, all["silent"])
	chat := open(p.url, longTimeout)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan time.Time, 1)
	go func() {
		<-p.asked
		ended <- time.Now()
		end()
	}()
	got := collect(t, ctx, chat, all["silent"].Ask, -1)
	if !errors.Is(got.err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", got.err)
	}
	p.checkDisconnected(t, <-ended)
}

// cancelled asks with a cancelled context.
func cancelled(t *testing.T, open Open, all map[string]*Recording) {
	p := newPlayer(t, all["good"])
	ctx, end := context.WithCancel(t.Context())
	end()
	if got := collect(t, ctx, open(p.url, longTimeout), all["good"].Ask, -1); !errors.Is(got.err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", got.err)
	}
}

// redirect redirects the model to another host, which neither key nor prompt may reach.
func redirect(t *testing.T, open Open, all map[string]*Recording) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the model followed the redirect to another host: %s %s", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/elsewhere", status))
		t.Cleanup(s.Close)
		got := collect(t, t.Context(), open(s.URL, longTimeout), all["good"].Ask, -1)
		if _, ok := errors.AsType[*model.Error](got.err); !ok {
			t.Errorf("status %d: the error is %v, not a *model.Error", status, got.err)
		}
	}
}

// echo asks a server whose error messages repeat the key and the request.
func echo(t *testing.T, open Open, all map[string]*Recording) {
	ask := all["good"].Ask
	prompt := "The keeper of the gate hides\n\"4,711 barrels\" of ålegræs behind the mill."
	ask.Messages = append(slices.Clip(ask.Messages), model.Message{Role: model.User, Text: prompt})
	var message atomic.Pointer[func(key, body string) string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		text, err := json.Marshal((*message.Load())(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), string(body)))
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"rate_limit_error","message":%s}}`, text)
	}))
	t.Cleanup(s.Close)
	for name, c := range map[string]struct {
		message func(key, body string) string
		want    string
	}{
		"nothing":      {func(string, string) string { return "slow down" }, "rate_limit_error: slow down"},
		"key":          {func(key, _ string) string { return "slow down, " + key }, ""},
		"end of key":   {func(key, _ string) string { return "slow down, ***" + key[len(key)-4:] }, ""},
		"request":      {func(_, body string) string { return body }, ""},
		"prompt":       {func(string, string) string { return "slow down: " + prompt }, ""},
		"quoted":       {func(string, string) string { return fmt.Sprintf("slow down: %q", prompt) }, ""},
		"ASCII":        {func(string, string) string { return fmt.Sprintf("slow down: %+q", prompt) }, ""},
		"upper case":   {func(string, string) string { return strings.ToUpper(prompt) }, ""},
		"a part of it": {func(string, string) string { return "slow down: barrels of ålegræs" }, ""},
	} {
		message.Store(&c.message)
		got := collect(t, t.Context(), open(s.URL, longTimeout), ask, -1)
		failed, ok := errors.AsType[*model.Error](got.err)
		if !ok || failed.Failure != model.RateLimited || failed.Reason != c.want {
			t.Errorf("%s: the error is %v", name, got.err)
		}
	}
}

// unreachable asks an address without a server.
func unreachable(t *testing.T, open Open, all map[string]*Recording) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	got := collect(t, t.Context(), open(s.URL, longTimeout), all["good"].Ask, -1)
	if diff := cmp.Diff([]string{"error unreachable"}, got.lines()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// concurrent sends many concurrent requests.
func concurrent(t *testing.T, open Open, all map[string]*Recording) {
	r := all["good"]
	p := newPlayer(t, r)
	p.repeat = true
	chat := open(p.url, longTimeout)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if diff := cmp.Diff(r.Want, collect(t, t.Context(), chat, r.Ask, -1).lines()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	wg.Wait()
}

// count checks that longer texts have more tokens.
func count(t *testing.T, open Open, _ map[string]*Recording) {
	chat := open(newPlayer(t, &Recording{Name: "count"}).url, longTimeout)
	if n := chat.Count(t.Context(), ""); n != 0 {
		t.Errorf("an empty text has %d tokens", n)
	}
	for _, text := range []string{"word", "水", "🙂", "\xff", "  ", "a b c d e f", strings.Repeat("x", 1000)} {
		one, ten := chat.Count(t.Context(), text), chat.Count(t.Context(), strings.Repeat(text, 10))
		if one < 1 || ten < one {
			t.Errorf("%.20q has %d tokens and ten times that %d", text, one, ten)
		}
	}
	if chat.Name() == "" {
		t.Error("the model has no name")
	}
}

func load(t *testing.T, recorded fs.FS) map[string]*Recording {
	t.Helper()
	files, err := fs.Glob(recorded, "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	all := map[string]*Recording{}
	for _, file := range files {
		text, err := fs.ReadFile(recorded, file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".txtar")
		if all[name], err = ParseRecording(name, text); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
