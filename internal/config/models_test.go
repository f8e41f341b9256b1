package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestChain(t *testing.T) {
	const a, b = "http://127.0.0.1:1/v1", "https://b.example/v1"
	for name, c := range map[string]struct {
		input
		want []config.Endpoint
	}{
		"default":           {input{}, []config.Endpoint{{Kind: "local"}}},
		"a URL means one":   {input{args: []string{"--model-url", a}}, []config.Endpoint{{"openai", a, ""}}},
		"a name means one":  {input{args: []string{"--model-name", "x"}}, []config.Endpoint{{"openai", "", "x"}}},
		"two URLs mean two": {input{args: []string{"--model-url", a, "--model-url", b}}, []config.Endpoint{{"openai", a, ""}, {"openai", b, ""}}},
		"local after all": {input{args: []string{"--model=local"}, env: map[string]string{"SLUICE_MODEL_URL": a}, yaml: "model-name: [x]\n"},
			[]config.Endpoint{{Kind: "local"}}},
		"in order": {input{args: []string{"--model", "openai", "--model", "local", "--model", "anthropic", "--model-url", a, "--model-name", "x", "--model-name", "y"}},
			[]config.Endpoint{{"openai", a, "x"}, {"local", "", ""}, {"anthropic", "", "y"}}},
		"none of the first": {input{args: []string{"--model=anthropic", "--model=openai", "--model-url=-", "--model-url=" + a}},
			[]config.Endpoint{{"anthropic", "", ""}, {"openai", a, ""}}},
		"two names of one server": {input{args: []string{"--model-url", a, "--model-name", "x", "--model-name", "y"}},
			[]config.Endpoint{{"openai", a, "x"}, {"openai", a, "y"}}},
		"variables": {input{env: map[string]string{"SLUICE_MODEL": "openai, local", "SLUICE_MODEL_URL": a, "SLUICE_MODEL_NAME": "x"}},
			[]config.Endpoint{{"openai", a, "x"}, {"local", "", ""}}},
		"file": {input{yaml: "model: [openai, anthropic]\nmodel-name: [x, y]\n"}, []config.Endpoint{{"openai", "", "x"}, {"anthropic", "", "y"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.args = append([]string{"serve"}, c.args...)
			env := map[string]string{"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a"}
			maps.Copy(env, c.env)
			c.env = env
			cfg, _, _, err := load(t, c.input)
			require.NoError(t, err)
			if d := cmp.Diff(c.want, cfg.Models.Chain()); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestModelFaults(t *testing.T) {
	for name, c := range map[string]struct{ arg, want string }{
		"kind":          {"--model=gpt", "model: must be one of local, openai, anthropic"},
		"too many URLs": {"--model=openai --model-url=http://a --model-url=http://b", "model-url: is set 2 times for 1 models"},
		"not a URL":     {"--model-url=localhost:8080", "model-url: must be an address such as"},
		"a file":        {"--embed-url=file:///etc/passwd", "embed-url: must be an address such as"},
		"query":         {"--model-url=http://a/v1?key=s3cret", "model-url: must have no query"},
		"password":      {"--model-url=http://me:s3cret@/v1", "model-url: must be an address"},
		"no key":        {"--model=openai", "model: openai needs a key in the variable OPENAI_API_KEY (flag --model)"},
		"none of two":   {"--model=openai --model=anthropic --model-url=http://a", "model: anthropic needs a key in the variable ANTHROPIC_API_KEY"},
		"extractor":     {"--entities=model", "entities: is model, but no model is configured"},
		"proposer":      {"--propose=model", "propose: is model, but no model is configured"},
		"judge":         {"--judge=all --judge=grade", "judge: all and none cannot be combined"},
		"step":          {"--judge=everything", "judge: must be one of"},
		"weight":        {"--embed-weight=101", "embed-weight: must be from 0 to 100"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := load(t, input{args: append([]string{"serve"}, strings.Fields(c.arg)...)})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestJudges(t *testing.T) {
	for arg, want := range map[string]string{"": "analyze hyde grade verify", "--judge=none": "", "--judge=grade,verify": "grade verify"} {
		cfg, _, _, err := load(t, input{args: append([]string{"serve"}, strings.Fields(arg)...)})
		require.NoError(t, err)
		var got []string
		for _, step := range []string{"analyze", "hyde", "grade", "verify"} {
			if cfg.Models.Judges(step) {
				got = append(got, step)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q judges %q, want %q", arg, s, want)
		}
	}
}

func TestKeysAreReadAndNeverShown(t *testing.T) {
	const key = "sk-verysecret"
	cfg, _, _, err := load(t, input{args: []string{"serve"}, env: map[string]string{"OPENAI_API_KEY": " " + key + "\n", "ANTHROPIC_API_KEY": key}})
	require.NoError(t, err)
	if cfg.Keys.OpenAI.Reveal() != key || cfg.Keys.Anthropic.Reveal() != key {
		t.Error("the keys were not read")
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("settings", "key", cfg.Keys.OpenAI, "all", cfg)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("settings", "key", cfg.Keys.OpenAI, "all", cfg)
	encoded, err := json.Marshal(cfg.Keys)
	require.NoError(t, err)
	for _, shown := range []string{log.String(), string(encoded), fmt.Sprint(cfg), fmt.Sprintf("%v %+v %#v %s %q %x %d", cfg, cfg, cfg, cfg.Keys.OpenAI, cfg.Keys.OpenAI, cfg.Keys.OpenAI, cfg.Keys.OpenAI)} {
		if strings.Contains(shown, "verysecret") || strings.Contains(shown, "766572797365") {
			t.Errorf("shows the key: %s", shown)
		}
	}
	_, _, _, err = load(t, input{args: []string{"serve"}, env: map[string]string{"OPENAI_API_KEY": "sk-very secret"}})
	if err == nil || strings.Contains(err.Error(), "very") || !strings.Contains(err.Error(), "OPENAI_API_KEY") {
		t.Errorf("a key with a space: %v", err)
	}
}

// TestKeyBelongsToOneHost: the key of one server is not sent to another one.
func TestKeyBelongsToOneHost(t *testing.T) {
	const a, b = "http://127.0.0.1:1/v1", "https://b.example/v1"
	for name, c := range map[string]struct {
		args string
		want string // whether each endpoint of the chain, and then the embedder, gets the key
	}{
		"own":                  {"--model=openai", "yes"},
		"another":              {"--model-url=" + b, "yes"},
		"own and another":      {"--model=openai --model=openai --model-url=- --model-url=" + b, "yes no"},
		"another and own":      {"--model=openai --model=openai --model-url=" + b + " --model-url=-", "no yes"},
		"two others":           {"--model-url=" + b + " --model-url=" + a, "yes no"},
		"one server, twice":    {"--model-url=" + b + " --model-name=x --model-name=y", "yes yes"},
		"own, and an embedder": {"--model=openai --embed-url=" + b, "yes no"},
		"embedder of one host": {"--model-url=" + b + " --embed-url=" + b, "yes yes"},
		"own embedder":         {"--model-url=" + b + " --embed-name=text-embedding-3-small", "no yes"},
		"by its address":       {"--model=openai --model=openai --model-url=" + b + " --model-url=https://api.openai.com/v1", "no yes"},
		"anthropic":            {"--model=anthropic --model=openai --model-url=" + b, "yes yes"},
	} {
		cfg, _, _, err := load(t, input{args: append([]string{"serve"}, strings.Fields(c.args)...),
			env: map[string]string{"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a"}})
		require.NoError(t, err)
		all := cfg.Models.Chain()
		if cfg.Models.Embeds() {
			all = append(all, cfg.Models.Embedding())
		}
		var got []string
		for _, e := range all {
			switch key := cfg.KeyFor(e).Reveal(); {
			case key == "":
				got = append(got, "no")
			case key == map[string]string{"openai": "sk-o", "anthropic": "sk-a"}[e.Kind]:
				got = append(got, "yes")
			default:
				t.Errorf("%s: the key of another kind", name)
			}
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s: %s, want %s", name, g, c.want)
		}
	}
}
