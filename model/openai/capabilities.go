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

// askAgain is after what time a server that told nothing of itself is asked again.
const askAgain = time.Minute

// ollamaContext is what Ollama cuts a request to, without a word, where nothing sets num_ctx.
const ollamaContext = 4096

// known is what is known of a model.
type info struct {
	model  string
	limits model.Limits
	llama  bool // the server is llama.cpp's
}

// facts learns of a model what its server tells, once. Its methods may be called at once.
type capabilities struct {
	server  *server
	context int // as set
	now     func() time.Time

	sem        chan struct{} // holds one token: one asks at a time
	mu         sync.Mutex
	info       info
	done       bool
	lastFailed time.Time // when it was last asked in vain
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

// sofar gives what is known, and whether there is nothing more to be asked for now.
func (f *capabilities) cached() (info, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info, f.done || !f.lastFailed.IsZero() && f.now().Sub(f.lastFailed) < askAgain
}

// name gives the model's name, and the server's host until that is known.
func (f *capabilities) name() string {
	if k, _ := f.cached(); k.model != "" {
		return k.model
	}
	return f.server.host()
}

// need gives the model's name for a request, asking the server for its first model where none is set.
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

// learn gives what is known after asking, if that was not done.
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
	case ctx.Err() == nil: // one who is gone has not asked to the end
		f.lastFailed = f.now()
	}
	return f.info
}

// listed is a model as servers list it.
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

// size is a number of tokens; whatever else a server sends in its place is 0.
type size int

// UnmarshalJSON reads a number of tokens that can be one.
func (s *size) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil && n >= 1 && n < 1<<30 {
		*s = size(n)
	}
	return nil
}

// maxName is how many bytes a model's name may have: llama.cpp gives the path of a file.
const maxName = 512

// isName tells whether a server's name of a model is fit to be shown and stored: names go into events, logs and terminals.
func isName(id string) bool {
	return id != "" && len(id) <= maxName && !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// list asks for the server's models. Those whose names no model has are left out.
func (f *capabilities) list(ctx context.Context) ([]listed, error) {
	var reply struct {
		Data []listed `json:"data"`
	}
	err := f.server.ask(ctx, f.server.endpoint("models"), nil, &reply)
	return slices.DeleteFunc(reply.Data, func(m listed) bool { return !isName(m.ID) }), err
}

// ask asks the server for all that it tells, in the ways of the servers that are known.
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

// found says whether a server answered at all, if only that it has no such thing.
func endpointMissing(err error) bool {
	var r *transport.StatusError
	return errors.As(err, &r) && (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed)
}

// pick finds a model in a list: by its name, or the only one, as llama.cpp answers to any name.
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

// llama asks llama.cpp's server for the context of one request; 0 if it is none.
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

// ollama asks Ollama for the context that it runs the model with: as its Modelfile sets it, as it runs, and else as it
// starts models by itself. What the model was trained for is not it: Ollama cuts longer requests without a word.
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

// published gives the limits of OpenAI's models as it publishes them (platform.openai.com/docs/models), by the longest
// beginning of the name.
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
