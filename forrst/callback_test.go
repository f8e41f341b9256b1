package forrst_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/forrst"
)

// hook returns the async extension with a callback.
func hook(url string) string {
	return fmt.Sprintf(`{"urn":"urn:forrst:ext:async","options":{"preferred":true,"callback_url":%q}}`, url)
}

func TestCallback(t *testing.T) {
	t.Parallel()
	secret := []byte("hunter2")
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("X-Forrst-Signature") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			t.Errorf("%s %v with body %s, %v", r.Method, r.Header, body, err)
		}
		bodies <- string(body)
	}))
	defer receiver.Close()
	var n counter
	c := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewIdempotency(nil), forrst.NewAsync(forrst.AsyncOptions{CallbackSecret: secret, CallbacksAnywhere: true})}}, &n)
	for do, want := range map[string]string{
		"":            `"status":"completed","result":1`,
		"null":        `"status":"completed","result":null`,
		"CUSTOM_FULL": `"status":"failed","errors":[{"code":"CUSTOM_FULL",`,
		"work":        `"status":"cancelled","errors":[{"code":"CANCELLED",`,
	} {
		n.runs.Store(0)
		w := postAs("ann", c.s, withID("r-1", call("count", fmt.Sprintf(`{"do":%q}`, do), hook(receiver.URL+"/hook"))))
		id := operationID(parse(t, w.Body.String()))
		if do == "work" {
			c.cancel(id)
		}
		body := <-bodies
		var doc struct {
			Protocol struct{ Name, Version string }
			Callback struct {
				CompletedAt string `json:"completed_at"`
			}
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil || doc.Protocol.Name != "forrst" || doc.Callback.CompletedAt == "" {
			t.Errorf("%v in %s", err, body)
		}
		if start := fmt.Sprintf(`"callback":{"operation_id":%q,"original_request_id":"r-1",`, id) + want; !strings.Contains(body, start) {
			t.Errorf("%q: %s, want %s", do, body, start)
		}
	}
	idle(t, c.s)
	if len(bodies) > 0 {
		t.Errorf("another callback: %s", <-bodies)
	}
	c.call("count", "{}", "none", strings.Replace(hook(receiver.URL), "true", "false", 1)) // the response has the result
	idle(t, c.s)
	if len(bodies) > 0 {
		t.Errorf("a callback of a synchronous call: %s", <-bodies)
	}
}

// TestSlowReceiver has a receiver that does not reply. Its operations count until their callbacks are given up.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	reply, got := make(chan struct{}), make(chan struct{}, 20)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		got <- struct{}{}
		<-reply
	}))
	defer receiver.Close()
	c := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewAsync(forrst.AsyncOptions{CallbackSecret: []byte("s"), CallbacksAnywhere: true})}}, &counter{})
	ask := func(c client) string { return c.call("count", "{}", "none", hook(receiver.URL)) }
	for range 10 {
		equal(t, ask(c), "200 null ")
		<-got // the operation has ended
	}
	equal(t, ask(c), "429 null RATE_LIMITED ")
	equal(t, ask(client{t, c.s, "bob"}), "200 null ")
	equal(t, c.call("count", "{}", "none", asyncExt), "200 null ")
	close(reply)
	idle(t, c.s)
	equal(t, ask(c), "200 null ")
	idle(t, c.s)
}

func TestCallbackOption(t *testing.T) {
	t.Parallel()
	var n counter
	without := asyncServer(t, forrst.Options{}, &n)
	with := asyncServer(t, forrst.Options{Extensions: []forrst.Extension{forrst.NewAsync(forrst.AsyncOptions{CallbackSecret: []byte("s")})}}, &n)
	for _, c := range []struct {
		client
		url string
	}{{without, "https://example.com"}, {with, "http://example.com"}, {with, "https://127.0.0.1"}} {
		w := postAs("ann", c.s, call("count", "{}", hook(c.url)))
		if d := parse(t, w.Body.String()); w.Code != 400 || fmt.Sprint(sources(d)) != "[INVALID_ARGUMENTS /extensions/0/options/callback_url]" {
			t.Errorf("%s: %s", c.url, w.Body)
		}
	}
	if n.runs.Load() > 0 {
		t.Error("the function was run")
	}
}
