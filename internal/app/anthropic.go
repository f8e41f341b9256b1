package app

import (
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/server/anthropic"
)

// anthropicRoutes returns the routes for clients of Anthropic other than that of questions.
func (a *App) anthropicRoutes() []server.Route {
	models, _ := a.Models.Names()
	return anthropic.Routes(models)
}
