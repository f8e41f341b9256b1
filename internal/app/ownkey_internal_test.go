package app

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/model"
)

const callerKey = "sk-caller-Zq7Xw2Lk9Pv4Rt8N"

// roundTrip is an [http.RoundTripper].
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// intercept replaces the connections of keys of callers. Tests that call it must not run in parallel.
func intercept(t *testing.T, do roundTrip) {
	for _, c := range ownClients {
		before := c.Transport
		c.Transport = do
		t.Cleanup(func() { c.Transport = before })
	}
}

// TestOwnKeysGoToTheProvider checks to which addresses keys of callers are sent.
func TestOwnKeysGoToTheProvider(t *testing.T) {
	var sent []string
	intercept(t, func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "Bearer "+callerKey && r.Header.Get("X-Api-Key") != callerKey {
			t.Errorf("%s without the key of the caller", r.URL)
		}
		sent = append(sent, r.URL.Scheme+"://"+r.URL.Host)
		return nil, errors.New("no connection")
	})
	m := &Models{}
	configured := config.Models{Model: []string{"local", "openai", "openai"}, ModelURL: []string{"http://models.example:8080/v1", "http://second.example/v1"}, ModelName: []string{"mine"}}
	for _, c := range []struct{ setting, provider, name, want, model string }{
		{config.OwnKeysOfficial, "openai", "", "https://api.openai.com", "gpt-5.4-mini"},
		{config.OwnKeysOfficial, "openai", "gpt-x", "https://api.openai.com", "gpt-x"},
		{config.OwnKeysOfficial, "anthropic", "", "https://api.anthropic.com", "claude-sonnet-5-5"},
		{config.OwnKeysConfigured, "openai", "", "http://models.example:8080", "mine"},
		{config.OwnKeysConfigured, "openai", "other/model:7b", "http://models.example:8080", "other/model:7b"},
		{config.OwnKeysConfigured, "anthropic", "", "https://api.anthropic.com", "claude-sonnet-5-5"},
	} {
		cfg := configured
		cfg.OwnKeys = c.setting
		ctx, err := m.ownModel(t.Context(), cfg, c.provider, callerKey, c.name)
		require.NoError(t, err)
		own, _ := ownModelOf(ctx)
		if want := (event.ModelInfo{Provider: c.provider, Model: c.model, OwnKey: true}); own.info != want {
			t.Errorf("%+v: %+v", c, own.info)
		}
		sent = nil
		for _, err := range own.chat.Complete(ctx, model.Request{Messages: []model.Message{{Role: model.User, Text: "Why?"}}}) {
			if err == nil || strings.Contains(err.Error(), callerKey) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		for _, to := range sent {
			if to != c.want {
				t.Errorf("%+v: sent to %s", c, to)
			}
		}
		if len(sent) == 0 {
			t.Errorf("%+v: nothing was sent", c)
		}
	}
	for name, c := range map[string]struct{ setting, key, model, field string }{
		"off":         {config.OwnKeysOff, callerKey, "", "x-openai-key"},
		"a bad key":   {config.OwnKeysOfficial, callerKey + "\n", "", "x-openai-key"},
		"a bad model": {config.OwnKeysOfficial, callerKey, "a/../b", "model"},
		"a path":      {config.OwnKeysOfficial, callerKey, "/etc", "model"},
	} {
		cfg := config.Models{OwnKeys: c.setting}
		_, err := m.ownModel(t.Context(), cfg, "openai", c.key, c.model)
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != fault.InvalidRequest || f.Field != c.field || strings.Contains(err.Error(), callerKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPanicShowsNoKey lets the connection to the provider panic in the middle of a run, whose stack is logged.
func TestPanicShowsNoKey(t *testing.T) {
	intercept(t, func(*http.Request) (*http.Response, error) { panic("boom") })
	var logged bytes.Buffer
	cfg := config.Default()
	cfg.Store.Data = t.TempDir()
	cfg.Models.Judge = []string{"none"}
	a, err := Open(t.Context(), cfg, slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.NoError(t, err)
	if _, err := a.Ingester.IngestDocuments(t.Context(), "default", []ingest.Source{{URI: "a.md", Data: []byte("The keeper of the Farland lighthouse is Ada Brook.")}}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, err := a.Models.ownModel(t.Context(), a.Config.Models, "openai", callerKey, "")
	require.NoError(t, err)
	id, err := a.Engine.Ask(ctx, event.Question{Query: "Who is the keeper of the Farland lighthouse?", Mode: event.Direct, NoCache: true}, engine.Caller{})
	require.NoError(t, err)
	var log []event.Event
	for batch, err := range a.Engine.Events(t.Context(), id, 0) {
		require.NoError(t, err)
		log = append(log, batch...)
	}
	if start := log[0].Body.(event.RunStarted); start.Writer != (event.ModelInfo{Provider: "openai", Model: "gpt-5.4-mini", OwnKey: true}) {
		t.Errorf("writer %+v", start.Writer)
	}
	if _, failed := log[len(log)-1].Body.(event.RunFailed); !failed {
		t.Errorf("ended with %+v", log[len(log)-1].Body)
	}
	if err := a.Close(); err != nil { // after it, nothing is logged
		t.Fatal(err)
	}
	text := logged.String()
	for _, e := range log {
		raw, err := event.AppendJSON(nil, e)
		require.NoError(t, err)
		text += string(raw)
	}
	if !strings.Contains(text, "boom") || strings.Contains(text, callerKey[len(callerKey)-16:]) {
		t.Errorf("logged %s", text)
	}
}
