package openai

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// askAgain is the time after which a server that did not report its limits is asked again.
const askAgain = time.Minute

// ollamaContext is the context window to which Ollama silently truncates requests by default.
const ollamaContext = 4096

// info is what is known of a model.
type info struct {
	model  string
	limits model.Limits
	llama  bool // the server is llama.cpp
}

// capabilities finds out what a server reports of a model, once. Its methods may be called concurrently.
type capabilities struct {
	server  *server
	context int // as configured
	now     func() time.Time

	sem        chan struct{} // semaphore of one request
	mu         sync.Mutex
	info       info
	done       bool
	lastFailed time.Time // last request without a result
}

func newCapabilities(s *server, name string, context int) *capabilities {
	f := &capabilities{server: s, context: max(0, context), now: time.Now, sem: make(chan struct{}, 1), info: info{model: name}}
	if s.official() {
		f.info.limits, f.done = publishedLimits(name), true
	}
	if f.context > 0 {
		f.info.limits.Context = f.context
	}
	return f
}

// cached returns what is known, and whether the server should not be asked now.
func (f *capabilities) cached() (info, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info, f.done || !f.lastFailed.IsZero() && f.now().Sub(f.lastFailed) < askAgain
}

// name returns the name of the model, or the host of the server until the name is known.
func (f *capabilities) name() string {
	if k, _ := f.cached(); k.model != "" {
		return k.model
	}
	return f.server.host()
}

// modelName returns the name of the model. If none is configured, it asks the server for its first model.
func (f *capabilities) modelName(ctx context.Context) (string, error) {
	if k, _ := f.cached(); k.model != "" {
		return k.model, nil
	}
	list, err := f.list(ctx)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", &model.Error{Model: f.server.host(), Failure: model.Rejected, Cause: errors.New("the server lists no model")}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info.model == "" {
		f.info.model = list[0].ID
	}
	return f.info.model, nil
}

// fetch asks the server, if needed, and returns what is known.
func (f *capabilities) fetch(ctx context.Context) info {
	if k, enough := f.cached(); enough {
		return k
	}
	select {
	case f.sem <- struct{}{}:
		defer func() { <-f.sem }()
	case <-ctx.Done():
		k, _ := f.cached()
		return k
	}
	k, enough := f.cached()
	if enough {
		return k
	}
	short, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	found := f.query(short, info{model: k.model})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info.model == "" {
		f.info.model = found.model
	}
	f.info.llama = found.llama
	f.info.limits = found.limits
	if f.context > 0 {
		f.info.limits.Context = f.context
	}
	if f.info.limits.Context == 0 && f.info.model != "" {
		f.info.limits = publishedLimits(f.info.model)
	}
	switch {
	case found.limits.Context > 0:
		f.done = true
	case ctx.Err() == nil: // otherwise the caller has cancelled
		f.lastFailed = f.now()
	}
	return f.info
}

// listed is an entry of a server's list of models.
type listed struct {
	ID            string `json:"id"`
	OwnedBy       string `json:"owned_by"`
	MaxModelLen   size   `json:"max_model_len"`  // vLLM
	ContextLength size   `json:"context_length"` // OpenRouter, Together and others
	ContextWindow size   `json:"context_window"` // Groq
	Meta          struct {
		Context size `json:"n_ctx"`
		Trained size `json:"n_ctx_train"`
	} `json:"meta"` // llama.cpp
	Top struct {
		Output size `json:"max_completion_tokens"`
	} `json:"top_provider"` // OpenRouter
}

// size is a number of tokens. Invalid values decode to 0.
type size int

// UnmarshalJSON implements [json.Unmarshaler].
func (s *size) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && n >= 1 && n < 1<<30 {
		*s = size(n)
	}
	return nil
}

// maxName is the maximum length of a model name in bytes: llama.cpp reports the path of a file.
const maxName = 512

// isName reports whether the name of a model can be shown and stored: names go into events, logs and terminals.
func isName(id string) bool {
	return id != "" && len(id) <= maxName && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// list returns the server's models with valid names.
func (f *capabilities) list(ctx context.Context) ([]listed, error) {
	var reply struct {
		Data []listed `json:"data"`
	}
	err := f.server.ask(ctx, f.server.endpoint("models"), nil, &reply)
	return slices.DeleteFunc(reply.Data, func(m listed) bool { return !isName(m.ID) }), err
}

// query asks the server in the ways of all known servers.
func (f *capabilities) query(ctx context.Context, k info) info {
	list, err := f.list(ctx)
	if err != nil && !endpointMissing(err) {
		return k
	}
	m := findModel(list, k.model)
	if k.model == "" {
		k.model = m.ID
	}
	k.limits.Output = int(m.Top.Output)
	k.limits.Context = int(first(m.MaxModelLen, m.ContextLength, m.ContextWindow))
	if m.OwnedBy == "llamacpp" || k.limits.Context == 0 && m.OwnedBy != "library" {
		if n := f.llama(ctx); n > 0 {
			k.llama = true
			k.limits.Context = int(n)
			return k
		}
		k.limits.Context = int(first(size(k.limits.Context), m.Meta.Context, m.Meta.Trained))
	}
	if k.limits.Context == 0 && k.model != "" {
		k.limits.Context = int(f.ollama(ctx, k.model))
	}
	return k
}

// endpointMissing reports whether the server answered that it does not have the endpoint.
func endpointMissing(err error) bool {
	var r *transport.StatusError
	return errors.As(err, &r) && (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed)
}

// findModel returns the model of a name, or the only model, since llama.cpp accepts any name.
func findModel(list []listed, name string) listed {
	for _, m := range list {
		if m.ID == name || m.ID == name+":latest" {
			return m
		}
	}
	if len(list) > 0 && (name == "" || len(list) == 1) {
		return list[0]
	}
	return listed{}
}

func first(sizes ...size) size {
	for _, s := range sizes {
		if s > 0 {
			return s
		}
	}
	return 0
}

// llama asks llama.cpp's server for the context window of one request; 0 for other servers.
func (f *capabilities) llama(ctx context.Context) size {
	var props struct {
		Settings struct {
			Context size `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := f.server.ask(ctx, f.server.at("props"), nil, &props); err != nil {
		return 0
	}
	return props.Settings.Context
}

// ollama asks Ollama for the context window: as set in the Modelfile, of the running model, or the default. The one that the
// model was trained for does not count, since Ollama silently truncates longer requests.
func (f *capabilities) ollama(ctx context.Context, name string) size {
	var shown struct {
		Parameters string         `json:"parameters"`
		Info       map[string]any `json:"model_info"`
	}
	if err := f.server.ask(ctx, f.server.at("api/show"), map[string]string{"model": name}, &shown); err != nil {
		return 0
	}
	for line := range strings.Lines(shown.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			var n size
			if _ = n.UnmarshalJSON([]byte(words[1])); n > 0 {
				return n
			}
		}
	}
	var running struct {
		Models []struct {
			Name    string `json:"name"`
			Context size   `json:"context_length"`
		} `json:"models"`
	}
	if err := f.server.ask(ctx, f.server.at("api/ps"), nil, &running); err == nil {
		for _, m := range running.Models {
			if (m.Name == name || m.Name == name+":latest") && m.Context > 0 {
				return m.Context
			}
		}
	}
	for key, value := range shown.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") && n >= 1 && n < 1<<30 {
			return min(size(n), ollamaContext)
		}
	}
	return 0
}

// publishedLimits returns the limits that OpenAI publishes (platform.openai.com/docs/models), by the longest prefix of the
// name.
func publishedLimits(name string) model.Limits {
	name = strings.TrimPrefix(name, "openai/")
	var best string
	var limits model.Limits
	for prefix, l := range map[string]model.Limits{
		"gpt-3.5-turbo":     {Context: 16385, Output: 4096},
		"gpt-4":             {Context: 8192, Output: 8192},
		"gpt-4-turbo":       {Context: 128000, Output: 4096},
		"gpt-4o":            {Context: 128000, Output: 16384},
		"gpt-4o-2024-05-13": {Context: 128000, Output: 4096},
		"chatgpt-4o":        {Context: 128000, Output: 16384},
		"gpt-4.1":           {Context: 1047576, Output: 32768},
		"gpt-5":             {Context: 400000, Output: 128000},
		"gpt-5-chat":        {Context: 128000, Output: 16384},
		"gpt-oss":           {Context: 131072, Output: 131072},
		"o1":                {Context: 200000, Output: 100000},
		"o3":                {Context: 200000, Output: 100000},
		"o4-mini":           {Context: 200000, Output: 100000},
	} {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best, limits = prefix, l
		}
	}
	return limits
}
