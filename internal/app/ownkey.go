package app

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/transport"
)

// ownModel is the model of one run, which the caller's key pays. It exists only in the context of the run: it is neither stored nor logged.
type ownModel struct {
	chat model.Chat
	info event.ModelInfo
}

type ownModelKey struct{}

func ownModelOf(ctx context.Context) (*ownModel, bool) {
	own, ok := ctx.Value(ownModelKey{}).(*ownModel)
	return own, ok
}

// ownClients are the HTTP clients for keys of callers, by kind. They follow no redirects.
var ownClients = map[string]*http.Client{config.KindOpenAI: transport.Client(nil), config.KindAnthropic: transport.Client(nil)}

var modelNameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// ownModel returns a context in which a model with the caller's key answers: see [server.Options]. The key is only sent to the provider's
// own address or, if the settings say so, to the configured server of that kind. Errors do not repeat it.
func (m *Models) ownModel(ctx context.Context, cfg config.Models, provider, key, name string) (context.Context, error) {
	header := "x-" + provider + "-key"
	if cfg.OwnKeys == config.OwnKeysOff {
		return nil, fault.Invalid(header, "this server does not accept keys of callers")
	}
	if err := transport.CheckKey(key); err != nil {
		return nil, fault.Invalid(header, "has characters that a key cannot have")
	}
	if name != "" && (!modelNameRE.MatchString(name) || strings.Contains(name, "..")) {
		return nil, fault.Invalid("model", "want the name of a model: ASCII letters, digits and characters of ._:/@-")
	}
	e := config.Endpoint{Kind: provider}
	if cfg.OwnKeys == config.OwnKeysConfigured {
		for _, c := range cfg.Chain() {
			if c.Kind == provider {
				e = c
				break
			}
		}
	}
	if name != "" {
		e.Name = name
	}
	c, err := chat(e, key, cfg, ownClients[provider], slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "the model could not be opened")
	}
	own := &ownModel{model.Remote{Chat: c}, event.ModelInfo{Provider: provider, Model: c.Name(), OwnKey: true}}
	return context.WithValue(ctx, ownModelKey{}, own), nil
}

// describe returns the model that is to answer a question: that of the caller, the one that the question names, or the first one.
func (m *Models) describe(ctx context.Context, q event.Question) event.ModelInfo {
	if own, ok := ownModelOf(ctx); ok {
		return own.info
	}
	local := event.ModelInfo{Provider: config.KindLocal, Model: m.Local.Name()}
	for i, c := range m.Chats {
		if c.Name() == q.Model {
			return event.ModelInfo{Provider: m.kinds[i], Model: q.Model}
		}
	}
	if len(m.Chats) == 0 || q.Model == Extractive || q.Model == local.Model {
		return local
	}
	return event.ModelInfo{Provider: m.kinds[0], Model: m.Chats[0].Name()}
}

// ownKeyAnswerer answers the questions of callers who pay the model with a key of their own, and leaves the others to the pipeline.
type ownKeyAnswerer struct {
	*answer.Pipeline
	models *Models
	config config.Models
	logger *slog.Logger
}

var errKeyGone = fault.New(fault.Unavailable, "the server restarted, and the caller's key, which it does not store, is needed to go on")

// Answer implements [answer.Answerer]. All steps that ask a model ask that of the caller, and no other model or generator takes over.
func (o ownKeyAnswerer) Answer(ctx context.Context, r *answer.Recorder) error {
	own, ok := ownModelOf(ctx)
	if s := r.State(); !ok && s.Writer.OwnKey && s.Sources == nil {
		return errKeyGone
	}
	if !ok {
		return o.Pipeline.Answer(ctx, r)
	}
	p, models, cfg := *o.Pipeline, *o.models, o.config
	models.Chats, models.kinds = []model.Chat{own.chat}, []string{own.info.Provider}
	cfg.Model, cfg.ModelFallback = []string{own.info.Provider}, config.FallbackNone
	models.judge(cfg, o.logger, &p)
	p.Generators, p.Cache = nil, nil
	return p.Answer(ctx, r)
}
