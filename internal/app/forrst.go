package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/index"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/model/failover"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/mcp"
	"github.com/sluice-rag/sluice/server/rpc"
)

// openCalls creates the functions that are served over Forrst, and adds their route to the options of the server.
func (a *App) openCalls(o *server.Options) (err error) {
	a.calls, err = rpc.New(rpc.Options{Version: o.Version, Heartbeat: o.Heartbeat, WriteTimeout: o.WriteTimeout, Logger: a.logger,
		Keys: a.callStore.Idempotency(), Operations: a.callStore.Operations(), Attempts: a.callStore,
		Engine: a.Engine, Asker: server.NewAsker(a.Engine, *o), Chat: a.Models.chatByName(a.logger), NoGenerate: a.noGenerate(),
		Limiter: a.limiter, MaxTokens: a.Config.Models.AnswerTokens, Deadline: a.Config.Runs.Deadline,
		Files: a.files.service, Scope: scopeOf(a.Config.Store.Collection).String(), Index: a.scopes, Search: a.searchBy, Rerank: a.rerank, MaxFileBytes: int64(a.Config.Parsing.MaxFileBytes),
		MaxQuery: int(a.Config.Runs.MaxQuery), Parts: a.parts, PartNames: a.partNames(), Models: func(ctx context.Context) server.Part { return a.Models.health(ctx, a.Config.Models) }})
	if err != nil {
		return fmt.Errorf("open functions: %w", err)
	}
	tools := mcp.New(a.calls, mcp.Options{Version: o.Version, Grace: grace(a.Config.Runs.Grace)})
	o.Routes = append(o.Routes, slices.Concat(a.calls.Routes(), tools.Routes())...)
	return nil
}

// Forms returns the forms of the errors of paths that are those of no protocol.
func Forms() server.Forms { return server.Forms{mcp.Path: mcp.FaultOf} }

const (
	rerankShare = 0.25 // of the reranker in the score of a search
	maxTerms    = 64   // words of a query whose frequency the reranker gets
)

// rerank returns the scores of the hits of a search together with those of the reranker, both relative to the best one.
func (a *App) rerank(ctx context.Context, collection, query string, hits []index.Hit) ([]float64, error) {
	query = lang.Truncate(query, maxSearch)
	stats, err := a.scopes.Terms(ctx, collection, lang.ContentWords(query, maxTerms))
	if err != nil {
		return nil, err
	}
	chunks := make([]corpus.Chunk, len(hits))
	for i, h := range hits {
		chunks[i] = h.Chunk
	}
	ranking, err := a.reranker.Rerank(ctx, query, chunks, stats)
	if err != nil {
		return nil, err
	}
	best := 1e-9
	for _, score := range ranking.Scores {
		best = max(best, score)
	}
	out := make([]float64, len(hits))
	for i, h := range hits {
		out[i] = (1-rerankShare)*h.Score + rerankShare*max(ranking.Scores[i], 0)/best
	}
	return out, nil
}

// noGenerate returns why the function ai.generate is switched off, or an empty text.
func (a *App) noGenerate() string {
	switch {
	case len(a.Models.Chats) == 0:
		return "the server has no language model: set model-url or model-name; the built-in model only quotes documents"
	case len(a.Config.Billing.Price) > 0:
		return "the server charges for answers (price), and this function has no price"
	}
	return ""
}

// chatByName returns a function that returns the models of the settings with the one of a name first, and nil if none has the name.
func (m *Models) chatByName(logger *slog.Logger) func(name string) model.Chat {
	if len(m.Chats) == 0 {
		return func(string) model.Chat { return nil }
	}
	chains := make([]model.Chat, len(m.Chats))
	for i, c := range m.Chats {
		chains[i] = failover.New(append([]model.Chat{c}, slices.Delete(slices.Clone(m.Chats), i, i+1)...), failover.Options{Logger: logger})
	}
	return func(name string) model.Chat {
		if name == "" {
			return chains[0]
		}
		if i := slices.IndexFunc(m.Chats, func(c model.Chat) bool { return c.Name() == name }); i >= 0 {
			return chains[i]
		}
		return nil
	}
}

// maxStop is how long functions may take to stop.
const maxStop = 10 * time.Second

// closeCalls ends the functions that are still running.
func (a *App) closeCalls() error {
	if a.calls == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxStop)
	defer cancel()
	if err := a.calls.Close(ctx); err != nil {
		return fmt.Errorf("close functions: %w", err)
	}
	return nil
}
