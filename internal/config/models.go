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

// Models says which models write and judge, and which one embeds.
type Models struct {
	Model         []string      `name:"model" split:"," defaultnote:"local, or openai where an address or a name is given" oneof:"local,openai,anthropic" placeholder:"KIND" help:"Model that writes and judges: local, which is none (sentences of the passages, and rules), openai, which is any OpenAI-compatible server, or anthropic. Given several times, each takes over where the one before it fails."`
	ModelURL      []string      `name:"model-url" split:"," placeholder:"URL" help:"Address of a model's server, such as http://127.0.0.1:8080/v1: the first is that of the first model that is not local, and so on; - is the provider's own. Without a model it means openai."`
	ModelName     []string      `name:"model-name" split:"," placeholder:"NAME" help:"Name of a model at its server, in the same order; where there are more names than addresses, the last server has the others too; - or none is the server's first, or for a provider's own address a current one."`
	ModelStall    time.Duration `name:"model-stall" default:"15s" min:"100ms" max:"10m" help:"How long a model may send nothing before it counts as failed, the wait for its first token included (duration)."`
	ModelContext  int           `name:"model-context" default:"0" min:"0" max:"100000000" help:"Tokens that a model reads and writes in one request; 0 asks the server."`
	AnswerTokens  int           `name:"answer-tokens" default:"1024" min:"16" max:"1000000" help:"Longest answer that a model may write (tokens), its reasoning included where the provider counts it."`
	ModelFallback string        `name:"model-fallback" default:"none" oneof:"none,extractive" help:"What happens if every model failed before it wrote anything: none ends the run with LLM_ERROR and the reason; extractive lets the built-in generator answer with sentences of the passages. --model local as the last model is the same as extractive."`
	Judge         []string      `name:"judge" split:"," default:"all" oneof:"all,none,analyze,plan,hyde,grade,verify" placeholder:"STEP" help:"Step in which a model judges, where there is one: all, none, analyze, plan, hyde, grade or verify; give it once for each. Rules judge the others."`
	Prompts       string        `name:"prompts" optional:"" placeholder:"DIR" help:"Folder of prompts that replace the built-in ones of the same file names; sluice prompts writes those out."`
	Calibration   string        `name:"calibration" optional:"" placeholder:"FILE" help:"What sluice calibrate wrote: how passages are graded. Without it, calibration.json in the data folder where there is one, or what is built in."`

	EmbedURL           string `name:"embed-url" optional:"" placeholder:"URL" help:"Address of an OpenAI-compatible server that embeds; without it and a name, static word vectors are used."`
	EmbedName          string `name:"embed-name" optional:"" placeholder:"NAME" help:"Name of the embedding model; none is the server's first."`
	EmbedQueryPrefix   string `name:"embed-query-prefix" optional:"" maxlen:"200" placeholder:"TEXT" help:"Put before questions that are embedded, where the model wants it, such as 'query: '."`
	EmbedPassagePrefix string `name:"embed-passage-prefix" optional:"" maxlen:"200" placeholder:"TEXT" help:"Put before passages that are embedded, where the model wants it."`
	EmbedWeight        int    `name:"embed-weight" default:"0" min:"0" max:"100" help:"Share of the vectors in a search's score, in percent; words have the rest. 0 is what suits: 5 for static vectors, 40 for a model's."`
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

// FallsBack reports whether the built-in generator answers if the models fail.
func (m Models) FallsBack() bool {
	return m.ModelFallback == FallbackExtractive || slices.Contains(m.Model, KindLocal)
}

// Endpoint is a model to be asked. An empty URL is the provider's own, an empty Name the one that suits.
type Endpoint struct{ Kind, URL, Name string }

// Chain gives the models in order of preference. Where only an address or a name is given, the kind is openai; one who asks for
// local gets that, whatever addresses a file or variables hold.
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
				e.URL = last // two names and one address are two models of one server
			}
			last = e.URL
		}
		out = append(out, e)
	}
	return out
}

// official are the providers' own hosts.
var official = map[string]string{KindOpenAI: "api.openai.com", KindAnthropic: "api.anthropic.com"}

// host gives where the endpoint stands, without its port.
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

// Embedding gives the endpoint that embeds, which is of kind openai.
func (m Models) Embedding() Endpoint {
	return Endpoint{Kind: KindOpenAI, URL: m.EmbedURL, Name: m.EmbedName}
}

// KeyFor gives the key for an endpoint. A kind's key is one host's: the provider's own if that is asked for anything, and
// else the first host of its kind. Others do not get to see it.
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

// Judges tells whether models judge at a step: analyze, plan, hyde, grade or verify.
func (m Models) Judges(step string) bool {
	return slices.Contains(m.Judge, step) || slices.Contains(m.Judge, "all")
}

// Embeds tells whether a server embeds.
func (m Models) Embeds() bool { return m.EmbedURL != "" || m.EmbedName != "" }

// cross gives the faults that lie between the settings.
func (m Models) cross(faults Faults) Faults {
	remote := 0
	for _, e := range m.Chain() {
		if e.Kind != KindLocal {
			remote++
		}
	}
	for name, list := range map[string][]string{"model-url": m.ModelURL, "model-name": m.ModelName} {
		if len(list) > remote && remote > 0 && !faults.has("model") {
			faults = append(faults, Fault{Setting: name, Problem: fmt.Sprintf("is given %d times for %d models that are not local", len(list), remote)})
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
		faults = append(faults, Fault{Setting: "judge", Problem: "all and none stand alone"})
	}
	return faults
}

// checkURL says what is wrong with an address. The address is not repeated: it may hold a password.
func checkURL(v string) error {
	if v == "" || v == "-" {
		return nil
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("wants an address such as http://127.0.0.1:8080/v1")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must have no query and no fragment")
	}
	return nil
}

// keyless gives a fault for each provider that is asked at its own address and has no key. Hows say how settings were given.
func (c Config) keyless(hows map[string]string) (faults Faults) {
	for _, e := range c.Models.Chain() {
		if e.Kind == KindLocal || e.host() != official[e.Kind] || c.KeyFor(e).Reveal() != "" {
			continue
		}
		f := Fault{Setting: "model", Given: hows["model"], Problem: e.Kind + " wants its key in the variable " + variableOf[e.Kind]}
		if !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults
}

// variableOf names the variables of keys.
var variableOf = map[string]string{KindOpenAI: "OPENAI_API_KEY", KindAnthropic: "ANTHROPIC_API_KEY"}

// Secret is a text that is never shown: printed in any way, or logged, or encoded, it is a row of asterisks.
type Secret string

const hidden = "*****"

// Reveal gives the text itself, for the one who must send it.
func (s Secret) Reveal() string { return string(s) }

// String implements [fmt.Stringer].
func (Secret) String() string { return hidden }

// GoString implements [fmt.GoStringer].
func (Secret) GoString() string { return hidden }

// Format implements [fmt.Formatter], for the verbs that would look inside.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements [encoding.TextMarshaler].
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Keys are the providers' keys. They come from variables alone, since command lines are seen by other users and files get
// copied.
type Keys struct {
	OpenAI    Secret // OPENAI_API_KEY
	Anthropic Secret // ANTHROPIC_API_KEY
}

// keysFrom reads the keys.
func keysFrom(lookup func(string) (string, bool)) (k Keys, faults Faults) {
	for kind, key := range map[string]*Secret{KindOpenAI: &k.OpenAI, KindAnthropic: &k.Anthropic} {
		name := variableOf[kind]
		text, _ := lookup(name)
		text = strings.TrimSpace(text)
		if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			faults = append(faults, Fault{Problem: "a key holds printing characters of ASCII and no spaces", Given: "variable " + name})
		}
		*key = Secret(text)
	}
	return k, faults
}
