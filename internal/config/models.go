package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Models holds the settings of the language models and the embedder.
type Models struct {
	Model         []string      `name:"model" common:"" split:"," defaultnote:"local, or openai if model-url or model-name is set" oneof:"local,openai,anthropic" placeholder:"KIND" help:"Kind of the model that writes answers and judges: local (no language model: sentences of the passages, and rules), openai (any OpenAI-compatible server) or anthropic. Can be repeated: if a model fails, the next one is used."`
	ModelURL      []string      `name:"model-url" common:"" split:"," placeholder:"URL" help:"Base URL of a model's server, such as http://127.0.0.1:8080/v1. Can be repeated: the first is for the first model that is not local, and so on. - is the provider's own address. Without --model, the kind is openai."`
	ModelName     []string      `name:"model-name" common:"" split:"," placeholder:"NAME" help:"Name of a model, in the same order as model-url. Further names use the last server. - or no name selects the first model of the server, or a current model at a provider's own address."`
	ModelStall    time.Duration `name:"model-stall" default:"15s" min:"100ms" max:"10m" help:"Time without data from a model, also before its first token, after which it counts as failed (duration)."`
	ModelContext  int           `name:"model-context" default:"0" min:"0" max:"100000000" help:"Context window of a model (tokens); 0 asks the server."`
	AnswerTokens  int           `name:"answer-tokens" default:"1024" min:"16" max:"1000000" help:"Maximum length of an answer (tokens), including the reasoning if the provider counts it."`
	ModelFallback string        `name:"model-fallback" default:"none" oneof:"none,extractive" help:"What happens if all models fail before one of them writes anything: none ends the run with LLM_ERROR and the reason; extractive lets the built-in generator answer with sentences of the passages. --model local as the last model is the same as extractive."`
	OwnKeys       string        `name:"own-keys" default:"official" oneof:"off,official,configured" help:"Where keys that callers send with a question (x-openai-key, x-anthropic-key) are sent: official, the provider's own address; configured, the first model-url of that kind if there is one; off refuses them."`
	Judge         []string      `name:"judge" split:"," default:"all" oneof:"all,none,analyze,plan,hyde,grade,verify" placeholder:"STEP" help:"Step that uses a model if one is configured: all, none, analyze, plan, hyde, grade or verify. Can be repeated. The other steps use rules."`
	SessionTitles string        `name:"session-titles" default:"rules" oneof:"rules,model" help:"How sessions get their titles: rules (from the first question) or model (a model replaces that title after the first answer)."`
	Prompts       string        `name:"prompts" optional:"" placeholder:"DIR" help:"Folder of prompts that replace the built-in prompts of the same file names. sluice prompts writes the built-in ones."`
	Calibration   string        `name:"calibration" optional:"" placeholder:"FILE" help:"Calibration of the grades, written by sluice calibrate. The default is calibration.json in the data folder if it exists, otherwise the built-in calibration."`

	EmbedURL           string `name:"embed-url" optional:"" placeholder:"URL" help:"Base URL of an OpenAI-compatible embedding server. Without embed-url and embed-name, static word vectors are used."`
	EmbedName          string `name:"embed-name" optional:"" placeholder:"NAME" help:"Name of the embedding model. The default is the first model of the server."`
	EmbedQueryPrefix   string `name:"embed-query-prefix" optional:"" maxlen:"200" placeholder:"TEXT" help:"Prefix of embedded questions, if the model needs one, such as 'query: '."`
	EmbedPassagePrefix string `name:"embed-passage-prefix" optional:"" maxlen:"200" placeholder:"TEXT" help:"Prefix of embedded passages, if the model needs one."`
	EmbedWeight        int    `name:"embed-weight" default:"0" min:"0" max:"100" help:"Weight of the vector score in a search (percent); the lexical score has the rest. 0 is the default: 5 for static vectors, 40 for the vectors of a model."`
}

// The kinds of models.
const (
	KindLocal     = "local"
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
)

// The values of ModelFallback.
const (
	FallbackNone       = "none"
	FallbackExtractive = "extractive"
)

// The values of SessionTitles.
const (
	SessionTitlesRules = "rules"
	SessionTitlesModel = "model"
)

// The values of OwnKeys.
const (
	OwnKeysOff        = "off"
	OwnKeysOfficial   = "official"
	OwnKeysConfigured = "configured"
)

// FallsBack reports whether the built-in generator answers if the models fail.
func (m Models) FallsBack() bool {
	return m.ModelFallback == FallbackExtractive || slices.Contains(m.Model, KindLocal)
}

// Endpoint is the address and name of a model. An empty URL is the provider's own address. An empty Name is the default model.
type Endpoint struct{ Kind, URL, Name string }

// Chain returns the models in order of preference. If only addresses or names are set, the kind is openai. If the kind is local,
// addresses and names are ignored.
func (m Models) Chain() []Endpoint {
	kinds := m.Model
	if len(kinds) == 0 {
		kinds = slices.Repeat([]string{KindOpenAI}, max(len(m.ModelURL), len(m.ModelName)))
	}
	if len(kinds) == 0 {
		kinds = []string{KindLocal}
	}
	var out []Endpoint
	remote, last := 0, ""
	for _, k := range kinds {
		e := Endpoint{Kind: k}
		if k != KindLocal {
			e.URL, e.Name = nth(m.ModelURL, remote), nth(m.ModelName, remote)
			remote++
		}
		if k == KindOpenAI {
			if remote > len(m.ModelURL) {
				e.URL = last // further names use the last server
			}
			last = e.URL
		}
		out = append(out, e)
	}
	return out
}

// official are the providers' own hosts.
var official = map[string]string{KindOpenAI: "api.openai.com", KindAnthropic: "api.anthropic.com"}

// Address returns the URL of the endpoint, which is the provider's own if the settings have none.
func (e Endpoint) Address() string {
	if e.URL == "" {
		return "https://" + official[e.Kind]
	}
	return e.URL
}

// host returns the host of the endpoint, without its port.
func (e Endpoint) host() string {
	if e.URL == "" {
		return official[e.Kind]
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Embedding returns the endpoint of the embedder, which has the kind openai.
func (m Models) Embedding() Endpoint {
	return Endpoint{Kind: KindOpenAI, URL: m.EmbedURL, Name: m.EmbedName}
}

// KeyFor returns the key of an endpoint. The key of a kind is only for one host: the provider's own if it is configured,
// otherwise the first host of the kind. For other hosts KeyFor returns an empty key.
func (c Config) KeyFor(e Endpoint) Secret {
	all := c.Models.Chain()
	if c.Models.Embeds() {
		all = append(all, c.Models.Embedding())
	}
	owner := ""
	for _, o := range all {
		switch {
		case o.Kind != e.Kind:
		case o.host() == official[e.Kind]:
			owner = official[e.Kind]
		case owner == "":
			owner = o.host()
		}
	}
	if e.host() != owner {
		return ""
	}
	if e.Kind == KindAnthropic {
		return c.Keys.Anthropic
	}
	return c.Keys.OpenAI
}

func nth(list []string, i int) string {
	if i >= len(list) || list[i] == "-" {
		return ""
	}
	return list[i]
}

// Judges reports whether a step uses a model: analyze, plan, hyde, grade or verify.
func (m Models) Judges(step string) bool {
	return slices.Contains(m.Judge, step) || slices.Contains(m.Judge, "all")
}

// Embeds reports whether an embedding server is configured.
func (m Models) Embeds() bool { return m.EmbedURL != "" || m.EmbedName != "" }

// checkCombinations appends faults of settings that are valid alone but not together.
func (m Models) checkCombinations(faults Faults) Faults {
	remote := 0
	for _, e := range m.Chain() {
		if e.Kind != KindLocal {
			remote++
		}
	}
	for name, list := range map[string][]string{"model-url": m.ModelURL, "model-name": m.ModelName} {
		if len(list) > remote && remote > 0 && !faults.has("model") {
			faults = append(faults, Fault{Setting: name, Problem: fmt.Sprintf("is set %d times for %d models that are not local", len(list), remote)})
		}
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"model-url", m.ModelURL}, {"embed-url", []string{m.EmbedURL}}} {
		for _, u := range list.values {
			if err := checkURL(u); err != nil && !faults.has(list.name) {
				faults = append(faults, Fault{Setting: list.name, Problem: err.Error()})
			}
		}
	}
	if len(m.Judge) > 1 && (slices.Contains(m.Judge, "all") || slices.Contains(m.Judge, "none")) {
		faults = append(faults, Fault{Setting: "judge", Problem: "all and none cannot be combined with other steps"})
	}
	return faults
}

// checkURL validates an address. The error does not contain the address, which can hold a password.
func checkURL(v string) error {
	if v == "" || v == "-" {
		return nil
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("must be an address such as http://127.0.0.1:8080/v1")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must have no query and no fragment")
	}
	return nil
}

// missingKeys returns a fault for each provider that is used at its own address without a key.
func (c Config) missingKeys(sources map[string]string) (faults Faults) {
	for _, e := range c.Models.Chain() {
		if e.Kind == KindLocal || e.host() != official[e.Kind] || c.KeyFor(e).Reveal() != "" {
			continue
		}
		f := Fault{Setting: "model", Source: sources["model"], Problem: e.Kind + " needs a key in the variable " + variableOf[e.Kind]}
		if !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults
}

// variableOf names the variables of keys.
var variableOf = map[string]string{KindOpenAI: "OPENAI_API_KEY", KindAnthropic: "ANTHROPIC_API_KEY"}

// Secret is a text that prints, logs and encodes as asterisks.
type Secret string

const hidden = "*****"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String implements [fmt.Stringer].
func (Secret) String() string { return hidden }

// GoString implements [fmt.GoStringer].
func (Secret) GoString() string { return hidden }

// Format implements [fmt.Formatter] for all verbs.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements [encoding.TextMarshaler].
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// variableOfIndexKey is the variable of the API key of the Weaviate server.
const variableOfIndexKey = "SLUICE_INDEX_KEY"

// Keys holds the API keys of the providers, and the secret of the login. They are only read from variables, because other users can see command lines and
// files are easily copied.
type Keys struct {
	OpenAI    Secret // OPENAI_API_KEY
	Anthropic Secret // ANTHROPIC_API_KEY
	OIDC      Secret // SLUICE_OIDC_CLIENT_SECRET: of the login by OpenID Connect
	Index     Secret // SLUICE_INDEX_KEY: of the Weaviate server
}

// keysFrom reads the keys.
func keysFrom(lookup func(string) (string, bool)) (k Keys, faults Faults) {
	for name, key := range map[string]*Secret{variableOf[KindOpenAI]: &k.OpenAI, variableOf[KindAnthropic]: &k.Anthropic, variableOfSecret: &k.OIDC, variableOfIndexKey: &k.Index} {
		text, _ := lookup(name)
		text = strings.TrimSpace(text)
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			faults = append(faults, Fault{Problem: "a key must consist of printable ASCII characters without spaces", Source: "variable " + name})
		}
		*key = Secret(text)
	}
	return k, faults
}
