package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/sluice-rag/sluice/answer"
	"github.com/sluice-rag/sluice/answer/agent"
	"github.com/sluice-rag/sluice/answer/agent/calling"
	"github.com/sluice-rag/sluice/answer/analyze"
	"github.com/sluice-rag/sluice/answer/condense"
	"github.com/sluice-rag/sluice/answer/generate"
	"github.com/sluice-rag/sluice/answer/grade"
	"github.com/sluice-rag/sluice/answer/history"
	"github.com/sluice-rag/sluice/answer/hyde"
	"github.com/sluice-rag/sluice/answer/selfquery"
	"github.com/sluice-rag/sluice/answer/verify"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/ingest/entities"
	"github.com/sluice-rag/sluice/ingest/proposition"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/anthropic"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/model/local"
	"github.com/sluice-rag/sluice/model/openai"
	"github.com/sluice-rag/sluice/model/transport"
	"github.com/sluice-rag/sluice/prompt"
)

// Models are the models of the settings.
type Models struct {
	Local    *local.Model
	Chats    []model.Chat   // in order of preference; none: the local model alone
	kinds    []string       // of Chats
	unnamed  []*openai.Chat // those of Chats whose name the settings do not have
	Prompts  *prompt.Set
	Embedder *openai.Embedder // nil: the local model embeds

	grader grade.Coverage
	reach  *reach
}

// OpenModels returns the models of the settings. It sends no request, except for the name of the embedding model if the settings
// have none.
func OpenModels(ctx context.Context, cfg config.Config, logger *slog.Logger) (*Models, error) {
	m := &Models{Local: local.New(local.Options{}), reach: &reach{client: transport.Client(nil)}}
	for _, e := range cfg.Models.Chain() {
		if e.Kind == config.KindLocal {
			break // it never fails, so later models would not be asked
		}
		c, err := chat(e, keyFor(e, cfg, logger), cfg.Models, nil, logger)
		if err != nil {
			return nil, fmt.Errorf("open model: %w", err)
		}
		if o, ok := c.(*openai.Chat); ok && !o.Named() {
			m.unnamed = append(m.unnamed, o)
		}
		m.Chats, m.kinds = append(m.Chats, model.Remote{Chat: c}), append(m.kinds, e.Kind)
	}
	var err error
	if m.grader.Fitted, err = LoadCalibrations(cfg); err != nil {
		return nil, err
	}
	if m.Prompts, err = prompt.Load(cfg.Models.Prompts); err != nil {
		return nil, err
	}
	if cfg.Models.Embeds() {
		key := keyFor(cfg.Models.Embedding(), cfg, logger)
		asking, cancel := context.WithTimeout(ctx, maxCheck)
		defer cancel()
		m.Embedder, err = openai.NewEmbedder(asking, openai.EmbedOptions{URL: cfg.Models.EmbedURL, Key: key, Model: cfg.Models.EmbedName,
			QueryPrefix: cfg.Models.EmbedQueryPrefix, PassagePrefix: cfg.Models.EmbedPassagePrefix, Logger: logger})
		if err != nil {
			if cfg.Models.EmbedName == "" {
				err = fmt.Errorf("ask the server for its model; set embed-name to avoid this: %w", err)
			}
			return nil, fmt.Errorf("open embedder: %w", err)
		}
	}
	return m, nil
}

// chat returns the model of an endpoint. Without an HTTP client it has one of its own.
func chat(e config.Endpoint, key string, cfg config.Models, client *http.Client, logger *slog.Logger) (model.Chat, error) {
	if e.Kind == config.KindAnthropic {
		return anthropic.New(anthropic.Options{URL: e.URL, Key: key, Model: e.Name, Stall: cfg.ModelStall, Context: cfg.ModelContext, HTTP: client, Logger: logger})
	}
	return openai.New(openai.Options{URL: e.URL, Key: key, Model: e.Name, Stall: cfg.ModelStall, Context: cfg.ModelContext, HTTP: client, Logger: logger})
}

// keyFor returns the key for an endpoint. It logs a warning if the key is sent over a network without encryption.
func keyFor(e config.Endpoint, cfg config.Config, logger *slog.Logger) string {
	key := cfg.KeyFor(e).Reveal()
	if u, err := url.Parse(e.URL); key != "" && err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		logger.Warn("the key is sent without encryption", "host", u.Host)
	}
	return key
}

// resolve asks the servers of models for their names, so that the first run has the right one. A server that does not reply is asked by the
// first question.
func (m *Models) resolve(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	var asking sync.WaitGroup
	for _, c := range m.unnamed {
		asking.Go(func() { c.Resolve(ctx) })
	}
	asking.Wait()
}

// writers returns the names of the models that may write an answer, or none if one of them is not known yet.
func (m *Models) writers() []string {
	for _, c := range m.unnamed {
		if !c.Named() {
			return nil
		}
	}
	write, _ := m.Names() // questions may ask for the local model
	return write
}

// Names returns the names of the models that write and judge, in order of preference, and of the one that embeds. A model whose
// name is not known yet has the name of its server.
func (m *Models) Names() (write []string, embed string) {
	for _, c := range m.Chats {
		write = append(write, c.Name())
	}
	embed = m.Local.Space()
	if m.Embedder != nil {
		embed = m.Embedder.Name()
	}
	return append(write, m.Local.Name()), embed
}

// judge sets the generator of the pipeline and the steps that models or rules judge.
func (m *Models) judge(cfg config.Models, logger *slog.Logger, p *answer.Pipeline) {
	overlap := verify.Overlap{Tokens: m.Local}
	p.Generator, p.Scorer, p.Verifier = m.Local, m.grader, overlap
	p.Generators = m.generators(cfg, logger)
	if len(m.Chats) == 0 {
		return
	}
	chain := failover.New(m.Chats, failover.Options{Logger: logger})
	p.Generator = m.writer(chain, cfg)
	judge := prompt.NewJudge(chain)
	if cfg.Judges("analyze") {
		p.Summarizer = history.NewModel(judge, m.Prompts, history.Rules{}, history.Options{})
		p.Condenser = condense.NewModel(judge, m.Prompts, condense.Rules{}, condense.Options{})
		p.Analyzer = analyze.NewModel(judge, m.Prompts, analyze.Rules{}, analyze.Options{})
		p.Filters = selfquery.NewModel(judge, m.Prompts, selfquery.Rules{}, selfquery.Options{})
	}
	if cfg.Judges("plan") {
		graph, _ := p.Index.(index.Graph)
		p.Planner = calling.New(chain, m.Prompts, agent.Rules{Index: p.Index, Graph: graph}, calling.Options{})
	}
	if cfg.Judges("hyde") {
		p.Drafter = hyde.NewModel(judge, m.Prompts, hyde.Feedback{}, hyde.Options{})
	}
	if cfg.Judges("grade") {
		p.Grader = grade.NewModel(judge, m.Prompts, m.grader, grade.Options{})
	}
	if cfg.Judges("verify") {
		p.Verifier = verify.NewModel(judge, m.Prompts, overlap, verify.Options{})
	}
}

// Extractive is a second name of the local model in questions.
const Extractive = "extractive"

// generators returns a function that finds the generator for the name of a model. The generator falls back on the other models.
// Names are compared when a question is asked, since a server may report the name of its model late.
func (m *Models) generators(cfg config.Models, logger *slog.Logger) func(name string) model.Generator {
	first := make([]model.Generator, len(m.Chats))
	for i, c := range m.Chats {
		order := append([]model.Chat{c}, slices.Delete(slices.Clone(m.Chats), i, i+1)...)
		first[i] = m.writer(failover.New(order, failover.Options{Logger: logger}), cfg)
	}
	return func(name string) model.Generator {
		if name == Extractive || name == m.Local.Name() {
			return m.Local
		}
		for i, c := range m.Chats {
			if c.Name() == name {
				return first[i]
			}
		}
		return nil
	}
}

// writer returns the generator for a chain of models.
func (m *Models) writer(chain model.Chat, cfg config.Models) model.Generator {
	var then model.Generator
	if cfg.FallsBack() {
		then = m.Local
	}
	return generate.NewModel(chain, m.Prompts, then, generate.Options{MaxTokens: cfg.AnswerTokens, Context: cfg.ModelContext})
}

// proposer returns the proposer, which rewrites sentences to be self-contained.
func (m *Models) proposer(how string, logger *slog.Logger) proposition.Generator {
	switch {
	case how == "off":
		return proposition.None{}
	case how == "model" && len(m.Chats) > 0:
		chain := failover.New(m.Chats, failover.Options{Logger: logger})
		return proposition.NewModel(chain, m.Prompts, proposition.Rules{}, prompt.PassageOptions{Logger: logger})
	}
	return proposition.Rules{}
}

// extractor returns the extractor of named entities.
func (m *Models) extractor(how string, logger *slog.Logger) entities.Extractor {
	switch {
	case how == "off":
		return entities.None{}
	case how == "model" && len(m.Chats) > 0:
		return entities.NewModel(failover.New(m.Chats, failover.Options{Logger: logger}), m.Prompts, entities.Rules{}, prompt.PassageOptions{Logger: logger})
	}
	return entities.Rules{}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
