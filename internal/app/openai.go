package app

import (
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/openai"
)

// openAIRoutes returns the routes for clients of OpenAI other than those of questions.
func (a *App) openAIRoutes() []server.Route {
	models, _ := a.Models.Names()
	return openai.Routes(openai.Options{Engine: a.Engine, Models: models, Embedder: a.vectors.embedder})
}
